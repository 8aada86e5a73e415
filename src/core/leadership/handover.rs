//! Handing over: how a member takes over from a lower leader, and how a leader gives up its epoch.

use crate::core::context::Context;
use crate::core::job::Ending;
use crate::core::message::{Done, Message, Refusal, View};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::settings::{Alone, PowerOn, Preempt};
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{CommandId, Epoch, NodeId, Rank};

impl Context<'_> {
    /// If members preempt only after a while: asks a lower leader to hand over, once this member has been eligible
    /// for long enough. It keeps following until the leader hands over.
    pub fn request_handover_if_due(&mut self) {
        let majority = self.state.needs_majority();
        let due = match self.state.preempt() {
            Preempt::After(after) => self.state.eligibility.due(after),
            Preempt::Always => majority.then_some(self.now),
            Preempt::Never => None,
        };
        // A member that is still discovering the others could not lead immediately.
        let due = due.is_some_and(|due| due <= self.now) && !self.state.is_discovering(self.now);
        if due && self.state.leader_to_preempt().is_some() {
            self.request_handover();
        }
    }

    /// Asks a lower leader to hand over, and keeps following it; with a majority, once enough voters would vote for
    /// this member.
    pub fn request_handover(&mut self) {
        let Some(leader) = self.state.lower_leader() else { return };
        if self.state.needs_majority() {
            self.poll_for_takeover();
        } else {
            let (epoch, rank, votes) = (self.state.view().epoch, self.state.rank(), Vec::new());
            self.send(leader.id, Message::Preempt { epoch, rank, votes });
        }
    }

    /// Takes over from a live lower leader; without a majority, immediately.
    pub fn take_over(&mut self, leader: NodeId, reason: Reason) {
        if self.state.needs_majority() {
            self.request_handover();
        } else if self.may_take_over() {
            self.become_taking_over(self.state.view(), leader, reason);
        }
    }
}

