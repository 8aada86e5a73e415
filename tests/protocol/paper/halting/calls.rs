//! The calls of Garcia-Molina's paper, quoted from section 2 of the specification.

use std::time::Duration;

use electd_election::core::message::{Message, View};
use electd_election::core::settings::{AlgorithmKind, Preempt, Settings};
use electd_election::core::types::Epoch;
use electd_election::core::{Input, NodeStatus, Phase};

use super::{
    alive, all_accept, are_you_normal, are_you_still, are_you_there, elected, halt, halting, no,
    p3_under_p5, p5_leads, ready, to, yes,
};
use crate::paper::process::{MOMENT, Process, Sent, TIMING, id, rank, settings, task};

/// Paper, HALT(j): "stop the work and any own organizing, s = Election, h = j, acknowledge".
#[test]
fn who_is_halted_organizes_nothing() {
    let mut p4 = halting(4);
    p4.loses(5);
    assert_eq!(p4.calls(), to(&[1, 2, 3], halt(1, 1, 4)));
    p4.meets(5);
    assert_eq!(p4.hears(5, halt(9, 2, 5)), to(&[5], yes(9)));
    assert_eq!(all_accept(&mut p4, &[1, 2, 3], 1), [], "its own election is over");
    p4.hears(5, elected(10, 2));
    assert_eq!(all_accept(&mut p4, &[1, 2, 3], 2), [], "it obeys another");
    p4.hears(5, ready(11, 2, task(5)));
    assert_eq!((p4.status(), p4.leader()), (NodeStatus::Normal, Some(id(5))));
}

/// Paper, step 2: "HALT to every lower; those that acknowledge join Up." The dead are in a known state
/// immediately, and a refusal ends the election.
#[test]
fn only_who_acknowledged_is_in_up() {
    let mut p5 = halting(5);
    p5.calls();
    all_accept(&mut p5, &[1, 2, 3], 1);
    assert_eq!(p5.loses(4), to(&[1, 2, 3], elected(2, 1)));

    let mut p5 = halting(5);
    p5.calls();
    assert_eq!(p5.hears(4, no(1)), []);
    assert_eq!(p5.core.phase(), Phase::Waiting);
}

/// Paper: "READY(j, x): only if c = j and s = Reorganization: d = x, s = Normal."
#[test]
fn only_the_coordinator_hands_out_the_task() {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    assert_eq!(p3.hears(5, ready(2, 1, task(5))), to(&[5], no(2)), "it is not elected yet");
    p3.hears(5, elected(3, 1));
    assert_eq!(p3.hears(4, ready(4, 1, task(4))), to(&[4], no(4)), "another is");
    assert_eq!(p3.core.task(), &task(3));

    assert_eq!(p3.hears(5, ready(4, 1, task(5))), to(&[5], yes(4)));
    assert_eq!((p3.status(), p3.leader()), (NodeStatus::Normal, Some(id(5))));
    assert_eq!(p3.core.task(), &task(5));
}

/// Paper: "A timeout in (3) or (4) starts again, after a back-off" - of T1, and a jitter.
#[test]
fn without_acceptance_it_starts_again_after_a_while() {
    for accepted in [0, 1] {
        let mut p5 = halting(5);
        p5.calls();
        for number in 1..=1 + accepted {
            all_accept(&mut p5, &[1, 2, 3, 4], number);
        }
        p5.after(TIMING.t1());
        assert_eq!(p5.status(), NodeStatus::Election);
        assert_eq!(p5.core.phase(), Phase::Waiting);
        assert_eq!(p5.after(TIMING.t1() - MOMENT), []);
        let again = halt(3 + accepted, 2, 5);
        let mut sent = p5.after(TIMING.message);
        sent.retain(|(_, message)| !matches!(message, Message::Alive { .. }));
        assert_eq!(sent, to(&[1, 2, 3, 4], again));
    }
}

