//! Events besides the changes of phase that an operator wants to know.

use super::hello::Rejection;
use super::membership::ListVersion;
use super::split::Split;
use super::types::{NodeId, Pause};

/// An event for the operator's log.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// A peer refuses this member.
    Rejected {
        /// The peer.
        peer: NodeId,
        /// Why.
        reason: Rejection,
    },
    /// This member refuses a dialer, or the answer of a peer that it dialed.
    Refused {
        /// The peer.
        peer: NodeId,
        /// Why.
        reason: Rejection,
    },
    /// The connection to a peer is up.
    Connected {
        /// The peer.
        peer: NodeId,
    },
    /// This member hears a peer but could send it nothing for `failure`: it passes the peer over.
    Unreachable {
        /// The peer.
        peer: NodeId,
    },
    /// This member can send again to a peer that was unreachable.
    Reached {
        /// The peer.
        peer: NodeId,
    },
    /// A peer was to lead and did not in time: this member waits for it again only after the peer has led.
    DoesNotLead {
        /// The peer.
        peer: NodeId,
    },
    /// This voter's store was empty, and discovery has ended before it met these voters: it votes for nobody.
    Uninformed {
        /// The voters that it has not met.
        voters: Vec<NodeId>,
    },
    /// This leader gives its own list a version above the list that a peer had from another leader.
    ListOverruled {
        /// The peer.
        peer: NodeId,
        /// The version of its list.
        version: ListVersion,
    },
    /// A peer has other timings; the cluster works, but its bounds do not hold.
    TimingDiffers {
        /// The peer.
        peer: NodeId,
        /// Its heartbeat, failure, message and lease times in nanoseconds.
        theirs: [u64; 4],
    },
    /// The cluster is paused or resumed, as far as this member knows.
    Paused(Pause),
    /// This member leads, and met another leader.
    Split(Split),
}
