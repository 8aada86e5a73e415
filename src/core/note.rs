//! What an operator wants to know besides the changes of state.

use super::hello::Rejection;
use super::membership::ListVersion;
use super::split::Split;
use super::types::{NodeId, Pause};

/// What an operator wants to know of the connections.
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
    /// A peer is heard and could be told nothing for `failure`: it is passed over.
    Unreachable {
        /// The peer.
        peer: NodeId,
    },
    /// A peer that was passed over for that can be told something again.
    Reached {
        /// The peer.
        peer: NodeId,
    },
    /// A peer was to lead and did not in time: its answer is not waited for again until it has led.
    DoesNotLead {
        /// The peer.
        peer: NodeId,
    },
    /// This voter's store was empty, and it has looked for all other voters for long enough without meeting
    /// these: it votes for nobody.
    Uninformed {
        /// The voters that it has not met.
        voters: Vec<NodeId>,
    },
    /// This leader stamps its own list above one that a peer had from elsewhere.
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
    /// This member leads and met another that does.
    Split(Split),
}