/// Paper, Check: "periodic, Normal coordinator only: ARE-YOU-NORMAL to all others; a "no" starts
/// an election; silence is skipped. This is how a recovered lower node gets absorbed" - so that
/// the epoch rises. (K3)
#[test]
fn the_coordinator_checks_who_is_normal() {
    let mut p5 = p5_leads();
    let mut sent = Sent::new();
    for _ in 0..5 {
        (1..=4).for_each(|peer| drop(p5.hears(peer, alive(0))));
        sent = p5.after(TIMING.heartbeat);
    }
    assert!(sent.contains(&(vec![1, 2, 3, 4], are_you_normal(4, 1))), "{sent:?}");
    assert_eq!(all_accept(&mut p5, &[2, 3, 4], 4), [], "and P1 is silent");
    assert_eq!(p5.status(), NodeStatus::Normal);
    assert_eq!(p5.hears(1, no(4)), to(&[1, 2, 3, 4], halt(5, 2, 5)));
    assert_eq!((p5.status(), p5.leader()), (NodeStatus::Election, None));
}

/// Paper, ARE-YOU-NORMAL: only a Normal node says yes; and only to its own coordinator.
#[test]
fn who_is_not_normal_says_no() {
    let mut p3 = p3_under_p5();
    assert_eq!(p3.hears(5, are_you_normal(4, 1)), to(&[5], yes(4)));
    assert_eq!(p3.hears(4, are_you_normal(4, 1)), to(&[4], no(4)));
    p3.hears(5, halt(5, 2, 5));
    assert_eq!(p3.hears(5, are_you_normal(6, 1)), to(&[5], no(6)));
}

/// Paper, Timeout: a node whose coordinator is unheard sends "ARE-YOU-THERE to c when Normal [...],
/// otherwise (or without a reply) an election".
#[test]
fn a_silent_coordinator_is_called_and_then_replaced() {
    let mut p4 = halting(4);
    p4.hears(5, halt(1, 1, 5));
    p4.hears(5, elected(2, 1));
    p4.hears(5, ready(3, 1, task(5)));
    assert_eq!(p4.after(TIMING.failure - TIMING.t1() - MOMENT), []);
    assert_eq!(p4.after(MOMENT), to(&[5], are_you_still(1, 1, 4)));
    assert_eq!(p4.after(TIMING.t1() - MOMENT), []);
    let sent = p4.after(MOMENT);
    assert_eq!(p4.status(), NodeStatus::Election);
    assert_eq!(sent[..1], to(&[5], are_you_there(2, 4)), "as step 1 has it");
    assert_eq!(sent[1..], to(&[1, 2, 3], halt(3, 2, 4)), "P5 was silent for long enough");
}

/// Paper, Timeout, in Reorganization: a member that asks this node has missed the coordinator, so this
/// node calls the coordinator immediately, and replaces it if it is up and no longer leads. (K5)
#[test]
fn who_is_asked_looks_at_its_own_coordinator() {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    p3.hears(5, elected(2, 1));
    let sent = p3.hears(2, are_you_there(8, 2));
    assert_eq!(sent[..1], to(&[2], yes(8)));
    assert_eq!(sent[1..], to(&[5], are_you_still(1, 1, 3)));
    assert_eq!(p3.hears(5, no(1)), to(&[4], are_you_there(2, 3)));
    assert_eq!(p3.status(), NodeStatus::Election);
}

/// It asks another time before it suspects the coordinator: after `failure` - T1 of silence. (K4)
#[test]
fn a_coordinator_that_was_heard_of_late_may_reply_late() {
    let mut p3 = p3_under_p5();
    assert_eq!(p3.hears(2, are_you_there(8, 2))[1..], to(&[5], are_you_still(1, 1, 3)));
    assert_eq!(p3.after(TIMING.t1()), []);
    assert_eq!(p3.leader(), Some(id(5)));
    p3.after(TIMING.failure - TIMING.t1() * 2 - MOMENT);
    assert_eq!(p3.after(MOMENT), to(&[5], are_you_still(2, 1, 3)));
    p3.after(TIMING.t1());
    assert_eq!(p3.leader(), None);
}

