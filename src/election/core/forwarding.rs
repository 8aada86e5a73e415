//! Carrying out commands of operators, here or at the leader.

use super::answers::{self, Carried};
use super::command::OperatorCommand;
use super::context::Context;
use super::course::PendingSwitchover;
use super::durable::Deferred;
use super::heartbeat;
use super::leadership::{becoming, call, handover, release};
use super::membership::change;
use super::membership::known::CommandAsker;
use super::message::{Done, Forwarded, Message, Refusal};
use super::pause;
use super::phase::{Phase, Reason};
use super::ranking;
use super::state::State;
use super::switchover;
use super::timer::Timer;
use super::turn::Turn;
use super::types::{CommandId, NodeId, Pause, Task, Version};

/// Carries a command out, or passes it on.
pub fn command(turn: &mut Turn<'_>, id: CommandId, command: OperatorCommand) {
    let stopping = turn.cx.state.phase() == Phase::Stopping;
    let carried = match command {
        OperatorCommand::Stop if handover::stop(turn, vec![id]) => {
            return answers::answer(&mut turn.cx, id, Ok(Done::Stopped));
        }
        OperatorCommand::Stop => return, // it is answered once the job has ended
        _ if stopping => Err(Refusal::Stopping),
        OperatorCommand::Elect => {
            elect(turn);
            return answers::answer(&mut turn.cx, id, Ok(Done::Called));
        }
        OperatorCommand::HandOut { task } => hand_out(turn, task),
        OperatorCommand::Drain(drain) => ranking::drain(turn, drain),
        OperatorCommand::Undrain => ranking::undrain(turn),
        OperatorCommand::EndPause { version } if !may_resume(turn.cx.state, version) => {
            Err(Refusal::NotLeader)
        }
        OperatorCommand::EndPause { .. } => return order(turn, id, Forwarded::Resume),
        OperatorCommand::ForLeader(command) => return order(turn, id, command),
    };
    answers::answer_once_durable(&mut turn.cx, id, carried);
}

/// Calls an election, unless one is in progress. A live lower leader has to hand over first.
fn elect(turn: &mut Turn<'_>) {
    if let Some(leader) = turn.cx.state.lower_leader() {
        handover::take_over(&mut turn.cx, leader.id, Reason::TakingOver(leader.id));
    } else if !turn.cx.state.elects() {
        becoming::give_up(turn.cx.state, None);
        call::call(turn, Reason::Asked);
    }
}

/// Takes a task, if this member is the coordinator.
fn hand_out(turn: &mut Turn<'_>, task: Task) -> Carried {
    let state = &mut turn.cx.state;
    if !state.settings.algorithm.hands_out_tasks() {
        Err(Refusal::NoTask)
    } else if task.content.len() > Task::LONGEST {
        Err(Refusal::TaskTooLong(task.content.len()))
    } else if !state.leads() {
        Err(Refusal::NotCoordinator(state.leader().map(|leader| leader.id)))
    } else if !state.records.have_room() {
        Err(Refusal::TooMany)
    } else {
        let version = state.records.task().version.next(state.view().epoch);
        state.records.hold(Task { version, ..task });
        let record = turn.cx.persist();
        turn.algorithm.hand_out(&mut turn.cx);
        Ok((record, Done::TaskTaken))
    }
}

/// Passes a command on to the leader, if one is known. It may be this member.
fn order(turn: &mut Turn<'_>, id: CommandId, command: Forwarded) {
    let own = turn.cx.state.id();
    let leader = turn.cx.state.leader().map(|leader| leader.id);
    let leads = leader == Some(own);
    let result = match (leader, command) {
        (_, Forwarded::EndSwitchover) if switchover::follows_unchosen(turn.cx.state) => {
            Ok(Done::SwitchoverEnded)
        }
        (_, Forwarded::Drain(drain)) if ranking::is_drained_alone(turn.cx.state) => {
            let carried = ranking::drain(turn, drain);
            return answers::answer_once_durable(&mut turn.cx, id, carried);
        }
        (None, command @ Forwarded::Drain(_)) => return postpone(turn, id, command),
        (None, _) => Err(Refusal::NoLeader),
        (_, Forwarded::Resign { to }) if leads => handover::resign(turn, to),
        (_, command @ (Forwarded::Pause { .. } | Forwarded::Resume)) if leads => {
            let carried = carry_out_pause(turn, &command);
            return answers::answer_once_durable(&mut turn.cx, id, carried);
        }
        (Some(leader), command) => return forward(turn, id, leader, command),
    };
    answers::answer(&mut turn.cx, id, result);
}

