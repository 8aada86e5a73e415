//! Organizing an election: the four steps of the paper.

use std::collections::BTreeSet;

use super::Halting;
use super::HaltingStep;
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::leadership::candidacy::NominationAim;
use crate::core::leadership::{becoming, nomination};
use crate::core::message::{Liveness, Message};
use crate::core::phase::Reason;
use crate::core::planted::Fault;
use crate::core::reach;
use crate::core::timer::Timer;
use crate::core::types::{NodeId, Task};

impl Halting {
    /// Calls an election. A coordinator that calls one stops leading first; a member that is still discovering the
    /// others finishes that first.
    pub(super) fn begin(&mut self, cx: &mut Context, reason: Reason) {
        self.clear();
        if becoming::keeps_discovering(cx, &reason) {
            return;
        }
        let incumbent = cx.state.leads() && !cx.state.may_be_preempted_at_once()
            || nomination::succeeds(cx.state);
        becoming::give_up(cx.state, None);
        self.organized.round = cx.next_round();
        self.organized.started = cx.now;
        self.organized.incumbent = incumbent;
        cx.raise_round(self.organized.round);
        cx.freeze_rank();
        if !cx.state.is_eligible() && self.unasked(cx).is_none() {
            return self.wait_for(cx, None, cx.now, Reason::MayNotLead);
        }
        self.organized.step = HaltingStep::Asking;
        becoming::become_electing(cx, reason);
        self.ask_next(cx);
    }

    /// The lowest member that ranks higher and was not asked yet; none, if this member is the incumbent.
    fn unasked(&self, cx: &Context) -> Option<NodeId> {
        let higher =
            cx.state.higher().filter(|_| !self.organized.incumbent).map(|peer| peer.rank());
        let unasked = higher.filter(|rank| !self.organized.asked.contains(&rank.id));
        unasked.min().map(|rank| rank.id)
    }

    /// (1) Asks the next member that ranks higher, from the lowest to the highest; after the last, continues with
    /// step (2).
    fn ask_next(&mut self, cx: &mut Context) {
        let Some(next) = self.unasked(cx) else { return self.halt_others(cx) };
        self.organized.call = self.next_call();
        self.organized.awaited = BTreeSet::from([next]);
        self.organized.asked.insert(next);
        let (rank, eligible) = (cx.state.rank(), cx.state.is_eligible());
        cx.arm(Timer::Answer, cx.state.settings.timing.t1());
        if cx.state.detector.is_within_reach(next) {
            cx.send(
                next,
                Message::AreYouThere { number: self.organized.call, under: None, rank, eligible },
            );
        }
    }

    /// (2) Halts the others, once the round may become an epoch.
    pub(super) fn halt_others(&mut self, cx: &mut Context) {
        if self.starts_over(cx)
            || !nomination::nominate(
                cx,
                self.organized.round,
                NominationAim::Halt,
                &Reason::Highest,
            )
        {
            return;
        }
        self.organized.step = HaltingStep::Halting;
        self.organized.call = self.next_call();
        let alive = cx.state.detector.iter().filter(|peer| peer.counts()).map(Peer::id);
        // A member that was asked and did not answer counts as down, suspected or not.
        let down =
            |id: &NodeId| self.organized.asked.contains(id) && !self.organized.lower.contains(id);
        self.organized.awaited = alive.filter(|id| !down(id)).collect();
        if self.organized.awaited.is_empty() {
            return self.tell_elected(cx);
        }
        cx.arm(Timer::Answer, cx.state.settings.timing.t1());
        cx.arm(Timer::Pulse, cx.state.settings.timing.heartbeat);
        let within_reach = |id: &NodeId| cx.state.detector.is_within_reach(*id);
        let now = self.organized.awaited.iter().copied().filter(within_reach).collect();
        self.send_halt(cx, now);
    }

    fn send_halt(&mut self, cx: &mut Context, to: Vec<NodeId>) {
        self.halted_by_us.extend(&to);
        let rank = cx.state.rank();
        let (number, round, incumbent) =
            (self.organized.call, self.organized.round, self.organized.incumbent);
        cx.send_all(to, Message::Halt { number, round, rank, incumbent });
    }

    /// (3) "Once all nodes are in a known state": tells those that halted that it is elected.
    pub(super) fn tell_elected(&mut self, cx: &mut Context) {
        let round = self.organized.round;
        if self.starts_over(cx)
            || !nomination::nominate(cx, round, NominationAim::Lead, &Reason::AllHalted)
        {
            return;
        }
        if self.organized.up.is_empty() {
            return self.lead(cx);
        }
        self.organized.step = HaltingStep::Electing;
        becoming::become_reorganizing(cx, Reason::AllHalted);
        let task = cx.state.records.task().version;
        self.call_up(cx, |number| Message::Elected { number, round, task });
    }

