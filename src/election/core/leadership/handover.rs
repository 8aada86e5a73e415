//! Handing over: how a follower asks a lower leader to hand over (`ending.rs` has the leader's answer), how a leader gives
//! up its epoch, and what the others do when they hear of that.

use crate::core::context::Context;
use crate::core::job::Ending;
use crate::core::leadership::{becoming, call, nomination, release, voting};
use crate::core::message::{Done, Message, Refusal, View};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::reach;
use crate::core::settings::{Alone, PowerOn, Preempt};
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{CommandId, Epoch, NodeId, Rank};

/// If members preempt only after a while: asks a lower leader to hand over, once this member has been eligible
/// for long enough. It keeps following until the leader hands over.
pub fn request_handover_if_due(cx: &mut Context<'_>) {
    let majority = cx.state.needs_majority();
    let due = match cx.state.preempt() {
        Preempt::After(after) => cx.state.eligibility.due(after),
        Preempt::Always => majority.then_some(cx.now),
        Preempt::Never => None,
    };
    // A member that is still discovering the others could not lead immediately.
    let due = due.is_some_and(|due| due <= cx.now) && !cx.state.is_discovering(cx.now);
    if due && cx.state.leader_to_preempt().is_some() {
        request_handover(cx);
    }
}

/// Asks a lower leader to hand over, and keeps following it; with a majority, once enough voters would vote for
/// this member.
pub fn request_handover(cx: &mut Context<'_>) {
    let Some(leader) = cx.state.lower_leader() else { return };
    if cx.state.needs_majority() {
        nomination::poll_for_takeover(cx);
    } else {
        let (epoch, rank, votes) = (cx.state.view().epoch, cx.state.rank(), Vec::new());
        cx.send(leader.id, Message::Preempt { epoch, rank, votes });
    }
}

/// Takes over from a live lower leader; without a majority, immediately.
pub fn take_over(cx: &mut Context<'_>, leader: NodeId, reason: Reason) {
    if cx.state.needs_majority() {
        request_handover(cx);
    } else if becoming::may_take_over(cx) {
        becoming::become_taking_over(cx, cx.state.view(), leader, reason);
    }
}

/// Hands over to a higher member, once the job of this leader has ended.
pub fn give_way(turn: &mut Turn<'_>, to: NodeId) {
    if !release::waits_for_job(&mut turn.cx, Ending::Preempted(to)) {
        hand_over(turn, Some(to), Reason::Preempted(to));
    }
}

/// Whether this leader hands over to a member that asks for that with these votes, and is chosen or not. (H6)
pub fn gives_way_to(cx: &Context<'_>, rank: Rank, votes: &[NodeId], chosen: bool) -> bool {
    let (state, id) = (&cx.state, rank.id);
    let stays = state.eligibility.is_chosen() && !Fault::ChoiceUnheeded.is_planted();
    // Voters whose `failure` is longer need not have seen that it comes and goes: the two would take turns.
    let passed_over = stays || state.comes_and_goes(id);
    // The operator that waits for the outcome of a change gets it first; the higher member asks again.
    let changes = state.membership.wanted().is_some();
    state.is_outranked_by(rank)
        && (chosen || !passed_over)
        && !state.is_paused()
        && !changes
        && eligible_for_long_enough(cx, id)
        && may_succeed(cx, id)
        && voting::is_majority(cx.state, votes)
}

/// Whether this member has halted others in this round, and hands out its task.
pub fn is_about_to_lead(turn: &Turn<'_>, epoch: Epoch) -> bool {
    let accepted = turn.algorithm.accepted(turn.cx.state);
    let own = turn.cx.state.id();
    accepted.is_some_and(|v| v.epoch == epoch && v.leader.is_some_and(|l| l.id == own))
}

/// Whether a member is reachable and did not fail to lead recently. (S3)
pub fn may_succeed(cx: &Context<'_>, id: NodeId) -> bool {
    let peer = cx.state.detector.get(id);
    peer.is_none_or(|peer| !peer.lines.is_unreachable() && !peer.did_not_succeed(cx.now))
}

