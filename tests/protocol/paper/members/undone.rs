//! Changes that can still be undone: they do not count as done, and no member hears that it was
//! removed.

use std::time::Duration;

use electd_election::core::message::{Heartbeat, Hello, Message, Rejection, View};
use electd_election::core::settings::{AlgorithmKind, Quorum, Settings};
use electd_election::core::types::Epoch;
use electd_election::core::{Input, Output};

use super::{
    disk, hears, hears_in, leader, list, listed, makes, remove, says_hello, tells, version, without,
};
use crate::paper::process::{
    Process, TIMING, connection, heartbeat_of, hello_of, id, rank, settings,
};

const ALL: [u8; 5] = [1, 2, 3, 4, 5];

fn beat(from: u8, epoch: u64, number: u64) -> Message {
    Message::Heartbeat(heartbeat_of(from, epoch, number))
}

/// "A voter that voted in e denies everything from a leader with a smaller epoch": the majority that
/// stored its list would be none that the next leader has to ask.
#[test]
fn a_voter_that_voted_in_a_later_epoch_tells_an_older_leader_nothing_of_its_list() {
    let s = Settings { quorum: Quorum::Majority, ..settings(AlgorithmKind::Bully, 2) };
    let mut p2 = Process::with(s).0;
    hears_in(&mut p2, 5, 1, beat(5, 1, 1));
    hears_in(&mut p2, 5, 1, tells(&list(version(1, 1), &ALL)));
    disk(&mut p2);
    p2.after(TIMING.lease + Duration::from_millis(1));
    let vote_request = Message::VoteRequest {
        number: 7,
        epoch: Epoch(2),
        lease: TIMING.lease,
        list: version(1, 1),
    };
    let voted = hears_in(&mut p2, 4, 1, vote_request).sent;
    disk(&mut p2);
    assert!(voted.iter().any(|(_, m)| matches!(m, Message::Vote { epoch: Epoch(2), .. })));
    hears_in(&mut p2, 5, 1, tells(&without(version(1, 2), 4)));
    let sent = hears_in(&mut p2, 5, 1, beat(5, 1, 2)).sent;
    assert!(sent.iter().any(|(_, m)| matches!(m, Message::Denial { .. })), "{sent:?}");
    let sent = disk(&mut p2).sent;
    assert!(!sent.contains(&(vec![5], listed(1, 2))), "{sent:?}");
}

/// "Once nothing can undo its removal: with a majority, when enough members of the new list have stored
/// the removal": a forced one that only the leader has can be undone.
#[test]
fn a_forced_removal_that_can_be_undone_is_not_told() {
    let mut p5 = leader(Quorum::Majority);
    makes(&mut p5, remove(4, true));
    disk(&mut p5);
    let sent = p5.after(TIMING.heartbeat);
    let settled = sent.iter().find_map(|(_, m)| match m {
        Message::Heartbeat(Heartbeat { settled, .. }) => Some(*settled),
        _ => None,
    });
    assert_eq!(settled, Some(version(0, 0)));
    let older = list(version(0, 0), &ALL);
    assert_eq!(says_hello(&mut p5, 4, &older), Some(Rejection::UnknownId(id(4))));
}

/// Without a majority: P4 follows P5, who leads in epoch 3 by the list of its file. P1 follows P3 of
/// epoch 2, who removed P4. P5 is the one that remains, and has P4 in its list.
#[test]
fn without_a_majority_a_follower_of_a_later_leader_is_not_told_that_it_was_removed() {
    let mut p1 = Process::new(AlgorithmKind::Bully, 1);
    hears_in(&mut p1, 3, 2, beat(3, 2, 1));
    hears_in(&mut p1, 3, 2, tells(&without(version(2, 1), 4)));
    disk(&mut p1);
    let hello = Hello {
        list: list(version(0, 0), &ALL),
        view: View { epoch: Epoch(3), leader: Some(rank(5)) },
        ..hello_of(4, p1.core.settings())
    };
    let (connection, address) = (connection(4), String::new());
    let out = p1.outputs(Input::Hello { connection, address, hello });
    let reason = Rejection::UnknownId(id(4));
    assert_eq!(out.first(), Some(&Output::Reject { connection, reason }));

    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    hears(&mut p5, 1, Message::Election { round: Epoch(3), rank: rank(1), eligible: true });
    assert_eq!(p5.core.view().epoch, Epoch(3));
    hears_in(&mut p5, 1, 2, tells(&without(version(2, 1), 4)));
    assert!(p5.core.members().get(id(4)).is_some());
    assert_eq!(p5.core.members().version(), version(3, 2));
}
