//! Changes of this member's own rank and eligibility: samples, health checks and drains.

use super::forwarding::Carried;
use super::message::{Done, Refusal};
use super::phase::{Phase, Reason};
use super::settings::Preempt;
use super::turn::Turn;
use super::types::Drain;

impl Turn<'_> {
    /// The attribute was sampled anew. During an election the rank stays as it is. A leader keeps the rank that it
    /// was elected with, and reports the new one in its heartbeats: a member that exceeds that preempts it.
    pub fn sampled(&mut self, value: Option<i64>) {
        self.cx.state.eligibility.sampled(value);
        self.take_what_changed();
    }

    pub fn checked(&mut self, healthy: bool) {
        self.cx.state.eligibility.checked(healthy);
        self.hand_over_if_unfit();
        self.take_what_changed();
    }

    /// The job of this member failed: the member is eligible again when it is needed, as if it had resigned. A leader that
    /// nobody could succeed leads on. The caller repeats this if an election was in progress.
    pub fn stand_back(&mut self) {
        if self.cx.state.leads() {
            let _ = self.resign(None); // refused if nobody could succeed it
        } else if !self.cx.state.elects() {
            self.cx.state.eligibility.resign();
        }
    }

    /// An operator drains this member.
    pub fn drain(&mut self, drain: Drain) -> Carried {
        let state = &self.cx.state;
        let successor = state.best_other().filter(|_| state.leads());
        if state.leads() && successor.is_none() {
            return Err(Refusal::NoSuccessor);
        }
        if !state.records.have_room() {
            return Err(Refusal::TooMany);
        }
        self.cx.state.eligibility.set_drain(Some(drain));
        let record = self.cx.persist();
        if matches!(self.cx.state.phase(), Phase::Electing | Phase::Reorganizing) {
            self.cx.freeze_rank(); // it could win this election after the answer
            self.call(Reason::Drained);
        }
        self.hand_over_if_unfit();
        self.take_what_changed();
        Ok((record, Done::Drained { successor }))
    }

    /// This member may lead again. Returns the record that holds that, as well.
    pub fn undrain(&mut self) -> Result<(u64, Done), Refusal> {
        if !self.cx.state.records.have_room() {
            return Err(Refusal::TooMany);
        }
        self.cx.state.eligibility.set_drain(None);
        self.cx.state.eligibility.is_needed(); // a resignation is undone as well
        let record = self.cx.persist();
        self.take_what_changed();
        Ok((record, Done::Undrained))
    }

    /// Takes a new rank or eligibility, unless an election is in progress or this member leads.
    fn take_what_changed(&mut self) {
        let state = &self.cx.state;
        if !state.is_eligible() && self.algorithm.get().finds_nobody(state) {
            // An election found no member that may lead. If this member may by now, it calls another one.
            self.cx.freeze_rank();
            if self.cx.state.is_eligible() {
                self.call(Reason::Eligible);
            }
        }
        if self.cx.state.elects() || self.cx.state.leads() {
            return;
        }
        self.cx.freeze_rank();
        let preempts = self.cx.state.preempt() == Preempt::Always;
        if let Some(leader) = self.cx.state.leader_to_preempt().filter(|_| preempts) {
            self.cx.take_over(leader.id, Reason::Outranks(leader.id));
        }
    }
}
