//! Without a majority: a peer on whose connection nothing was said for `failure`. Whatever is between the two hosts may
//! have forgotten that connection, so that the peer's silence proves nothing before it was dialed anew.

use electd_election::core::message::Message;
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::Epoch;
use electd_election::core::{Input, Output, Phase};

use crate::paper::process::{
    MOMENT, Process, TIMING, comes_to_lead, connection, coordinator, election, hello_of, id, rank,
};

/// The number of heartbeats within a little more than `failure`.
const BEATS: u64 = 6;

/// P3 follows P5, and has heard nothing of the others for longer than `failure`. Then P5 dies.
fn orphan(algorithm: AlgorithmKind) -> Process {
    orphaned(algorithm, 3)
}

fn orphaned(algorithm: AlgorithmKind, number: u8) -> Process {
    let mut member = Process::new(algorithm, number);
    for message in comes_to_lead(algorithm, 1, rank(5)) {
        member.hears(5, message);
    }
    assert_eq!(member.leader(), Some(id(5)), "{algorithm:?}");
    for _ in 0..BEATS {
        member.after(TIMING.heartbeat);
        member.hears(5, coordinator(1, 5));
    }
    member.loses(5);
    assert_eq!(member.core.phase(), Phase::Electing, "{algorithm:?}");
    member
}

/// Lets T1 pass. Tells which members are dialed anew.
fn dials_after_t1(member: &mut Process) -> Vec<u8> {
    member.now = member.now + TIMING.t1();
    let out = member.outputs(Input::Tick);
    let number = |output: &Output| match output {
        Output::Dial { peer } => {
            assert!(out.contains(&Output::Disconnect { peer: *peer }));
            Some(peer.0.as_bytes()[15])
        }
        _ => None,
    };
    out.iter().filter_map(number).collect()
}

/// Rule D1.
#[test]
fn who_does_not_answer_is_dialed_anew_before_its_silence_counts() {
    for algorithm in [AlgorithmKind::Bully, AlgorithmKind::Halting] {
        let mut p3 = orphan(algorithm);
        assert_eq!(dials_after_t1(&mut p3), [4], "{algorithm:?}");
        assert_eq!(p3.core.phase(), Phase::Electing, "{algorithm:?}");
        let sent = p3.meets_leader(4, 2);
        assert!(!sent.iter().any(|(_, message)| *message == coordinator(2, 3)), "{sent:?}");
        let follows = (algorithm == AlgorithmKind::Bully).then_some(id(4)); // the other is halted first
        assert_eq!(p3.leader(), follows, "{algorithm:?}");
    }
}

/// P4 sent to P5, and P1 comes after that in the ring: the two become neighbours by the death between them. (D1)
#[test]
fn a_new_neighbour_in_the_ring_is_dialed_anew_before_it_is_left_out() {
    let mut p4 = orphaned(AlgorithmKind::Ring, 4);
    let ballots = |sent: &[(Vec<u8>, Message)]| {
        let to_p1 = |(to, message): &&(Vec<u8>, Message)| {
            *to == [1] && matches!(message, Message::Ballot(_))
        };
        sent.iter().filter(to_p1).count()
    };
    p4.now = p4.now + (TIMING.failure - TIMING.t1());
    assert_eq!(dials_after_t1(&mut p4), [1]);
    let sent = p4.meets(1);
    assert_eq!(ballots(&sent), 1, "it gets the ballot again: {sent:?}");
    p4.after(TIMING.t1());
    assert_eq!(p4.core.phase(), Phase::Electing, "nobody leads without it");
}

#[test]
fn who_is_reached_anew_is_asked_again() {
    let mut p3 = orphan(AlgorithmKind::Bully);
    assert_eq!(dials_after_t1(&mut p3), [4]);
    let sent = p3.meets(4);
    assert!(sent.contains(&(vec![4], election(2, 3))), "{sent:?}");
    p3.after(TIMING.t1() - MOMENT);
    assert_eq!(p3.core.phase(), Phase::Electing, "T1 runs anew");
    p3.hears(4, Message::Answer { round: Epoch(2) });
    assert_eq!(p3.core.phase(), Phase::Waiting);
}

#[test]
fn who_is_not_reached_either_is_waited_for_once() {
    let mut p3 = orphan(AlgorithmKind::Bully);
    assert_eq!(dials_after_t1(&mut p3), [4]);
    let sent = p3.after(TIMING.t1());
    assert_eq!(p3.core.phase(), Phase::Leading);
    assert!(sent.iter().any(|(_, message)| *message == coordinator(2, 3)), "{sent:?}");
}

#[test]
fn who_was_heard_lately_is_believed_to_be_silent() {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    p3.calls();
    assert!(dials_after_t1(&mut p3).is_empty(), "they said hello just now");
    assert_eq!(p3.core.phase(), Phase::Leading);
}

/// Its own connection may be forgotten as well: it is renewed, once. (D1)
#[test]
fn who_dials_again_after_a_silence_is_dialed_anew() {
    let mut p3 = orphan(AlgorithmKind::Bully);
    let mut dials = || {
        let hello = hello_of(4, p3.core.settings());
        let out =
            p3.outputs(Input::Hello { connection: connection(14), address: String::new(), hello });
        out.iter().filter(|output| **output == Output::Dial { peer: id(4) }).count()
    };
    assert_eq!(dials(), 1);
    p3.reaches(4);
    let hello = hello_of(4, p3.core.settings());
    let out =
        p3.outputs(Input::Hello { connection: connection(24), address: String::new(), hello });
    assert!(!out.contains(&Output::Dial { peer: id(4) }), "{out:?}");
}
