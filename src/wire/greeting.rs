//! Conversions of the first words on a connection between the core's types and those of the JSON.

use std::sync::Arc;

use super::schema as wire;
use crate::core::message as core;
use crate::core::message::Rejection;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::core::types::{Epoch, Incarnation, NodeId, Rank};

impl From<&core::Hello> for wire::Hello {
    fn from(hello: &core::Hello) -> Self {
        let agreement = &hello.agreement;
        wire::Hello {
            protocol: hello.protocol,
            cluster: agreement.cluster.clone(),
            id: hello.id.0,
            to: hello.to.0,
            incarnation: hello.incarnation.0,
            instance: hello.instance,
            algorithm: agreement.algorithm.name().to_owned(),
            quorum: agreement.quorum.name().to_owned(),
            preempt: agreement.preempt.clone(),
            rank_by: agreement.rank.clone(),
            timing: hello.timing,
            rank: hello.rank.value,
            stands: hello.stands,
            view: hello.view.into(),
            round: hello.round.0,
            list: hello.list.as_ref().into(),
        }
    }
}

impl TryFrom<wire::Hello> for core::Hello {
    type Error = Rejection;

    fn try_from(hello: wire::Hello) -> Result<Self, Rejection> {
        let (algorithms, algorithm) = (&AlgorithmKind::ALL, AlgorithmKind::name);
        let agreement = core::Agreement {
            cluster: hello.cluster,
            algorithm: named("algorithm", &hello.algorithm, algorithms, algorithm)?,
            quorum: named("quorum", &hello.quorum, &Quorum::ALL, Quorum::name)?,
            preempt: hello.preempt,
            rank: hello.rank_by,
        };
        Ok(core::Hello {
            protocol: hello.protocol,
            id: NodeId(hello.id),
            to: NodeId(hello.to),
            incarnation: Incarnation(hello.incarnation),
            instance: hello.instance,
            agreement: Arc::new(agreement),
            timing: hello.timing,
            rank: Rank { value: hello.rank, id: NodeId(hello.id) },
            stands: hello.stands,
            view: hello.view.into(),
            round: Epoch(hello.round),
            list: Arc::new(hello.list.into()),
        })
    }
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
            Rejection::Cluster { ours, theirs } => Self::Cluster { ours, theirs },
            Rejection::UnknownId(id) => Self::UnknownId { id: id.0 },
            Rejection::OwnId(id) => Self::OwnId { id: id.0 },
            Rejection::IdInUse { id, address } => Self::IdInUse { id: id.0, address },
            Rejection::Disagreement { key, ours, theirs } => {
                Self::Disagreement { key, ours, theirs }
            }
            Rejection::StateLost { id, known, told } => {
                Self::StateLost { id: id.0, known: known.0, told: told.0 }
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
            R::Cluster { ours, theirs } => Self::Cluster { ours, theirs },
            R::UnknownId { id } => Self::UnknownId(NodeId(id)),
            R::OwnId { id } => Self::OwnId(NodeId(id)),
            R::IdInUse { id, address } => Self::IdInUse { id: NodeId(id), address },
            R::Disagreement { key, ours, theirs } => Self::Disagreement { key, ours, theirs },
            R::StateLost { id, known, told } => {
                let (known, told) = (Incarnation(known), Incarnation(told));
                Self::StateLost { id: NodeId(id), known, told }
            }
            R::Removed { id } => Self::Removed(NodeId(id)),
            R::WrongAddress { expected, found } => {
                Self::WrongAddress { expected: NodeId(expected), found: NodeId(found) }
            }
        }
    }
}