/// Whether a member may preempt by now, if members preempt only after a while.
pub fn eligible_for_long_enough(cx: &Context<'_>, id: NodeId) -> bool {
    let Preempt::After(after) = cx.state.settings.preempt else { return true };
    let peer = cx.state.detector.get(id);
    let due = peer.and_then(|peer| peer.eligible_by(after));
    due.is_some_and(|due| due <= cx.now)
}

/// Sends a member the release of the greatest epoch known, if this member gave that up.
pub fn repeat_release(cx: &mut Context<'_>, to: NodeId) {
    if let Some((epoch, successor)) = release::gave_up(cx.state) {
        cx.send(to, release::release_message(cx.state, epoch, successor));
    }
}

/// Stops leading, tells all others, and awaits the successor. (H8)
pub fn hand_over(turn: &mut Turn<'_>, successor: Option<NodeId>, reason: Reason) {
    let epoch = turn.cx.state.view().epoch;
    release::drop_switchover(&mut turn.cx, Refusal::HandedOver);
    if matches!(reason, Reason::Preempted(_)) {
        turn.cx.freeze_rank(); // or it would overrule the member that exceeds its present rank
    }
    becoming::give_up(turn.cx.state, successor);
    match successor {
        Some(next) if !matches!(reason, Reason::Stopped | Reason::Removed) => {
            turn.algorithm.await_leader(&mut turn.cx, next, reason);
        }
        None if reason == Reason::Unhealthy => call::call(turn, reason), // it is not eligible, and waits
        _ => becoming::become_stopping(&mut turn.cx, reason), // a leader that is preempted or resigns has a successor
    }
    release::say_released(&mut turn.cx, epoch, successor);
}

pub fn released(
    turn: &mut Turn<'_>,
    from: NodeId,
    epoch: Epoch,
    next: Option<NodeId>,
    eligible: bool,
) {
    turn.cx.state.detector.change(from, |peer| peer.set_eligible(eligible));
    turn.cx.be_eligible_if_alone(); // this member may be the last that could lead
    turn.cx.state.voter.release(from, epoch);
    let View { epoch: known, leader } = turn.cx.state.view();
    let another = known == epoch && leader.is_some_and(|leader| leader.id != from);
    let designated = Some(epoch).filter(|_| next == Some(turn.cx.state.id()));
    turn.cx.state.candidacy.designate(designated);
    if let Some(view) = turn.cx.state.course.storing().filter(|view| view.epoch == epoch) {
        turn.cx.state.epochs.learn(view); // too late to follow its leader
    }
    if another && !eligible && next.is_none() {
        return declined(turn, from, epoch);
    }
    turn.cx.state.endings.hear(from, epoch, next);
    let state = &turn.cx.state;
    if epoch != state.view().epoch || !(state.is_bound_to(from) || state.follows(from)) {
        return;
    }
    let reason = Reason::LeaderReleased(from);
    turn.cx.state.course.leader_released();
    turn.cx.state.timers.cancel(Timer::Silence);
    match next {
        Some(next) if next == turn.cx.state.id() => {
            decline_if_unfit(&mut turn.cx, epoch);
            call::call(turn, reason);
        }
        Some(next) if turn.cx.state.endings.has_declined(next, epoch) => {
            call::call(turn, Reason::Declined(next));
        }
        // This member need not have met the successor: the leader knows it.
        Some(next) => turn.algorithm.await_leader(&mut turn.cx, next, reason),
        None => {
            reach::count_departure(&mut turn.cx, from, None); // its lease ended, as it did not hear enough voters
            call::call(turn, reason);
        }
    }
}

/// The leader handed over to this member, which may have become ineligible before the leader heard of that. Then
/// this member tells all others, as they would wait for it. (H10)
fn decline_if_unfit(cx: &mut Context<'_>, epoch: Epoch) {
    cx.freeze_rank();
    let state = &cx.state;
    if !state.is_eligible() && !state.never_leads(state.id()) {
        release::say_released(cx, epoch, None);
    }
}

