//! Events besides the changes of phase that an operator wants to know.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::hello::Rejection;
use super::membership::ListVersion;
use super::types::{Epoch, Incarnation, NodeId, Pause, Time};

/// An event for the operator's log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Note {
    /// A peer refuses this member.
    Rejected { peer: NodeId, reason: Rejection },
    /// This member refuses a dialer, or the answer of a peer that it dialed.
    Refused { peer: NodeId, reason: Rejection },
    /// The connection to a peer is up.
    Connected { peer: NodeId },
    /// This member hears a peer but could send it nothing for `failure`: it passes the peer over.
    Unreachable { peer: NodeId },
    /// This member can send again to a peer that was unreachable.
    Reached { peer: NodeId },
    /// A peer was to lead and did not in time: this member waits for it again only after the peer has led.
    DoesNotLead { peer: NodeId },
    /// This voter's store was empty, and discovery has ended before it met these voters: it votes for nobody.
    Uninformed { voters: Vec<NodeId> },
    /// This leader gives its own list a version above the list that a peer had from another leader.
    ListOverruled { peer: NodeId, version: ListVersion },
    /// A peer has other timings; the cluster works, but its bounds do not hold.
    TimingDiffers {
        peer: NodeId,
        /// Its heartbeat, failure, message and lease times in nanoseconds.
        theirs: [u64; 4],
    },
    /// A death certificate of this incarnation of a peer that does not prove anything: it came from a member, or as the
    /// answer to a dial.
    Forged { peer: NodeId, incarnation: Incarnation, from: Option<NodeId> },
    /// The cluster is paused or resumed, as far as this member knows.
    Paused(Pause),
    /// This member leads, and met another leader.
    Split(Split),
}

/// Another leader that a leader met: two led at once, as after a partition in mode none.
///
/// Only leaders can notice it: the one that steps down, when it hears of the other; and the one that stays, if it
/// heard the other before that stepped down. A follower that hears of a second leader cannot know whether the first
/// still leads: its RELEASE may be on its way on another connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Split {
    pub other: NodeId,
    pub theirs: Epoch,
    pub own: Epoch,
    pub met: Time,
    /// How long both led in these epochs, at most: one of them steps down within a `message`'s time from then.
    pub lasted: Duration,
}
