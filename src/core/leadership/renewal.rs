//! Taking, prolonging and ending the lease of this leader.

use super::lease::Lease;
use crate::core::context::Context;
use crate::core::message::Message;
use crate::core::phase::Reason;
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId, Time};

impl State {
    /// Until when a leader may lead, if it needs a majority.
    pub(in crate::core) fn lease_until(&self) -> Option<Time> {
        if !self.needs_majority() || !self.leads() {
            return None;
        }
        // A leader without a lease stops leading: no leader is better than a second one.
        Some(self.timers.due(Timer::Lease).unwrap_or_default())
    }

    fn end_of(&self, lease: &Lease) -> Time {
        lease.until(self.majority())
    }

    /// Whether enough voters have voted for this member in this epoch, and that lease has not expired.
    pub(super) fn has_votes(&self, epoch: Epoch, now: Time) -> bool {
        self.candidacy.lease_of(epoch).is_some_and(|lease| now < self.end_of(&lease))
    }
}

impl Context<'_> {
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

    /// Arms the timer of the lease anew, after its end has moved.
    pub fn arm_lease(&mut self) {
        if let Some(lease) = self.state.course.lease() {
            let until = self.state.end_of(lease);
            self.state.timers.arm(Timer::Lease, until);
        }
    }

    /// Notes that the leader sent a heartbeat round, with which it renews its own promise too.
    pub fn hold_by_own_heartbeat(&mut self, number: u64) {
        let (own, now, epoch) = (self.state.id(), self.now, self.state.view().epoch);
        let (length, votes) = (self.state.settings.timing.lease, self.state.is_voter(own));
        let Some(lease) = self.state.course.lease_mut() else { return };
        lease.sent(number, now, length);
        // This leader may have removed itself, or may not have been a voter when it was elected and have voted for
        // another candidate since.
        if !votes || !self.state.voter.promise(now, own, epoch, length) {
            return;
        }
        if self.state.voter.remembers(length) || Fault::OwnPromiseUnstored.is_planted() {
            lease.acknowledge(own, number);
            return self.arm_lease();
        }
        // A reload made the lease longer than any record says.
        let (incarnation, rank) = (self.state.records.incarnation(), self.state.rank());
        let eligible = self.state.is_eligible();
        let acknowledge =
            Message::Acknowledge { incarnation, epoch, number, rank, eligible, pause: None };
        self.tell_once_promise_is_durable(length, own, acknowledge);
    }
}

impl Turn<'_> {
    /// A leader whose lease has expired stops leading: enough voters may be free to vote for another.
    pub fn end_lease(&mut self) {
        if self.cx.state.lease_until().is_some_and(|until| until <= self.cx.now) {
            let epoch = self.cx.state.view().epoch;
            self.cx.give_up(None);
            self.call(Reason::LeaseEnded);
            self.cx.say_released(epoch, None);
        }
    }

    /// A voter acknowledged a heartbeat round.
    pub fn prolong(&mut self, voter: NodeId, number: u64) {
        let (counts, length) = (self.cx.state.is_voter(voter), self.cx.state.settings.timing.lease);
        let number = match Fault::OlderCopy.is_planted() {
            true => self.cx.state.course.round(),
            false => number,
        };
        if let Some(lease) = self.cx.state.course.lease_mut().filter(|_| counts) {
            if Fault::LeaseFromReceipt.is_planted() {
                lease.sent(number, self.cx.now, length);
            }
            lease.acknowledge(voter, number);
            self.cx.arm_lease();
        }
    }
}
