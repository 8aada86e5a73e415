//! This member's own rank where it changes.

use super::context::Context;
use super::phase::Reason;
use super::settings::Preempt;
use super::turn::Turn;

impl Context<'_> {
    /// Takes the latest sample as this member's rank, at the start of an election and after its
    /// end: it is frozen in between.
    pub fn freeze_rank(&mut self) {
        self.state.eligibility.freeze();
    }

    /// Notes who stands, from one heartbeat round to the next.
    pub fn observe_standing(&mut self) {
        let Preempt::After(after) = self.state.settings.preempt else { return };
        let (stands, incarnation) = (self.state.stands(), self.state.records.incarnation());
        self.state.eligibility.observe(stands, incarnation, after, self.now);
        self.state.detector.observe_standing(after, self.now);
    }
}

impl Turn<'_> {
    /// The own attribute was sampled anew. In an election the rank stays as it is, and a leader
    /// keeps the one that it was elected with: a change by itself deposes nobody.
    pub fn sampled(&mut self, value: Option<i64>) {
        self.cx.state.eligibility.sampled(value);
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
