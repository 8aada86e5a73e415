//! The JSON of the first messages on a connection. A hello is flat there, and may have words that this version does
//! not know: then the member refuses it and says why.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounds::{at_most, cluster_name, line, nanos, nanos_each, optional_line, origin};
use super::mirror::{id, mirrors};
use crate::core::death::{DeathCertificate, DeathHash};
use crate::core::departures;
use crate::core::membership::{MOST_MEMBERS, MemberList};
use crate::core::message as core;
use crate::core::message::View;
use crate::core::protocol::Protocols;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::core::types::{Epoch, Incarnation, NodeId, Rank};

mirrors! { Departure => departures::Departure }

/// What stands before the greatest number that a member accepts, where a number is refused.
const AT_MOST: &str = "at most ";

/// As the mirror says, but for a number that cannot have come about: that is sent as a setting that differs, which an
/// older electd reads as well.
impl Serialize for core::Rejection {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if !to.is_human_readable() {
            return core::Rejection::serialize(self, to);
        }
        match self {
            core::Rejection::Beyond { key, most, told } => {
                let (key, ours) = (key.clone(), format!("{AT_MOST}{most}"));
                let theirs = told.to_string();
                Rejection::serialize(&core::Rejection::Disagreement { key, ours, theirs }, to)
            }
            other => Rejection::serialize(other, to),
        }
    }
}

impl<'de> Deserialize<'de> for core::Rejection {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        if !from.is_human_readable() {
            return core::Rejection::deserialize(from);
        }
        Ok(match Rejection::deserialize(from)? {
            core::Rejection::Disagreement { key, ours, theirs } => {
                let most = ours.strip_prefix(AT_MOST).and_then(|most| most.parse().ok());
                match (most, theirs.parse()) {
                    (Some(most), Ok(told)) => core::Rejection::Beyond { key, most, told },
                    _ => core::Rejection::Disagreement { key, ours, theirs },
                }
            }
            other => other,
        })
    }
}

/// The first frame of a dialer.
#[derive(Serialize, Deserialize)]
pub struct Hello {
    /// The lowest version that the sender speaks; if it is at most 5, the only one.
    protocol: u32,
    /// The highest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    highest: Option<u32>,
    /// The sender's version of electd; senders up to 0.1 do not tell it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "optional_line")]
    version: Option<String>,
    #[serde(deserialize_with = "cluster_name")]
    cluster: String,
    id: NodeId,
    to: NodeId,
    incarnation: Incarnation,
    instance: u64,
    #[serde(deserialize_with = "line")]
    algorithm: String,
    #[serde(deserialize_with = "line")]
    quorum: String,
    #[serde(deserialize_with = "line")]
    preempt: String,
    #[serde(deserialize_with = "line")]
    rank_by: String,
    /// Members up to protocol 6 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    death: Option<DeathHash>,
    #[serde(with = "nanos_each")]
    timing: [u64; 4],
    rank: i64,
    #[serde(rename = "stands")]
    eligible: bool,
    view: View,
    round: Epoch,
    list: Arc<MemberList>,
    /// Earlier versions do not tell it.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "at_most::<_, _, _, MOST_MEMBERS>"
    )]
    departures: Vec<departures::Departure>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "departures::Departure")]
struct Departure {
    member: NodeId,
    #[serde(rename = "counts_for_ns", with = "nanos")]
    counts_for: Duration,
    again: bool,
}

/// The first frame of the accepter.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyFrame {
    Welcome(Box<Hello>),
    Reject(core::Rejection),
    /// Of a coroner: the node that listened here has died.
    Dead(DeathCertificate),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Rejection", rename_all = "snake_case")]
enum Rejection {
    Protocol {
        ours: u32,
        theirs: u32,
    },
    Cluster {
        #[serde(deserialize_with = "cluster_name")]
        ours: String,
        #[serde(deserialize_with = "cluster_name")]
        theirs: String,
    },
    UnknownId(#[serde(with = "id")] NodeId),
    OwnId(#[serde(with = "id")] NodeId),
    IdInUse {
        id: NodeId,
        #[serde(deserialize_with = "origin")]
        address: String,
    },
    Disagreement {
        #[serde(deserialize_with = "line")]
        key: String,
        #[serde(deserialize_with = "line")]
        ours: String,
        #[serde(deserialize_with = "line")]
        theirs: String,
    },
    WrongAddress {
        expected: NodeId,
        found: NodeId,
    },
    StateLost {
        id: NodeId,
        known: Incarnation,
        told: Incarnation,
    },
    Removed(#[serde(with = "id")] NodeId),
    /// It is sent as a disagreement.
    #[serde(skip)]
    Beyond {
        key: String,
        most: u64,
        told: u64,
    },
}

impl From<&core::Hello> for Hello {
    fn from(hello: &core::Hello) -> Self {
        let agreement = &hello.agreement;
        Hello {
            protocol: hello.protocols.lowest,
            highest: Some(hello.protocols.highest),
            version: hello.version.as_deref().map(str::to_owned),
            cluster: agreement.cluster.clone(),
            id: hello.id,
            to: hello.to,
            incarnation: hello.incarnation,
            instance: hello.instance,
            algorithm: agreement.algorithm.name().to_owned(),
            quorum: agreement.quorum.name().to_owned(),
            preempt: agreement.preempt.clone(),
            rank_by: agreement.rank.clone(),
            death: hello.death,
            timing: hello.timing,
            rank: hello.rank.value,
            eligible: hello.eligible,
            view: hello.view,
            round: hello.round,
            list: Arc::clone(&hello.list),
            departures: hello.departures.clone(),
        }
    }
}

impl TryFrom<Hello> for core::Hello {
    type Error = core::Rejection;

    fn try_from(hello: Hello) -> Result<Self, core::Rejection> {
        let (algorithms, algorithm) = (&AlgorithmKind::ALL, AlgorithmKind::name);
        let agreement = core::Agreement {
            cluster: hello.cluster,
            algorithm: named("algorithm", &hello.algorithm, algorithms, algorithm)?,
            quorum: named("quorum", &hello.quorum, &Quorum::ALL, Quorum::name)?,
            preempt: hello.preempt,
            rank: hello.rank_by,
        };
        Ok(core::Hello {
            protocols: protocols(hello.protocol, hello.highest),
            version: hello.version.map(Arc::from),
            id: hello.id,
            to: hello.to,
            incarnation: hello.incarnation,
            instance: hello.instance,
            agreement: Arc::new(agreement),
            death: hello.death,
            timing: hello.timing,
            rank: Rank { value: hello.rank, id: hello.id },
            eligible: hello.eligible,
            view: hello.view,
            round: hello.round,
            list: hello.list,
            departures: hello.departures,
        })
    }
}

/// The versions in a hello.
pub fn protocols(lowest: u32, highest: Option<u32>) -> Protocols {
    Protocols { lowest, highest: highest.unwrap_or(lowest) }
}

/// Finds the value with this name; a name that this version does not know is a disagreement.
fn named<T: Copy>(
    key: &str,
    theirs: &str,
    known: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, core::Rejection> {
    known.iter().copied().find(|value| name(*value) == theirs).ok_or_else(|| {
        let ours = known.iter().map(|value| name(*value)).collect::<Vec<_>>().join(" or ");
        core::Rejection::Disagreement { key: key.to_owned(), ours, theirs: theirs.to_owned() }
    })
}
