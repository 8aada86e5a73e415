//! A cluster that is upgraded member by member: what an earlier version does not know is not said to it.

use std::time::Duration;

use electd_election::core::message::{Forwarded, Hello, Message, Refusal, Rejection};
use electd_election::core::protocol::Protocols;
use electd_election::core::settings::{AlgorithmKind, Timing};
use electd_election::core::types::{CommandId, Drain};
use electd_election::core::{Input, Output};

use super::process::{Process, TIMING, answer, connection, coordinator, hello_of, id, settings};

/// Before there was a window of versions.
const OLD: Protocols = Protocols { lowest: 5, highest: 5 };

/// A version to come.
const NEW: Protocols = Protocols { lowest: 6, highest: 9 };

/// P4, which is connected to all others, of which P5 speaks these versions.
fn p4_beside_p5(protocols: Protocols) -> Process {
    let mut p4 = Process::alone(settings(AlgorithmKind::Bully, 4));
    [1, 2, 3].into_iter().for_each(|other| drop(p4.meets(other)));
    let hello = Hello { protocols, ..hello_of(5, p4.core.settings()) };
    let address = String::new();
    p4.take(Input::Hello { connection: connection(5), address, hello: hello.clone() });
    p4.take(Input::Welcomed { peer: id(5), welcome: hello });
    p4
}

/// Rule C4.
#[test]
fn other_timings_are_told_only_to_those_that_know_what_that_is() {
    let timing = Timing { failure: TIMING.failure + Duration::from_millis(1), ..TIMING };
    for (protocols, told) in [(OLD, vec![1, 2, 3]), (NEW, vec![1, 2, 3, 5])] {
        let sent = p4_beside_p5(protocols).take(Input::Timed { timing });
        assert_eq!(sent, [(told, Message::Timing { timing: timing.nanos() })]);
    }
}

/// Rule C4.
#[test]
fn a_leader_of_an_earlier_version_is_not_asked_what_it_does_not_know() {
    let commands = [
        Forwarded::Pause { since: 1, until: None },
        Forwarded::Resume,
        Forwarded::Switchover { to: id(2) },
        Forwarded::Drain(Drain::default()),
    ];
    for command in commands {
        for (protocols, asked) in [(OLD, false), (NEW, true)] {
            let mut p4 = p4_beside_p5(protocols);
            p4.hears(5, coordinator(1, 5));
            let out =
                p4.outputs(Input::Command { id: CommandId(7), command: command.clone().into() });
            let refused = Some(Err(Refusal::OldLeader(id(5))));
            assert_eq!(answer(&out), if asked { None } else { refused }, "{command:?}");
            let forwards = |output: &Output| {
                matches!(output, Output::Send { envelope, .. }
                    if matches!(envelope.message, Message::Forward { .. }))
            };
            assert_eq!(out.iter().any(forwards), asked, "{command:?}");
        }
    }
}

#[test]
fn a_leader_of_an_earlier_version_is_still_asked_what_it_knows() {
    let mut p4 = p4_beside_p5(OLD);
    p4.hears(5, coordinator(1, 5));
    let sent = p4.resigns();
    assert!(matches!(&sent[..], [(to, Message::Forward { .. })] if *to == [5]), "{sent:?}");
}

/// Rule C4.
#[test]
fn who_shares_no_version_is_refused_with_the_two_that_come_closest() {
    for (lowest, highest, ours, theirs) in [(10, 11, 9, 10), (3, 4, 5, 4), (10, 3, 9, 10)] {
        let mut p4 = Process::alone(settings(AlgorithmKind::Bully, 4));
        let protocols = Protocols { lowest, highest };
        let hello = Hello { protocols, ..hello_of(5, p4.core.settings()) };
        let (connection, address) = (connection(5), String::new());
        let out = p4.outputs(Input::Hello { connection, address, hello });
        let reason = Rejection::Protocol { ours, theirs };
        assert_eq!(out[0], Output::Reject { connection, reason });
    }
}
