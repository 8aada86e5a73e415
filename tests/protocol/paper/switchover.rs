//! A switchover: the leader hands over to the member that an operator chose, whatever its rank, and nobody preempts that.

use electd_election::core::message::{Done, Forwarded, Heartbeat, Message, Refusal};
use electd_election::core::settings::{AlgorithmKind, Preempt, Settings};
use electd_election::core::types::{CommandId, Epoch, Incarnation, Rank};
use electd_election::core::{Input, OperatorCommand, Output, Phase};

use super::process::{
    Process, Sent, TIMING, answer, comes_to_lead, coordinator, heartbeat_of, id, rank, releases,
    settings,
};

/// P5, which leads all others.
fn p5_leads() -> Process {
    let mut p5 = Process::new(AlgorithmKind::Bully, 5);
    p5.calls();
    p5.stores();
    assert_eq!(p5.core.phase(), Phase::Leading);
    p5
}

/// A member that follows another of this rank.
fn follows(algorithm: AlgorithmKind, own: u8, leader: u8, value: i64) -> Process {
    let mut process = Process::new(algorithm, own);
    let leads = comes_to_lead(algorithm, 1, Rank { value, ..rank(leader) });
    leads.into_iter().for_each(|message| drop(process.hears(leader, message)));
    assert_eq!(process.leader(), Some(id(leader)));
    process
}

/// P2, which follows P5 and is chosen.
fn p2_is_chosen(algorithm: AlgorithmKind) -> Process {
    let mut p2 = follows(algorithm, 2, 5, 0);
    let sent = p2.hears(5, heartbeat(1, 5, Some(2)));
    assert_eq!(acknowledged(&sent), [i64::MAX], "it takes over: it shows the greatest rank");
    p2
}

/// P2, which leads by a switchover.
fn p2_leads(preempt: Preempt) -> Process {
    let mut p2 = Process::with(Settings { preempt, ..settings(AlgorithmKind::Bully, 2) }).0;
    p2.hears(5, heartbeat(1, 5, Some(2)));
    p2.hears(5, released_to(2));
    [1, 3, 4, 5].into_iter().for_each(|other| drop(p2.hears(other, lower(&p2))));
    p2.stores();
    assert_eq!(p2.core.phase(), Phase::Leading);
    p2
}

/// That a member ranks lower, as the reply to P2's ELECTION.
fn lower(_: &Process) -> Message {
    Message::Lower { round: Epoch(2) }
}

fn released_to(successor: u8) -> Message {
    Message::Release { epoch: Epoch(1), successor: Some(id(successor)), eligible: true }
}

fn order(process: &mut Process, command: OperatorCommand) -> Vec<Output> {
    process.outputs(Input::Command { id: CommandId(7), command })
}

fn switch_over(process: &mut Process, to: u8) -> Option<Result<Done, Refusal>> {
    answer(&order(process, Forwarded::Switchover { to: id(to) }.into()))
}

fn heartbeat(epoch: u64, from: u8, chosen: Option<u8>) -> Message {
    Message::Heartbeat(Heartbeat { chosen: chosen.map(id), ..heartbeat_of(from, epoch, 1) })
}

/// That a member of this rank heard the leader's heartbeat.
fn acknowledges(leader: &Process, value: i64, eligible: bool) -> Message {
    Message::Acknowledge {
        incarnation: Incarnation(1),
        epoch: leader.core.view().epoch,
        number: 1,
        rank: Rank { value, ..rank(2) },
        eligible,
        pause: None,
    }
}

/// The ranks that were shown in acknowledgements.
fn acknowledged(sent: &Sent) -> Vec<i64> {
    let ranks = sent.iter().filter_map(|(_, message)| match message {
        Message::Acknowledge { rank, .. } => Some(rank.value),
        _ => None,
    });
    ranks.collect()
}

/// The members named in heartbeats.
fn named(sent: &Sent) -> Vec<Option<electd_election::core::types::NodeId>> {
    let names = sent.iter().filter_map(|(_, message)| match message {
        Message::Heartbeat(Heartbeat { chosen, .. }) => Some(*chosen),
        _ => None,
    });
    names.collect()
}

