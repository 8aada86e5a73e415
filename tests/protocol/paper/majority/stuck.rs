//! A candidate whose own disk stands still: it withdraws, and stands again when the disk writes.

use electd::core::Phase;
use electd::core::message::{Message, Opinion};

use super::{all_say, p5_claims, says};
use crate::paper::process::TIMING;

/// Two of the others would vote for it, again and again, and its own vote is not stored: it would call another
/// election each time, and keep those that could lead from it.
#[test]
fn a_candidate_whose_disk_stands_still_withdraws_until_it_writes() {
    let mut p5 = p5_claims();
    let mut trials = 0;
    for _ in 0..20 {
        let sent = p5.after(TIMING.lease);
        for (_, message) in sent {
            if let Message::PreVote { number, .. } = message {
                all_say(&mut p5, &[1, 2], &says(number, Opinion::Yes, 1));
                trials += 1;
            }
        }
    }
    assert!(trials > 0, "it asks whether the voters are there");
    assert_eq!((p5.core.phase(), p5.core.stands()), (Phase::Waiting, false));
    p5.stores();
    assert!(p5.core.stands(), "nothing but the disk held it back");
}
