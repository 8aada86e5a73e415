//! A candidate that asked for votes waits for them, whatever is called meanwhile.

use electd::core::message::{Ballot, Candidate, Message, Opinion, Run};
use electd::core::settings::AlgorithmKind;
use electd::core::types::{Epoch, Incarnation};

use super::{grant, majority, says};
use crate::paper::process::{Process, Sent, id, rank};

/// The ballot of a candidate in the run that a member called.
fn ballot(epoch: u64, initiator: u8, candidate: u8) -> Message {
    let run = Run { epoch: Epoch(epoch), initiator: id(initiator) };
    let candidate = Candidate { stands: true, rank: rank(candidate), incarnation: Incarnation(1) };
    Message::Ballot(Ballot { run, candidate, hops: 3 })
}

/// P3 of a ring has its ballot back, and asks for votes in epoch 1.
fn p3_asks_for_votes() -> Process {
    let mut p3 = Process::with(majority(AlgorithmKind::Ring, 3)).0;
    p3.calls();
    let _ = [1, 2].map(|voter| p3.hears(voter, says(1, Opinion::Yes, 0)));
    let sent = p3.hears(4, ballot(1, 3, 3));
    assert!(sent.iter().any(|(_, message)| matches!(message, Message::VoteRequest { .. })));
    p3.stores();
    p3
}

fn passes_on(sent: &Sent) -> bool {
    sent.iter().any(|(_, message)| matches!(message, Message::Ballot(_)))
}

#[test]
fn a_candidate_that_asks_for_votes_takes_part_in_no_greater_run() {
    let mut p3 = p3_asks_for_votes();
    assert!(!passes_on(&p3.hears(5, ballot(2, 5, 5))));
    let _ = [1, 2].map(|voter| p3.hears(voter, grant(2, 1)));
    assert_eq!(p3.leader(), Some(id(3)));
}

#[test]
fn a_candidate_whose_votes_do_not_come_takes_part_in_the_next_run() {
    let mut p3 = p3_asks_for_votes();
    let lease = p3.core.settings().timing.lease;
    let asks_again = p3.after(lease);
    assert!(asks_again.iter().any(|(_, message)| matches!(message, Message::VoteRequest { .. })));
    assert!(passes_on(&p3.hears(5, ballot(2, 5, 5))));
}
