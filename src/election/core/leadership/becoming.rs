//! The only way from phase to phase.

use std::time::Duration;

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::course::{Awaited, PhaseState};
use crate::core::detector::Peer;
use crate::core::leadership::{asking, promise, release};
use crate::core::membership::own;
use crate::core::message::{Message, View};
use crate::core::phase::{Phase, Reason, Transition};
use crate::core::planted::Fault;
use crate::core::reach;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Time};

/// Whether this member is still discovering the others, so that an election has to wait: then it keeps
/// discovering.
pub fn keeps_discovering(cx: &mut Context<'_>, reason: &Reason) -> bool {
    let looks = cx.state.is_discovering(cx.now);
    if looks && cx.state.phase() != Phase::Starting {
        become_starting(cx, reason.clone());
    }
    looks
}

/// Keeps discovering the others for at least this long before it calls an election.
pub fn discover(cx: &mut Context<'_>, time: Duration) {
    cx.state.course.discover_until(cx.now + time);
    if cx.state.phase() == Phase::Starting {
        cx.state.timers.arm(Timer::PowerOn, cx.state.course.discovery_ends());
    }
}

/// Recovers "just as if from a failure" (seed 002): forgets leader and election, and discovers the others anew.
pub fn become_starting(cx: &mut Context<'_>, reason: Reason) {
    enter(cx, PhaseState::Starting, reason);
    cx.state.timers.arm(Timer::PowerOn, cx.state.course.discovery_ends());
}

/// Enters the phase in which it has asked the higher members.
pub fn become_electing(cx: &mut Context<'_>, reason: Reason) {
    enter(cx, PhaseState::Electing, reason);
    cx.arm(Timer::Answer, cx.state.settings.timing.t1());
}

/// Awaits another member's COORDINATOR for at most T2, counted from `start`. (E5)
pub fn become_waiting(cx: &mut Context<'_>, start: Time, reason: Reason) {
    enter(cx, PhaseState::Waiting(None), reason);
    let timing = cx.state.settings.timing;
    let jitter = cx.state.timers.jitter(timing.message);
    let due = (start + timing.t2() + jitter).max(cx.now);
    if !Fault::NoT2.is_planted() {
        cx.state.timers.arm(Timer::Coordinator, due);
    }
}

/// Takes part in a run of the ring, or awaits the outcome of one that has not come here yet, for at most this
/// time. (E5)
pub fn join_run(cx: &mut Context<'_>, stage: PhaseState, wait: Duration, reason: Reason) {
    enter(cx, stage, reason);
    let jitter = cx.state.timers.jitter(cx.state.settings.timing.message);
    if !Fault::NoRunTimer.is_planted() {
        cx.arm(Timer::Coordinator, wait + jitter);
    }
}

/// Awaits the RELEASE of a lower leader, until that leader has sent no announcement for `failure`. (H1)
pub fn become_taking_over(cx: &mut Context<'_>, view: View, leader: NodeId, reason: Reason) {
    give_up(cx.state, None);
    cx.state.epochs.learn(view);
    enter(cx, PhaseState::Waiting(Some(Awaited::Release(view))), reason);
    ask_for_release(cx, view.epoch, leader);
}

/// Asks again at each announcement of the leader, as the earlier request may be lost.
pub fn ask_for_release(cx: &mut Context<'_>, epoch: Epoch, leader: NodeId) {
    // An unreachable leader does not hear the request, however often it announces itself.
    let hears = cx.state.detector.counts(leader);
    if hears || cx.state.timers.due(Timer::Coordinator).is_none() {
        cx.arm(Timer::Coordinator, cx.state.settings.timing.failure);
    }
    cx.send(leader, Message::Preempt { epoch, rank: cx.state.rank(), votes: Vec::new() });
}

/// Stopped its work for an organizer, which it watches from now on.
pub fn become_halted(cx: &mut Context<'_>, halter: NodeId) {
    give_up(cx.state, None);
    enter(cx, PhaseState::Halted, Reason::HaltedBy(halter));
    cx.watch(Some(halter));
}