fn forward(turn: &mut Turn<'_>, id: CommandId, leader: NodeId, command: Forwarded) {
    let due = turn.cx.now + turn.cx.state.settings.timing.failure * command.time_limit();
    let asked = turn.cx.state.view().epoch;
    if !turn.cx.state.outbox.commands.add(id, leader, command, asked, due) {
        return answers::answer(&mut turn.cx, id, Err(Refusal::TooMany));
    }
    arm_forward(turn.cx.state);
    forward_unsent(turn, leader);
}

/// Leaves a command to the next leader.
fn postpone(turn: &mut Turn<'_>, id: CommandId, command: Forwarded) {
    let due = turn.cx.now + turn.cx.state.settings.timing.failure * command.time_limit();
    if !turn.cx.state.outbox.commands.postpone(id, command, due) {
        return answers::answer(&mut turn.cx, id, Err(Refusal::TooMany));
    }
    arm_forward(turn.cx.state);
}

fn arm_forward(state: &mut State) {
    if let Some(next) = state.outbox.commands.next_due() {
        state.timers.arm(Timer::Forward, next);
    }
}

/// Sends a leader, once, the commands that wait for it, as soon as it can be reached.
pub fn forward_unsent(turn: &mut Turn<'_>, leader: NodeId) {
    let (own, epoch) = (turn.cx.state.id(), turn.cx.state.view().epoch);
    if leader != own && !turn.cx.state.detector.is_within_reach(leader) {
        return;
    }
    let unsent = turn.cx.state.outbox.commands.send(leader, epoch);
    for (number, command) in unsent {
        let message = Message::Forward { number, command: command.clone() };
        if leader == own {
            forwarded(turn, own, number, command);
        } else if turn.cx.is_understood(leader, &message) {
            turn.cx.send(leader, message);
        } else {
            answers::settle(&mut turn.cx, number, Err(Refusal::OldLeader(leader)));
        }
    }
}

/// At the end of a turn: sends the commands that an earlier leader left to the next one.
pub fn forward_postponed(turn: &mut Turn<'_>) {
    let Some(leader) = turn.cx.state.leader().map(|leader| leader.id) else { return };
    let epoch = turn.cx.state.view().epoch;
    if turn.cx.state.outbox.commands.leave_to(leader, epoch) {
        forward_unsent(turn, leader);
    }
}

/// Carries out a command that another member, or this one itself, passed on.
pub fn forwarded(turn: &mut Turn<'_>, from: NodeId, number: u64, command: Forwarded) {
    let asker = (from, number);
    match command {
        Forwarded::Resign { to } => {
            let result = handover::resign(turn, to);
            answers::tell_outcome(&mut turn.cx, asker, result);
        }
        Forwarded::Change(change) => change::change(turn, asker, change),
        Forwarded::Drain(_) => {
            let agreed = ranking::judge_drain(turn.cx.state, from).map(|()| Done::MayDrain);
            if agreed.is_ok() && from == turn.cx.state.id() {
                return drain_as_agreed(turn, from, number);
            }
            answers::tell_outcome(&mut turn.cx, asker, agreed);
        }
        Forwarded::Switchover { to } => switch_over(&mut turn.cx, asker, to),
        Forwarded::EndSwitchover => end_switchover(&mut turn.cx, asker),
        Forwarded::Pause { .. } | Forwarded::Resume => match carry_out_pause(turn, &command) {
            Ok((record, done)) => {
                let outcome = Message::Outcome { number, result: Ok(done) };
                turn.cx.state.records.defer(record, Deferred::Tell(from, outcome));
            }
            Err(refusal) => answers::tell_outcome(&mut turn.cx, asker, Err(refusal)),
        },
    }
}

