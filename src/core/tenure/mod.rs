//! May a nominee lead, and until when.
//!
//! Without a quorum the only condition is that its epoch is durable ([`Reserve`]). With a majority
//! a nominee asks the voters twice: a trial changes nothing, a claim asks for their grants
//! ([`Nominee`]). A voter grants an epoch to one nominee only and promises not to grant another
//! for a while ([`Voter`]); a leader leads for as long as a majority is bound by what it promised
//! ([`Lease`]).

mod lease;
mod nominee;
mod reserve;
mod voter;

pub use lease::Lease;
pub use nominee::{Denied, Nominee, Purpose, Stage};
pub use reserve::Reserve;
pub use voter::{Grant, Objection, Vote, Voter};

use std::sync::Arc;

use super::membership::{ListVersion, MemberList};
use super::types::{Epoch, Incarnation, NodeId, Task};

/// What the store must write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Durable {
    /// The greatest epoch known.
    pub epoch: Epoch,
    /// Own rounds of the next life start above this.
    pub reserved: Epoch,
    /// The last leader known.
    pub leader: Option<NodeId>,
    /// The member list.
    pub members: Arc<MemberList>,
    /// The last task known.
    pub task: Task,
    /// With a majority: what a voter must not forget.
    pub vote: Option<Vote>,
    /// With a majority: this member was removed from the cluster, and nothing can undo that.
    pub removed: bool,
    /// With a majority: the greatest incarnation that each peer proved to have, in id order.
    pub met: Arc<[(NodeId, Incarnation)]>,
}

impl Durable {
    /// Whether a voter's store shows that its cluster has begun: it was told where the cluster stands,
    /// or has a list that a leader changed.
    #[must_use]
    pub fn knows_its_cluster(&self) -> bool {
        let changed = self.members.version() > ListVersion::default();
        self.vote.is_some_and(|vote| vote.has_voted() || changed)
    }
}