/// READY ends the wait for the coordinator's reply. Where that was lost, the next to ask has the
/// coordinator called again.
#[test]
fn a_lost_reply_of_the_coordinator_keeps_nobody_from_calling_it_again() {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    p3.hears(5, elected(2, 1));
    assert_eq!(p3.hears(2, are_you_there(8, 2))[1..], to(&[5], are_you_still(1, 1, 3)));
    assert_eq!(p3.hears(2, are_you_there(9, 2)), to(&[2], yes(9)), "it is being called");
    p3.hears(5, ready(3, 1, task(5)));
    assert_eq!(p3.leader(), Some(id(5)));
    assert_eq!(p3.hears(2, are_you_there(10, 2))[1..], to(&[5], are_you_still(2, 1, 3)));
    assert_eq!(p3.hears(5, no(1)), [], "of the first call");
    assert_eq!(p3.hears(5, no(2)), to(&[4], are_you_there(3, 3)));
}

/// "The organizer heartbeats Up from its first HALT on", also when it has given up, so that they await
/// the next - but not those that were handed the task: they are to miss it, and call it.
#[test]
fn who_was_handed_the_task_by_one_that_gave_up_is_to_miss_it() {
    for handed_out in [false, true] {
        let mut p5 = halting(5);
        p5.calls();
        p5.after(TIMING.message);
        for number in 1..=(1 + u64::from(handed_out)) {
            all_accept(&mut p5, &[1, 2, 3, 4], number);
        }
        let kept: Sent = p5.after(TIMING.message);
        assert_eq!(kept, to(&[1, 2, 3, 4], alive(1)), "it organizes");
        p5.after(TIMING.message);
        assert_eq!(p5.core.phase(), Phase::Waiting, "too few replies: it gave up");
        let calm = if handed_out { Sent::new() } else { to(&[1, 2, 3, 4], alive(0)) };
        assert_eq!(p5.after(TIMING.message), calm);
    }
}

/// The same if the coordinator itself asks: it misses its own, or organizes anew.
#[test]
fn a_coordinator_that_asks_is_looked_at() {
    let mut p3 = p3_under_p5();
    let above = p3.hears(4, are_you_there(8, 4));
    assert_eq!(above, to(&[4], no(8)), "P4 comes first, and will halt it");
    let sent = p3.hears(5, are_you_there(9, 5));
    assert_eq!(sent[..1], to(&[5], no(9)));
    assert_eq!(sent[1..], to(&[5], are_you_still(1, 1, 3)));
    assert_eq!(p3.hears(5, no(1)), to(&[4], are_you_there(2, 3)));
    assert_eq!(p3.leader(), None);
}

/// Paper, ARE-YOU-THERE: the reply is immediate, as "a node never pauses and always responds to
/// incoming messages with no delay" (seed 002). The coordinator looks at the others as well.
#[test]
fn the_coordinator_is_there() {
    let mut p5 = p5_leads();
    assert_eq!(p5.hears(3, are_you_still(1, 1, 3)), to(&[3], yes(1)));
    assert_eq!(p5.hears(3, are_you_still(2, 0, 3)), to(&[3], no(2)), "not in that epoch");
    let sent = p5.hears(3, are_you_there(3, 3));
    assert_eq!(sent[..1], to(&[3], yes(3)));
    assert_eq!(sent[1..], to(&[1, 2, 3, 4], are_you_normal(4, 1)));
}

/// The same, where the caller is connected to this node and this node not yet to the caller. (K6)
#[test]
fn a_reply_waits_for_the_connection() {
    let mut p5 = halting(5);
    p5.take(Input::Lost { peer: id(3) });
    assert_eq!(p5.hears(3, are_you_normal(1, 1)), []);
    assert_eq!(p5.reaches(3), to(&[3], no(1)));
    assert_eq!(p5.reaches(3), [], "once");
}

