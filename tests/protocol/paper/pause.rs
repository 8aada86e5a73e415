//! A paused cluster: nobody preempts a live leader, and no leader hands over for its health.

use electd_election::core::message::{Done, Forwarded, Heartbeat, Message, Refusal};
use electd_election::core::settings::{AlgorithmKind, Alone, PowerOn, Settings};
use electd_election::core::types::{CommandId, Epoch, Incarnation, Pause, Version};
use electd_election::core::{Input, OperatorCommand, Output, Phase};

use super::process::{
    Process, Sent, TIMING, answer, coordinator, heartbeat_of, id, rank, releases, settings,
};

const UNTIL: u64 = 99;

/// P4, which leads all but P5.
fn p4_leads() -> Process {
    let health = Some(Alone::Lead);
    let mut p4 = Process::alone(Settings { health, ..settings(AlgorithmKind::Bully, 4) });
    [1, 2, 3, 5].into_iter().for_each(|other| drop(p4.meets(other)));
    p4.take(Input::Checked { healthy: true });
    p4.loses(5);
    p4.calls();
    p4.after(TIMING.t1());
    p4.stores();
    assert_eq!(p4.core.phase(), Phase::Leading);
    p4
}

fn order(process: &mut Process, command: OperatorCommand) -> Vec<Output> {
    process.outputs(Input::Command { id: CommandId(7), command })
}

fn pauses(process: &mut Process) -> Vec<Output> {
    order(process, Forwarded::Pause { since: 5, until: Some(UNTIL) }.into())
}

/// P5 comes, and asks the leader to hand over.
fn p5_preempts(p4: &mut Process) -> Sent {
    p4.meets(5);
    let epoch = p4.core.view().epoch;
    p4.hears(5, Message::Preempt { epoch, rank: rank(5), votes: Vec::new() })
}

/// The pause that a leader made in this epoch.
fn paused(epoch: u64, paused: bool) -> Pause {
    let version = Version { epoch: Epoch(epoch), counter: 1 };
    Pause { version, paused, since: 5, until: None }
}

fn heartbeat(epoch: u64, from: u8, pause: Option<Pause>) -> Message {
    Message::Heartbeat(Heartbeat { pause, ..heartbeat_of(from, epoch, 1) })
}

/// The messages about a pause.
fn pauses_in(sent: &Sent) -> Vec<Option<Pause>> {
    let pauses = sent.iter().filter_map(|(_, message)| match message {
        Message::Heartbeat(Heartbeat { pause, .. }) | Message::Acknowledge { pause, .. } => {
            Some(*pause)
        }
        _ => None,
    });
    pauses.collect()
}

/// Rule H3.
#[test]
fn a_leader_of_a_paused_cluster_stays_until_it_is_resumed() {
    let mut p4 = p4_leads();
    assert_eq!(answer(&pauses(&mut p4)), None, "not before it is durable");
    let answered = p4.outputs(Input::Persisted { number: u64::MAX });
    assert_eq!(answer(&answered), Some(Ok(Done::Paused)));
    let sent = p5_preempts(&mut p4);
    assert!(!releases(&sent) && p4.core.phase() == Phase::Leading);
    assert!(sent.iter().any(|(_, message)| matches!(message, Message::View(_))), "{sent:?}");

    order(&mut p4, Forwarded::Resume.into());
    assert!(releases(&p5_preempts(&mut p4)));
}

/// Rule H3.
#[test]
fn an_unhealthy_leader_of_a_paused_cluster_leads_on_until_it_is_resumed() {
    let mut p4 = p4_leads();
    pauses(&mut p4);
    assert!(!releases(&p4.take(Input::Checked { healthy: false })));
    assert!(!releases(&p4.after(TIMING.heartbeat)));
    let resumed = order(&mut p4, Forwarded::Resume.into());
    let released = |output: &Output| match output {
        Output::Send { envelope, .. } => matches!(envelope.message, Message::Release { .. }),
        _ => false,
    };
    assert!(resumed.iter().any(released));
}

/// Rule H3.
#[test]
fn orders_count_while_a_cluster_is_paused() {
    let mut p4 = p4_leads();
    pauses(&mut p4);
    assert!(releases(&p4.resigns()));
}

#[test]
fn a_pause_goes_with_every_heartbeat_and_none_does_before() {
    let mut p4 = p4_leads();
    assert_eq!(pauses_in(&p4.after(TIMING.heartbeat)), [None]);
    pauses(&mut p4);
    let pauses = pauses_in(&p4.after(TIMING.heartbeat));
    assert!(
        matches!(pauses[..], [Some(Pause { paused: true, until: Some(UNTIL), .. })]),
        "{pauses:?}"
    );
}

#[test]
fn a_higher_member_that_learns_of_a_pause_follows() {
    for algorithm in AlgorithmKind::ALL {
        let mut p5 = Process::new(algorithm, 5);
        let sent = p5.hears(3, heartbeat(2, 3, Some(paused(2, true))));
        assert!(!sent.iter().any(|(_, message)| matches!(message, Message::Preempt { .. })));
        let resumed =
            Pause { version: Version { epoch: Epoch(2), counter: 2 }, ..paused(2, false) };
        let sent = p5.hears(3, heartbeat(2, 3, Some(resumed)));
        let asks = sent.iter().any(|(_, message)| matches!(message, Message::Preempt { .. }));
        assert!(asks || algorithm == AlgorithmKind::Halting, "{algorithm:?} {sent:?}");
    }
}

