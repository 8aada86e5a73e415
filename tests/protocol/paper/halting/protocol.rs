//! The protocol of seed 002, sentence by sentence.

use electd_election::core::message::{Liveness, View};
use electd_election::core::types::Epoch;
use electd_election::core::{Input, NodeStatus, Phase};

use super::{
    alive, all_accept, are_you_there, elected, halt, halting, no, p3_under_p5, p5_leads, ready, to,
    turned_on, yes,
};
use crate::paper::process::{MOMENT, Process, Sent, TIMING, id, rank, task};

/// Seed 002: "when the nodes in the system are initially turned on, they will automatically elect
/// a coordinator and start operating, just as if they were recovering from a failure."
#[test]
fn power_on_is_recovery() {
    let mut p3 = Process::alone(turned_on(3));
    assert_eq!(p3.status(), NodeStatus::Down);
    let sent: Sent = [1, 2, 4, 5].into_iter().flat_map(|other| p3.meets(other)).collect();
    assert_eq!(sent, to(&[4], are_you_there(1, 3)));
    assert_eq!(p3.status(), NodeStatus::Election);
}

/// Seed 002: "All nodes have some (possibly limited) "safe" storage cells." A round that lies
/// above what is stored halts nobody.
#[test]
fn nobody_is_halted_for_a_round_that_is_not_stored() {
    let mut p5 = halting(5);
    p5.hears(4, halt(1, 100, 4));
    assert_eq!(p5.calls(), []);
    assert_eq!(p5.status(), NodeStatus::Election);
    assert_eq!(p5.take(Input::Persisted { number: 1 }), to(&[1, 2, 3, 4], halt(1, 101, 5)));
}

/// Seed 002: "When a node fails, then node immediately halts all processing" and "A node never
/// pauses": one that paused counts itself as failed.
#[test]
fn who_paused_has_failed() {
    let mut p5 = p5_leads();
    p5.after(TIMING.stall() + MOMENT);
    assert_eq!((p5.status(), p5.leader()), (NodeStatus::Down, None));
}

/// Seed 002: "Id is used as priority. The highest id will become the coordinator".
#[test]
fn the_highest_becomes_coordinator() {
    let mut p5 = halting(5);
    assert_eq!(p5.calls(), to(&[1, 2, 3, 4], halt(1, 1, 5)), "it need not ask anybody");
    assert_eq!(all_accept(&mut p5, &[1, 2, 3, 4], 1), to(&[1, 2, 3, 4], elected(2, 1)));
    let handed_out = to(&[1, 2, 3, 4], ready(3, 1, task(5)));
    assert_eq!(all_accept(&mut p5, &[1, 2, 3, 4], 2), handed_out);
    assert_eq!(all_accept(&mut p5, &[1, 2, 3, 4], 3), []);
    assert_eq!((p5.core.phase(), p5.leader()), (Phase::Leading, Some(id(5))));
}

/// Seed 002, part 1, A: "A node (i) contacts all nodes (j) whose ids are higher than its own" -
/// one at a time, from the lowest to the highest.
#[test]
fn part_1_the_higher_are_asked_in_turn() {
    let mut p3 = halting(3);
    assert_eq!(p3.calls(), to(&[4], are_you_there(1, 3)));
    assert_eq!(p3.after(TIMING.t1() - MOMENT), []);
    assert_eq!(p3.after(MOMENT), to(&[5], are_you_there(2, 3)));
}

/// Seed 002, part 1: "If any of nodes (j) responds, the node (i) gives up the chance to become
/// the coordinator and waits for the announcement".
#[test]
fn part_1_a_response_is_the_end_of_ones_chance() {
    let mut p3 = halting(3);
    p3.calls();
    assert_eq!(p3.hears(4, yes(1)), []);
    assert_eq!(p3.core.phase(), Phase::Waiting);
    assert_eq!(p3.after(TIMING.t1()), [], "P5 is not asked any more");
}

/// Seed 002, part 1: "but after some time no response from some nodes (j), the node (i) restarts
/// procedure from A". The time is T2.
#[test]
fn part_1_who_hears_no_outcome_restarts() {
    let mut p3 = halting(3);
    p3.calls();
    p3.hears(4, yes(1));
    assert_eq!(p3.after(TIMING.t2() - MOMENT), []);
    assert_eq!(p3.after(TIMING.message), to(&[4], are_you_there(2, 3)));
}

/// Seed 002, part 1: "Otherwise (all higher priority nodes do NOT respond after T seconds) all
/// nodes (j) fail"; part 2: "The node i sends Halt message to lower priority node k".
#[test]
fn part_2_without_a_response_the_lower_are_halted() {
    let mut p3 = halting(3);
    p3.calls();
    p3.after(TIMING.t1());
    let sent = p3.after(TIMING.t1());
    assert_eq!(sent, to(&[1, 2], halt(3, 1, 3)), "though it heard all others when it began");

    let mut p3 = halting(3);
    p3.after(MOMENT);
    p3.calls();
    p3.after(TIMING.t1());
    p3.after(TIMING.t1());
    for failed in [4, 5] {
        let peer = p3.core.detector().get(id(failed)).expect("a member");
        assert_eq!(peer.status(), Liveness::Suspected);
    }
}

