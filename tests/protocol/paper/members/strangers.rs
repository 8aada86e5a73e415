//! Which peers are believed: neither a list, nor an outcome, nor a removal, nor a number counts merely
//! because a peer sends it. "What comes in is judged whole before it changes anything; a refused hello
//! changes nothing."

use std::sync::Arc;

use electd_election::core::detector::Peer;
use electd_election::core::membership::MemberList;
use electd_election::core::message::{Done, Forwarded, Hello, Message, Rejection, View};
use electd_election::core::settings::{AlgorithmKind, Quorum, Settings};
use electd_election::core::types::{Epoch, Incarnation};
use electd_election::core::{CommandId, Input, Output, Phase};

use super::{hears, hears_in, list, numbers, remove, tell, tells, version};
use crate::paper::process::{
    FIRST_COMMAND, Process, connection, coordinator, hello_of, id, settings,
};

/// P3 with a majority, which is connected to no member.
fn alone() -> Process {
    Process::alone(Settings { quorum: Quorum::Majority, ..settings(AlgorithmKind::Bully, 3) })
}

/// P3 with a majority, which is connected to all.
fn p3() -> Process {
    Process::with(Settings { quorum: Quorum::Majority, ..settings(AlgorithmKind::Bully, 3) }).0
}

/// A hello of P4 with this change.
fn hello(process: &mut Process, change: impl FnOnce(&mut Hello)) -> Vec<Output> {
    let mut hello = hello_of(4, process.core.settings());
    change(&mut hello);
    let (connection, address) = (connection(4), String::new());
    process.outputs(Input::Hello { connection, address, hello })
}

/// The key of which a hello of P4 with this change is refused, without a trace.
fn refused(change: impl FnOnce(&mut Hello)) -> Option<String> {
    let mut p3 = alone();
    let before = p3.core.clone();
    let out = hello(&mut p3, change);
    let key = out.iter().find_map(|output| match output {
        Output::Reject {
            reason: Rejection::Disagreement { key, .. } | Rejection::Beyond { key, .. },
            ..
        } => Some(key.clone()),
        _ => None,
    });
    assert!(key.is_none() || p3.core == before, "it left a trace: {out:?}");
    key
}

/// Rule X2.
#[test]
fn a_hello_that_tells_what_cannot_have_come_about_is_refused_and_changes_nothing() {
    const FAR: u64 = 1 << 62;
    const NEAR: u64 = 1 << 24;
    for number in [FAR, (1 << 32) + 65, u64::MAX] {
        let epoch = Epoch(number);
        let far = |counter| list(version(number, counter), &[1, 2, 3, 4, 5]);
        assert_eq!(refused(|hello| hello.round = epoch).as_deref(), Some("round"));
        let view = View { epoch, leader: None };
        assert_eq!(refused(|hello| hello.view = view).as_deref(), Some("epoch"));
        assert_eq!(refused(|hello| hello.list = far(1)).as_deref(), Some("epoch"));
        let counted = list(version(1, number), &[1, 2, 3, 4, 5]);
        assert_eq!(refused(|hello| hello.list = counted).as_deref(), Some("list version"));
        let start = Incarnation(number);
        assert_eq!(refused(|hello| hello.incarnation = start).as_deref(), Some("incarnation"));
    }
    assert_eq!(refused(|hello| hello.round = Epoch(NEAR)), None);
    assert_eq!(refused(|hello| hello.incarnation = Incarnation(NEAR)), None);
}

/// Rule X2.
#[test]
fn a_message_that_tells_what_cannot_have_come_about_ends_its_connection() {
    let far = 1 << 62;
    let said = [
        (far, Message::Alive { number: 0 }),
        (0, coordinator(far, 4)),
        (0, Message::Listed { version: version(1, far) }),
        (0, Message::Release { epoch: Epoch(far), successor: None, eligible: true }),
    ];
    for (epoch, message) in said {
        let mut p3 = p3();
        let reaction = hears_in(&mut p3, 4, epoch, message.clone());
        assert_eq!((reaction.sent, reaction.records), (vec![], vec![]), "{message:?}");
        assert!(p3.core.detector().get(id(4)).is_some_and(|peer| peer.lines.inbound().is_none()));
        assert_eq!(p3.core.view().epoch, Epoch(0));
        assert_eq!(hears(&mut p3, 4, coordinator(7, 4)).sent, [], "it is heard no more");
        assert_eq!(p3.leader(), None);
    }
}

/// Somebody else said that it is P4, at its 1,000th start. P4 itself comes back, at its second.
#[test]
fn who_only_dials_keeps_nobody_out_by_an_incarnation() {
    let mut p3 = p3();
    p3.loses(4);
    p3.after(p3.core.settings().timing.failure);
    let start = |p3: &mut Process, incarnation, instance| {
        let out = hello(p3, |hello| {
            (hello.incarnation, hello.instance) = (Incarnation(incarnation), instance);
        });
        out.iter().any(|output| matches!(output, Output::Welcome { .. }))
    };
    assert!(start(&mut p3, 1000, 9));
    p3.loses(4);
    p3.after(p3.core.settings().timing.failure);
    assert!(start(&mut p3, 2, 4));
    p3.loses(4);
    p3.after(p3.core.settings().timing.failure);
    assert!(!start(&mut p3, 0, 4), "one that was reached at its address is known");
}

