//! The statements of the sources about the bully, sentence by sentence.

use std::time::Duration;

use electd_election::core::message::{Forwarded, Message};
use electd_election::core::settings::{AlgorithmKind, PowerOn, Settings};
use electd_election::core::types::{Epoch, NodeId};
use electd_election::core::{Input, Phase};

use crate::paper::process::{
    FIRST_COMMAND, MOMENT, Process, TIMING, coordinator, election, id, rank, settings,
};

fn bully(number: u8) -> Process {
    Process::new(AlgorithmKind::Bully, number)
}

/// A process that begins of itself.
fn turned_on(number: u8) -> Settings {
    Settings { power_on: PowerOn::Elect, ..settings(AlgorithmKind::Bully, number) }
}

fn answer(round: u64) -> Message {
    Message::Answer { round: Epoch(round) }
}

fn preempt(epoch: u64, number: u8) -> Message {
    Message::Preempt { epoch: Epoch(epoch), rank: rank(number), votes: Vec::new() }
}

/// Seed 000, rule 1: "If P has the highest process id, it sends a Victory message to all other
/// processes and becomes the new Coordinator."
#[test]
fn rule_1_the_highest_wins_at_once() {
    let mut p5 = bully(5);
    assert_eq!(p5.calls(), [(vec![1, 2, 3, 4], coordinator(1, 5))]);
    assert_eq!(p5.core.phase(), Phase::Leading);
}

/// Seed 000, rule 1: "Otherwise, P broadcasts an Election message to all other processes with
/// higher process IDs than itself."
#[test]
fn rule_1_any_other_asks_all_higher() {
    let mut p3 = bully(3);
    assert_eq!(p3.calls(), [(vec![4, 5], election(1, 3))]);
}

/// Seed 000, rule 2: "If P receives no Answer after sending an Election message, then it
/// broadcasts a Victory message to all other processes and becomes the Coordinator."
#[test]
fn rule_2_no_answer_is_victory() {
    let mut p3 = bully(3);
    p3.calls();
    assert_eq!(p3.after(TIMING.t1() - MOMENT), []);
    assert_eq!(p3.after(MOMENT), [(vec![1, 2, 4, 5], coordinator(1, 3))]);
}

/// Seed 000, rule 3: "If P receives an Answer from a process with a higher ID, it sends no
/// further messages for this election and waits for a Victory message. (If there is no Victory
/// message after a period of time, it restarts the process at the beginning.)"
#[test]
fn rule_3_an_answer_silences_until_the_victory_is_overdue() {
    let mut p3 = bully(3);
    p3.calls();
    assert_eq!(p3.hears(4, answer(1)), []);
    assert_eq!(p3.after(TIMING.t2() - MOMENT), []);
    assert_eq!(p3.core.phase(), Phase::Waiting);
    assert_eq!(p3.after(TIMING.message), [(vec![4, 5], election(2, 3))]);
}

/// Seed 000, rule 4: "If P receives an Election message from another process with a lower ID it
/// sends an Answer message back and starts the election process at the beginning, by sending an
/// Election message to higher-numbered processes."
#[test]
fn rule_4_a_lower_one_is_answered_and_joined() {
    let mut p3 = bully(3);
    let sent = p3.hears(1, election(1, 1));
    assert_eq!(sent, [(vec![1], answer(1)), (vec![4, 5], election(1, 3))]);
    assert_eq!(p3.hears(2, election(1, 2)), [(vec![2], answer(1))], "one election at a time");
}

/// Seed 000, rule 5: "If P receives a Coordinator message, it treats the sender as the
/// coordinator."
#[test]
fn rule_5_the_sender_of_coordinator_leads() {
    let mut p3 = bully(3);
    p3.hears(5, coordinator(1, 5));
    assert_eq!((p3.core.phase(), p3.leader()), (Phase::Following, Some(id(5))));
}

/// Seed 000, note 1: "Let process ID be a Type 4 UUID. Note that UUIDs will need to be
/// comparable."
#[test]
fn note_1_ids_compare_as_unsigned_bytes() {
    let id = |text: &str| NodeId(text.parse().expect("a UUID"));
    let low = id("7fffffff-0000-4000-8000-000000000000");
    let high = id("80000000-0000-4000-8000-000000000000");
    assert!(low < high);
}

