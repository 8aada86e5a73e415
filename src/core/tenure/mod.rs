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

use super::membership::MemberList;
use super::types::{Epoch, NodeId, Task};

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
}