/// Has a coordinator, or is a coordinator that all others accepted.
pub fn become_reorganizing(cx: &mut Context<'_>, reason: Reason) {
    enter(cx, PhaseState::Reorganizing, reason);
    if cx.state.course.watched().is_some() {
        cx.listen(); // to the halter
    }
}

pub fn become_following(cx: &mut Context<'_>, view: View, leader: NodeId) {
    debug_assert!(cx.state.records.is_durable(view.epoch), "named before it was durable");
    cx.state.epochs.learn(view);
    cx.state.detector.change(leader, Peer::came_to_lead);
    cx.state.eligibility.end_choice(); // if this member is still chosen, the heartbeats of this leader name it
    cx.freeze_rank(); // samples taken during the election count from now on
    enter(cx, PhaseState::following(), Reason::Announced(leader));
    cx.listen();
    cx.persist();
}

pub fn become_leading(cx: &mut Context<'_>, epoch: Epoch, reason: Reason) {
    debug_assert!(cx.state.records.is_durable(epoch), "led in before it was durable");
    debug_assert!(epoch > cx.state.view().epoch, "an epoch has one leader");
    reach::pass_over_failed_successor(cx, cx.state.id());
    cx.state.epochs.learn(View { epoch, leader: Some(cx.state.rank()) });
    cx.state.eligibility.leads();
    cx.state.candidacy.succeed();
    let switchover = cx.state.course.switchover(); // of a leader that takes a greater epoch
    enter(cx, PhaseState::leading(cx.now, switchover), reason);
    promise::begin_lease(cx, epoch);
    // With a majority the lease runs since the vote request was sent, and the voters' disks may have used most of
    // it. (N1)
    let first =
        if cx.state.needs_majority() { Duration::ZERO } else { cx.state.settings.timing.heartbeat };
    cx.arm(Timer::Heartbeat, first);
    cx.listen();
    cx.persist();
    own::overrule_lists(cx);
}

/// A leader gives up its epoch. It records that, so that members that ask for the epoch learn it.
pub fn give_up(state: &mut State, successor: Option<NodeId>) {
    if state.leads() {
        let epoch = state.view().epoch;
        state.eligibility.loses_leadership();
        if state.endings.job.resigns() && state.best_other().is_some() {
            state.eligibility.resign(); // the operator that asked for that has the answer
        }
        state.endings.give_up(epoch, successor);
        release::free_own_vote(state);
    }
}

pub fn become_stopping(cx: &mut Context<'_>, reason: Reason) {
    enter(cx, PhaseState::Stopping, reason);
    cx.persist();
}

/// The only way from phase to phase: ends the timers and promises of the old phase, and reports the reason.
pub fn enter(cx: &mut Context<'_>, stage: PhaseState, reason: Reason) {
    let (from, to) = (cx.state.phase(), stage.phase());
    debug_assert!(from != Phase::Stopping, "a stopping member stays so");
    let silence = cx.state.timers.due(Timer::Silence);
    cx.state.timers.cancel_phase();
    let course = &cx.state.course;
    let listens = course.goes_on_expecting(to) || course.watched().is_some();
    if let Some(due) = silence.filter(|_| listens) {
        cx.state.timers.arm(Timer::Silence, due);
    }
    if matches!(to, Phase::Following | Phase::Stopping) {
        own::drop_change(cx);
    }
    if !matches!(to, Phase::Electing | Phase::Reorganizing | Phase::Leading) {
        cx.state.eligibility.end_choice_if_led();
    }
    asking::keep_candidacy_in(cx, to);
    cx.state.course.enter(stage, cx.now);
    let leader = cx.state.leader().map(|leader| leader.id);
    let epoch = cx.state.view().epoch;
    cx.out.push(Output::Changed(Transition { from, to, leader, epoch, reason }));
}

/// Whether this member may take over from a lower leader. While it waits after it was overruled, the same members
/// would overrule it again. (S2)
pub fn may_take_over(cx: &Context<'_>) -> bool {
    !cx.state.candidacy.backs_off(cx.now)
}
