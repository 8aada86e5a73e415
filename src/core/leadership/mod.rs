//! Who leads, and until when, whatever the algorithm.
//!
//! The algorithm nominates this member; the candidacy (`candidacy.rs`) waits until the epoch is durable and,
//! with a majority, asks the voters (`question.rs`) and counts their answers (`tally.rs`). A voter
//! (`voter.rs`) votes for one candidate of an epoch only, and promises to vote for no other for a while
//! (`voting.rs`). A leader leads for as long as a majority is bound by what it promised (`lease.rs`). It
//! announces itself (`announcement.rs`), and hands over to a better member (`handover.rs`).

mod announcement;
mod candidacy;
mod handover;
mod lease;
mod question;
mod tally;
mod voter;
mod voting;

pub(super) use candidacy::{Aim, Candidacy};
pub(super) use lease::Lease;
pub(super) use question::Stage;
pub(super) use voter::Voter;

use std::collections::BTreeSet;

use super::membership::Member;
use super::phase::Phase;
use super::planted::Fault;
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
        let other = known.is_some_and(|known| known.id != leader);
        self.needs_majority() && other && !Fault::SecondLeader.is_planted()
    }

    /// Whether a higher member takes over without following first. With a majority it follows, and
    /// asks the voters whether they would vote for it.
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