/// Gives up on the commands that waited for too long.
pub fn forwards_expired(cx: &mut Context<'_>) {
    for (number, refusal) in cx.state.outbox.commands.expired(cx.now) {
        answers::give_up(cx, number, refusal);
    }
    arm_forward(cx.state);
}

/// The leader pauses the cluster or resumes it, and tells the others immediately.
pub fn carry_out_pause(turn: &mut Turn<'_>, command: &Forwarded) -> Carried {
    let state = &turn.cx.state;
    if !state.leads() {
        return Err(Refusal::NotLeader);
    }
    if !state.records.have_room() {
        return Err(Refusal::TooMany);
    }
    let (paused, since, until, done) = match *command {
        Forwarded::Pause { since, until } => (true, since, until, Done::Paused),
        _ => (false, 0, None, Done::Resumed),
    };
    let version = state.membership.pause().version.next(state.view().epoch);
    let record = pause::adopt_pause(&mut turn.cx, Pause { version, paused, since, until });
    let others = turn.cx.all_others();
    heartbeat::beat_to(&mut turn.cx, others);
    handover::hand_over_if_unfit(turn); // this leader may have waited for the end of the pause
    Ok((record, done))
}

/// Whether this member leads, and this pause is the present one: then it may end.
pub fn may_resume(state: &State, pause: Version) -> bool {
    state.leads() && state.membership.pause().version == pause
}

/// An operator chose a member to lead: this leader names it in its heartbeats, from now on until it takes over.
pub fn switch_over(cx: &mut Context<'_>, asked: CommandAsker, to: NodeId) {
    match switchover::check_switchover(cx.state, to) {
        Ok(()) if to != cx.state.id() => {
            let due = cx.now + cx.state.settings.timing.failure;
            let switchover = PendingSwitchover { to, asked, due, taken: false };
            cx.state.course.set_switchover(Some(switchover));
            heartbeat::beat_to(cx, cx.all_others());
        }
        result => answers::tell_outcome(cx, asked, result.map(|()| Done::Leads(to))),
    }
}

/// An operator clears a switchover: nobody takes over because of it any more, and a leader that leads because of
/// it is preempted like any other.
pub fn end_switchover(cx: &mut Context<'_>, asked: CommandAsker) {
    if !cx.state.leads() {
        return answers::tell_outcome(cx, asked, Err(Refusal::NotLeader));
    }
    answers::tell_outcome(cx, asked, Ok(Done::SwitchoverEnded));
    if let Some(under_way) = cx.state.course.switchover() {
        release::drop_switchover(cx, Refusal::NotTaken(under_way.to));
    }
    cx.state.eligibility.clear(); // the next heartbeat round finds who is to lead
}

/// A member says how a command ended. Only the leader that was sent the command can know that.
pub fn hear_outcome(turn: &mut Turn<'_>, from: NodeId, number: u64, result: Result<Done, Refusal>) {
    if !turn.cx.state.outbox.commands.may_end(number, from, &result) {
        return;
    }
    if matches!(result, Ok(Done::Resigned { .. }) | Err(Refusal::HandedOver)) {
        turn.cx.state.course.set_leads_on(false); // its next heartbeat says so, too
    }
    match result {
        Ok(Done::MayDrain) => drain_as_agreed(turn, from, number),
        result => answers::settle(&mut turn.cx, number, result),
    }
}

/// The leader, which may be this member, agrees that this member is drained: that counts only while this member names it
/// in that epoch, as the next leader need not know of it. (A6)
fn drain_as_agreed(turn: &mut Turn<'_>, by: NodeId, number: u64) {
    let state = &mut turn.cx.state;
    let epoch = state.view().epoch;
    let names = state.follows(by) || state.leads() && state.id() == by;
    if !names || !state.outbox.commands.was_asked_in(number, epoch) {
        return answers::settle(&mut turn.cx, number, Err(Refusal::NotLeader)); // the next leader is asked
    }
    if let Some((id, drain)) = state.outbox.commands.take_drain(number) {
        let carried = ranking::drain(turn, drain);
        answers::answer_once_durable(&mut turn.cx, id, carried);
    }
}
