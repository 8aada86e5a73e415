//! The JSON of the commands that a member passes on to the leader, and of their outcomes.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounds::{bounded, bounded_if_any, reason};
use super::members::{judged, judged_each};
use super::mirror::{id, mirrors};
use crate::core::membership::{Member, MembershipChange};
use crate::core::message as core;
use crate::core::types::{Drain, Epoch, NodeId};

mirrors! {
    Forwarded => core::Forwarded,
    Done => core::Done,
    Refusal => core::Refusal,
    Taken => core::Taken,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Forwarded {
    Resign {
        to: Option<NodeId>,
        /// A switchover. To earlier versions it is a resignation: their leader hands over only to the best of the
        /// others.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whatever_rank: bool,
    },
    EndSwitchover,
    Drain {
        #[serde(deserialize_with = "bounded")]
        since_ms: u64,
        #[serde(default, deserialize_with = "bounded_if_any")]
        until_ms: Option<u64>,
        #[serde(deserialize_with = "reason")]
        reason: String,
    },
    Add {
        #[serde(deserialize_with = "judged")]
        member: Member,
    },
    Set {
        #[serde(deserialize_with = "judged_each")]
        members: Vec<Member>,
    },
    Remove {
        id: NodeId,
        force: bool,
    },
    Pause {
        #[serde(deserialize_with = "bounded")]
        since_ms: u64,
        #[serde(default, deserialize_with = "bounded_if_any")]
        until_ms: Option<u64>,
    },
    Resume,
}

impl Forwarded {
    fn serialize<S: Serializer>(command: &core::Forwarded, to: S) -> Result<S::Ok, S::Error> {
        let command = match *command {
            core::Forwarded::Resign { to } => Forwarded::Resign { to, whatever_rank: false },
            core::Forwarded::Switchover { to } => {
                Forwarded::Resign { to: Some(to), whatever_rank: true }
            }
            core::Forwarded::EndSwitchover => Forwarded::EndSwitchover,
            core::Forwarded::Drain(Drain { since, until, ref reason }) => {
                Forwarded::Drain { since_ms: since, until_ms: until, reason: reason.clone() }
            }
            core::Forwarded::Pause { since, until } => {
                Forwarded::Pause { since_ms: since, until_ms: until }
            }
            core::Forwarded::Resume => Forwarded::Resume,
            core::Forwarded::Change(MembershipChange::Add(ref member)) => {
                Forwarded::Add { member: member.clone() }
            }
            core::Forwarded::Change(MembershipChange::Set(ref members)) => {
                Forwarded::Set { members: members.clone() }
            }
            core::Forwarded::Change(MembershipChange::Remove { id, force }) => {
                Forwarded::Remove { id, force }
            }
        };
        Serialize::serialize(&command, to)
    }

    fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<core::Forwarded, D::Error> {
        Ok(match Deserialize::deserialize(from)? {
            Forwarded::Resign { to: Some(to), whatever_rank: true } => {
                core::Forwarded::Switchover { to }
            }
            Forwarded::Resign { to, .. } => core::Forwarded::Resign { to },
            Forwarded::EndSwitchover => core::Forwarded::EndSwitchover,
            Forwarded::Drain { since_ms, until_ms, reason } => {
                core::Forwarded::Drain(Drain { since: since_ms, until: until_ms, reason })
            }
            Forwarded::Pause { since_ms, until_ms } => {
                core::Forwarded::Pause { since: since_ms, until: until_ms }
            }
            Forwarded::Resume => core::Forwarded::Resume,
            Forwarded::Add { member } => core::Forwarded::Change(MembershipChange::Add(member)),
            Forwarded::Set { members } => core::Forwarded::Change(MembershipChange::Set(members)),
            Forwarded::Remove { id, force } => {
                core::Forwarded::Change(MembershipChange::Remove { id, force })
            }
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Done", rename_all = "snake_case")]
enum Done {
    Called,
    Resigned { epoch: Epoch, successor: Option<NodeId> },
    Stopped,
    TaskTaken,
    Drained { successor: Option<NodeId> },
    MayDrain,
    Undrained,
    Paused,
    Resumed,
    Leads(#[serde(with = "id")] NodeId),
    SwitchoverEnded,
    Set,
    Added(#[serde(with = "id")] NodeId),
    Removed { id: NodeId, stored: bool, handed_over: bool },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Refusal", rename_all = "snake_case")]
enum Refusal {
    NoLeader,
    NotLeader,
    NoSuccessor,
    LastEligible,
    Undecided,
    CannotLead(#[serde(with = "id")] NodeId),
    Outranked {
        to: NodeId,
        by: NodeId,
    },
    Switching(#[serde(with = "id")] NodeId),
    NotTaken(#[serde(with = "id")] NodeId),
    OldLeader(#[serde(with = "id")] NodeId),
    TooMany,
    NoReply,
    Stopping,
    NoTask,
    NotCoordinator(#[serde(with = "id")] Option<NodeId>),
    #[serde(with = "bytes")]
    TaskTooLong(usize),
    Taken {
        what: core::Taken,
        by: NodeId,
    },
    WasRemoved(#[serde(with = "id")] NodeId),
    ListFull,
    NotMember(#[serde(with = "id")] NodeId),
    RoleStays(#[serde(with = "id")] NodeId),
    OldMember(#[serde(with = "id")] NodeId),
    ChangeUnderWay,
    LosesQuorum {
        live: usize,
        needed: usize,
    },
    LastCandidate,
    LastMember,
    ListNotConfirmed,
    NotStoredYet,
    ChangeUnsure,
    HandedOver,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Taken", rename_all = "snake_case")]
enum Taken {
    Id,
    Name,
    Address,
    Admin,
}

/// The length of a task is written as a field.
mod bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Length {
        bytes: usize,
    }

    pub fn serialize<S: Serializer>(bytes: &usize, to: S) -> Result<S::Ok, S::Error> {
        Length { bytes: *bytes }.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
        Length::deserialize(from).map(|length| length.bytes)
    }
}