/// Rule H5.
#[test]
fn a_leader_names_the_chosen_member_and_hands_over_when_that_takes_over() {
    let mut p5 = p5_leads();
    assert_eq!(switch_over(&mut p5, 2), None, "P2 has to say so first");
    assert_eq!(named(&p5.after(TIMING.heartbeat)), [Some(id(2))]);
    assert!(!releases(&p5.hears(2, acknowledges(&p5, 0, true))), "it has not taken over yet");
    let epoch = p5.core.view().epoch;
    let message = acknowledges(&p5, i64::MAX, true);
    let sent = p5.hears(2, message);
    let release = Message::Release { epoch, successor: Some(id(2)), eligible: true };
    assert!(sent.contains(&(vec![1, 2, 3, 4], release)), "it may lead again: {sent:?}");
    assert_ne!(p5.core.phase(), Phase::Leading);
}

#[test]
fn the_operator_is_answered_when_the_chosen_member_takes_over() {
    let mut p5 = p5_leads();
    switch_over(&mut p5, 2);
    let epoch = p5.core.view().epoch;
    let (connection, from) = (super::process::connection(2), id(2));
    let message = acknowledges(&p5, i64::MAX, true);
    let envelope = electd_election::core::message::Envelope {
        epoch: Epoch(0),
        incarnation: Incarnation(1),
        message,
    };
    let outputs = p5.outputs(Input::Message { connection, from, envelope });
    let done = Done::Resigned { epoch, successor: Some(id(2)) };
    assert_eq!(answer(&outputs), Some(Ok(done)));
}

#[test]
fn a_leader_ends_its_job_before_it_hands_over_to_the_chosen_member() {
    let mut p5 = p5_leads();
    p5.take(Input::JobStarted { stops_within: TIMING.failure });
    switch_over(&mut p5, 2);
    let message = acknowledges(&p5, i64::MAX, true);
    assert!(!releases(&p5.hears(2, message)));
    assert_eq!(named(&p5.after(TIMING.heartbeat)), [Some(id(2))], "P2 waits for that");
    assert!(releases(&p5.take(Input::JobEnded)));
}

#[test]
fn a_chosen_member_that_is_gone_when_the_job_has_ended_leaves_the_leader_where_it_is() {
    let mut p5 = p5_leads();
    p5.take(Input::JobStarted { stops_within: TIMING.failure });
    switch_over(&mut p5, 2);
    let message = acknowledges(&p5, i64::MAX, true);
    p5.hears(2, message);
    p5.loses(2);
    assert!(!releases(&p5.take(Input::JobEnded)));
    assert_eq!(p5.core.phase(), Phase::Leading);
    assert_eq!(named(&p5.after(TIMING.heartbeat)), [None]);
}

#[test]
fn a_switchover_that_cannot_be_is_refused_at_once() {
    let mut p5 = p5_leads();
    assert_eq!(switch_over(&mut p5, 5), Some(Ok(Done::Leads(id(5)))));
    assert_eq!(switch_over(&mut p5, 9), Some(Err(Refusal::NotMember(id(9)))));
    p5.loses(1);
    assert_eq!(switch_over(&mut p5, 1), Some(Err(Refusal::CannotLead(id(1)))), "it is dead");
    p5.hears(2, acknowledges(&p5, 0, false));
    assert_eq!(switch_over(&mut p5, 2), Some(Err(Refusal::CannotLead(id(2)))), "it is drained");
    assert_eq!(switch_over(&mut p5, 3), None);
    assert_eq!(switch_over(&mut p5, 4), Some(Err(Refusal::Switching(id(3)))), "one at a time");
    let mut p2 = Process::new(AlgorithmKind::Bully, 2);
    assert_eq!(switch_over(&mut p2, 3), Some(Err(Refusal::NoLeader)));
}

/// The answer of P5 once it sees, at a heartbeat round, that P2 does not take over.
fn given_up(p5: &mut Process) -> Option<Result<Done, Refusal>> {
    p5.now = p5.now + TIMING.heartbeat;
    answer(&p5.outputs(Input::Tick))
}

#[test]
fn a_leader_gives_up_on_a_chosen_member_that_does_not_take_over_or_is_gone() {
    let mut p5 = p5_leads();
    switch_over(&mut p5, 2);
    let refusals: Vec<_> = (0..6)
        .filter_map(|_| {
            [1, 2, 3, 4]
                .into_iter()
                .for_each(|other| drop(p5.hears(other, Message::Alive { number: 0 })));
            given_up(&mut p5)
        })
        .collect();
    assert_eq!(refusals, [Err(Refusal::NotTaken(id(2)))]);
    assert_eq!(p5.core.phase(), Phase::Leading);

    let mut p5 = p5_leads();
    switch_over(&mut p5, 2);
    p5.loses(2);
    assert_eq!(given_up(&mut p5), Some(Err(Refusal::CannotLead(id(2)))));
}