/// A member declines to succeed the leader of this epoch. A member that waits for it calls an election.
fn declined(turn: &mut Turn<'_>, by: NodeId, epoch: Epoch) {
    let awaited = turn.cx.state.endings.decline(by, epoch);
    let state = &turn.cx.state;
    if awaited && state.phase() == Phase::Waiting && !state.is_bound() {
        call::call(turn, Reason::Declined(by));
    }
}

/// An operator asks the leader to hand over, to the named member if any.
pub fn resign(turn: &mut Turn<'_>, to: Option<NodeId>) -> Result<Done, Refusal> {
    let state = &mut turn.cx.state;
    if !state.leads() {
        return Err(Refusal::NotLeader);
    }
    let best = state.best_other().ok_or(Refusal::NoSuccessor)?;
    let successor = to.unwrap_or(best);
    if !state.could_lead(successor) {
        return Err(Refusal::CannotLead(successor));
    }
    if successor != best {
        return Err(Refusal::Outranked { to: successor, by: best });
    }
    let epoch = state.view().epoch;
    resign_for(turn, Ending::Resign(to), successor, Reason::Resigned);
    Ok(Done::Resigned { epoch, successor: Some(successor) })
}

/// The job of this leader failed: it hands over, if any member could succeed it.
pub fn leave_failed_job(turn: &mut Turn<'_>) {
    let state = &turn.cx.state;
    let successor = state.best_other().filter(|best| state.leads() && state.could_lead(*best));
    if let Some(successor) = successor {
        resign_for(turn, Ending::JobFailed, successor, Reason::JobFailed);
    }
}

fn resign_for(turn: &mut Turn<'_>, ending: Ending, successor: NodeId, reason: Reason) {
    if !release::waits_for_job(&mut turn.cx, ending) {
        turn.cx.state.eligibility.resign();
        hand_over(turn, Some(successor), reason);
    }
}

/// The process is about to end: hands over if it leads. Returns whether that is done; if a job has to end first,
/// the operators that asked get their answers after it.
pub fn stop(turn: &mut Turn<'_>, asked: Vec<CommandId>) -> bool {
    if release::waits_for_job(&mut turn.cx, Ending::Stop(asked)) {
        return false;
    }
    end(turn, Reason::Stopped);
    true
}

/// Ends this member's part in the cluster for good; a leader hands over.
pub fn end(turn: &mut Turn<'_>, reason: Reason) {
    match turn.cx.state.phase() {
        Phase::Leading => hand_over(turn, turn.cx.state.best_other(), reason),
        Phase::Stopping => {}
        _ => becoming::become_stopping(&mut turn.cx, reason),
    }
}

/// A leader that is drained or unhealthy hands over, as soon as another member may lead. (H9)
pub fn hand_over_if_unfit(turn: &mut Turn<'_>) {
    let state = &turn.cx.state;
    if !state.leads() || !state.eligibility.is_unfit() || Fault::UnfitLeads.is_planted() {
        return;
    }
    let drained = state.eligibility.is_drained();
    if !drained && state.is_paused() {
        return; // an unhealthy leader of a paused cluster keeps leading
    }
    let alone = !drained && state.settings.health == Some(Alone::StepDown);
    let successor = state.best_other();
    if (successor.is_none() && !alone) || release::waits_for_job(&mut turn.cx, Ending::Unfit) {
        return;
    }
    turn.cx.freeze_rank(); // or the others would take this member for eligible
    hand_over(turn, successor, if drained { Reason::Drained } else { Reason::Unhealthy });
}

/// The wait at power-on ends when all members of the newest list are connected. A member that has found a lower
/// leader meanwhile takes over now.
pub fn begin_if_all_connected(turn: &mut Turn<'_>) {
    let state = &turn.cx.state;
    if !state.detector.all_connected() || state.is_behind() {
        return;
    }
    let elects = state.settings.power_on == PowerOn::Elect;
    if state.phase() == Phase::Starting && elects {
        call::call(turn, Reason::AllConnected);
    } else if let Some(leader) = state.leader_to_preempt().filter(|_| state.preempts_at_once()) {
        take_over(&mut turn.cx, leader.id, Reason::TakingOver(leader.id));
    }
}
