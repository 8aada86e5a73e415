//! The first message on a connection: who the sender is, and what both sides must agree on.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::content::View;
use super::death::DeathHash;
use super::departures::Departure;
use super::membership::MemberList;
use super::protocol::Protocols;
use super::settings::{AlgorithmKind, Quorum, Settings};
use super::types::{Epoch, Incarnation, NodeId, Rank};

/// The first message on a connection, from the dialer (HELLO) and back (WELCOME).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hello {
    /// The versions of the protocol that the sender speaks.
    pub protocols: Protocols,
    /// The sender's version of electd, for people; none of a sender that does not tell it.
    pub version: Option<Arc<str>>,
    pub id: NodeId,
    /// The member that the sender wants to reach: any other member must refuse it.
    pub to: NodeId,
    pub incarnation: Incarnation,
    /// Tells two processes with one id and one incarnation apart.
    pub instance: u64,
    /// The settings that must be the same on both sides.
    pub agreement: Arc<Agreement>,
    /// The hash of the secret that proves the end of this incarnation; none of a sender without a coroner.
    pub death: Option<DeathHash>,
    /// The sender's timings in nanoseconds (heartbeat, failure, message, lease); members only warn of a difference.
    pub timing: [u64; 4],
    pub rank: Rank,
    pub eligible: bool,
    /// The leader and epoch that the sender knows; the leader only if heard within `failure`.
    pub view: View,
    /// The greatest round that the sender has seen.
    pub round: Epoch,
    /// The sender's member list: a receiver that was away need not know the sender.
    pub list: Arc<MemberList>,
    /// The members that went away lately, as far as the sender knows: the receiver may have been away itself.
    pub departures: Vec<Departure>,
}

/// The settings that members must share.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Agreement {
    pub cluster: String,
    pub algorithm: AlgorithmKind,
    pub quorum: Quorum,
    pub preempt: String,
    pub rank: String,
}

impl Agreement {
    /// The agreement of a member with these settings.
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

/// Why a hello was refused. Both sides log it in words whenever it changes, and show it in their status; a stranger's
/// is only logged. `ours` is of the refusing member, and `theirs` of the dialer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub enum Rejection {
    /// The two members share no version of the protocol: these two come closest.
    Protocol { ours: u32, theirs: u32 },
    /// The dialer belongs to another cluster.
    Cluster { ours: String, theirs: String },
    /// The dialer's id is not in the member list.
    UnknownId(NodeId),
    /// The dialer was a member and has been removed.
    Removed(NodeId),
    /// The dialer carries the id of the refusing member.
    OwnId(NodeId),
    /// Another process with this id, which connected from this address, was heard within `failure`.
    IdInUse { id: NodeId, address: String },
    /// With a majority: the incarnation that the dialer claims is below the known one, which was met. So it lost its
    /// state and its promises.
    StateLost { id: NodeId, known: Incarnation, told: Incarnation },
    /// The two members differ in a setting that must be shared: this key of the configuration.
    Disagreement { key: String, ours: String, theirs: String },
    /// Another member answers at the address that was dialed.
    WrongAddress { expected: NodeId, found: NodeId },
    /// This number of the hello, or of a message, cannot have come about: the refusing member accepts at most that.
    Beyond { key: String, most: u64, told: u64 },
}
