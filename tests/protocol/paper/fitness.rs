//! Members that an operator drained, and members whose health check fails.

use std::time::Duration;

use electd_election::core::message::{Done, Forwarded, Message, Refusal};
use electd_election::core::settings::{AlgorithmKind, Alone, Quorum, Settings};
use electd_election::core::types::{CommandId, Drain, Epoch};
use electd_election::core::{Input, OperatorCommand, Output, Phase};

use super::process::{
    Process, TIMING, answer, comes_to_lead, coordinator, id, rank, releases, settings,
};

/// P5 leads all others, and its check passes.
fn leader(health: Option<Alone>) -> Process {
    let mut p5 = Process::with(Settings { health, ..settings(AlgorithmKind::Bully, 5) }).0;
    if health.is_some() {
        p5.take(Input::Checked { healthy: true });
    }
    p5.calls();
    p5.after(TIMING.t1());
    p5.stores();
    assert_eq!(p5.core.phase(), Phase::Leading);
    p5
}

fn drain(process: &mut Process) -> Vec<Output> {
    let command =
        OperatorCommand::Drain(Drain { reason: "new disk".to_owned(), ..Drain::default() });
    process.outputs(Input::Command { id: CommandId(7), command })
}

/// Rule A5.
#[test]
fn a_leader_that_is_drained_hands_over_at_once_and_says_so_when_that_is_durable() {
    let mut p5 = leader(None);
    let outputs = drain(&mut p5);
    assert_eq!(answer(&outputs), None, "not before it is durable");
    assert!(!p5.core.is_eligible() && p5.core.phase() != Phase::Leading);
    let stored = outputs.iter().find_map(|output| match output {
        Output::Persist { number, record } => Some((*number, record.drain.clone())),
        _ => None,
    });
    let (number, drained) = stored.expect("it is stored");
    assert_eq!(drained.unwrap().reason, "new disk");
    let answered = p5.outputs(Input::Persisted { number: number + 9 });
    assert_eq!(answer(&answered), Some(Ok(Done::Drained { successor: Some(id(4)) })));
}

/// Rules A5 and A6.
#[test]
fn a_drained_member_does_not_lead_after_a_restart_until_it_is_undrained() {
    let mut p5 = leader(None);
    drain(&mut p5);
    p5.stores();
    let mut again = p5.restarts();
    assert!(!again.core.is_eligible());
    again.take(Input::Command { id: CommandId(8), command: OperatorCommand::Undrain });
    assert!(!again.core.is_eligible(), "if it crashed now, it would be drained again");
    again.stores();
    assert!(again.core.is_eligible());
}

/// Rule H9.
#[test]
fn the_last_that_may_lead_is_not_drained() {
    let mut p5 = leader(None);
    (1..5).for_each(|other| _ = p5.loses(other));
    let command = Forwarded::Drain(Drain::default()).into();
    let refused = p5.outputs(Input::Command { id: CommandId(7), command });
    assert_eq!(answer(&refused), Some(Err(Refusal::LastEligible)));
    assert!(p5.core.drain().is_none() && p5.core.phase() == Phase::Leading);
}

#[test]
fn a_member_whose_job_failed_hands_over_and_leads_again_only_if_it_is_needed_or_undrained() {
    let mut p5 = leader(None);
    assert!(releases(&p5.take(Input::StandBack)));
    assert!(!p5.core.is_eligible());
    p5.take(Input::Command { id: CommandId(8), command: OperatorCommand::Undrain });
    assert!(p5.core.is_eligible());

    let mut started = Process::with(settings(AlgorithmKind::Bully, 5)).0;
    started.take(Input::StandBack);
    assert!(!started.core.is_eligible(), "from its start on");

    let mut alone = leader(None);
    (1..5).for_each(|other| _ = alone.loses(other));
    alone.take(Input::StandBack);
    assert_eq!(alone.core.phase(), Phase::Leading, "nobody could succeed it");
    assert!(alone.core.is_eligible());
}

#[test]
fn a_member_whose_check_has_not_passed_yet_is_not_eligible() {
    let health = Some(Alone::Lead);
    let mut p5 = Process::with(Settings { health, ..settings(AlgorithmKind::Bully, 5) }).0;
    assert!(!p5.core.is_eligible());
    p5.take(Input::Checked { healthy: true });
    assert!(p5.core.is_eligible());
}

