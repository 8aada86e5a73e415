//! The leader judges each drain, so that the last member that may lead is not drained.

use electd_election::core::message::{Done, Forwarded, Message, Refusal};
use electd_election::core::settings::AlgorithmKind;
use electd_election::core::types::{CommandId, Drain, Epoch, Incarnation};
use electd_election::core::{Input, Output, Phase};

use super::process::{
    FIRST_COMMAND, Process, Sent, TIMING, answer, coordinator, id, rank, releases,
};

/// P5, which leads P4; the others are gone.
fn p5_leads_p4() -> Process {
    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    (1..4).for_each(|gone| _ = p5.loses(gone));
    p5.calls();
    p5.after(TIMING.t1());
    p5.stores();
    assert_eq!(p5.core.phase(), Phase::Leading);
    p5
}

/// P4 acknowledges this heartbeat of P5, and says that it is eligible.
fn acknowledges(p5: &mut Process, number: u64) -> Sent {
    p5.hears(
        4,
        Message::Acknowledge {
            incarnation: Incarnation(1),
            epoch: p5.core.view().epoch,
            number,
            rank: rank(4),
            eligible: true,
            pause: None,
        },
    )
}

/// An operator asks a member for its drain.
fn drain(process: &mut Process) -> Vec<Output> {
    let command = Forwarded::Drain(Drain::default()).into();
    process.outputs(Input::Command { id: CommandId(7), command })
}

fn forward() -> Message {
    Message::Forward { number: 9, command: Forwarded::Drain(Drain::default()) }
}

fn outcome(result: Result<Done, Refusal>) -> (Vec<u8>, Message) {
    (vec![4], Message::Outcome { number: 9, result })
}

/// P4, which follows P5 in epoch 1 and has asked it for its drain.
fn p4_asks() -> Process {
    let mut p4 = Process::new(AlgorithmKind::Bully, 4);
    p4.hears(5, coordinator(1, 5));
    assert_eq!((answer(&drain(&mut p4)), p4.core.drain()), (None, None));
    p4
}

fn agrees() -> Message {
    Message::Outcome { number: FIRST_COMMAND, result: Ok(Done::MayDrain) }
}

/// Rule A6.
#[test]
fn a_leader_that_agreed_to_a_drain_counts_on_that_member_no_more_until_it_has_spoken_since() {
    let mut p5 = p5_leads_p4();
    acknowledges(&mut p5, 1);
    assert_eq!(p5.hears(4, forward()), [outcome(Ok(Done::MayDrain))], "P5 is left");
    acknowledges(&mut p5, 1); // it left before the answer came
    assert_eq!(answer(&drain(&mut p5)), Some(Err(Refusal::LastEligible)));
    p5.after(TIMING.heartbeat * 2);
    acknowledges(&mut p5, 3); // the answer was lost, or P4 is undrained by now
    assert!(releases(&sent(drain(&mut p5))));
}

fn sent(outputs: Vec<Output>) -> Sent {
    let message = |output| match output {
        Output::Send { envelope, .. } => Some((Vec::new(), envelope.message)),
        _ => None,
    };
    outputs.into_iter().filter_map(message).collect()
}

/// Rule A6.
#[test]
fn a_leader_counts_only_on_members_that_acknowledged_its_leadership() {
    let mut p5 = p5_leads_p4();
    assert_eq!(answer(&drain(&mut p5)), None, "P4 may be drained with the last leader's consent");
    assert!(p5.core.drain().is_none());
    assert!(releases(&acknowledges(&mut p5, 1)), "now it can say so");
    assert!(p5.core.drain().is_some());
}

/// Rule A6.
#[test]
fn a_leader_that_is_drained_or_about_to_end_is_not_the_one_that_is_left() {
    use electd_election::core::OperatorCommand;
    let mut p5 = p5_leads_p4();
    p5.take(Input::Command { id: CommandId(8), command: OperatorCommand::Drain(Drain::default()) });
    assert_eq!(p5.core.phase(), Phase::Waiting, "P4 succeeds it");

    let mut p5 = p5_leads_p4();
    p5.take(Input::JobStarted { stops_within: TIMING.failure });
    acknowledges(&mut p5, 1);
    p5.take(Input::Command { id: CommandId(8), command: OperatorCommand::Stop });
    assert_eq!(p5.core.phase(), Phase::Leading, "its job has to end first");
    assert_eq!(p5.hears(4, forward()), [outcome(Err(Refusal::LastEligible))]);
}

/// Rule A6.
#[test]
fn a_member_is_drained_with_the_consent_of_the_leader_that_it_follows() {
    let mut p4 = p4_asks();
    let envelope = p4.hears(5, agrees());
    assert_eq!(envelope, []);
    assert!(p4.core.drain().is_some() && !p4.core.is_eligible());
}

/// Rule A6.
#[test]
fn the_consent_of_an_earlier_leader_does_not_count_and_the_next_one_is_asked() {
    let mut p4 = p4_asks();
    p4.hears(3, election(2));
    let asked = p4.hears(5, coordinator(3, 5));
    let forwarded = |sent: &Sent| {
        sent.iter().any(|(to, message)| *to == [5] && matches!(message, Message::Forward { .. }))
    };
    assert!(forwarded(&asked), "{asked:?}");
    assert!(p4.core.drain().is_none());
    p4.hears(5, agrees());
    assert!(p4.core.drain().is_some());
}

fn election(round: u64) -> Message {
    Message::Election { round: Epoch(round), rank: rank(3), eligible: true }
}

/// Rule A6.
#[test]
fn without_a_leader_a_drain_waits_for_one_and_is_refused_after_a_while() {
    let mut p4 = Process::new(AlgorithmKind::Bully, 4);
    assert_eq!(answer(&drain(&mut p4)), None);
    p4.now = p4.now + TIMING.failure * 3;
    let refused = p4.outputs(Input::Tick);
    assert_eq!(answer(&refused), Some(Err(Refusal::Undecided)));

    assert_eq!(answer(&drain(&mut p4)), None);
    let asked = p4.hears(5, coordinator(1, 5));
    assert!(asked.iter().any(|(_, message)| matches!(message, Message::Forward { .. })));
}

/// A follower knows by the heartbeats whether a leadership is about to end. Here P5 is asked to switch over to P4, which
/// dies before the job of P5 has ended.
#[test]
fn a_leader_whose_chosen_successor_dies_says_with_its_next_heartbeat_that_it_leads_on() {
    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    p5.calls();
    p5.after(TIMING.t1());
    p5.stores();
    p5.take(Input::JobStarted { stops_within: TIMING.failure * 100 });
    let command = Forwarded::Switchover { to: id(4) }.into();
    p5.take(Input::Command { id: CommandId(7), command });
    assert!(p5.core.leads_on(), "P4 has yet to say that it takes over");
    p5.hears(
        4,
        Message::Acknowledge {
            incarnation: Incarnation(1),
            epoch: p5.core.view().epoch,
            number: 0,
            rank: electd_election::core::types::Rank { value: i64::MAX, id: id(4) },
            eligible: true,
            pause: None,
        },
    );
    assert!(!p5.core.leads_on(), "its job ends");
    p5.loses(4);
    let beats = p5.after(TIMING.heartbeat);
    assert!(p5.core.leads_on());
    let ending = beats.iter().find_map(|(_, message)| match message {
        Message::Heartbeat(beat) => Some(beat.ending),
        _ => None,
    });
    assert_eq!(ending, Some(false));
    p5.take(Input::JobEnded);
    assert_eq!(p5.core.phase(), Phase::Leading, "the switchover is over, too");
}
