//! The JSON of every message, apart from the core's types, so that either can change alone.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use uuid::Uuid;

use crate::core;

/// Beyond any epoch that elections reach. A greater one would leave no number above it.
pub(super) const GREATEST: u64 = 1 << 62;

fn bounded<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(from)?;
    if number > GREATEST {
        return Err(D::Error::custom("an epoch or round beyond all elections"));
    }
    Ok(number)
}

/// A greater version would leave none above it.
pub(super) fn bounded_version<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; 2], D::Error> {
    let version = <[u64; 2]>::deserialize(from)?;
    if version.iter().any(|number| *number > GREATEST) {
        return Err(D::Error::custom("a version beyond all changes"));
    }
    Ok(version)
}

/// The first frame of a dialer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub cluster: String,
    pub id: Uuid,
    pub to: Uuid,
    pub incarnation: u64,
    pub instance: u64,
    pub algorithm: String,
    pub quorum: String,
    pub preempt: String,
    pub rank_by: String,
    pub timing: [u64; 4],
    pub rank: i64,
    pub stands: bool,
    pub view: View,
    #[serde(deserialize_with = "bounded")]
    pub round: u64,
    pub list: super::members::List,
}

/// The first frame of the accepter.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Welcome(Box<Hello>),
    Reject(Rejection),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rejection {
    Protocol { ours: u32, theirs: u32 },
    Cluster { ours: String, theirs: String },
    UnknownId { id: Uuid },
    OwnId { id: Uuid },
    IdInUse { id: Uuid, address: String },
    Disagreement { key: String, ours: String, theirs: String },
    WrongAddress { expected: Uuid, found: Uuid },
    StateLost { id: Uuid, known: u64, told: u64 },
    Removed { id: Uuid },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    #[serde(deserialize_with = "bounded")]
    pub epoch: u64,
    pub incarnation: u64,
    pub message: Message,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    Election {
        #[serde(deserialize_with = "bounded")]
        round: u64,
        rank: Rank,
        stands: bool,
    },
    Answer {
        #[serde(deserialize_with = "bounded")]
        round: u64,
    },
    Lower {
        #[serde(deserialize_with = "bounded")]
        round: u64,
    },
    AreYouThere {
        number: u64,
        under: Option<u64>,
        rank: Rank,
        stands: bool,
    },
    AreYouNormal {
        number: u64,
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
    },
    Halt {
        number: u64,
        #[serde(deserialize_with = "bounded")]
        round: u64,
        rank: Rank,
        incumbent: bool,
    },
    Elected {
        number: u64,
        #[serde(deserialize_with = "bounded")]
        round: u64,
        #[serde(deserialize_with = "bounded_version")]
        task: [u64; 2],
    },
    Task(Task),
    Ready {
        number: u64,
        #[serde(deserialize_with = "bounded")]
        round: u64,
        task: Task,
    },
    Reply {
        number: u64,
        accepted: bool,
    },
    Ballot {
        run: Run,
        candidate: Candidate,
        hops: u32,
    },
    Lap {
        run: Run,
        leader: Candidate,
        hops: u32,
    },
    Probe {
        number: u64,
    },
    Alive {
        number: u64,
    },
    Coordinator {
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
        rank: Rank,
    },
    Trial {
        number: u64,
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
        #[serde(deserialize_with = "bounded_version")]
        list: [u64; 2],
    },
    Opinion {
        number: u64,
        opinion: Opinion,
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
    },
    Claim {
        number: u64,
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
        lease_ns: u64,
        #[serde(deserialize_with = "bounded_version")]
        list: [u64; 2],
    },
    Grant {
        incarnation: u64,
        number: u64,
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
    },
    Refuse {
        number: u64,
        opinion: Opinion,
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
    },
    Heartbeat {
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
        number: u64,
        rank: Rank,
        lease_ns: u64,
        #[serde(deserialize_with = "bounded_version")]
        settled: [u64; 2],
        members: Vec<MemberReport>,
    },
    Acknowledge {
        incarnation: u64,
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
        number: u64,
        rank: Rank,
        stands: bool,
    },
    View(View),
    Preempt {
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
        rank: Rank,
        votes: Vec<Uuid>,
    },
    Freed {
        leader: Uuid,
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
    },
    Release {
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
        successor: Option<Uuid>,
        stands: bool,
    },
    List(super::members::List),
    Listed {
        #[serde(deserialize_with = "bounded_version")]
        version: [u64; 2],
    },
    Forward {
        number: u64,
        command: Forwarded,
    },
    Outcome {
        number: u64,
        result: Result<Done, Refusal>,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Rank {
    pub value: i64,
    pub id: Uuid,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Opinion {
    Yes,
    YesIf {
        #[serde(deserialize_with = "bounded")]
        released: u64,
        wait_ns: u64,
    },
    No {
        wait_ns: u64,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Run {
    #[serde(deserialize_with = "bounded")]
    pub epoch: u64,
    pub initiator: Uuid,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Candidate {
    pub stands: bool,
    pub rank: Rank,
    pub incarnation: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    #[serde(deserialize_with = "bounded_version")]
    pub version: [u64; 2],
    pub content: Content,
}

/// A task description: any bytes, as base64.
#[derive(Debug)]
pub struct Content(pub std::sync::Arc<[u8]>);

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&BASE64_STANDARD.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Content, D::Error> {
        let bytes = BASE64_STANDARD.decode(String::deserialize(from)?).map_err(D::Error::custom)?;
        if bytes.len() > core::types::Task::LONGEST {
            return Err(D::Error::custom("a task that is too long"));
        }
        Ok(Content(bytes.into()))
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct View {
    #[serde(deserialize_with = "bounded")]
    pub epoch: u64,
    pub leader: Option<Rank>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct MemberReport {
    pub id: Uuid,
    pub incarnation: u64,
    pub status: Liveness,
    pub stands: bool,
    pub value: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    Alive,
    Suspected,
    Dead,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forwarded {
    Resign { to: Option<Uuid> },
    Add { member: super::members::Entry },
    Remove { id: Uuid, force: bool },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    Called,
    Resigned {
        #[serde(deserialize_with = "bounded")]
        epoch: u64,
        successor: Option<Uuid>,
    },
    Stopped,
    TaskTaken,
    Added {
        id: Uuid,
    },
    Removed {
        id: Uuid,
        stored: bool,
        handed_over: bool,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    NoLeader,
    NotLeader,
    NoSuccessor,
    CannotLead { id: Uuid },
    Outranked { to: Uuid, by: Uuid },
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