/// Seed 000, note 4: "From leader election to leader death, the cluster's epoch does not change.
/// A new round bumps the cluster's epoch." (E1)
#[test]
fn note_4_one_epoch_from_election_to_death() {
    let mut p4 = bully(4);
    p4.hears(5, coordinator(1, 5));
    p4.after(TIMING.heartbeat);
    assert_eq!(p4.core.view().epoch, Epoch(1));
    assert_eq!(p4.loses(5), [(vec![1, 2, 3], coordinator(2, 4))]);
    for _ in 0..20 {
        p4.after(TIMING.heartbeat);
    }
    assert_eq!((p4.leader(), p4.core.view().epoch), (Some(id(4)), Epoch(2)));
}

/// Seed 000, note 8: "Satisfying assumption #3: a heartbeat-based failure detector is provided." (D2)
#[test]
fn note_8_a_silent_leader_is_replaced() {
    let mut p4 = bully(4);
    p4.hears(5, coordinator(1, 5));
    assert_eq!(p4.after(TIMING.failure - MOMENT), []);
    assert_eq!(p4.after(MOMENT), [(vec![1, 2, 3, 5], coordinator(2, 4))]);
}

/// Seed 000, note 9: "Satisfying assumption #4: processes obey fail-stop maxim." (D6)
#[test]
fn note_9_a_leader_that_missed_its_turn_counts_itself_as_failed() {
    let mut p5 = bully(5);
    p5.calls();
    p5.after(TIMING.stall() + MOMENT);
    assert_eq!((p5.core.phase(), p5.leader()), (Phase::Starting, None));
}

/// A member that is short of the processor does less each time: with its connections and elections it would keep the
/// processor busy. (D6)
#[test]
fn a_member_that_misses_its_turn_again_looks_for_the_others_for_longer() {
    let mut p5 = bully(5);
    for failures in [1, 2, 4] {
        p5.calls();
        p5.after(TIMING.stall() + MOMENT);
        assert_eq!(p5.core.phase(), Phase::Starting);
        for _ in 0..failures {
            assert_eq!(p5.core.phase(), Phase::Starting, "after {failures} stalls");
            p5.after(TIMING.failure);
        }
        assert_eq!(p5.core.phase(), Phase::Leading, "after {failures} stalls");
    }
}

/// Seed 002: "when the nodes in the system are initially turned on, they will automatically elect
/// a coordinator and start operating, just as if they were recovering from a failure."
#[test]
fn power_on_is_recovery() {
    let (_, sent) = Process::with(turned_on(3));
    assert_eq!(sent, [(vec![4, 5], election(1, 3))]);
}

/// Seed 004: "if no process responds, it assumes that all higher id processes have failed, and elects
/// itself as leader" - immediately, if their deaths are proved; and in a new round, as the member that
/// died last may have won the present one. (D4, B1)
#[test]
fn nobody_waits_for_the_dead() {
    let mut p3 = bully(3);
    p3.calls();
    assert_eq!(p3.loses(4), []);
    assert_eq!(p3.loses(5), [(vec![1, 2], coordinator(2, 3))]);
}

/// Seed 004: "if a process receiives an ELECTION msg from lower id proc, it responds with an OK
/// msg, which shuts down the lower proc's election attempt".
#[test]
fn an_ok_shuts_down_the_attempt_of_its_own_round_only() {
    let mut p3 = bully(3);
    p3.calls();
    p3.hears(4, answer(7));
    assert_eq!(p3.core.phase(), Phase::Electing, "an answer to something else");
    p3.hears(4, answer(1));
    assert_eq!(p3.core.phase(), Phase::Waiting);
}

/// Seed 004: "a process can call atmost one election at a time".
#[test]
fn at_most_one_election_at_a_time() {
    let mut p3 = bully(3);
    assert_eq!(p3.calls().len(), 1);
    assert_eq!(p3.calls(), []);
    p3.hears(4, answer(1));
    assert_eq!(p3.calls(), []);
}

