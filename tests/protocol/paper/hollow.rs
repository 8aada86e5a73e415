//! A leader that is heard, but no longer leads: no member may keep naming it for that, or rely on its
//! reports.

use electd_election::core::message::{
    Heartbeat, Hello, Liveness, MemberReport, Message, Rejection,
};
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::{Epoch, Incarnation};
use electd_election::core::{Input, Output, Phase};

use crate::paper::process::{
    MOMENT, Process, TIMING, connection, coordinator, election, heartbeat_of, hello_of, id,
};

/// P3 follows P5.
fn follower() -> Process {
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    p3.hears(5, coordinator(1, 5));
    assert_eq!(p3.leader(), Some(id(5)));
    p3
}

/// A heartbeat of P5 with these reports.
fn heartbeat(members: &[MemberReport]) -> Message {
    Message::Heartbeat(Heartbeat { members: members.into(), ..heartbeat_of(5, 1, 1) })
}

/// An operator has P5 call an election, in which P5 gets no votes: it looks for the others all the time, and leads
/// nobody. (D3)
#[test]
fn a_leader_that_speaks_and_sends_no_heartbeat_leads_no_more() {
    let mut p3 = follower();
    p3.hears(5, heartbeat(&[]));
    for _ in 0..2 {
        p3.after(TIMING.failure / 2 - MOMENT);
        p3.hears(5, Message::Probe { number: 1 });
    }
    assert_eq!(p3.leader(), Some(id(5)));
    p3.after(MOMENT * 2);
    assert_eq!(p3.leader(), None, "it was heard, and its heartbeats are due");
}

/// A leader stops to be one before it calls an election.
#[test]
fn a_leader_that_elects_leads_no_more() {
    let mut p3 = follower();
    p3.hears(5, election(1, 5));
    assert_eq!(p3.leader(), Some(id(5)), "it had called that before it won");
    let lower = Message::Lower { round: Epoch(2) };
    assert_eq!(p3.hears(5, election(2, 5)), [(vec![5], lower)]);
    assert_eq!((p3.core.phase(), p3.leader()), (Phase::Waiting, None));
    p3.hears(5, coordinator(2, 5));
    assert_eq!((p3.core.phase(), p3.leader()), (Phase::Following, Some(id(5))));
}

/// Whether another run of P1 is refused, as the one that was met before is said to be alive.
fn is_refused(p3: &mut Process) -> bool {
    let hello = hello_of(1, p3.core.settings());
    let hello = Hello { incarnation: Incarnation(2), instance: 100, ..hello };
    let (connection, address) = (connection(101), String::new());
    let out = p3.outputs(Input::Hello { connection, address, hello });
    let in_use = |output: &Output| {
        matches!(output, Output::Reject { reason: Rejection::IdInUse { .. }, .. })
    };
    out.iter().any(in_use)
}

/// The leader hears all, and says who is alive; but not if it does not lead.
#[test]
fn who_is_alive_is_known_from_a_leader_that_leads() {
    let mut p3 = follower();
    p3.after(TIMING.failure - MOMENT);
    p3.hears(5, Message::Probe { number: 1 });
    p3.hears(4, Message::Probe { number: 1 });
    assert!(is_refused(&mut p3), "P5 has led a moment ago, and did not miss it");
    p3.after(MOMENT);
    assert_eq!(p3.leader(), Some(id(5)), "it was heard");
    assert!(!is_refused(&mut p3));
}

/// A leader's report about itself says nothing about whether it is alive: it speaks. A follower that
/// believed the report would watch no leader, and keep following a dead one.
#[test]
fn a_leader_that_calls_itself_dead_is_watched_all_the_same() {
    for status in [Liveness::Dead, Liveness::Suspected] {
        let mut p3 = follower();
        let (incarnation, eligible) = (Incarnation(1), true);
        let report = MemberReport { id: id(5), incarnation, status, eligible, value: 0 };
        p3.hears(5, heartbeat(&[report]));
        p3.after(TIMING.failure - MOMENT);
        assert_eq!(p3.leader(), Some(id(5)));
        p3.after(MOMENT);
        assert_eq!(p3.leader(), None, "it is silent, and {status:?} by its own word");
    }
}