    /// A member that is about to accept this organizer has a newer task: the organizer hands out that one. (K7)
    pub(super) fn hear_task(&mut self, cx: &mut Context, from: NodeId, task: &Task) {
        let asked =
            self.organized.step == HaltingStep::Electing && self.organized.awaited.contains(&from);
        if Fault::TaskUnheeded.is_planted() {
            return;
        }
        if asked && self.organizes(cx.state) && task.version > cx.state.records.task().version {
            cx.state.records.hold(task.clone());
        }
    }

    /// (4) Hands out the task.
    fn hand_out_task(&mut self, cx: &mut Context) {
        if self.starts_over(cx) {
            return;
        }
        self.organized.step = HaltingStep::Readying;
        self.halted_by_us.clear(); // from now on they call this member when they do not hear it
        let (round, task) = (self.organized.round, cx.state.records.task().clone());
        self.call_up(cx, |number| Message::Ready { number, round, task });
    }

    /// Calls all in Up by a message with the number of the call, and awaits their replies for T1.
    fn call_up(&mut self, cx: &mut Context, message: impl FnOnce(u64) -> Message) {
        self.organized.awaited = self.organized.up.clone();
        self.organized.call = self.next_call();
        cx.arm(Timer::Answer, cx.state.settings.timing.t1());
        cx.send_all(self.organized.up.iter().copied().collect(), message(self.organized.call));
    }

    /// "And sets its status to Normal."
    fn lead(&mut self, cx: &mut Context) {
        let round = self.organized.round;
        if !nomination::is_elected(cx, round) {
            // The votes have expired or are about to, as the election took too long. The voters have stored them, and
            // can repeat them immediately.
            if nomination::may_repeat_votes(cx.state, round) {
                _ = nomination::nominate(cx, round, NominationAim::Lead, &Reason::AllReady);
            } else {
                self.back_off(cx);
            }
            return;
        }
        self.clear();
        self.halted_by_us.clear();
        self.refused.clear();
        self.election = self.calls;
        becoming::become_leading(cx, round, Reason::AllReady);
        cx.arm(Timer::Check, cx.state.settings.timing.failure);
    }

    /// If a higher member has appeared, this member asks it first; a round below a known epoch is useless; and a
    /// member that may not lead waits until another does. Returns whether this election is over.
    fn starts_over(&mut self, cx: &mut Context) -> bool {
        if self.organized.round <= cx.state.view().epoch {
            self.begin(cx, Reason::Overtaken);
        } else if let Some(higher) = self.unasked(cx) {
            self.begin(cx, Reason::Appeared(higher));
        } else if !cx.state.is_eligible() {
            self.wait_for(cx, None, cx.now, Reason::MayNotLead);
        } else {
            return false;
        }
        true
    }

    /// "A timeout in (3) or (4) starts again, after a back-off." So does a refusal.
    fn back_off(&mut self, cx: &mut Context) {
        self.wait_for(cx, None, cx.now, Reason::NotAccepted);
        let timing = cx.state.settings.timing;
        let jitter = cx.state.timers.jitter(timing.message);
        cx.arm(Timer::Coordinator, timing.t1() + jitter);
    }

    pub(super) fn replied(&mut self, cx: &mut Context, from: NodeId, accepted: bool) {
        self.organized.awaited.remove(&from);
        match (self.organized.step, accepted) {
            (HaltingStep::Idle, _) => {}
            // It answered before, and did not lead.
            (HaltingStep::Asking, true) if reach::is_passed_over(cx.state, from) => {
                self.ask_next(cx)
            }
            (HaltingStep::Asking, true) => {
                self.wait_for(cx, Some(from), self.organized.started, Reason::Answered(from));
            }
            (HaltingStep::Asking, false) => {
                self.organized.lower.insert(from);
                if self.is_eligible_instead_of(cx, from) {
                    return self.begin(cx, Reason::NoCoordinator);
                }
                self.ask_next(cx);
            }
            (HaltingStep::Halting, true) => {
                self.organized.up.insert(from);
                self.go_on(cx);
            }
            (_, true) => self.go_on(cx),
            (_, false) => {
                self.halted_by_us.remove(&from);
                if self.goes_on_without(cx, from) {
                    self.go_on(cx);
                } else {
                    self.back_off(cx);
                }
            }
        }
    }