/// Paper: "While in Election, the death of the halter starts a new election at once."
#[test]
fn the_death_of_the_halter_starts_an_election() {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    assert_eq!(p3.loses(4), [], "of another it does not");
    assert_eq!(p3.loses(5), to(&[1, 2], halt(1, 2, 3)));
}

/// Paper, left open there: "The organizer heartbeats Up from its first HALT on, so that a halted
/// member notices its death".
#[test]
fn the_organizer_is_heard_by_those_it_halts() {
    let mut p5 = halting(5);
    p5.calls();
    assert_eq!(p5.after(TIMING.heartbeat - MOMENT), []);
    all_accept(&mut p5, &[1, 2, 3, 4], 1);
    assert_eq!(p5.after(MOMENT), to(&[1, 2, 3, 4], alive(1)));
}

/// An organizer whose voters have slow disks takes longer than T2. The halted members wait for it while
/// it says that it continues, and no longer than twice T2, as its election may fail. (E5)
#[test]
fn who_was_halted_waits_for_an_organizer_that_goes_on() {
    for (says, waits) in [(0, TIMING.t2()), (2, TIMING.t2() * 2), (1, TIMING.t2())] {
        let mut p3 = halting(3);
        p3.hears(5, halt(1, 2, 5));
        let halted = p3.now;
        while p3.core.phase() == Phase::Halted && p3.now < halted + TIMING.t2() * 3 {
            p3.hears(4, alive(2)); // it is not its organizer
            p3.hears(5, alive(says));
            p3.after(TIMING.heartbeat / 4);
        }
        let waited = p3.now.since(halted);
        assert!((waits..waits + TIMING.heartbeat).contains(&waited), "{says}: {waited:?}");
    }
}

/// They must not take the organizer for dead when it has given up: it may have to obey another
/// organizer, which is no reason for them to win alone.
#[test]
fn who_halted_others_is_heard_until_the_election_ends() {
    let mut p4 = halting(4);
    p4.loses(5);
    p4.calls();
    p4.meets(5);
    p4.hears(5, halt(9, 2, 5));
    assert_eq!(p4.after(TIMING.heartbeat), to(&[1, 2, 3], alive(0)));
    p4.hears(5, elected(10, 2));
    p4.hears(5, ready(11, 2, task(5)));
    assert_eq!(p4.after(TIMING.heartbeat), []);
}

/// A leader that takes others in halts also those above it, where they may not take over; but one
/// that organizes an election itself goes first.
#[test]
fn an_incumbent_yields_to_a_higher_organizer() {
    let never = || {
        let settings = settings(AlgorithmKind::Halting, 5);
        Process::with(Settings { preempt: Preempt::Never, ..settings }).0
    };
    let incumbent =
        |number| Message::Halt { number, round: Epoch(1), rank: rank(3), incumbent: true };
    let mut p5 = never();
    assert_eq!(p5.hears(3, incumbent(7)), to(&[3], yes(7)));
    let mut p5 = never();
    p5.calls();
    assert_eq!(p5.hears(3, incumbent(7)), to(&[3], no(7)));
    assert_eq!(p5.core.phase(), Phase::Electing);
}

/// A HALT of an epoch that is over is refused, with what is known instead. (E2)
#[test]
fn an_older_organizer_is_told_what_is_known() {
    let mut p3 = p3_under_p5();
    let view = View { epoch: Epoch(1), leader: Some(rank(5)) };
    assert_eq!(p3.hears(4, halt(6, 1, 4)), [(vec![4], no(6)), (vec![4], Message::View(view))]);
    assert_eq!((p3.status(), p3.leader()), (NodeStatus::Normal, Some(id(5))));
}

/// A copy behaves like the original, and a spurious call changes nothing.
#[test]
fn the_core_is_a_value() {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    let before = p3.core.clone();
    assert_eq!(p3.after(Duration::ZERO), []);
    assert!(p3.core == before);
    let mut copy = p3.clone();
    assert_eq!(copy.hears(5, elected(2, 1)), p3.hears(5, elected(2, 1)));
    assert!(copy.core == p3.core);
}