/// "The coordinator takes in whom it hears to be not Normal."
#[test]
fn with_the_halting_algorithm_it_waits_to_be_taken_in() {
    let discovers = Settings { power_on: PowerOn::Elect, ..settings(AlgorithmKind::Halting, 5) };
    let mut p5 = Process::alone(discovers);
    p5.meets(3);
    p5.hears(3, heartbeat(2, 3, None));
    [1, 2, 4].into_iter().for_each(|other| drop(p5.meets(other)));
    let sent = p5.hears(3, heartbeat(2, 3, None));
    assert!(sent.iter().any(|(_, message)| matches!(message, Message::Preempt { .. })));
    p5.hears(3, heartbeat(2, 3, Some(paused(2, true))));
    let epoch = Epoch(2);
    let sent = p5.hears(3, Message::AreYouNormal { number: 7, epoch });
    assert_eq!(sent, [(vec![3], Message::Reply { number: 7, accepted: false })]);
}

#[test]
fn a_member_that_had_asked_for_the_release_before_it_learned_of_the_pause_follows() {
    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    p5.hears(3, coordinator(2, 3));
    assert_eq!(p5.leader(), None, "it asked");
    p5.hears(3, heartbeat(2, 3, Some(paused(2, true))));
    assert_eq!(p5.leader(), Some(id(3)));
}

/// Rule H4.
#[test]
fn a_leader_that_missed_the_pause_is_told_by_those_that_know_and_so_are_all_others() {
    let mut p2 = Process::new(AlgorithmKind::Bully, 2);
    p2.hears(3, heartbeat(2, 3, Some(paused(2, true))));
    let sent = p2.hears(4, heartbeat(3, 4, None));
    assert_eq!(pauses_in(&sent), [Some(paused(2, true))]);
    let known = Some(paused(2, true));
    assert_eq!(pauses_in(&p2.hears(4, heartbeat(3, 4, known))), [None], "it knows by now");

    let mut p4 = p4_leads();
    let (incarnation, epoch) = (Incarnation(1), p4.core.view().epoch);
    let message = Message::Acknowledge {
        incarnation,
        epoch,
        number: 1,
        rank: rank(2),
        eligible: true,
        pause: known,
    };
    p4.hears(2, message);
    assert!(!releases(&p5_preempts(&mut p4)));
    assert_eq!(pauses_in(&p4.after(TIMING.heartbeat)), [known]);
}

/// Rule H4.
#[test]
fn a_pause_outlives_a_restart_and_an_older_one_changes_nothing() {
    let mut p2 = Process::new(AlgorithmKind::Bully, 2);
    p2.hears(3, heartbeat(2, 3, Some(paused(2, true))));
    p2.stores();
    let mut again = p2.restarts();
    assert!(again.core.pause().paused);
    again.meets(3);
    again.hears(3, heartbeat(2, 3, Some(paused(1, false))));
    assert!(again.core.pause().paused);
    again.hears(3, heartbeat(3, 3, Some(paused(3, false))));
    assert!(!again.core.pause().paused);
}

/// Rule H3.
#[test]
fn a_dead_leader_of_a_paused_cluster_is_replaced() {
    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    p5.hears(4, heartbeat(2, 4, Some(paused(2, true))));
    assert_eq!(p5.leader(), Some(id(4)));
    p5.loses(4);
    p5.stores();
    assert_eq!(p5.core.phase(), Phase::Leading);
    assert!(p5.core.pause().paused, "and the cluster is still paused");
}

#[test]
fn who_does_not_lead_passes_the_order_on_and_a_member_without_a_leader_refuses_it() {
    let mut p2 = Process::new(AlgorithmKind::Bully, 2);
    assert_eq!(answer(&pauses(&mut p2)), Some(Err(Refusal::NoLeader)));
    p2.hears(3, coordinator(2, 3));
    p2.stores();
    let outputs = pauses(&mut p2);
    let passed_on = |output: &Output| match output {
        Output::Send { envelope, .. } => matches!(envelope.message, Message::Forward { .. }),
        _ => false,
    };
    assert!(outputs.iter().any(passed_on));
    assert!(!p2.core.pause().paused, "the leader's word counts");
}

#[test]
fn the_end_of_one_pause_does_not_end_the_next() {
    let mut p4 = p4_leads();
    pauses(&mut p4);
    let version = p4.core.pause().version;
    pauses(&mut p4);
    let refused = answer(&order(&mut p4, OperatorCommand::EndPause { version }));
    assert_eq!(refused, Some(Err(Refusal::NotLeader)));
    assert!(p4.core.pause().paused);
    let version = p4.core.pause().version;
    order(&mut p4, OperatorCommand::EndPause { version });
    assert!(!p4.core.pause().paused);
}

/// Rule H3.
#[test]
fn a_leader_that_ends_its_job_for_a_higher_member_and_is_paused_meanwhile_leads_on() {
    for pause in [false, true] {
        let mut p4 = p4_leads();
        p4.take(Input::JobStarted { stops_within: TIMING.failure });
        assert!(!releases(&p5_preempts(&mut p4)), "its job runs");
        if pause {
            pauses(&mut p4);
        }
        assert_eq!(releases(&p4.take(Input::JobEnded)), !pause);
    }
}

/// P2 passes on both orders while the disk of the leader writes.
#[test]
fn both_that_ask_one_member_for_a_pause_and_its_end_get_the_answer() {
    let mut p4 = p4_leads();
    p4.stores();
    for (number, command) in
        [(1, Forwarded::Pause { since: 0, until: None }), (2, Forwarded::Resume)]
    {
        p4.hears(2, Message::Forward { number, command });
    }
    let sent = p4.stores();
    let outcomes = sent.iter().filter(|(_, said)| matches!(said, Message::Outcome { .. }));
    assert_eq!(outcomes.count(), 2, "{sent:?}");
}
