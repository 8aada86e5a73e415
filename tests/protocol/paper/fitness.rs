//! Members that an operator drained, and members whose health check fails.

use std::time::Duration;

use electd::core::message::{Done, Refusal};
use electd::core::settings::{AlgorithmKind, Alone, Quorum, Settings};
use electd::core::types::{CommandId, Drain};
use electd::core::{Command, Input, Output, Phase};

use super::process::{Process, TIMING, answer, id, releases, settings};

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
    let command = Command::Drain(Drain { reason: "new disk".to_owned(), ..Drain::default() });
    process.outputs(Input::Command { id: CommandId(7), command })
}

#[test]
fn a_leader_that_is_drained_hands_over_at_once_and_says_so_when_that_is_durable() {
    let mut p5 = leader(None);
    let outputs = drain(&mut p5);
    assert_eq!(answer(&outputs), None, "not before it is durable");
    assert!(!p5.core.stands() && p5.core.phase() != Phase::Leading);
    let stored = outputs.iter().find_map(|output| match output {
        Output::Persist { number, record } => Some((*number, record.drain.clone())),
        _ => None,
    });
    let (number, drained) = stored.expect("it is stored");
    assert_eq!(drained.unwrap().reason, "new disk");
    let answered = p5.outputs(Input::Persisted { number: number + 9 });
    assert_eq!(answer(&answered), Some(Ok(Done::Drained { successor: Some(id(4)) })));
}

#[test]
fn a_drained_member_does_not_lead_after_a_restart_until_it_is_undrained() {
    let mut p5 = leader(None);
    drain(&mut p5);
    p5.stores();
    let mut again = p5.restarts();
    assert!(!again.core.stands());
    again.take(Input::Command { id: CommandId(8), command: Command::Undrain });
    assert!(again.core.stands());
}

#[test]
fn the_last_that_may_lead_is_not_drained() {
    let mut p5 = leader(None);
    (1..5).for_each(|other| _ = p5.loses(other));
    assert_eq!(answer(&drain(&mut p5)), Some(Err(Refusal::NoSuccessor)));
    assert!(p5.core.drain().is_none() && p5.core.phase() == Phase::Leading);
}

#[test]
fn a_member_whose_check_has_not_passed_yet_is_not_eligible() {
    let health = Some(Alone::Lead);
    let mut p5 = Process::with(Settings { health, ..settings(AlgorithmKind::Bully, 5) }).0;
    assert!(!p5.core.stands());
    p5.take(Input::Checked { healthy: true });
    assert!(p5.core.stands());
}

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

#[test]
fn a_leader_that_is_drained_waits_for_its_job() {
    let mut p5 = leader(None);
    p5.take(Input::JobStarted { stops_within: Duration::from_secs(1) });
    let ends = drain(&mut p5).iter().any(|output| matches!(output, Output::EndJob { .. }));
    assert!(ends && p5.core.phase() == Phase::Leading);
    assert!(releases(&p5.take(Input::JobEnded)));
}

#[test]
fn with_a_majority_a_drained_voter_votes_on() {
    let quorum = Quorum::Majority;
    let mut p3 = Process::with(Settings { quorum, ..settings(AlgorithmKind::Bully, 3) }).0;
    drain(&mut p3);
    p3.stores();
    assert!(!p3.core.stands());
    assert_eq!(p3.restarts().core.drain().map(|drain| &*drain.reason), Some("new disk"));
}
