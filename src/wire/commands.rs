//! Commands that a member passes on to the leader, and how they ended: the JSON, and the conversions between that and
//! the core's types.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::bounds::Number;
use super::members::Entry;
use crate::core::membership::Change;
use crate::core::message as core;
use crate::core::types::NodeId;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forwarded {
    Resign {
        to: Option<Uuid>,
        /// A switchover. Earlier versions know of none: their leader hands over only to the best of the others.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whatever_rank: bool,
    },
    EndSwitchover,
    Add {
        member: Entry,
    },
    Remove {
        id: Uuid,
        force: bool,
    },
    Pause {
        since_ms: Number,
        until_ms: Option<Number>,
    },
    Resume,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    Called,
    Resigned { epoch: Number, successor: Option<Uuid> },
    Stopped,
    TaskTaken,
    Drained { successor: Option<Uuid> },
    Undrained,
    Paused,
    Resumed,
    Leads { id: Uuid },
    SwitchoverEnded,
    Added { id: Uuid },
    Removed { id: Uuid, stored: bool, handed_over: bool },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    NoLeader,
    NotLeader,
    NoSuccessor,
    CannotLead { id: Uuid },
    Outranked { to: Uuid, by: Uuid },
    Switching { id: Uuid },
    NotTaken { id: Uuid },
    OldLeader { id: Uuid },
    TooMany,
    NoReply,
    Stopping,
    NoTask,
    NotCoordinator { id: Option<Uuid> },
    TaskTooLong { bytes: usize },
    Taken { what: Taken, by: Uuid },
    WasRemoved { id: Uuid },
    ListFull,
    NotMember { id: Uuid },
    ChangeUnderWay,
    LosesQuorum { live: usize, needed: usize },
    LastCandidate,
    LastMember,
    ListNotConfirmed,
    NotStoredYet,
    ChangeUnsure,
    HandedOver,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Taken {
    Id,
    Name,
    Address,
    Admin,
}

impl From<core::Done> for Done {
    fn from(done: core::Done) -> Self {
        match done {
            core::Done::Called => Self::Called,
            core::Done::Resigned { epoch, successor } => {
                Self::Resigned { epoch: epoch.into(), successor: successor.map(|id| id.0) }
            }
            core::Done::Stopped => Self::Stopped,
            core::Done::TaskTaken => Self::TaskTaken,
            core::Done::Drained { successor } => {
                Self::Drained { successor: successor.map(|id| id.0) }
            }
            core::Done::Undrained => Self::Undrained,
            core::Done::Paused => Self::Paused,
            core::Done::Resumed => Self::Resumed,
            core::Done::Leads(id) => Self::Leads { id: id.0 },
            core::Done::SwitchoverEnded => Self::SwitchoverEnded,
            core::Done::Added(id) => Self::Added { id: id.0 },
            core::Done::Removed { id, stored, handed_over } => {
                Self::Removed { id: id.0, stored, handed_over }
            }
        }
    }
}

impl From<Done> for core::Done {
    fn from(done: Done) -> Self {
        match done {
            Done::Called => Self::Called,
            Done::Resigned { epoch, successor } => {
                Self::Resigned { epoch: epoch.into(), successor: successor.map(NodeId) }
            }
            Done::Stopped => Self::Stopped,
            Done::TaskTaken => Self::TaskTaken,
            Done::Drained { successor } => Self::Drained { successor: successor.map(NodeId) },
            Done::Undrained => Self::Undrained,
            Done::Paused => Self::Paused,
            Done::Resumed => Self::Resumed,
            Done::Leads { id } => Self::Leads(NodeId(id)),
            Done::SwitchoverEnded => Self::SwitchoverEnded,
            Done::Added { id } => Self::Added(NodeId(id)),
            Done::Removed { id, stored, handed_over } => {
                Self::Removed { id: NodeId(id), stored, handed_over }
            }
        }
    }
}

impl From<core::Refusal> for Refusal {
    fn from(refusal: core::Refusal) -> Self {
        use core::Refusal as R;
        match refusal {
            R::NoLeader => Self::NoLeader,
            R::NotLeader => Self::NotLeader,
            R::NoSuccessor => Self::NoSuccessor,
            R::CannotLead(id) => Self::CannotLead { id: id.0 },
            R::Outranked { to, by } => Self::Outranked { to: to.0, by: by.0 },
            R::Switching(id) => Self::Switching { id: id.0 },
            R::NotTaken(id) => Self::NotTaken { id: id.0 },
            R::OldLeader(id) => Self::OldLeader { id: id.0 },
            R::TooMany => Self::TooMany,
            R::NoReply => Self::NoReply,
            R::Stopping => Self::Stopping,
            R::NoTask => Self::NoTask,
            R::NotCoordinator(id) => Self::NotCoordinator { id: id.map(|id| id.0) },
            R::TaskTooLong(bytes) => Self::TaskTooLong { bytes },
            R::Taken { what, by } => Self::Taken { what: what.into(), by: by.0 },
            R::WasRemoved(id) => Self::WasRemoved { id: id.0 },
            R::ListFull => Self::ListFull,
            R::NotMember(id) => Self::NotMember { id: id.0 },
            R::ChangeUnderWay => Self::ChangeUnderWay,
            R::LosesQuorum { live, needed } => Self::LosesQuorum { live, needed },
            R::LastCandidate => Self::LastCandidate,
            R::LastMember => Self::LastMember,
            R::ListNotConfirmed => Self::ListNotConfirmed,
            R::NotStoredYet => Self::NotStoredYet,
            R::ChangeUnsure => Self::ChangeUnsure,
            R::HandedOver => Self::HandedOver,
        }
    }
}

impl From<Refusal> for core::Refusal {
    fn from(refusal: Refusal) -> Self {
        use Refusal as R;
        match refusal {
            R::NoLeader => Self::NoLeader,
            R::NotLeader => Self::NotLeader,
            R::NoSuccessor => Self::NoSuccessor,
            R::CannotLead { id } => Self::CannotLead(NodeId(id)),
            R::Outranked { to, by } => Self::Outranked { to: NodeId(to), by: NodeId(by) },
            R::Switching { id } => Self::Switching(NodeId(id)),
            R::NotTaken { id } => Self::NotTaken(NodeId(id)),
            R::OldLeader { id } => Self::OldLeader(NodeId(id)),
            R::TooMany => Self::TooMany,
            R::NoReply => Self::NoReply,
            R::Stopping => Self::Stopping,
            R::NoTask => Self::NoTask,
            R::NotCoordinator { id } => Self::NotCoordinator(id.map(NodeId)),
            R::TaskTooLong { bytes } => Self::TaskTooLong(bytes),
            R::Taken { what, by } => Self::Taken { what: what.into(), by: NodeId(by) },
            R::WasRemoved { id } => Self::WasRemoved(NodeId(id)),
            R::ListFull => Self::ListFull,
            R::NotMember { id } => Self::NotMember(NodeId(id)),
            R::ChangeUnderWay => Self::ChangeUnderWay,
            R::LosesQuorum { live, needed } => Self::LosesQuorum { live, needed },
            R::LastCandidate => Self::LastCandidate,
            R::LastMember => Self::LastMember,
            R::ListNotConfirmed => Self::ListNotConfirmed,
            R::NotStoredYet => Self::NotStoredYet,
            R::ChangeUnsure => Self::ChangeUnsure,
            R::HandedOver => Self::HandedOver,
        }
    }
}

impl From<core::Forwarded> for Forwarded {
    fn from(command: core::Forwarded) -> Forwarded {
        match command {
            core::Forwarded::Resign { to } => {
                Self::Resign { to: to.map(|id| id.0), whatever_rank: false }
            }
            core::Forwarded::Switchover { to } => {
                Self::Resign { to: Some(to.0), whatever_rank: true }
            }
            core::Forwarded::EndSwitchover => Self::EndSwitchover,
            core::Forwarded::Pause { since, until } => {
                Self::Pause { since_ms: Number::of(since), until_ms: until.map(Number::of) }
            }
            core::Forwarded::Resume => Self::Resume,
            core::Forwarded::Change(Change::Add(member)) => Self::Add { member: Entry(member) },
            core::Forwarded::Change(Change::Remove { id, force }) => {
                Self::Remove { id: id.0, force }
            }
        }
    }
}

impl From<Forwarded> for core::Forwarded {
    fn from(command: Forwarded) -> core::Forwarded {
        match command {
            Forwarded::Resign { to: Some(id), whatever_rank: true } => {
                Self::Switchover { to: NodeId(id) }
            }
            Forwarded::Resign { to, .. } => Self::Resign { to: to.map(NodeId) },
            Forwarded::EndSwitchover => Self::EndSwitchover,
            Forwarded::Pause { since_ms, until_ms } => {
                Self::Pause { since: since_ms.get(), until: until_ms.map(Number::get) }
            }
            Forwarded::Resume => Self::Resume,
            Forwarded::Add { member: Entry(member) } => Self::Change(Change::Add(member)),
            Forwarded::Remove { id, force } => {
                Self::Change(Change::Remove { id: NodeId(id), force })
            }
        }
    }
}

impl From<core::Taken> for Taken {
    fn from(what: core::Taken) -> Self {
        match what {
            core::Taken::Id => Self::Id,
            core::Taken::Name => Self::Name,
            core::Taken::Address => Self::Address,
            core::Taken::Admin => Self::Admin,
        }
    }
}

impl From<Taken> for core::Taken {
    fn from(what: Taken) -> Self {
        use Taken as T;
        match what {
            T::Id => Self::Id,
            T::Name => Self::Name,
            T::Address => Self::Address,
            T::Admin => Self::Admin,
        }
    }
}
