//! With a majority: the promises of voters, and the lease that they make.

use std::time::Duration;

use crate::core::context::Context;
use crate::core::planted::Fault;
use crate::core::settings::LONGEST_PROMISE;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Time};

impl State {
    /// Whether enough voters have voted for this member in this epoch, and that lease has not expired.
    pub(in crate::core) fn has_votes(&self, epoch: Epoch, now: Time) -> bool {
        self.candidacy.lease_of(epoch).is_some_and(|lease| now < lease.until(self.majority()))
    }
}

impl Context<'_> {
    /// Whether this voter would make a promise of this length.
    pub fn may_promise(&self, lease: Duration) -> bool {
        let longest = self.state.settings.timing.lease.saturating_mul(LONGEST_PROMISE);
        lease <= longest || Fault::LongPromise.is_planted()
    }

    /// Arms the timer of the lease anew, after its end has moved.
    pub fn arm_lease(&mut self) {
        if let Some(lease) = self.state.course.lease() {
            let until = lease.until(self.state.majority());
            self.state.timers.arm(Timer::Lease, until);
        }
    }

    /// A voter acknowledged a heartbeat round.
    pub fn prolong(&mut self, voter: NodeId, number: u64) {
        let (counts, length) = (self.state.is_voter(voter), self.state.settings.timing.lease);
        let number = if Fault::OlderCopy.is_planted() { self.state.course.round() } else { number };
        if let Some(lease) = self.state.course.lease_mut().filter(|_| counts) {
            if Fault::LeaseFromReceipt.is_planted() {
                lease.sent(number, self.now, length);
            }
            lease.acknowledge(voter, number);
            self.arm_lease();
        }
    }

    /// Takes the lease of a leader that begins to lead, or to lead in a greater epoch.
    pub fn take_lease(&mut self, epoch: Epoch) {
        if !self.state.needs_majority() {
            return;
        }
        debug_assert!(self.state.has_votes(epoch, self.now), "leads in an epoch of nobody");
        self.state.timers.cancel(Timer::Voters);
        if let Some(lease) = self.state.candidacy.take_lease(epoch) {
            let (own, length) = (self.state.id(), self.state.settings.timing.lease);
            self.state.voter.promise(self.now, own, epoch, length);
            self.state.course.take_lease(lease);
            self.arm_lease();
        }
    }
}
