//! How a leadership ends while a job runs: the job ends first, or this member tells nobody before the job has ended.

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::job::Ending;
use crate::core::message::{Done, Message, View};
use crate::core::phase::Reason;
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId};

impl State {
    /// Whether this member may not say yet that it stopped leading: the votes for it must stay bound.
    fn withholds_release(&self) -> bool {
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
    pub fn release_message(&self, epoch: Epoch, successor: Option<NodeId>) -> Message {
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
    /// Nothing of the job runs any more: does what waited for that.
    pub fn job_ended(&mut self) {
        let withheld = self.cx.state.withholds_release();
        let ending = self.cx.state.endings.job.end();
        self.cx.state.timers.cancel(Timer::Job);
        if withheld
            && !self.cx.state.leads()
            && let Some((epoch, successor)) = self.cx.state.gave_up()
        {
            self.cx.state.free_own_vote();
            self.cx.say_released(epoch, successor);
        }
        self.end_leadership(ending);
    }

    /// The job did not end in time. The leadership ends all the same; with a majority its votes stay bound
    /// until the lease has expired, since [`State::withholds_release`] still holds.
    pub fn job_overdue(&mut self) {
        let ending = self.cx.state.endings.job.overdue();
        self.end_leadership(ending);
    }

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

    /// Whether the member that preempted this leader is still there, and the cluster was not paused since.
    fn may_hand_over_to(&self, member: NodeId) -> bool {
        self.cx.state.detector.counts(member) && !self.cx.state.is_paused()
    }

    fn end_leadership(&mut self, ending: Option<Ending>) {
        let leads = self.cx.state.leads();
        match ending {
            // The job ended for this: if the named member is not the best any more, the best succeeds. If nobody can
            // by now, this member keeps leading.
            Some(Ending::Resign(to)) if leads => _ = self.resign(to).or_else(|_| self.resign(None)),
            Some(Ending::Unfit) if leads => self.hand_over_if_unfit(),
            Some(Ending::Preempted(by)) if leads && self.may_hand_over_to(by) => {
                self.release(Some(by), Reason::Preempted(by));
            }
            Some(Ending::SwitchedOver(to)) if leads => self.hand_over_to_chosen(to),
            Some(Ending::Stop(asked)) => {
                self.stop(Vec::new());
                asked.into_iter().for_each(|id| self.cx.answer(id, Ok(Done::Stopped)));
            }
            _ => {}
        }
        self.look_after_switchover();
    }
}