impl Turn<'_> {
    /// Hands over to a higher member, once the job of this leader has ended.
    pub fn give_way(&mut self, to: NodeId) {
        if !self.waits_for_job(Ending::Preempted(to)) {
            self.release(Some(to), Reason::Preempted(to));
        }
    }

    /// Whether this leader hands over to a member that asks for that with these votes, and is chosen or not.
    pub(super) fn gives_way_to(&self, rank: Rank, votes: &[NodeId], chosen: bool) -> bool {
        let (state, id) = (&self.cx.state, rank.id);
        let stays = state.eligibility.is_chosen() && !Fault::ChoiceUnheeded.is_planted();
        // Voters whose `failure` is longer need not have seen that it comes and goes: the two would take turns.
        let passed_over = stays || self.cx.is_unsteady(id);
        // The operator that waits for the outcome of a change gets it first; the higher member asks again.
        let changes = state.membership.wanted().is_some();
        state.is_above(rank, true)
            && (chosen || !passed_over)
            && !state.is_paused()
            && !changes
            && self.eligible_for_long_enough(id)
            && self.may_succeed(id)
            && self.is_majority(votes)
    }

    /// Whether this member has halted others in this round, and hands out its task.
    pub(super) fn is_about_to_lead(&self, epoch: Epoch) -> bool {
        let accepted = self.algorithm.accepted(self.cx.state);
        let own = self.cx.state.id();
        accepted.is_some_and(|v| v.epoch == epoch && v.leader.is_some_and(|l| l.id == own))
    }

    /// Whether a member is reachable and did not fail to lead recently.
    pub fn may_succeed(&self, id: NodeId) -> bool {
        let peer = self.cx.state.detector.get(id);
        peer.is_none_or(|peer| !peer.lines.is_unreachable() && !peer.let_down(self.cx.now))
    }

    /// Whether a member may preempt by now, if members preempt only after a while.
    pub fn eligible_for_long_enough(&self, id: NodeId) -> bool {
        let Preempt::After(after) = self.cx.state.settings.preempt else { return true };
        let peer = self.cx.state.detector.get(id);
        let due = peer.and_then(|peer| peer.eligible_by(after));
        due.is_some_and(|due| due <= self.cx.now)
    }

    /// Tells a member that this one gave up the greatest epoch known, if it did.
    pub fn repeat_release(&mut self, to: NodeId) -> bool {
        let Some((epoch, successor)) = self.cx.state.gave_up() else { return false };
        self.cx.send(to, self.cx.state.release_message(epoch, successor));
        true
    }

    /// Stops leading, tells all others, and awaits the successor.
    pub fn release(&mut self, successor: Option<NodeId>, reason: Reason) {
        let epoch = self.cx.state.view().epoch;
        self.drop_switchover(Refusal::HandedOver);
        if matches!(reason, Reason::Preempted(_)) {
            self.cx.freeze_rank(); // or it would overrule the member that exceeds its present rank
        }
        self.cx.give_up(successor);
        match successor {
            Some(next) if !matches!(reason, Reason::Stopped | Reason::Removed) => {
                self.algorithm.get().await_leader(&mut self.cx, next, reason);
            }
            None if reason == Reason::Unhealthy => self.call(reason), // it is not eligible, and waits
            _ => self.cx.become_stopping(reason), // a leader that is preempted or resigns has a successor
        }
        self.cx.say_released(epoch, successor);
    }

    pub fn released(&mut self, from: NodeId, epoch: Epoch, next: Option<NodeId>, eligible: bool) {
        self.cx.state.detector.change(from, |peer| peer.set_eligible(eligible));
        self.cx.be_eligible_if_alone(); // this member may be the last that could lead
        self.cx.state.voter.release(from, epoch);
        let View { epoch: known, leader } = self.cx.state.view();
        let another = known == epoch && leader.is_some_and(|leader| leader.id != from);
        let designated = Some(epoch).filter(|_| next == Some(self.cx.state.id()));
        self.cx.state.candidacy.designate(designated);
        if let Some(view) = self.cx.state.course.storing().filter(|view| view.epoch == epoch) {
            self.cx.state.epochs.learn(view); // too late to follow its leader
        }
        if another && !eligible && next.is_none() {
            return self.declined(from, epoch);
        }
        self.cx.state.endings.hear(from, epoch, next);
        let state = &self.cx.state;
        if epoch != state.view().epoch || !(state.is_bound_to(from) || state.follows(from)) {
            return;
        }
        let reason = Reason::LeaderReleased(from);
        self.cx.state.course.leader_released();
        self.cx.state.timers.cancel(Timer::Silence);
        match next {
            Some(next) if next == self.cx.state.id() => {
                self.decline_if_unfit(epoch);
                self.call(reason);
            }
            Some(next) if self.cx.state.endings.has_declined(next, epoch) => {
                self.call(Reason::Declined(next));
            }
            // This member need not have met the successor: the leader knows it.
            Some(next) => self.algorithm.get().await_leader(&mut self.cx, next, reason),
            None => {
                self.cx.note_departure(from); // its lease ended, as it did not hear enough voters
                self.call(reason);
            }
        }
    }

    /// The leader handed over to this member, which may have become ineligible before the leader heard of that. Then
    /// this member tells all others, as they would wait for it.
    fn decline_if_unfit(&mut self, epoch: Epoch) {
        self.cx.freeze_rank();
        let state = &self.cx.state;
        if !state.is_eligible() && !state.never_leads(state.id()) {
            self.cx.say_released(epoch, None);
        }
    }

    /// A member declines to succeed the leader of this epoch. A member that waits for it calls an election.
    fn declined(&mut self, by: NodeId, epoch: Epoch) {
        let awaited = self.cx.state.endings.decline(by, epoch);
        let state = &self.cx.state;
        if awaited && state.phase() == Phase::Waiting && !state.is_bound() {
            self.call(Reason::Declined(by));
        }
    }

    /// An operator asks the leader to hand over, to the named member if any.
    pub fn resign(&mut self, to: Option<NodeId>) -> Result<Done, Refusal> {
        let state = &mut self.cx.state;
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
        if !self.waits_for_job(Ending::Resign(to)) {
            self.cx.state.eligibility.resign();
            self.release(Some(successor), Reason::Resigned);
        }
        Ok(Done::Resigned { epoch, successor: Some(successor) })
    }

    /// The process is about to end: hands over if it leads. Returns whether that is done; if a job has to end first,
    /// the operators that asked get their answers after it.
    pub fn stop(&mut self, asked: Vec<CommandId>) -> bool {
        if self.waits_for_job(Ending::Stop(asked)) {
            return false;
        }
        self.end(Reason::Stopped);
        true
    }

    /// Ends this member's part in the cluster for good; a leader hands over.
    pub fn end(&mut self, reason: Reason) {
        match self.cx.state.phase() {
            Phase::Leading => self.release(self.cx.state.best_other(), reason),
            Phase::Stopping => {}
            _ => self.cx.become_stopping(reason),
        }
    }

    /// A leader that is drained or unhealthy hands over, as soon as another member may lead.
    pub fn hand_over_if_unfit(&mut self) {
        let state = &self.cx.state;
        if !state.leads() || !state.eligibility.is_unfit() || Fault::UnfitLeads.is_planted() {
            return;
        }
        let drained = state.eligibility.drain().is_some();
        if !drained && state.is_paused() {
            return; // an unhealthy leader of a paused cluster keeps leading
        }
        let alone = !drained && state.settings.health == Some(Alone::StepDown);
        let successor = state.best_other();
        if (successor.is_none() && !alone) || self.waits_for_job(Ending::Unfit) {
            return;
        }
        self.cx.freeze_rank(); // or the others would take this member for eligible
        self.release(successor, if drained { Reason::Drained } else { Reason::Unhealthy });
    }

    /// The wait at power-on ends when all members of the newest list are connected. A member that has found a lower
    /// leader meanwhile takes over now.
    pub fn begin_if_all_connected(&mut self) {
        let state = &self.cx.state;
        if !state.detector.all_connected() || state.is_behind() {
            return;
        }
        let elects = state.settings.power_on == PowerOn::Elect;
        if state.phase() == Phase::Starting && elects {
            self.call(Reason::AllConnected);
        } else if let Some(leader) = state.leader_to_preempt().filter(|_| state.preempts_at_once())
        {
            self.cx.take_over(leader.id, Reason::TakingOver(leader.id));
        }
    }
}
