//! Conversions between the core's types and those of the JSON.

use std::sync::Arc;

use super::schema as wire;
use crate::core::membership::ListVersion;
use crate::core::message as core;
use crate::core::message::{Rejection, View};
use crate::core::settings::{AlgorithmKind, Preempt, Quorum};
use crate::core::types::{Epoch, Incarnation, NodeId, Rank};

impl From<&core::Hello> for wire::Hello {
    fn from(hello: &core::Hello) -> Self {
        let agreement = &hello.agreement;
        wire::Hello {
            protocol: hello.protocol,
            cluster: agreement.cluster.clone(),
            id: hello.id.0,
            incarnation: hello.incarnation.0,
            instance: hello.instance,
            algorithm: agreement.algorithm.name().to_owned(),
            quorum: agreement.quorum.name().to_owned(),
            preempt: agreement.preempt.name().to_owned(),
            rank_by: agreement.rank.clone(),
            timing: hello.timing,
            rank: hello.rank.value,
            stands: hello.stands,
            view: hello.view.into(),
            round: hello.round.0,
            list: [hello.list.epoch.0, hello.list.counter],
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
            preempt: named("preempt", &hello.preempt, &Preempt::ALL, Preempt::name)?,
            rank: hello.rank_by,
        };
        Ok(core::Hello {
            protocol: hello.protocol,
            id: NodeId(hello.id),
            incarnation: Incarnation(hello.incarnation),
            instance: hello.instance,
            agreement: Arc::new(agreement),
            timing: hello.timing,
            rank: Rank { value: hello.rank, id: NodeId(hello.id) },
            stands: hello.stands,
            view: hello.view.into(),
            round: Epoch(hello.round),
            list: ListVersion { epoch: Epoch(hello.list[0]), counter: hello.list[1] },
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

impl From<&core::Message> for wire::Message {
    fn from(message: &core::Message) -> Self {
        use core::Message as M;
        match message.clone() {
            M::Election { round, rank, stands } => {
                Self::Election { round: round.0, rank: rank.into(), stands }
            }
            M::Answer { round } => Self::Answer { round: round.0 },
            M::Coordinator { epoch, rank } => {
                Self::Coordinator { epoch: epoch.0, rank: rank.into() }
            }
            M::Heartbeat { epoch, number, rank, members } => {
                let members = members.into_iter().map(Into::into).collect();
                Self::Heartbeat { epoch: epoch.0, number, rank: rank.into(), members }
            }
            M::Acknowledge { epoch, number, rank, stands } => {
                Self::Acknowledge { epoch: epoch.0, number, rank: rank.into(), stands }
            }
            M::View(view) => Self::View(view.into()),
            M::Preempt { epoch } => Self::Preempt { epoch: epoch.0 },
            M::Release { epoch, successor, stands } => {
                Self::Release { epoch: epoch.0, successor: successor.map(|id| id.0), stands }
            }
            M::Forward { number, command } => {
                let core::Forwarded::Resign { to } = command;
                let command = wire::Forwarded::Resign { to: to.map(|id| id.0) };
                Self::Forward { number, command }
            }
            M::Outcome { number, result } => {
                let result = result.map(Into::into).map_err(Into::into);
                Self::Outcome { number, result }
            }
        }
    }
}

impl From<wire::Message> for core::Message {
    fn from(message: wire::Message) -> Self {
        use wire::Message as M;
        match message {
            M::Election { round, rank, stands } => {
                Self::Election { round: Epoch(round), rank: rank.into(), stands }
            }
            M::Answer { round } => Self::Answer { round: Epoch(round) },
            M::Coordinator { epoch, rank } => {
                Self::Coordinator { epoch: Epoch(epoch), rank: rank.into() }
            }
            M::Heartbeat { epoch, number, rank, members } => {
                let members = members.into_iter().map(Into::into).collect();
                Self::Heartbeat { epoch: Epoch(epoch), number, rank: rank.into(), members }
            }
            M::Acknowledge { epoch, number, rank, stands } => {
                Self::Acknowledge { epoch: Epoch(epoch), number, rank: rank.into(), stands }
            }
            M::View(view) => Self::View(view.into()),
            M::Preempt { epoch } => Self::Preempt { epoch: Epoch(epoch) },
            M::Release { epoch, successor, stands } => {
                Self::Release { epoch: Epoch(epoch), successor: successor.map(NodeId), stands }
            }
            M::Forward { number, command } => {
                let wire::Forwarded::Resign { to } = command;
                let command = core::Forwarded::Resign { to: to.map(NodeId) };
                Self::Forward { number, command }
            }
            M::Outcome { number, result } => {
                let result = result.map(Into::into).map_err(Into::into);
                Self::Outcome { number, result }
            }
        }
    }
}

impl From<View> for wire::View {
    fn from(view: View) -> Self {
        wire::View { epoch: view.epoch.0, leader: view.leader.map(Into::into) }
    }
}

impl From<wire::View> for View {
    fn from(view: wire::View) -> Self {
        View { epoch: Epoch(view.epoch), leader: view.leader.map(Into::into) }
    }
}

impl From<Rank> for wire::Rank {
    fn from(rank: Rank) -> Self {
        wire::Rank { value: rank.value, id: rank.id.0 }
    }
}

impl From<wire::Rank> for Rank {
    fn from(rank: wire::Rank) -> Self {
        Rank { value: rank.value, id: NodeId(rank.id) }
    }
}

impl From<core::MemberReport> for wire::MemberReport {
    fn from(report: core::MemberReport) -> Self {
        let status = match report.status {
            core::Liveness::Alive => wire::Liveness::Alive,
            core::Liveness::Suspected => wire::Liveness::Suspected,
            core::Liveness::Dead => wire::Liveness::Dead,
        };
        let (id, incarnation) = (report.id.0, report.incarnation.0);
        wire::MemberReport { id, incarnation, status, stands: report.stands }
    }
}

impl From<wire::MemberReport> for core::MemberReport {
    fn from(report: wire::MemberReport) -> Self {
        let status = match report.status {
            wire::Liveness::Alive => core::Liveness::Alive,
            wire::Liveness::Suspected => core::Liveness::Suspected,
            wire::Liveness::Dead => core::Liveness::Dead,
        };
        let (id, incarnation) = (NodeId(report.id), Incarnation(report.incarnation));
        core::MemberReport { id, incarnation, status, stands: report.stands }
    }
}

impl From<core::Done> for wire::Done {
    fn from(done: core::Done) -> Self {
        match done {
            core::Done::Called => Self::Called,
            core::Done::Resigned { epoch, successor } => {
                Self::Resigned { epoch: epoch.0, successor: successor.map(|id| id.0) }
            }
            core::Done::Stopped => Self::Stopped,
        }
    }
}

impl From<wire::Done> for core::Done {
    fn from(done: wire::Done) -> Self {
        match done {
            wire::Done::Called => Self::Called,
            wire::Done::Resigned { epoch, successor } => {
                Self::Resigned { epoch: Epoch(epoch), successor: successor.map(NodeId) }
            }
            wire::Done::Stopped => Self::Stopped,
        }
    }
}

impl From<core::Refusal> for wire::Refusal {
    fn from(refusal: core::Refusal) -> Self {
        use core::Refusal as R;
        match refusal {
            R::NoLeader => Self::NoLeader,
            R::NotLeader => Self::NotLeader,
            R::NoSuccessor => Self::NoSuccessor,
            R::CannotLead(id) => Self::CannotLead { id: id.0 },
            R::Outranked { to, by } => Self::Outranked { to: to.0, by: by.0 },
            R::TooMany => Self::TooMany,
            R::NoReply => Self::NoReply,
            R::Stopping => Self::Stopping,
        }
    }
}

impl From<wire::Refusal> for core::Refusal {
    fn from(refusal: wire::Refusal) -> Self {
        use wire::Refusal as R;
        match refusal {
            R::NoLeader => Self::NoLeader,
            R::NotLeader => Self::NotLeader,
            R::NoSuccessor => Self::NoSuccessor,
            R::CannotLead { id } => Self::CannotLead(NodeId(id)),
            R::Outranked { to, by } => Self::Outranked { to: NodeId(to), by: NodeId(by) },
            R::TooMany => Self::TooMany,
            R::NoReply => Self::NoReply,
            R::Stopping => Self::Stopping,
        }
    }
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
            R::WrongAddress { expected, found } => {
                Self::WrongAddress { expected: NodeId(expected), found: NodeId(found) }
            }
        }
    }
}
