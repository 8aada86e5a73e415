//! Disks that hang: a candidate with such a disk withdraws, and is eligible again when the disk writes.
//! A candidate that the voters deny their votes because of their disks, or for another lasting reason,
//! lets another member try.

use std::time::Duration;

use electd_election::core::message::{Done, Message, Opinion};
use electd_election::core::types::CommandId;
use electd_election::core::{Input, OperatorCommand, Phase};

use super::{all_say, no, p5_asks, p5_tries, says, voter, yes_if};
use crate::paper::process::{Process, TIMING, answer};

/// Two of the others would vote for it again and again, but its own vote is not stored: it would call
/// another election each time, and keep the members that could lead from doing so. (N3)
#[test]
fn a_candidate_whose_disk_stands_still_withdraws_until_it_writes() {
    let mut p5 = p5_asks();
    let mut pre_votes = 0;
    for _ in 0..20 {
        let sent = p5.after(TIMING.lease);
        for (_, message) in sent {
            if let Message::PreVote { number, .. } = message {
                all_say(&mut p5, &[1, 2], &says(number, Opinion::Yes, 1));
                pre_votes += 1;
            }
        }
    }
    assert!(pre_votes > 0, "it asks whether the voters are there");
    assert_eq!((p5.core.phase(), p5.core.is_eligible()), (Phase::Waiting, false));
    p5.stores();
    assert!(p5.core.is_eligible(), "nothing but the disk held it back");
}

/// P1 to P3 answer each pre-vote of P5 in this way for this long. Returns the number of pre-votes.
fn all_answer(p5: &mut Process, opinion: Opinion, time: Duration) -> usize {
    let (end, mut asked) = (p5.now + time, 0);
    while p5.now < end {
        for (_, message) in p5.after(TIMING.message) {
            if let Message::PreVote { number, .. } = message {
                all_say(p5, &[1, 2, 3], &says(number, opinion, 1));
                asked += 1;
            }
        }
        p5.stores();
    }
    asked
}

/// Another member, with other links, may have the votes of a majority. No promise lasts so long. (N3)
#[test]
fn a_candidate_whom_the_voters_deny_their_votes_for_long_lets_another_one_try() {
    let opposed = no(TIMING.failure);
    let mut p5 = p5_tries();
    all_say(&mut p5, &[1, 2, 3], &says(1, opposed, 0));
    all_answer(&mut p5, opposed, TIMING.failure * 3 / 2);
    assert!(p5.core.is_eligible(), "a voter that was started anew is free soon");
    assert!(all_answer(&mut p5, opposed, TIMING.failure * 3 / 2) > 0, "it goes on asking");
    assert_eq!((p5.core.phase(), p5.core.is_eligible()), (Phase::Waiting, false));
    while all_answer(&mut p5, Opinion::Yes, TIMING.message) == 0 {
        assert!(!p5.core.is_eligible());
    }
    assert!(p5.core.is_eligible(), "the voters agree");
}

/// Voters that are bound to a leader will be free as soon as that is gone. (N3)
#[test]
fn a_candidate_whose_voters_are_bound_to_a_leader_is_eligible_all_the_time() {
    let bound = yes_if(1, TIMING.lease);
    let mut p5 = p5_tries();
    all_say(&mut p5, &[1, 2, 3], &says(1, bound, 1));
    assert!(all_answer(&mut p5, bound, TIMING.failure * 8) > 4);
    assert!(p5.core.is_eligible());
}

/// Operators that ask too often are refused, as for all commands that wait for the disk.
#[test]
fn commands_that_wait_for_a_disk_that_hangs_are_bounded() {
    let mut p1 = voter(1);
    let mut asks = |id| {
        answer(&p1.outputs(Input::Command { id: CommandId(id), command: OperatorCommand::Undrain }))
    };
    let refused = (1..=2000).filter_map(&mut asks).filter(Result::is_err).count();
    assert!(refused > 1000, "{refused} of 2000");
    let is_done = |out: &[_]| matches!(answer(out), Some(Ok(Done::Undrained)));
    assert!(!is_done(&p1.outputs(Input::Tick)), "the disk has written nothing");
}