/// P3 and a ghost: so P3 would be as good as alone.
fn forged() -> Arc<MemberList> {
    list(version(1, 1), &[3, 6])
}

/// Not of a stranger, nor of one that says that it is P4 and is not reached where P4 is. (M6)
#[test]
fn with_a_majority_no_stray_connection_tells_a_list() {
    let mut p3 = alone();
    hello(&mut p3, |hello| (hello.id, hello.list) = (id(6), forged()));
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5]);
    hello(&mut p3, |hello| hello.list = forged());
    assert!(p3.core.detector().get(id(4)).is_some_and(Peer::alive), "it is P4 as far as is known");
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5]);
    hears(&mut p3, 4, tells(&forged()));
    hears_in(&mut p3, 4, 1, coordinator(1, 4));
    hears_in(&mut p3, 4, 1, tells(&forged()));
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5]);
    assert_eq!(numbers(&p3.restarts()), [1, 2, 3, 4, 5]);
    p3.reaches(4);
    hears_in(&mut p3, 4, 1, tells(&forged()));
    assert_eq!(numbers(&p3), [3, 6], "P4 itself leads, and says so");
}

/// "From the leader one follows": a member that follows one takes no list of another. (M6)
#[test]
fn with_a_majority_a_follower_takes_the_list_of_its_leader_alone() {
    let newer = list(version(1, 1), &[1, 2, 3, 4, 5, 6]);
    let mut p3 = p3();
    hears_in(&mut p3, 5, 1, coordinator(1, 5));
    assert_eq!(p3.leader(), Some(id(5)));
    hears_in(&mut p3, 4, 1, tells(&newer));
    assert_eq!(numbers(&p3), [1, 2, 3, 4, 5]);
    hears_in(&mut p3, 5, 1, tells(&newer));
    assert_eq!(*p3.core.members(), newer);
}

/// A witness that alone has the newest list cannot lead by it: it passes the list on while nobody
/// leads.
#[test]
fn where_nobody_leads_a_member_that_is_reached_hands_its_list_over() {
    let newer = list(version(1, 1), &[1, 2, 3, 4, 5, 6]);
    let mut p3 = p3();
    hears_in(&mut p3, 4, 1, tells(&newer));
    assert_eq!(*p3.core.members(), newer);
}

/// Rule M7.
#[test]
fn a_member_leaves_on_the_word_of_most_others_or_of_its_leader_but_not_of_one() {
    let removed = |p3: &mut Process, peer| {
        let reason = Rejection::Removed(id(3));
        p3.outputs(Input::Rejected { peer: id(peer), reason });
        p3.core.phase() == Phase::Stopping
    };
    let mut most = p3();
    assert!(!removed(&mut most, 4));
    assert!(!removed(&mut most, 4), "the same one");
    assert!(!removed(&mut most, 2));
    most.reaches(2);
    assert!(!removed(&mut most, 1), "P2 took its word back");
    assert!(removed(&mut most, 5));
    let mut follower = p3();
    follower.hears(5, coordinator(1, 5));
    assert!(!removed(&mut follower, 4));
    assert!(removed(&mut follower, 5));
}

/// The answers that P3 gives to its own command when it hears this.
fn answers(p3: &mut Process, from: u8, number: u64, done: Done) -> usize {
    hears(p3, from, Message::Outcome { number, result: Ok(done) }).answers.len()
}

/// Rule X3.
#[test]
fn an_outcome_counts_from_whom_it_was_asked_for_the_run_that_asked_and_for_what_was_asked() {
    let asks = |p3: &mut Process| {
        p3.hears(5, coordinator(1, 5));
        let command = Forwarded::Change(remove(1, false)).into();
        tell(p3, Input::Command { id: CommandId(1), command })
    };
    let mut p3 = Process::new(AlgorithmKind::Bully, 3);
    let reaction = asks(&mut p3);
    let (number, command) = (FIRST_COMMAND, Forwarded::Change(remove(1, false)));
    assert_eq!(reaction.sent, [(vec![5], Message::Forward { number, command })]);
    let gone = |number| Done::Removed { id: id(number), stored: true, handed_over: false };
    assert_eq!(answers(&mut p3, 4, number, gone(1)), 0, "P4 was not asked");
    assert_eq!(answers(&mut p3, 5, 1, gone(1)), 0, "nor of that number");
    assert_eq!(answers(&mut p3, 5, number, gone(2)), 0, "nor for P2");
    let resigned = Done::Resigned { epoch: Epoch(1), successor: None };
    assert_eq!(answers(&mut p3, 5, number, resigned), 0, "nor to resign");

    let mut next = p3.restarts();
    [1, 2, 4, 5].into_iter().for_each(|other| drop(next.meets(other)));
    asks(&mut next);
    assert_eq!(answers(&mut next, 5, number, gone(1)), 0, "an earlier run asked");
    assert_eq!(answers(&mut p3, 5, number, gone(1)), 1);
}