#[test]
fn a_leader_that_stops_leading_otherwise_answers_that_it_handed_over() {
    let mut p5 = p5_leads();
    switch_over(&mut p5, 2);
    let resigned = p5.outputs(Input::Command {
        id: CommandId(8),
        command: Forwarded::Resign { to: None }.into(),
    });
    let refused = Output::Answer { id: CommandId(7), result: Err(Refusal::HandedOver) };
    assert!(resigned.contains(&refused), "{resigned:?}");
}

/// Rule H5.
#[test]
fn the_chosen_member_waits_for_the_release_and_then_wins_whatever_its_rank() {
    for algorithm in AlgorithmKind::ALL {
        let mut p2 = p2_is_chosen(algorithm);
        let sent = p2.hears(5, heartbeat(1, 5, Some(2)));
        let asks = |(_, message): &(_, Message)| matches!(message, Message::Preempt { .. });
        assert!(!sent.iter().any(asks), "{algorithm:?}: the leader hands over by itself");
        let sent = p2.hears(5, released_to(2));
        let greatest = |(_, message): &(_, Message)| match message {
            Message::Election { rank, .. } | Message::AreYouThere { rank, .. } => {
                rank.value == i64::MAX
            }
            Message::Halt { rank, .. } => rank.value == i64::MAX,
            Message::Ballot(ballot) => ballot.candidate.rank.value == i64::MAX,
            _ => false,
        };
        let sent: Sent = sent.into_iter().chain(p2.stores()).collect();
        assert!(sent.iter().any(greatest), "{algorithm:?} {sent:?}");
    }
}

/// A higher member that has not heard of the choice yet might win in the same epoch. (A3)
#[test]
fn with_the_bully_algorithm_the_chosen_member_asks_all_others() {
    let mut p2 = p2_is_chosen(AlgorithmKind::Bully);
    let sent = p2.hears(5, released_to(2));
    let asked = sent.iter().find(|(_, message)| matches!(message, Message::Election { .. }));
    assert_eq!(asked.map(|(to, _)| to.clone()), Some(vec![1, 3, 4, 5]));
}

/// Rule H6.
#[test]
fn a_member_that_leads_by_a_switchover_is_not_preempted_until_that_is_cleared() {
    let mut p2 = p2_leads(Preempt::Always);
    let epoch = p2.core.view().epoch;
    let preempt = || Message::Preempt { epoch, rank: rank(5), votes: Vec::new() };
    assert!(!releases(&p2.hears(5, preempt())));
    assert_eq!(named(&p2.after(TIMING.heartbeat)), [Some(id(2))], "all know why");
    let cleared = answer(&order(&mut p2, Forwarded::EndSwitchover.into()));
    assert_eq!(cleared, Some(Ok(Done::SwitchoverEnded)));
    let sent = p2.after(TIMING.heartbeat);
    let release = Message::Release { epoch, successor: Some(id(5)), eligible: true };
    assert!(sent.contains(&(vec![1, 3, 4, 5], release)), "the best takes over: {sent:?}");
}

/// It has not heard that the leader gave up on it, and still shows the greatest rank. (H6)
#[test]
fn a_member_that_was_chosen_and_did_not_lead_does_not_preempt_the_one_that_leads_by_a_switchover() {
    let mut p2 = p2_leads(Preempt::Always);
    let epoch = p2.core.view().epoch;
    let rank = Rank { value: i64::MAX, ..rank(5) };
    let preempt = || Message::Preempt { epoch, rank, votes: Vec::new() };
    let sent = p2.hears(5, preempt());
    assert!(!releases(&sent));
    assert!(sent.iter().any(|(_, message)| matches!(message, Message::View(_))), "{sent:?}");
    switch_over(&mut p2, 5);
    assert!(releases(&p2.hears(5, preempt())), "now it is chosen again");
}

#[test]
fn where_nobody_preempts_a_leader_whose_switchover_is_cleared_leads_on() {
    let mut p2 = p2_leads(Preempt::Never);
    order(&mut p2, Forwarded::EndSwitchover.into());
    assert!(!releases(&p2.after(TIMING.heartbeat)));
    assert_eq!(p2.core.phase(), Phase::Leading);
}

