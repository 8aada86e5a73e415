//! Conversions of the first words on a connection between the core's types and those of the JSON.

use std::sync::Arc;

use super::bounds::{ClusterName, Line, Origin};
use super::schema as wire;
use super::values::wire_timing;
use crate::core::message as core;
use crate::core::message::Rejection;
use crate::core::protocol::Protocols;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::core::types::{NodeId, Rank};

fn line(text: &str) -> Line {
    Line(text.to_owned())
}

impl From<&core::Hello> for wire::Hello {
    fn from(hello: &core::Hello) -> Self {
        let agreement = &hello.agreement;
        wire::Hello {
            protocol: hello.protocols.lowest,
            highest: Some(hello.protocols.highest),
            cluster: ClusterName(agreement.cluster.clone()),
            id: hello.id.0,
            to: hello.to.0,
            incarnation: hello.incarnation.into(),
            instance: hello.instance,
            algorithm: line(agreement.algorithm.name()),
            quorum: line(agreement.quorum.name()),
            preempt: line(&agreement.preempt),
            rank_by: line(&agreement.rank),
            timing: wire_timing(hello.timing),
            rank: hello.rank.value,
            eligible: hello.eligible,
            view: hello.view.into(),
            round: hello.round.into(),
            list: hello.list.as_ref().into(),
        }
    }
}

impl TryFrom<wire::Hello> for core::Hello {
    type Error = Rejection;

    fn try_from(hello: wire::Hello) -> Result<Self, Rejection> {
        let (algorithms, algorithm) = (&AlgorithmKind::ALL, AlgorithmKind::name);
        let agreement = core::Agreement {
            cluster: hello.cluster.0,
            algorithm: named("algorithm", &hello.algorithm.0, algorithms, algorithm)?,
            quorum: named("quorum", &hello.quorum.0, &Quorum::ALL, Quorum::name)?,
            preempt: hello.preempt.0,
            rank: hello.rank_by.0,
        };
        Ok(core::Hello {
            protocols: protocols(hello.protocol, hello.highest),
            id: NodeId(hello.id),
            to: NodeId(hello.to),
            incarnation: hello.incarnation.into(),
            instance: hello.instance,
            agreement: Arc::new(agreement),
            timing: hello.timing.map(Into::into),
            rank: Rank { value: hello.rank, id: NodeId(hello.id) },
            eligible: hello.eligible,
            view: hello.view.into(),
            round: hello.round.into(),
            list: Arc::new(hello.list.into()),
        })
    }
}

/// The versions that a hello tells.
pub fn protocols(lowest: u32, highest: Option<u32>) -> Protocols {
    Protocols { lowest, highest: highest.unwrap_or(lowest) }
}

/// Finds the value with this name; a name that this version does not know is a disagreement.
fn named<T: Copy>(
    key: &str,
    theirs: &str,
    known: &[T],
    name: fn(T) -> &'static str,
) -> Result<T, Rejection> {
    known.iter().copied().find(|value| name(*value) == theirs).ok_or_else(|| {
        let ours = known.iter().map(|value| name(*value)).collect::<Vec<_>>().join(" or ");
        Rejection::Disagreement { key: key.to_owned(), ours, theirs: theirs.to_owned() }
    })
}

impl From<&Rejection> for wire::Rejection {
    fn from(reason: &Rejection) -> Self {
        match reason.clone() {
            Rejection::Protocol { ours, theirs } => Self::Protocol { ours, theirs },
            Rejection::Cluster { ours, theirs } => {
                Self::Cluster { ours: ClusterName(ours), theirs: ClusterName(theirs) }
            }
            Rejection::UnknownId(id) => Self::UnknownId { id: id.0 },
            Rejection::OwnId(id) => Self::OwnId { id: id.0 },
            Rejection::IdInUse { id, address } => {
                Self::IdInUse { id: id.0, address: Origin(address) }
            }
            Rejection::Disagreement { key, ours, theirs } => {
                Self::Disagreement { key: Line(key), ours: Line(ours), theirs: Line(theirs) }
            }
            Rejection::StateLost { id, known, told } => {
                Self::StateLost { id: id.0, known: known.into(), told: told.into() }
            }
            Rejection::Removed(id) => Self::Removed { id: id.0 },
            Rejection::WrongAddress { expected, found } => {
                Self::WrongAddress { expected: expected.0, found: found.0 }
            }
        }
    }
}

impl From<wire::Rejection> for Rejection {
    fn from(reason: wire::Rejection) -> Self {
        use wire::Rejection as R;
        match reason {
            R::Protocol { ours, theirs } => Self::Protocol { ours, theirs },
            R::Cluster { ours, theirs } => Self::Cluster { ours: ours.0, theirs: theirs.0 },
            R::UnknownId { id } => Self::UnknownId(NodeId(id)),
            R::OwnId { id } => Self::OwnId(NodeId(id)),
            R::IdInUse { id, address } => Self::IdInUse { id: NodeId(id), address: address.0 },
            R::Disagreement { key, ours, theirs } => {
                Self::Disagreement { key: key.0, ours: ours.0, theirs: theirs.0 }
            }
            R::StateLost { id, known, told } => {
                let (known, told) = (known.into(), told.into());
                Self::StateLost { id: NodeId(id), known, told }
            }
            R::Removed { id } => Self::Removed(NodeId(id)),
            R::WrongAddress { expected, found } => {
                Self::WrongAddress { expected: NodeId(expected), found: NodeId(found) }
            }
        }
    }
}
