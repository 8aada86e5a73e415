//! A member's part in another member's election.

use super::AnsweredCall;
use super::Halting;
use super::HaltingStep;
use crate::core::algorithm::election::ElectionAlgorithm;
use crate::core::context::Context;
use crate::core::leadership::becoming;
use crate::core::message::View;
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Rank, Task, TaskVersion};

/// For how many times `failure` a member waits for a leader that does not hear it. That leader may lead nobody
/// else. (E5)
const LONGEST_WAIT: u32 = 8;

impl Halting {
    /// "Then the node k stops processing, and sets its status to Election", unless it ranks higher than the
    /// organizer, or obeys one that does.
    pub fn halt(
        &mut self,
        cx: &mut Context,
        by: AnsweredCall,
        round: Epoch,
        rank: Rank,
        incumbent: bool,
    ) {
        let (from, rank) = (by.0, Rank { id: by.0, ..rank });
        cx.raise_round(round);
        cx.state.detector.change(from, |peer| peer.says_rank(rank, true)); // an organizer is eligible
        let older = cx.state.compare(View { epoch: round, leader: Some(rank) }).is_le();
        let has_other = self.has_other_coordinator(cx, from, round);
        let above = cx.state.is_eligible() && cx.state.rank() > rank;
        // Of two members that halt each other both would wait: then the incumbent gives way.
        let preempts = cx.state.preempts_at_once() && cx.state.exceeds(rank);
        let yields = !preempts && !self.organizes(cx.state);
        let subject = !above || incumbent && yields;
        // With a majority an organizer asks the voters before it halts anybody. If this member leads and has its
        // lease, the organizer comes too late. (K1)
        let leads = cx.state.leads() && cx.state.needs_majority();
        let accepted =
            !older && !has_other && subject && !leads && !self.obeys_better(cx, rank, round);
        if accepted {
            self.clear();
            self.halted = Some((rank, round));
            becoming::become_halted(cx, from);
            self.await_next_step(cx);
        }
        self.answer(cx, by, accepted);
        if older || leads {
            cx.send_view(from);
        }
        if !subject {
            self.look_at_coordinator(cx, from);
        }
    }

    /// Whether this member has a coordinator of this round or a later one, and it is not this organizer: "any two
    /// nodes with the same group have the same coordinator", and others may have accepted that one. The organizer
    /// begins anew, in a later round. (K8)
    fn has_other_coordinator(&self, cx: &Context, organizer: NodeId, round: Epoch) -> bool {
        let known = self.accepted(cx.state).unwrap_or_else(|| cx.state.view());
        known.epoch >= round && known.leader.is_some_and(|coordinator| coordinator.id != organizer)
    }

    /// Whether this member already obeys another HALT, of a higher organizer or a later round.
    fn obeys_better(&self, cx: &Context, rank: Rank, round: Epoch) -> bool {
        let obeys = cx.state.phase().is_halted();
        self.halted.is_some_and(|halted| obeys && halted > (rank, round))
    }

    /// The organizer may be alive and have given up: this member waits T2 for each sign that it continues, and for
    /// each step at most twice that. (E5)
    fn await_next_step(&self, cx: &mut Context) {
        let t2 = cx.state.settings.timing.t2();
        let most = cx.state.course.since() + t2 * 2;
        if !Fault::HaltedForEver.is_planted() {
            cx.arm(Timer::Coordinator, t2.min(most.since(cx.now)));
        }
    }

    /// The organizer continues its election: it waits for the votes of slow disks.
    pub(super) fn goes_on(&self, cx: &mut Context, from: NodeId, round: Epoch) {
        if cx.state.phase() == Phase::Halted && self.obeys(from, round) {
            self.await_next_step(cx);
        }
    }

    /// "The node k checks if the HALT message was sent from node i", and only then takes it as its coordinator. If
    /// this member has a newer task, it sends that to the organizer, which hands out the newest. (K2)
    pub fn elected(&mut self, cx: &mut Context, by: AnsweredCall, round: Epoch, task: TaskVersion) {
        let of_round = |(_, halted): (Rank, Epoch)| halted == round;
        let obeyed = self.obeys(by.0, round)
            || Fault::AnyElected.is_planted() && self.halted.is_some_and(of_round);
        let accepted = cx.state.phase() == Phase::Halted && obeyed;
        if accepted {
            becoming::become_reorganizing(cx, Reason::Organized(by.0));
            self.await_next_step(cx);
        }
        let newer = accepted && cx.state.records.task().version > task;
        let newer = newer.then(|| cx.state.records.task().clone());
        self.answer_with(cx, by, newer, accepted);
    }

    /// The task of the accepted coordinator: the member is Normal again. It refuses an older task than its own: its
    /// message with the newer one was lost. Returns the leader to follow. (K7)
    pub fn ready(
        &mut self,
        cx: &mut Context,
        by: AnsweredCall,
        round: Epoch,
        task: &Task,
    ) -> Option<View> {
        let accepted = cx.state.phase() == Phase::Reorganizing
            && self.organized.step == HaltingStep::Idle
            && self.obeys(by.0, round)
            && (task.version >= cx.state.records.task().version || Fault::OlderTask.is_planted());
        self.answer(cx, by, accepted);
        let (leader, epoch) = self.halted.filter(|_| accepted)?;
        cx.state.records.hold(task.clone());
        self.ready = epoch;
        self.halted_by_us.clear();
        self.refused.clear();
        self.look_after_coordinator_from(cx, cx.now);
        Some(View { epoch, leader: Some(leader) })
    }

    /// Whether that organizer halted this member for this round.
    pub(super) fn obeys(&self, from: NodeId, round: Epoch) -> bool {
        self.halted.is_some_and(|(halter, halted)| halter.id == from && halted == round)
    }

    /// A live leader has not taken this member in: it will, as it regularly checks who is Normal.
    pub(super) fn found_leader(&mut self, cx: &mut Context, view: View, leader: NodeId) {
        let obeys = cx.state.phase().is_halted();
        // The leader of a paused cluster does not release, and takes in the members that say that they are not
        // Normal.
        let refused = cx.state.is_paused() && cx.state.course.takeover().is_some();
        let waits = cx.state.phase() == Phase::Waiting && self.awaits == Some(leader) && !refused;
        let failure = cx.state.settings.timing.failure;
        if waits
            && !cx.state.detector.counts(leader)
            && cx.now < cx.state.course.since() + failure * LONGEST_WAIT
        {
            // The leader does not hear this member's replies, and so cannot take it in; but it leads, at least the
            // others.
            cx.arm(Timer::Coordinator, failure * 2);
        }
        if obeys || waits || self.organizes(cx.state) {
            return;
        }
        becoming::give_up(cx.state, None);
        cx.state.epochs.learn(view);
        self.wait_for(cx, Some(leader), cx.now, Reason::ToBeTakenIn(leader));
        cx.arm(Timer::Coordinator, cx.state.settings.timing.failure * 2);
    }
}