#[test]
fn a_higher_member_follows_a_leader_that_was_chosen() {
    for algorithm in AlgorithmKind::ALL {
        let mut p5 = follows(algorithm, 5, 2, i64::MAX);
        let beat = |mut message: Message| {
            if let Message::Heartbeat(Heartbeat { rank, .. }) = &mut message {
                rank.value = i64::MAX;
            }
            message
        };
        let sent = p5.hears(2, beat(heartbeat(1, 2, Some(2))));
        let asks = |(_, message): &(_, Message)| matches!(message, Message::Preempt { .. });
        assert!(!sent.iter().any(asks), "{algorithm:?} {sent:?}");
        assert_eq!((p5.leader(), p5.core.chosen()), (Some(id(2)), Some(id(2))), "{algorithm:?}");
    }
}

/// Rule H5.
#[test]
fn the_choice_ends_when_the_leader_names_the_member_no_more_or_another_leads() {
    for message in [heartbeat(1, 5, None), heartbeat(1, 5, Some(3)), heartbeat(2, 4, None)] {
        let mut p2 = p2_is_chosen(AlgorithmKind::Bully);
        let from = if message == heartbeat(2, 4, None) { 4 } else { 5 };
        let sent = p2.hears(from, message);
        assert_eq!(acknowledged(&sent), [0]);
        assert!(!p2.core.is_chosen());
    }
    let mut again = p2_is_chosen(AlgorithmKind::Bully);
    again.stores();
    assert!(!again.restarts().core.is_chosen(), "nor does it outlive a restart");
}

/// The round and the rank of what calls an election.
fn called(sent: &Sent) -> Option<(Epoch, i64)> {
    sent.iter().find_map(|(_, message)| match message {
        Message::Election { round, rank, .. } => Some((*round, rank.value)),
        _ => None,
    })
}

/// Rule H5.
#[test]
fn a_chosen_member_whose_leader_dies_calls_by_the_choice_and_after_a_while_by_its_own_rank() {
    let mut p2 = p2_is_chosen(AlgorithmKind::Bully);
    let chosen = p2.now;
    let mut calls = Vec::new();
    let mut sent = p2.loses(5);
    while p2.now < chosen + TIMING.failure * 8 {
        if let Some((round, value)) = called(&sent) {
            calls.push((p2.now < chosen + TIMING.failure * 4, value));
            p2.hears(4, Message::Answer { round }); // and never comes to lead
        }
        [1, 3, 4].into_iter().for_each(|other| drop(p2.hears(other, Message::Alive { number: 0 })));
        sent = p2.after(TIMING.message);
    }
    assert!(calls.contains(&(true, i64::MAX)) && calls.contains(&(false, 0)), "{calls:?}");
    assert!(calls.iter().all(|(soon, value)| *soon == (*value == i64::MAX)), "{calls:?}");
}

#[test]
fn a_drained_member_is_not_chosen() {
    let mut p2 = Process::new(AlgorithmKind::Bully, 2);
    p2.hears(5, coordinator(1, 5));
    order(&mut p2, OperatorCommand::Drain(Default::default()));
    let sent = p2.hears(5, heartbeat(1, 5, Some(2)));
    assert_eq!(acknowledged(&sent), [0]);
    assert!(!p2.core.is_chosen());
}

#[test]
fn a_follower_that_is_asked_passes_the_order_on() {
    let mut p2 = Process::new(AlgorithmKind::Bully, 2);
    p2.hears(5, coordinator(1, 5));
    let passed_on = |outputs: Vec<Output>| {
        outputs.iter().any(|output| match output {
            Output::Send { envelope, .. } => matches!(envelope.message, Message::Forward { .. }),
            _ => false,
        })
    };
    assert!(passed_on(order(&mut p2, Forwarded::Switchover { to: id(3) }.into())));
    let nothing = order(&mut p2, Forwarded::EndSwitchover.into());
    assert_eq!(answer(&nothing), Some(Ok(Done::SwitchoverEnded)), "P5 knows of no switchover");
    p2.hears(5, heartbeat(1, 5, Some(3)));
    assert!(passed_on(order(&mut p2, Forwarded::EndSwitchover.into())));
}

/// P2 leads by a switchover, and its first heartbeat has not come yet.
#[test]
fn a_member_that_does_not_know_yet_of_a_switchover_does_not_say_that_it_is_cleared() {
    for algorithm in AlgorithmKind::ALL {
        let mut p3 = Process::new(algorithm, 3);
        let leads = comes_to_lead(algorithm, 1, Rank { value: i64::MAX, ..rank(2) });
        leads.into_iter().for_each(|message| drop(p3.hears(2, message)));
        assert_eq!(p3.leader(), Some(id(2)));
        let said = answer(&order(&mut p3, Forwarded::EndSwitchover.into()));
        assert_eq!(said, None, "{algorithm:?}: P2 has not been asked");
    }
}
