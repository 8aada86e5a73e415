//! A member that finds a leader as it starts, and what it relies on when that leader no longer leads.

use electd_election::core::message::{Liveness, Message, View};
use electd_election::core::settings::{AlgorithmKind, PowerOn, Settings};
use electd_election::core::types::Epoch;
use electd_election::core::{Input, Output};

use crate::paper::process::{
    Process, Sent, TIMING, connection, coordinator, hello_of, id, rank, settings,
};

/// P5 starts, and finds P4, which leads in epoch 1. It has not met the others.
fn arrives(algorithm: AlgorithmKind) -> Process {
    let settings = settings(algorithm, 5);
    let mut p5 = Process::alone(Settings { power_on: PowerOn::Elect, ..settings });
    let mut sent = p5.meets_leader(4, 1);
    sent.extend(p5.reaches(4));
    assert_eq!(asked(&sent), 0, "{algorithm:?}: who is asked hands over at once");
    p5
}

/// How many members are asked to hand over.
fn asked(sent: &Sent) -> usize {
    sent.iter().filter(|(_, message)| matches!(message, Message::Preempt { .. })).count()
}

/// "Power-on: wait until all are connected, [...] at most `failure`": an election would wait that long,
/// and nobody would lead meanwhile. (C2)
#[test]
fn the_highest_takes_over_when_it_has_met_all() {
    for algorithm in [AlgorithmKind::Bully, AlgorithmKind::Ring] {
        let mut p5 = arrives(algorithm);
        assert_eq!(p5.leader(), Some(id(4)));
        let sent = [1, 2, 3].map(|other| p5.meets(other));
        assert_eq!(sent.map(|sent| asked(&sent)), [0, 0, 1], "{algorithm:?}");
    }
}

/// Rule C2.
#[test]
fn the_highest_takes_over_when_it_has_looked_for_the_others() {
    for algorithm in AlgorithmKind::ALL {
        let mut p5 = arrives(algorithm);
        let announces = || coordinator(1, 4);
        p5.after(TIMING.failure - TIMING.heartbeat);
        assert_eq!(asked(&p5.hears(4, announces())), 0, "{algorithm:?}");
        p5.after(TIMING.heartbeat);
        assert_eq!(asked(&p5.hears(4, announces())), 1, "{algorithm:?}");
    }
}

/// A voter that lost its state hears of its leader by the hellos alone with which that one dials it.
#[test]
fn a_leader_that_says_hello_without_a_leader_leads_no_more() {
    for (leader, follows) in [(Some(rank(5)), true), (None, false)] {
        let mut p1 = Process::new(AlgorithmKind::Bully, 1);
        p1.hears(5, coordinator(1, 5));
        let mut hello = hello_of(5, p1.core.settings());
        hello.view = View { epoch: Epoch(1), leader };
        let (connection, address) = (connection(5), String::new());
        p1.take(Input::Hello { connection, address, hello });
        assert_eq!(p1.leader().is_some(), follows);
    }
}

/// Its address may mean something else here. Only the process that was met is gone if its address refuses. (D4)
#[test]
fn a_refusal_proves_the_death_of_no_process_that_was_never_met() {
    for algorithm in AlgorithmKind::ALL {
        let mut p3 = Process::alone(settings(algorithm, 3));
        let status = |p3: &mut Process, peer| {
            p3.take(Input::Refused { peer: id(peer) });
            p3.core.detector().get(id(peer)).map(electd_election::core::detector::Peer::status)
        };
        assert_eq!(status(&mut p3, 4), Some(Liveness::Suspected), "{algorithm:?}");
        p3.meets(5);
        p3.loses(5);
        assert_eq!(status(&mut p3, 5), Some(Liveness::Dead), "{algorithm:?}");
    }
}

/// A process that P5 greeted under a false name cannot pretend to be P5 at another member. (C6)
#[test]
fn each_peer_is_told_another_instance() {
    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    let mut told = |peer| {
        let out = p5.outputs(Input::Dialed { peer: id(peer), attempt: 1 });
        out.iter().find_map(|output| match output {
            Output::Hello { hello, .. } => Some(hello.instance),
            _ => None,
        })
    };
    let (p3, p4) = (told(3), told(4));
    assert!(p3.is_some() && p3 != p4, "{p3:?}, {p4:?}");
    assert_eq!(told(3), p3, "the same process");
}