/// Seed 004: "liveness: for all runs of the election algo, a leader is elected who is not null" -
/// even if the one who answered dies before it leads.
#[test]
fn the_death_of_the_one_who_answered_starts_again() {
    let mut p3 = bully(3);
    p3.loses(5);
    p3.calls();
    p3.hears(4, answer(1));
    assert_eq!(p3.loses(4), [(vec![1, 2], coordinator(2, 3))]);
}

/// Seed 004: "safety: amongst non-faulty processes, one leader with the best arbitrarily
/// determined attribute is elected" - so a lower one that leads has to hand over first. (H1)
#[test]
fn a_lower_leader_is_bullied_but_not_beside_itself() {
    let mut p5 = bully(5);
    assert_eq!(p5.hears(4, coordinator(1, 4)), [(vec![4], preempt(1, 5))]);
    assert_eq!(p5.leader(), None);
    let release = Message::Release { epoch: Epoch(1), successor: Some(id(5)), eligible: true };
    assert_eq!(p5.hears(4, release), [(vec![1, 2, 3, 4], coordinator(2, 5))]);
}

/// Nothing may be sent before the connection is up: then the command is passed on, once.
#[test]
fn a_command_waits_for_the_connection_to_the_leader() {
    let mut p3 = bully(3);
    p3.hears(5, coordinator(1, 5));
    p3.take(Input::Lost { peer: id(5) });
    assert_eq!(p3.resigns(), []);
    let command = Forwarded::Resign { to: None };
    let forward = Message::Forward { number: FIRST_COMMAND, command };
    assert_eq!(p3.reaches(5), [(vec![5], forward)]);
    p3.take(Input::Lost { peer: id(5) });
    assert_eq!(p3.reaches(5), [], "it may have come in all the same");
}

/// A spurious call changes nothing, and a copy behaves like the original.
#[test]
fn the_core_is_a_value() {
    let mut p3 = bully(3);
    p3.calls();
    let before = p3.core.clone();
    assert_eq!(p3.after(Duration::ZERO), []);
    assert!(p3.core == before);
    let mut copy = p3.clone();
    assert_eq!(copy.hears(4, answer(1)), p3.hears(4, answer(1)));
    assert!(copy.core == p3.core);
}

/// A member that waits for its own disk for longer than an election takes holds up the others: it is
/// not eligible until the disk writes.
#[test]
fn who_waits_for_a_disk_that_does_not_write_lets_another_win() {
    let mut p5 = bully(5);
    assert_eq!(p5.hears(3, election(100, 3)), [(vec![3], answer(100))]);
    assert_eq!(p5.core.phase(), Phase::Electing, "so high an epoch is not reserved yet");
    assert_eq!(p5.after(TIMING.t2() - MOMENT), []);
    assert!(p5.core.is_eligible());
    assert_eq!(p5.after(MOMENT), []);
    assert_eq!((p5.core.phase(), p5.core.is_eligible()), (Phase::Waiting, false));
    let lower = |round| vec![(vec![3], Message::Lower { round: Epoch(round) })];
    assert_eq!(p5.hears(3, election(101, 3)), lower(101), "who is not eligible does not answer");
    p5.hears(3, coordinator(101, 3));
    assert_eq!(p5.leader(), None, "nor is a leader named whose epoch may be forgotten");
    p5.stores();
    assert_eq!((p5.leader(), p5.core.is_eligible()), (Some(id(3)), true));
    assert_eq!(p5.hears(3, coordinator(101, 3)), [(vec![3], preempt(101, 5))]);
}

/// A member that has to store its leader's epoch before it follows misses that leader like any follower: its
/// disk may never write, and until then it answers those that rank lower. (W5)
#[test]
fn a_leader_is_missed_that_dies_while_its_epoch_is_stored() {
    let mut p3 = bully(3);
    p3.hears(5, coordinator(99, 5)); // above what is reserved on the disk
    assert_eq!((p3.core.phase(), p3.leader()), (Phase::Waiting, None));
    assert_eq!(p3.after(TIMING.failure - MOMENT), []);
    assert_eq!(p3.after(MOMENT), [(vec![4], election(100, 3))]);
}
