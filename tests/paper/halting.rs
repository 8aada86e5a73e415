//! What seed 002 and Garcia-Molina's paper say of the bully with halt and reorganization.
//!
//! The paper is quoted in the words of section 2 of the specification.

use std::time::Duration;

use electd::core::message::{Liveness, Message, View};
use electd::core::settings::{AlgorithmKind, PowerOn, Settings};
use electd::core::types::{Epoch, Task};
use electd::core::{Command, CommandId, Input, NodeStatus, Phase};

use crate::process::{MOMENT, Process, Sent, TIMING, id, rank, settings, task};

fn halting(number: u8) -> Process {
    Process::new(AlgorithmKind::Halting, number)
}

/// A process that begins of itself.
fn turned_on(number: u8) -> Settings {
    Settings { power_on: PowerOn::Elect, ..settings(AlgorithmKind::Halting, number) }
}

fn are_you_there(number: u64, from: u8) -> Message {
    Message::AreYouThere { number, under: None, rank: rank(from), stands: true }
}

/// The same to one's coordinator.
fn are_you_still(number: u64, epoch: u64, from: u8) -> Message {
    let under = Some(Epoch(epoch));
    Message::AreYouThere { number, under, rank: rank(from), stands: true }
}

fn are_you_normal(number: u64, epoch: u64) -> Message {
    Message::AreYouNormal { number, epoch: Epoch(epoch) }
}

fn halt(number: u64, round: u64, from: u8) -> Message {
    Message::Halt { number, round: Epoch(round), rank: rank(from), incumbent: false }
}

fn elected(number: u64, round: u64) -> Message {
    Message::Elected { number, round: Epoch(round) }
}

fn ready(number: u64, round: u64, task: Task) -> Message {
    Message::Ready { number, round: Epoch(round), task }
}

fn yes(number: u64) -> Message {
    Message::Reply { number, accepted: true }
}

fn no(number: u64) -> Message {
    Message::Reply { number, accepted: false }
}

/// What keeps the halted patient.
fn alive() -> Message {
    Message::Alive { number: 0 }
}

fn to(peers: &[u8], message: Message) -> Sent {
    vec![(peers.to_vec(), message)]
}

/// This member replies yes to all of them, and the last thing that it sends then.
fn all_accept(process: &mut Process, peers: &[u8], number: u64) -> Sent {
    peers.iter().map(|peer| process.hears(*peer, yes(number))).last().unwrap_or_default()
}

/// P3 after P5 has come to lead it in epoch 1.
fn p3_under_p5() -> Process {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    p3.hears(5, elected(2, 1));
    p3.hears(5, ready(3, 1, task(5)));
    assert_eq!((p3.status(), p3.leader()), (NodeStatus::Normal, Some(id(5))));
    p3
}

/// P5 after it has come to lead all in epoch 1.
fn p5_leads() -> Process {
    let mut p5 = halting(5);
    p5.calls();
    for number in 1..=3 {
        all_accept(&mut p5, &[1, 2, 3, 4], number);
    }
    assert_eq!((p5.status(), p5.leader()), (NodeStatus::Normal, Some(id(5))));
    p5
}

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
fn part_1_who_waits_in_vain_restarts() {
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
        assert_eq!(peer.status, Liveness::Suspected);
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

/// Paper, HALT(j): "stop the work and any own organising, s = Election, h = j, acknowledge".
#[test]
fn who_is_halted_organises_nothing() {
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
    assert_eq!(sent[1..], to(&[1, 2, 3], alive()));
}

/// Paper, step 2: "HALT to every lower; those that acknowledge join Up." The dead are in a known
/// state at once, and those that refuse end the election.
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

/// Seed 002, part 2: the node i "sets its status to Reorganization and sets its coordinator to i
/// (itself)". Nobody is named as the leader before all is done.
#[test]
fn part_2_the_organiser_is_its_own_coordinator() {
    let mut p5 = halting(5);
    p5.calls();
    assert_eq!((p5.status(), p5.core.coordinator()), (NodeStatus::Election, None));
    all_accept(&mut p5, &[1, 2, 3, 4], 1);
    let own = View { epoch: Epoch(1), leader: Some(rank(5)) };
    assert_eq!((p5.status(), p5.core.coordinator()), (NodeStatus::Reorganization, Some(own)));
    assert_eq!(p5.leader(), None);
}

/// Seed 002, part 2: "The node k receives I am elected message, the node k checks if the Halt
/// message is sent from node i, the node k sets its coordinator to i, the node k sets its status
/// to Reorganization".
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
        assert_eq!(p5.after(TIMING.message), to(&[1, 2, 3, 4], again));
    }
}

