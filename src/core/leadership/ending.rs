//! How a leadership ends while a job runs: the job ends first, or this member tells nobody before the job has ended.

use crate::core::job::Ending;
use crate::core::message::Done;
use crate::core::phase::Reason;
use crate::core::planted::Fault;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId, Rank};

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

    /// A higher member asks this one to hand over.
    pub fn preempted(&mut self, from: NodeId, epoch: Epoch, rank: Rank, votes: &[NodeId]) {
        let rank = Rank { id: from, ..rank };
        self.cx.state.detector.change(from, |peer| peer.says_rank(rank, true)); // a member that asks is eligible
        let state = &self.cx.state;
        // A member that an operator chose before may not know yet that this leader has given up on it.
        let next = state.course.switchover().is_some_and(|s| s.to == from);
        let (leads, outdated) = (state.leads(), state.view().epoch > epoch);
        match state.leads_in(epoch) && self.gives_way_to(rank, votes, next) {
            true if !votes.is_empty() && Fault::LeadsAfterRelease.is_planted() => {
                let release = self.cx.state.release_message(epoch, Some(from));
                self.cx.send_all(self.cx.all_others(), release);
            }
            true if next => self.chosen_takes_over(from),
            true => self.give_way(from),
            false if leads || outdated => self.cx.send_view(from),
            // Some members have its task already; it leads in this epoch before it releases it.
            false if self.is_about_to_lead(epoch) => {}
            false if self.repeat_release(from) || !self.cx.state.may_disown(epoch) => {}
            false => {
                // An earlier incarnation of this member led, and never will again.
                self.cx.note_round(epoch);
                self.cx.send(from, self.cx.state.release_message(epoch, None));
            }
        }
    }
}
