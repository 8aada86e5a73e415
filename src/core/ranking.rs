//! This member's own rank where it changes, and taking over by it.

use super::context::Context;
use super::message::Message;
use super::phase::Reason;
use super::settings::Preempt;
use super::tenure::{Purpose, Stage};
use super::turn::Turn;
use super::types::NodeId;

impl Context<'_> {
    /// Takes the latest sample as this member's rank, at the start of an election and after its
    /// end: it is frozen in between.
    pub fn freeze_rank(&mut self) {
        self.state.value = self.state.sample;
    }

    /// Where members preempt only after a while: asks a lower leader to hand over, once this
    /// member has stood for long enough. It goes on following until the leader does.
    pub fn ask_politely(&mut self) {
        let majority = self.state.needs_majority();
        let due = match self.state.settings.preempt {
            Preempt::After(after) => self.state.standing.due(after),
            Preempt::Always => majority.then_some(self.now),
            Preempt::Never => None,
        };
        // Who still looks for the others could not lead at once.
        if due.is_some_and(|due| due <= self.now) && !self.state.looks_around(self.now) {
            self.ask_lower_leader();
        }
    }

    /// Asks a lower leader to hand over, going on to follow it; with a majority, once enough
    /// voters would grant this member's claim.
    pub fn ask_lower_leader(&mut self) {
        let Some(leader) = self.state.lower_leader() else { return };
        let (view, rank, votes) = (self.state.view, self.state.rank(), Vec::new());
        if !self.state.needs_majority() {
            self.send(leader.id, Message::Preempt { epoch: view.epoch, rank, votes });
        } else if self.state.nominee.is_none() && self.now >= self.state.content_until {
            let next = self.state.round.next();
            self.ask_voters(Purpose::Preempt(view), Stage::Trial, next);
        }
    }

    /// Takes over from a live lower leader, at once where no majority is needed.
    pub fn take_over(&mut self, leader: NodeId, reason: Reason) {
        if self.state.needs_majority() {
            self.ask_lower_leader();
        } else {
            self.become_taking_over(self.state.view, leader, reason);
        }
    }

    /// Notes who stands, from one heartbeat round to the next.
    pub fn observe_standing(&mut self) {
        let Preempt::After(after) = self.state.settings.preempt else { return };
        let (stands, incarnation) = (self.state.stands(), self.state.incarnation);
        self.state.standing.observe(stands, incarnation, after, self.now);
        self.state.detector.observe_standing(after, self.now);
    }
}

impl Turn<'_> {
    /// The own attribute was sampled anew. In an election the rank stays as it is, and a leader
    /// keeps the one that it was elected with: a change by itself deposes nobody.
    pub fn sampled(&mut self, value: Option<i64>) {
        self.cx.state.sample = value;
        if self.cx.state.elects() || self.cx.state.leads() {
            return;
        }
        self.cx.freeze_rank();
        let preempts = self.cx.state.settings.preempt == Preempt::Always;
        if let Some(leader) = self.cx.state.lower_leader().filter(|_| preempts) {
            self.cx.take_over(leader.id, Reason::Outranks(leader.id));
        }
    }
}
