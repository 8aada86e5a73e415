//! The first words on a connection: who the sender is and what both sides must agree on.

use std::sync::Arc;

use super::content::View;
use super::membership::MemberList;
use super::protocol::Protocols;
use super::settings::{AlgorithmKind, Quorum, Settings};
use super::types::{Epoch, Incarnation, NodeId, Rank};

/// The first words on a connection, from the dialer (HELLO) and back (WELCOME).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hello {
    /// The versions of the protocol that the sender speaks.
    pub protocols: Protocols,
    /// Who the sender is.
    pub id: NodeId,
    /// Who the receiver is to be: another one must not take it for a new connection.
    pub to: NodeId,
    /// Which start of it this is.
    pub incarnation: Incarnation,
    /// Tells two processes with one id and one incarnation apart.
    pub instance: u64,
    /// What must be the same on both sides.
    pub agreement: Arc<Agreement>,
    /// The sender's timings in nanoseconds (heartbeat, failure, message, lease); a difference is
    /// only warned of.
    pub timing: [u64; 4],
    /// The sender's rank.
    pub rank: Rank,
    /// Whether it may be nominated.
    pub eligible: bool,
    /// The leader and epoch that it knows; the leader only if heard within `failure`.
    pub view: View,
    /// The greatest round that it has seen.
    pub round: Epoch,
    /// Its member list: a member that was away need not know who the sender is.
    pub list: Arc<MemberList>,
}

/// The settings that members must share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agreement {
    /// The cluster's name.
    pub cluster: String,
    /// The election algorithm.
    pub algorithm: AlgorithmKind,
    /// The guarantee.
    pub quorum: Quorum,
    /// Whether a higher member takes over.
    pub preempt: String,
    /// What the attribute of a rank is.
    pub rank: String,
}

impl Agreement {
    /// What a member with these settings says.
    pub(super) fn of(settings: &Settings) -> Agreement {
        Agreement {
            cluster: settings.cluster.clone(),
            algorithm: settings.algorithm,
            quorum: settings.quorum,
            preempt: settings.preempt.to_string(),
            rank: settings.rank.name().to_owned(),
        }
    }
}

/// Why a hello was refused. Both sides log it, in words, once until it changes, and show it in
/// their status; strangers are only logged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// The dialer speaks no version of the protocol that the member speaks that refuses it.
    Protocol {
        /// The version of the member that refuses which comes closest.
        ours: u32,
        /// That of the dialer.
        theirs: u32,
    },
    /// The dialer belongs to another cluster.
    Cluster {
        /// The cluster of the member that refuses.
        ours: String,
        /// The cluster of the dialer.
        theirs: String,
    },
    /// The dialer's id is not in the member list.
    UnknownId(NodeId),
    /// The dialer was a member and has been removed.
    Removed(NodeId),
    /// The dialer carries the id of the member that refuses.
    OwnId(NodeId),
    /// Another process with this id was heard within `failure`.
    IdInUse {
        /// The id.
        id: NodeId,
        /// Where the other process connected from.
        address: String,
    },
    /// With a majority: the dialer's incarnation is below one that was met, so it lost its state
    /// and with it what it promised.
    StateLost {
        /// The member.
        id: NodeId,
        /// The incarnation that was met.
        known: Incarnation,
        /// The one that it has now.
        told: Incarnation,
    },
    /// A setting that must be shared is not.
    Disagreement {
        /// The key in the configuration.
        key: String,
        /// The value of the member that refuses.
        ours: String,
        /// The value of the dialer.
        theirs: String,
    },
    /// Another member answers at the address that was dialed.
    WrongAddress {
        /// The member that was to be there.
        expected: NodeId,
        /// The member that is there.
        found: NodeId,
    },
}
