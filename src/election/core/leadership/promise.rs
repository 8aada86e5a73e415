//! With a majority: the promises of voters, and the lease that they make.

use std::time::Duration;

use crate::core::context::Context;
use crate::core::planted::Fault;
use crate::core::settings::LONGEST_PROMISE;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Time};

/// Whether enough voters have voted for this member in this epoch, and that lease has not expired.
pub fn has_votes(state: &State, epoch: Epoch, now: Time) -> bool {
    state.candidacy.lease_of(epoch).is_some_and(|lease| now < lease.until(state.majority()))
}

/// Whether this voter would make a promise of this length. (L2)
pub fn may_promise(state: &State, lease: Duration) -> bool {
    let longest = state.settings.timing.lease.saturating_mul(LONGEST_PROMISE);
    lease <= longest || Fault::LongPromise.is_planted()
}

/// Arms the timer of the lease anew, after its end has moved.
pub fn arm_lease(state: &mut State) {
    if let Some(lease) = state.course.lease() {
        let until = lease.until(state.majority());
        state.timers.arm(Timer::Lease, until);
    }
}

/// A voter acknowledged a heartbeat round. (E3)
pub fn prolong(cx: &mut Context<'_>, voter: NodeId, number: u64) {
    let (counts, length) = (cx.state.is_voter(voter), cx.state.settings.timing.lease);
    let number = if Fault::OlderCopy.is_planted() { cx.state.course.round() } else { number };
    if let Some(lease) = cx.state.course.lease_mut().filter(|_| counts) {
        if Fault::LeaseFromReceipt.is_planted() {
            lease.sent(number, cx.now, length);
        }
        lease.acknowledge(voter, number);
        arm_lease(cx.state);
    }
}

/// Begins the lease of a leader that begins to lead, or to lead in a greater epoch.
pub fn begin_lease(cx: &mut Context<'_>, epoch: Epoch) {
    if !cx.state.needs_majority() {
        return;
    }
    debug_assert!(has_votes(cx.state, epoch, cx.now), "leads in an epoch of nobody");
    cx.state.timers.cancel(Timer::Voters);
    if let Some(lease) = cx.state.candidacy.begin_lease(epoch) {
        let own = (cx.state.id(), cx.state.records.incarnation());
        let length = cx.state.settings.timing.lease;
        cx.state.voter.promise(cx.now, own, epoch, length);
        cx.state.course.begin_lease(lease);
        arm_lease(cx.state);
    }
}
