//! Leading with a majority: what a nominee asks the voters (`nominee.rs`), what a voter answers
//! (`voter.rs`), and for how long a leader leads (`lease.rs`).
//!
//! The algorithm nominates; with a majority it goes on only when the voters agree. Their answers
//! are weighed once at the end of every turn.

mod lease;
mod nominee;
mod voter;

use std::collections::BTreeSet;

use super::membership::Member;
use super::phase::Phase;
use super::settings::{Preempt, Quorum};
use super::state::State;
use super::turn::Turn;
use super::types::{Epoch, NodeId, Time};

impl State {
    /// Whether a leader needs a majority.
    pub(in crate::core) fn needs_majority(&self) -> bool {
        self.settings.quorum == Quorum::Majority
    }

    pub(in crate::core) fn voters(&self) -> usize {
        self.members.voters()
    }

    /// How many voters are more than half of them.
    pub(in crate::core) fn majority(&self) -> usize {
        self.members.majority()
    }

    pub(in crate::core) fn is_voter(&self, id: NodeId) -> bool {
        self.members.get(id).is_some_and(Member::votes)
    }

    /// Whether this epoch is known to be led by another than this member: with a majority no
    /// epoch has two leaders, whatever anybody says.
    pub(in crate::core) fn is_of_another(&self, leader: NodeId, epoch: Epoch) -> bool {
        let known = self.view.leader.filter(|_| self.view.epoch == epoch);
        self.needs_majority() && known.is_some_and(|known| known.id != leader)
    }

    /// Whether a higher member takes over without following first. With a majority it follows, and
    /// asks the voters whether they would grant its claim.
    pub(in crate::core) fn preempts_at_once(&self) -> bool {
        self.settings.preempt == Preempt::Always && !self.needs_majority()
    }

    /// Whether this member promised its vote to the leader that it follows.
    pub(in crate::core) fn is_promised(&self, now: Time) -> bool {
        let bound = self.voter.bound_to(now);
        self.needs_majority() && bound.is_some_and(|leader| self.follows(leader))
    }
}

impl Turn<'_> {
    /// Whether so many different voters are named.
    pub fn is_majority(&self, votes: &[NodeId]) -> bool {
        let votes: BTreeSet<_> = votes.iter().collect();
        let voters = votes.iter().filter(|id| self.cx.state.is_voter(***id)).count();
        !self.cx.state.needs_majority() || voters >= self.cx.state.majority()
    }

    /// Whether a member votes, and is not about to end.
    pub fn votes(&self) -> bool {
        let state = &self.cx.state;
        state.needs_majority() && state.is_voter(state.id()) && state.phase != Phase::Stopping
    }
}
