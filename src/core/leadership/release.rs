//! What this member says, and may say, once it does not lead in an epoch any more.

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::job::Ending;
use crate::core::message::{Message, Refusal, View};
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId};

impl State {
    /// Whether this member may not say yet that it stopped leading: the votes for it must stay bound.
    pub(in crate::core) fn withholds_release(&self) -> bool {
        let told = Fault::JobUntold.is_planted() || Fault::JobNotAwaited.is_planted();
        self.needs_majority() && self.endings.job.runs() && !told
    }

    /// The greatest epoch known and its successor, if this member led in it, gave it up and may say so.
    pub(in crate::core) fn gave_up(&self) -> Option<(Epoch, Option<NodeId>)> {
        let View { epoch, .. } = self.view();
        let told = self.endings.gave_up(epoch).filter(|_| !self.withholds_release());
        told.map(|successor| (epoch, successor))
    }

    /// Whether this member may say that it does not lead in this epoch and never will.
    pub(in crate::core) fn may_disown(&self, epoch: Epoch) -> bool {
        let led = self.endings.gave_up(epoch).is_some();
        !(led && self.withholds_release())
    }

    /// The message that says that this member does not lead in this epoch any more, or never will.
    pub(in crate::core) fn release_message(
        &self,
        epoch: Epoch,
        successor: Option<NodeId>,
    ) -> Message {
        Message::Release { epoch, successor, eligible: self.is_eligible() }
    }

    /// Frees this member's own vote, unless a job still relies on it.
    pub(in crate::core) fn free_own_vote(&mut self) {
        if !self.withholds_release() {
            self.voter.release_all(self.id());
        }
    }
}

impl Context<'_> {
    /// Tells all others that this member does not lead in this epoch any more, or never will. While a job runs it
    /// tells nobody: the votes expire by themselves.
    pub fn say_released(&mut self, epoch: Epoch, successor: Option<NodeId>) {
        if self.state.withholds_release() {
            return;
        }
        self.send_all(self.all_others(), self.state.release_message(epoch, successor));
    }
}

impl Turn<'_> {
    /// Whether a leader has to wait for its job before it hands over or stops. Then it has the job ended, and its
    /// leadership ends after the job.
    pub fn waits_for_job(&mut self, ending: Ending) -> bool {
        let Some(stops_within) = self.cx.state.endings.job.awaited() else { return false };
        if !self.cx.state.leads() || Fault::JobNotAwaited.is_planted() {
            return false;
        }
        if self.cx.state.endings.job.end_for(ending) {
            self.cx.arm(Timer::Job, stops_within);
            self.cx.out.push(Output::EndJob { by: self.cx.now + stops_within });
        }
        true
    }

    /// Ends the switchover in progress, and tells the asker why, unless the asker has its answer.
    pub fn drop_switchover(&mut self, why: Refusal) {
        if let Some(dropped) = self.cx.state.course.set_switchover(None).filter(|s| !s.taken) {
            self.cx.tell_outcome(dropped.asked, Err(why));
        }
    }
}
