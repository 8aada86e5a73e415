//! What this member says, and may say, once it does not lead in an epoch any more.

use crate::core::answers;
use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::job::Ending;
use crate::core::message::{Message, Refusal, View};
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId};

/// Whether this member may not say yet that it stopped leading: the votes for it must stay bound. (H12)
pub fn withholds_release(state: &State) -> bool {
    let may_say = Fault::JobUntold.is_planted() || Fault::JobNotAwaited.is_planted();
    state.needs_majority() && state.endings.job.runs() && !may_say
}

/// The greatest epoch known and its successor, if this member led in it, gave it up and may say so.
pub fn gave_up(state: &State) -> Option<(Epoch, Option<NodeId>)> {
    let View { epoch, .. } = state.view();
    let given_up = state.endings.gave_up(epoch).filter(|_| !withholds_release(state));
    given_up.map(|successor| (epoch, successor))
}

/// Whether this member may say that it does not lead in this epoch and never will.
pub fn may_disown(state: &State, epoch: Epoch) -> bool {
    let led = state.endings.gave_up(epoch).is_some();
    !(led && withholds_release(state))
}

/// The message that says that this member does not lead in this epoch any more, or never will.
pub fn release_message(state: &State, epoch: Epoch, successor: Option<NodeId>) -> Message {
    Message::Release { epoch, successor, eligible: state.is_eligible() }
}

/// Frees this member's own vote, unless a job still relies on it. (H12)
pub fn free_own_vote(state: &mut State) {
    if !withholds_release(state) {
        state.voter.release_all(state.id());
    }
}

/// Tells all others that this member does not lead in this epoch any more, or never will. While a job runs it
/// tells nobody: the votes expire by themselves.
pub fn say_released(cx: &mut Context<'_>, epoch: Epoch, successor: Option<NodeId>) {
    if withholds_release(cx.state) {
        return;
    }
    cx.send_all(cx.all_others(), release_message(cx.state, epoch, successor));
}

/// Whether a leader has to wait for its job before it hands over or stops. Then it has the job ended, and its
/// leadership ends after the job. (H11)
pub fn waits_for_job(cx: &mut Context<'_>, ending: Ending) -> bool {
    let Some(stops_within) = cx.state.endings.job.awaited() else { return false };
    if !cx.state.leads() || Fault::JobNotAwaited.is_planted() {
        return false;
    }
    if cx.state.endings.job.end_for(ending) {
        cx.arm(Timer::Job, stops_within);
        cx.out.push(Output::EndJob { by: cx.now + stops_within });
    }
    true
}

/// Ends the switchover in progress, and tells the asker why, unless the asker has its answer.
pub fn drop_switchover(cx: &mut Context<'_>, why: Refusal) {
    if let Some(dropped) = cx.state.course.set_switchover(None).filter(|s| !s.taken) {
        answers::tell_outcome(cx, dropped.asked, Err(why));
    }
}