/// Paper, Check: "periodic, Normal coordinator only: ARE-YOU-NORMAL to all others; a "no" starts
/// an election; silence is skipped. This is how a recovered lower node gets absorbed" - so that
/// the epoch rises.
#[test]
fn the_coordinator_checks_who_is_normal() {
    let mut p5 = p5_leads();
    let mut sent = Sent::new();
    for _ in 0..5 {
        (1..=4).for_each(|peer| drop(p5.hears(peer, alive())));
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

/// Paper, Timeout, in Reorganization: whoever asks this node has missed the coordinator, which is
/// therefore called at once; and replaced if it is up and does not lead any more.
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

/// Paper, ARE-YOU-THERE: the reply is at once, as "a node never pauses and always responds to
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

/// Paper: "While in Election, the death of the halter starts a new election at once."
#[test]
fn the_death_of_the_halter_starts_an_election() {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    assert_eq!(p3.loses(4), [], "of another it does not");
    assert_eq!(p3.loses(5), to(&[1, 2], halt(1, 2, 3)));
}

/// Paper, left open there: "The organiser heartbeats Up from its first HALT on, so that a halted
/// member notices its death".
#[test]
fn the_organiser_is_heard_by_those_it_halts() {
    let mut p5 = halting(5);
    p5.calls();
    assert_eq!(p5.after(TIMING.heartbeat - MOMENT), []);
    all_accept(&mut p5, &[1, 2, 3, 4], 1);
    assert_eq!(p5.after(MOMENT), to(&[1, 2, 3, 4], alive()));
}

/// A HALT of an epoch that is over is refused, with what is known instead.
#[test]
fn an_older_organiser_is_told_what_is_known() {
    let mut p3 = p3_under_p5();
    let view = View { epoch: Epoch(1), leader: Some(rank(5)) };
    assert_eq!(p3.hears(4, halt(6, 1, 4)), [(vec![4], no(6)), (vec![4], Message::View(view))]);
    assert_eq!((p3.status(), p3.leader()), (NodeStatus::Normal, Some(id(5))));
}

/// Paper: the task description d is "opaque bytes the leader hands out"; a new one takes an
/// election, so that no two nodes are at work on two tasks.
#[test]
fn a_new_task_is_handed_out_by_an_election() {
    let mut p5 = p5_leads();
    let command = Command::HandOut { task: task(77) };
    let sent = p5.take(Input::Command { id: CommandId(1), command });
    assert_eq!(sent, to(&[1, 2, 3, 4], halt(4, 2, 5)));
    all_accept(&mut p5, &[1, 2, 3, 4], 4);
    let handed_out = to(&[1, 2, 3, 4], ready(6, 2, task(77)));
    assert_eq!(all_accept(&mut p5, &[1, 2, 3, 4], 5), handed_out);
}

/// A copy behaves like the original, and a spurious call changes nothing.
#[test]
fn the_core_is_a_value() {
    let mut p3 = halting(3);
    p3.hears(5, halt(1, 1, 5));
    let before = p3.core.clone();
    assert_eq!(p3.after(Duration::ZERO), []);
    assert!(p3.core == before);
    let mut copy = Process { core: before, now: p3.now };
    assert_eq!(copy.hears(5, elected(2, 1)), p3.hears(5, elected(2, 1)));
    assert!(copy.core == p3.core);
}