/// Rule H9.
#[test]
fn an_unhealthy_leader_hands_over_and_leads_on_only_where_no_other_may() {
    let mut p5 = leader(Some(Alone::Lead));
    assert!(releases(&p5.take(Input::Checked { healthy: false })));

    for (alone, phase) in [(Alone::Lead, Phase::Leading), (Alone::StepDown, Phase::Waiting)] {
        let mut p5 = leader(Some(alone));
        (1..5).for_each(|other| _ = p5.loses(other));
        p5.take(Input::Checked { healthy: false });
        assert_eq!(p5.core.phase(), phase, "{alone:?}");
        p5.meets(2);
        let sent = p5.after(TIMING.heartbeat);
        assert_eq!(releases(&sent), alone == Alone::Lead, "{alone:?}");
    }
}

/// Rule H11.
#[test]
fn a_leader_that_is_drained_waits_for_its_job() {
    let mut p5 = leader(None);
    p5.take(Input::JobStarted { stops_within: Duration::from_secs(1) });
    let ends = drain(&mut p5).iter().any(|output| matches!(output, Output::EndJob { .. }));
    assert!(ends && p5.core.phase() == Phase::Leading);
    assert!(releases(&p5.take(Input::JobEnded)));
}

/// The job ended for the resignation, so that is not given up.
#[test]
fn a_leader_whose_named_successor_is_gone_when_its_job_has_ended_hands_over_to_the_best() {
    let mut p5 = leader(None);
    p5.take(Input::JobStarted { stops_within: Duration::from_secs(1) });
    let command = Forwarded::Resign { to: Some(id(4)) }.into();
    let outputs = p5.outputs(Input::Command { id: CommandId(7), command });
    assert!(outputs.iter().any(|output| matches!(output, Output::EndJob { .. })));
    p5.loses(4);
    let sent = p5.take(Input::JobEnded);
    let to_p3 = |(_, message): &(Vec<u8>, Message)| matches!(message, Message::Release { successor: Some(next), .. } if *next == id(3));
    assert!(sent.iter().any(to_p3), "{sent:?}");
}

/// The operator hears at once that it does not lead, and may reboot it.
#[test]
fn a_candidate_that_is_drained_does_not_lead_after_the_answer() {
    let mut p4 = Process::new(AlgorithmKind::Bully, 4);
    p4.calls();
    p4.stores();
    assert_eq!(p4.core.phase(), Phase::Electing);
    drain(&mut p4);
    let end = p4.now + TIMING.failure * 4;
    while p4.now < end {
        p4.after(TIMING.message);
        p4.stores();
        assert_ne!(p4.core.phase(), Phase::Leading);
    }
}

/// An operator has this leader resign, and is told that it does.
fn resigns(leader: &mut Process) {
    let command = Forwarded::Resign { to: None }.into();
    let said = answer(&leader.outputs(Input::Command { id: CommandId(7), command }));
    assert!(matches!(said, Some(Ok(Done::Resigned { .. }))), "{said:?}");
}

/// Its job ended for a check that failed, and passes again.
#[test]
fn a_leader_that_said_that_it_resigns_does_so_whatever_its_job_ended_for_first() {
    let mut p5 = leader(Some(Alone::Lead));
    p5.take(Input::JobStarted { stops_within: Duration::from_secs(1) });
    let outputs = p5.outputs(Input::Checked { healthy: false });
    assert!(outputs.iter().any(|output| matches!(output, Output::EndJob { .. })));
    resigns(&mut p5);
    p5.take(Input::Checked { healthy: true });
    assert!(releases(&p5.take(Input::JobEnded)));
}

/// It stands still before its job has ended, and the others notice nothing.
#[test]
fn a_leader_that_said_that_it_resigns_is_not_elected_again_if_it_steps_down_before() {
    let mut p5 = leader(None);
    p5.take(Input::JobStarted { stops_within: Duration::from_secs(9) });
    resigns(&mut p5);
    p5.now = p5.now + TIMING.failure * 2;
    p5.take(Input::Stalled { time: TIMING.failure * 2 });
    p5.take(Input::JobEnded);
    (1..5).for_each(|other| drop(p5.meets(other)));
    let end = p5.now + TIMING.failure * 4;
    while p5.now < end {
        p5.after(TIMING.message);
        p5.stores();
        (1..5).for_each(|other| drop(p5.hears(other, Message::Alive { number: 0 })));
        assert_ne!(p5.core.phase(), Phase::Leading, "P4 may lead");
    }
}

#[test]
fn with_a_majority_a_drained_voter_votes_on() {
    let quorum = Quorum::Majority;
    let mut p3 = Process::with(Settings { quorum, ..settings(AlgorithmKind::Bully, 3) }).0;
    drain(&mut p3);
    p3.stores();
    assert!(!p3.core.is_eligible());
    assert_eq!(p3.restarts().core.drain().map(|drain| &*drain.reason), Some("new disk"));
}

/// The leader of epoch 1 hands over to P4, and is not eligible itself.
fn release() -> Message {
    Message::Release { epoch: Epoch(1), successor: Some(id(4)), eligible: false }
}