/// Seed 002, part 2: "Then the node k stops processing, and sets its status to Election".
#[test]
fn part_2_who_is_halted_stops_processing() {
    let mut p3 = p3_under_p5();
    assert_eq!(p3.hears(4, halt(7, 2, 4)), to(&[4], yes(7)));
    assert_eq!((p3.status(), p3.leader()), (NodeStatus::Election, None));
    assert_eq!(p3.core.halter(), Some(id(4)));
}

/// Seed 002, part 2: "Once all nodes are in a known state". One that acknowledged is, and one that
/// is silent for T1 is taken for failed.
#[test]
fn part_2_nobody_is_elected_before_all_states_are_known() {
    let mut p5 = halting(5);
    p5.after(MOMENT);
    p5.calls();
    assert_eq!(all_accept(&mut p5, &[1, 2, 3], 1), []);
    assert_eq!(p5.after(TIMING.t1() - MOMENT), []);
    let sent = p5.after(MOMENT);
    assert_eq!(sent[..1], to(&[1, 2, 3], elected(2, 1)));
    assert_eq!(sent[1..], to(&[1, 2, 3, 4], alive(1)), "P4 may have been halted too");
}

/// Seed 002, part 2: the node i "sets its status to Reorganization and sets its coordinator to i
/// (itself)". Nobody is named as the leader before all is done.
#[test]
fn part_2_the_organizer_is_its_own_coordinator() {
    let mut p5 = halting(5);
    p5.calls();
    assert_eq!((p5.status(), p5.core.coordinator()), (NodeStatus::Election, None));
    all_accept(&mut p5, &[1, 2, 3, 4], 1);
    let own = View { epoch: Epoch(1), leader: Some(rank(5)) };
    assert_eq!((p5.status(), p5.core.coordinator()), (NodeStatus::Reorganization, Some(own)));
    assert_eq!(p5.leader(), None);
}

/// Seed 002, assertion 1: members of one group have one coordinator. p4 has not met p5 when it begins, so both
/// begin the same round; but p4 tells others that it is elected in it before p5 halts it. (K8)
#[test]
fn a_round_that_has_a_coordinator_gets_no_other() {
    let mut p4 = Process::alone(turned_on(4));
    for other in [1, 2, 3] {
        p4.meets(other);
    }
    p4.after(TIMING.failure);
    all_accept(&mut p4, &[1, 2, 3], 1);
    assert_eq!(p4.status(), NodeStatus::Reorganization, "others may have accepted it");
    p4.meets(5);
    assert_eq!(p4.hears(5, halt(1, 1, 5)), to(&[5], no(1)));
    assert_eq!(p4.hears(5, halt(2, 2, 5)), to(&[5], yes(2)), "but halts for the next round");

    let mut p3 = halting(3);
    p3.hears(4, halt(1, 1, 4));
    p3.hears(4, elected(2, 1));
    assert_eq!(p3.hears(5, halt(1, 1, 5)), to(&[5], no(1)), "it has accepted p4");
    assert_eq!(p3.hears(5, halt(2, 2, 5)), to(&[5], yes(2)));

    let mut p2 = halting(2);
    p2.hears(4, halt(1, 1, 4));
    assert_eq!(p2.hears(5, halt(1, 1, 5)), to(&[5], yes(1)), "it has no coordinator yet");
}

/// Seed 002, part 2: "The node k receives I am elected message, the node k checks if the Halt
/// message is sent from node i, the node k sets its coordinator to i, the node k sets its status
/// to Reorganization". (K2)
#[test]
fn part_2_only_the_halter_is_accepted_as_elected() {
    let mut p3 = halting(3);
    assert_eq!(p3.hears(5, elected(2, 1)), to(&[5], no(2)), "nobody halted it");
    p3.hears(5, halt(1, 1, 5));
    assert_eq!(p3.hears(4, elected(2, 1)), to(&[4], no(2)), "another halted it");
    assert_eq!(p3.hears(5, elected(2, 2)), to(&[5], no(2)), "it was halted for another round");
    assert_eq!((p3.status(), p3.core.coordinator()), (NodeStatus::Election, None));

    assert_eq!(p3.hears(5, elected(2, 1)), to(&[5], yes(2)));
    let coordinator = View { epoch: Epoch(1), leader: Some(rank(5)) };
    assert_eq!(p3.status(), NodeStatus::Reorganization);
    assert_eq!((p3.core.coordinator(), p3.leader()), (Some(coordinator), None));
}