    /// A member that does not rank above this ineligible one is ineligible too. Returns whether this resigned member
    /// is eligible again because of that. (A2)
    fn is_eligible_instead_of(&self, cx: &mut Context, other: NodeId) -> bool {
        if cx.state.is_eligible() {
            return false;
        }
        cx.state.detector.change(other, |peer| peer.set_eligible(false));
        cx.be_eligible_if_alone();
        cx.state.is_eligible()
    }

    /// The next step, when it awaits no more replies.
    pub(super) fn go_on(&mut self, cx: &mut Context) {
        if !self.organized.awaited.is_empty() {
            return;
        }
        match self.organized.step {
            HaltingStep::Idle => {}
            HaltingStep::Asking => self.ask_next(cx),
            HaltingStep::Halting => self.tell_elected(cx),
            HaltingStep::Electing => self.hand_out_task(cx),
            HaltingStep::Readying => {
                if !self.starts_over(cx) {
                    self.lead(cx);
                }
            }
        }
    }

    /// T1 has passed.
    pub(super) fn unanswered(&mut self, cx: &mut Context) {
        let silent = std::mem::take(&mut self.organized.awaited);
        match self.organized.step {
            HaltingStep::Asking | HaltingStep::Halting
                if cx.dials_anew(Timer::Answer, &silent, self.organized.started) =>
            {
                self.organized.awaited = silent;
            }
            HaltingStep::Asking | HaltingStep::Halting => {
                cx.suspect_unheard(&silent, self.organized.started);
                self.go_on(cx);
            }
            _ => match silent.iter().filter(|id| !self.goes_on_without(cx, **id)).count() {
                0 => self.go_on(cx),
                _ => self.back_off(cx),
            },
        }
    }

    /// Whether this election continues without a member that has refused it, or has not answered, for T2; or for
    /// less, if it was passed over before. A live member is taken in later.
    fn goes_on_without(&mut self, cx: &mut Context, id: NodeId) -> bool {
        let timing = cx.state.settings.timing;
        let since = *self.refused.entry(id).or_insert(cx.now);
        let t2 = timing.t2();
        let wait = cx.state.detector.get(id).map_or(t2, |peer| peer.sooner(t2));
        // Without a majority, two members that continue without each other might both lead.
        let over = cx.state.needs_majority() && cx.now >= since + wait.max(timing.t1());
        if over {
            self.organized.up.remove(&id);
            reach::pass_over(cx, id, timing.t2());
        }
        over
    }

    /// A peer is suspected or dead. A dead one is in a known state.
    pub(super) fn lost_other(&mut self, cx: &mut Context, peer: NodeId) {
        self.organized.up.remove(&peer);
        if !self.organized.awaited.remove(&peer) {
            return;
        }
        let dead = cx.state.detector.get(peer).is_none_or(|peer| peer.status() == Liveness::Dead);
        if dead || matches!(self.organized.step, HaltingStep::Asking | HaltingStep::Halting) {
            self.go_on(cx);
        } else {
            self.back_off(cx);
        }
    }

    /// A peer connected during the election: asks or halts it like the others.
    pub(super) fn joined_late(&mut self, cx: &mut Context, peer: NodeId) {
        let peers = cx.state.higher().filter(|_| !self.organized.incumbent);
        let higher = peers.map(|higher| higher.id()).any(|id| id == peer);
        match self.organized.step {
            HaltingStep::Halting if !higher && !self.organized.up.contains(&peer) => {
                self.organized.awaited.insert(peer);
                self.send_halt(cx, vec![peer]);
            }
            // The earlier call was lost, as the peer was not connected.
            HaltingStep::Asking if self.organized.awaited.contains(&peer) => {
                self.organized.asked.remove(&peer);
                self.ask_next(cx);
            }
            // The coordinator's Check tells the others about it, or this member asks it before it wins.
            _ => {}
        }
    }

    /// Sends a sign of life to the members that it halted: they would notice its death, and must not take it for dead
    /// when it has given up and obeys another organizer.
    pub(super) fn pulse(&mut self, cx: &mut Context) {
        if !cx.state.elects() {
            return self.look_after_coordinator(cx);
        }
        let halted: Vec<NodeId> = self.halted_by_us.union(&self.organized.up).copied().collect();
        if !halted.is_empty() {
            cx.arm(Timer::Pulse, cx.state.settings.timing.heartbeat);
            let number = if self.organizes(cx.state) { self.organized.round.0 } else { 0 };
            cx.send_all(halted, Message::Alive { number });
        }
    }
}