/// P4 says that it does not succeed the leader of epoch 1.
fn decline() -> Message {
    Message::Release { epoch: Epoch(1), successor: None, eligible: false }
}

/// A member that follows P5.
fn follower(algorithm: AlgorithmKind, number: u8, health: Option<Alone>) -> Process {
    let mut follower = Process::with(Settings { health, ..settings(algorithm, number) }).0;
    if health.is_some() {
        follower.take(Input::Checked { healthy: true });
    }
    let leads = comes_to_lead(algorithm, 1, rank(5));
    leads.into_iter().for_each(|message| drop(follower.hears(5, message)));
    follower.stores();
    assert_eq!(follower.leader(), Some(id(5)), "{algorithm:?}");
    follower
}

/// Rule H10.
#[test]
fn a_successor_that_became_unfit_declines_at_once() {
    for algorithm in AlgorithmKind::ALL {
        let mut p4 = follower(algorithm, 4, Some(Alone::Lead));
        p4.take(Input::Checked { healthy: false });
        let mut told: Vec<u8> = p4
            .hears(5, release())
            .into_iter()
            .filter(|sent| sent.1 == decline())
            .flat_map(|sent| sent.0)
            .collect();
        told.sort_unstable();
        assert_eq!(told, [1, 2, 3, 5], "{algorithm:?}");
    }
}

/// Rule H10.
#[test]
fn nobody_waits_for_a_successor_that_declines() {
    for algorithm in AlgorithmKind::ALL {
        let mut after = follower(algorithm, 3, None);
        after.hears(5, release());
        assert_eq!(after.core.phase(), Phase::Waiting, "{algorithm:?}");
        after.hears(4, decline());
        assert_ne!(after.core.phase(), Phase::Waiting, "{algorithm:?}");

        let mut before = follower(algorithm, 3, None);
        before.hears(4, decline());
        assert_eq!(before.leader(), Some(id(5)), "{algorithm:?}: its leader did not say so");
        before.hears(5, release());
        assert_ne!(before.core.phase(), Phase::Waiting, "{algorithm:?}");
    }
}

/// Rule H10.
#[test]
fn a_leader_whose_successor_declines_does_not_wait_for_it() {
    let mut p5 = leader(Some(Alone::Lead));
    p5.take(Input::Checked { healthy: false });
    assert_eq!(p5.core.phase(), Phase::Waiting);
    let asked = p5.hears(4, decline());
    let asks =
        |sent: &(Vec<u8>, Message)| matches!(sent.1, Message::Election { eligible: false, .. });
    assert!(asked.iter().any(asks), "{asked:?}");
}

/// A member of this algorithm whose check has not passed yet.
fn unfit(algorithm: AlgorithmKind) -> Process {
    Process::with(Settings { health: Some(Alone::Lead), ..settings(algorithm, 4) }).0
}

/// Rule A4.
#[test]
fn the_first_that_becomes_fit_where_nobody_was_calls_an_election_at_once() {
    for algorithm in AlgorithmKind::ALL {
        let mut p4 = unfit(algorithm);
        let _ = [1, 2, 3, 5].map(|other| p4.loses(other));
        p4.calls();
        assert_eq!(p4.core.phase(), Phase::Waiting, "{algorithm:?}");
        p4.take(Input::Checked { healthy: false });
        assert_eq!(p4.core.phase(), Phase::Waiting, "{algorithm:?}");
        p4.take(Input::Checked { healthy: true });
        p4.stores();
        assert_eq!(p4.core.phase(), Phase::Leading, "{algorithm:?}");
    }
}

#[test]
fn a_member_that_becomes_fit_does_not_disturb_an_election_that_may_find_another() {
    let mut p4 = unfit(AlgorithmKind::Bully);
    p4.hears(5, coordinator(1, 5));
    p4.stores();
    let release = Message::Release { epoch: Epoch(1), successor: Some(id(3)), eligible: false };
    p4.hears(5, release);
    assert!(p4.take(Input::Checked { healthy: true }).is_empty());
    assert_eq!(p4.core.phase(), Phase::Waiting, "for P3");
}

#[test]
fn in_the_ring_a_member_that_becomes_fit_calls_a_greater_run_than_one_without_a_candidate() {
    let mut p4 = unfit(AlgorithmKind::Ring);
    let ballot = |sent: Vec<(Vec<u8>, Message)>| match &sent[..] {
        [(to, Message::Ballot(ballot)), ..] if *to == [5] => *ballot,
        other => panic!("{other:?}"),
    };
    let nobodys = ballot(p4.calls());
    let own = ballot(p4.take(Input::Checked { healthy: true }));
    assert!(!nobodys.candidate.eligible && own.candidate.eligible && own.run > nobodys.run);
}
