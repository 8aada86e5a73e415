//! The peers that are passed over: a peer that this member hears but cannot send to, one that was to lead and did
//! not, and one that comes and goes.
//!
//! A peer may dial this member although nobody can dial the peer: its address is wrong in the file, its port is
//! closed, or the network carries connections one way only. It hears neither a question nor an answer, so nobody may
//! wait for it. At power-on and after its restart it has `failure` to be reached. A peer that answers and never leads
//! is no better; this member still asks it, but does not wait for its answer. A peer that comes and goes would win each
//! election by its rank, and be gone soon. Of two leaders that do not hear each other, each waits, longer each time,
//! before it acts on a third member's report.

use std::time::Duration;

use super::api::Output;
use super::bounds;
use super::context::Context;
use super::detector::Peer;
use super::note::Note;
use super::planted::Fault;
use super::settings::AlgorithmKind;
use super::timer::Timer;
use super::turn::Turn;
use super::types::NodeId;

/// A peer that went away twice within so many times `failure` comes and goes.
pub const STEADY: u32 = 16;

/// A peer that is silent for this many times `failure` counts as gone, and not as one that speaks rarely.
const RAREST: u32 = 4;

impl Turn<'_> {
    /// At the start of a turn: a peer that came and went is as good as others once it has been steady for long.
    pub fn settle_peers(&mut self) {
        if self.cx.state.needs_majority() {
            self.cx.state.detector.settle(self.cx.now);
        }
    }

    /// At the end of a turn: passes over each peer that was heard for `failure` while nothing could be sent to it.
    pub fn look_for_unreachable(&mut self) {
        let state = &mut *self.cx.state;
        if state.detector.untold() == 0 {
            state.timers.cancel(Timer::Reach);
            return;
        }
        let (now, timing) = (self.cx.now, state.settings.timing);
        // While members elect, a peer speaks once in a run, or each T2.
        let run = bounds::ring_patience(&timing, state.membership.list().iter().len());
        let rarest = (timing.failure * RAREST).max(run * 2);
        let limits = (timing.failure, rarest);
        let (late, next) = state.detector.look_for_unreachable(limits, now);
        match next {
            Some(due) => state.timers.arm(Timer::Reach, due),
            None => state.timers.cancel(Timer::Reach),
        }
        for peer in late {
            self.cx.out.push(Output::Note(Note::Unreachable { peer }));
            self.cx.be_eligible_if_alone();
            self.algorithm.get().lost(&mut self.cx, peer);
        }
    }
}

impl Context<'_> {
    /// Whether this leader ends its epoch because of another leader's list, which a third member reported: less often
    /// each time, as that leader, which this one does not hear, ends the next epoch in turn.
    pub fn heeds_later_list(&mut self) -> bool {
        let (unit, now) = (self.state.settings.timing.t2(), self.now);
        let heeds = !self.state.candidacy.rests(now) || Fault::OutbidAtOnce.is_planted();
        if heeds {
            self.state.candidacy.rest(unit, now);
        }
        heeds
    }

    /// A leader was overruled because of a third member's report: it waits longer each time for the other leader,
    /// which it may not hear, as each of the two ends the other's epoch.
    pub fn rest(&mut self) {
        if Fault::NoRest.is_planted() {
            return;
        }
        let unit = self.state.settings.timing.t2();
        let until = self.state.candidacy.rest(unit, self.now);
        if let Some(due) = self.state.timers.due(Timer::Coordinator) {
            self.state.timers.arm(Timer::Coordinator, due.max(until));
        }
    }

    /// A peer was to lead, or to continue its election, and did not in time. The second time in a row this member
    /// stops waiting for its answers; but not without a majority: two members that elect without each other might
    /// lead in the same epoch. A leader that gave up its epoch for that peer waits before it does so again. As long
    /// as this member's own vote is not free, the votes of others may not be either: then nobody could lead.
    pub fn pass_over(&mut self, id: NodeId, unit: Duration) {
        let now = self.now;
        let votes = self.state.needs_majority() && self.state.voter.is_free(now);
        let let_down = self.state.gave_up().is_some_and(|(_, successor)| successor == Some(id));
        let passed_over = self.state.detector.change(id, |peer| {
            if let_down {
                peer.lets_down(unit, now);
            }
            votes && peer.does_not_lead(unit, now)
        });
        if passed_over {
            self.out.push(Output::Note(Note::DoesNotLead { peer: id }));
        }
    }

    /// With a majority, and not with halting: a peer goes away. If it comes and goes, it comes after all others for a
    /// while, whatever its rank: each of its leaderships would end soon, and cost the time of a lease.
    pub fn note_departure(&mut self, id: NodeId) {
        // With halting one that is passed over is not taken in either, and a liar could spoil elections by that.
        let counts = self.state.settings.algorithm != AlgorithmKind::Halting;
        if self.state.needs_majority() && counts && !Fault::UnsteadyLeads.is_planted() {
            let (failure, now) = (self.state.settings.timing.failure, self.now);
            self.state.detector.change(id, |peer| peer.leaves(failure, failure * STEADY, now));
        }
    }

    /// The leader reports that a peer went away. If this member heard the peer of late, only the link between the two is
    /// dead.
    pub fn note_reported_departure(&mut self, id: NodeId) {
        let failure = self.state.settings.timing.failure;
        let heard = |peer: &Peer| peer.heard_within(failure, self.now);
        if !self.state.detector.get(id).is_some_and(heard) {
            self.note_departure(id);
        }
    }

    /// For how long this voter prefers another to this candidate, which comes and goes: the leader that it has, or a steady
    /// candidate, itself or a third; none if it does not. Without a leader it is patient once, as the voters need not agree
    /// about which of them come and go, and would wait for each other.
    pub fn prefers_steadier(&self, candidate: NodeId) -> Option<Duration> {
        let (state, failure) = (&self.state, self.state.settings.timing.failure);
        let others = || state.eligible().any(|peer| !peer.is_unsteady());
        if !self.is_unsteady(candidate) || !(state.is_eligible() || others()) {
            return None;
        }
        match state.course.leaderless() {
            None => Some(failure),
            Some(at) => {
                let left =
                    bounds::patience(&state.settings.timing).saturating_sub(self.now.since(at));
                Some(left).filter(|left| !left.is_zero())
            }
        }
    }

    /// Whether a peer comes and goes beside a steady majority.
    pub fn is_unsteady(&self, id: NodeId) -> bool {
        self.state.detector.get(id).is_some_and(|peer| self.state.comes_and_goes(peer))
    }

    /// Without a majority: another member leads the next epoch, perhaps this one itself, than the one for which this
    /// leader gave up its own.
    pub fn note_who_leads_instead(&mut self, leader: NodeId) {
        let next = self.state.gave_up().and_then(|(_, successor)| successor);
        if let Some(next) = next.filter(|id| *id != leader && !self.state.needs_majority()) {
            self.pass_over(next, self.state.settings.timing.t2());
        }
    }

    /// Whether a peer was to lead and did not, since it last led; or comes and goes.
    pub fn is_passed_over(&self, id: NodeId) -> bool {
        let peer = self.state.detector.get(id);
        peer.is_some_and(|peer| peer.is_passed_over() || self.state.comes_and_goes(peer))
    }

    /// Whether a peer failed to lead so recently that this member does not obey its elections.
    pub fn is_ignored(&self, id: NodeId) -> bool {
        self.state.detector.get(id).is_some_and(|peer| peer.is_ignored(self.now))
    }
}
