//! Two leaders that meet, as when a partition in mode none heals: what a leader notes of it.

use std::time::Duration;

use electd_election::core::Phase;
use electd_election::core::message::Message;
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::Epoch;

use crate::paper::process::{Process, TIMING, id, rank};

/// P5 leads in epoch 1 since its first heartbeat's time. It has heard all others for this many
/// heartbeats, and then no member for more than the failure time.
fn isolated(algorithm: AlgorithmKind, heard: u64) -> Process {
    let mut p5 = Process::new(algorithm, 5);
    p5.after(TIMING.heartbeat);
    p5.calls();
    for number in 1..=heard {
        p5.after(TIMING.heartbeat);
        for other in 1..=4 {
            acknowledges(&mut p5, other, number);
        }
    }
    for _ in 0..8 {
        p5.after(TIMING.heartbeat);
    }
    assert!(!p5.core.detector().is_alive(id(4)), "it is silent");
    p5
}

fn acknowledges(p5: &mut Process, other: u8, number: u64) {
    let (epoch, rank) = (Epoch(1), rank(other));
    let incarnation = p5.core.incarnation();
    p5.hears(
        other,
        Message::Acknowledge { incarnation, epoch, number, rank, eligible: true, pause: None },
    );
}

#[test]
fn a_leader_that_meets_another_notes_how_long_there_were_two_at_most() {
    let mut p5 = isolated(AlgorithmKind::Bully, 3);
    assert_eq!(p5.core.phase(), Phase::Leading);
    assert_eq!(p5.core.split(), None);
    p5.meets_leader(4, 2);
    let split = p5.core.split().expect("P4 leads as well");
    assert_eq!((split.other, split.theirs, split.own), (id(4), Epoch(2), Epoch(1)));
    // P4 followed when it was heard last, eight heartbeats ago.
    assert_eq!((split.lasted, split.met), (TIMING.heartbeat * 8 + TIMING.message, p5.now));
    assert_eq!(p5.core.phase(), Phase::Waiting, "it takes over");
}

#[test]
fn it_counts_from_the_own_start_where_the_other_was_lost_before() {
    let mut p5 = isolated(AlgorithmKind::Bully, 0);
    p5.meets_leader(4, 2);
    let split = p5.core.split().expect("P4 leads as well");
    let most = TIMING.heartbeat * 8 + TIMING.message;
    assert_eq!(split.lasted, most, "and not the nine since P4 was heard");
}

#[test]
fn a_lesser_leader_is_noted_as_well_and_once() {
    let mut p5 = isolated(AlgorithmKind::Bully, 3);
    p5.after(Duration::from_millis(7));
    p5.meets_leader(4, 0);
    let split = p5.core.split().expect("P4 led as well");
    assert_eq!(p5.core.phase(), Phase::Leading, "its epoch is the greater one");
    p5.after(Duration::from_millis(50));
    p5.hears(4, Message::Coordinator { epoch: Epoch(0), rank: rank(4) });
    assert_eq!(p5.core.split(), Some(split), "the same meeting");
}

#[test]
fn who_was_never_away_or_does_not_lead_is_no_second_leader() {
    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    p5.after(TIMING.heartbeat);
    p5.calls();
    p5.hears(4, Message::Coordinator { epoch: Epoch(0), rank: rank(4) });
    assert_eq!(p5.core.split(), None, "it was never silent: the word is an old one");
    let mut p5 = isolated(AlgorithmKind::Bully, 3);
    p5.meets(4);
    assert_eq!(p5.core.split(), None, "it comes back as a follower");
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    p3.hears(5, Message::Coordinator { epoch: Epoch(2), rank: rank(5) });
    p3.meets_leader(4, 1);
    assert_eq!(p3.core.split(), None, "a follower cannot tell");
}

/// Rule E4.
#[test]
fn of_two_leaders_of_one_epoch_the_one_that_remains_runs_a_new_round() {
    let mut p5 = isolated(AlgorithmKind::Bully, 3);
    p5.hears(4, Message::Coordinator { epoch: Epoch(1), rank: rank(4) });
    assert_eq!((p5.leader(), p5.core.view().epoch), (Some(id(5)), Epoch(2)));
}
