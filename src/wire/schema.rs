//! The JSON of every message, apart from the core's types, so that either can change alone.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use strum::VariantNames;
use uuid::Uuid;

use super::bounds::{ClusterName, Line, Nanos, Number, Origin, Version, at_most, bounded};
use super::commands::{Done, Forwarded, Refusal};
use crate::core;
use crate::core::membership::MOST_MEMBERS;

/// The first frame of a dialer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// The lowest version that the sender speaks. Up to 5 it spoke no other.
    pub protocol: u32,
    /// The highest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<u32>,
    pub cluster: ClusterName,
    pub id: Uuid,
    pub to: Uuid,
    pub incarnation: Number,
    pub instance: u64,
    pub algorithm: Line,
    pub quorum: Line,
    pub preempt: Line,
    pub rank_by: Line,
    pub timing: [Nanos; 4],
    pub rank: i64,
    #[serde(rename = "stands")]
    pub eligible: bool,
    pub view: View,
    pub round: Number,
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
    Cluster { ours: ClusterName, theirs: ClusterName },
    UnknownId { id: Uuid },
    OwnId { id: Uuid },
    IdInUse { id: Uuid, address: Origin },
    Disagreement { key: Line, ours: Line, theirs: Line },
    WrongAddress { expected: Uuid, found: Uuid },
    StateLost { id: Uuid, known: Number, told: Number },
    Removed { id: Uuid },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    pub epoch: Number,
    pub incarnation: Number,
    pub message: Message,
}

#[derive(Debug, Serialize, Deserialize, VariantNames)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Message {
    Election {
        round: Number,
        rank: Rank,
        #[serde(rename = "stands")]
        eligible: bool,
    },
    Answer {
        round: Number,
    },
    Lower {
        round: Number,
    },
    AreYouThere {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        under: Option<Number>,
        rank: Rank,
        #[serde(rename = "stands")]
        eligible: bool,
    },
    AreYouNormal {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        epoch: Number,
    },
    Halt {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        round: Number,
        rank: Rank,
        incumbent: bool,
    },
    Elected {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        round: Number,
        task: Version,
    },
    Task(Task),
    Ready {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        round: Number,
        task: Task,
    },
    Reply {
        #[serde(deserialize_with = "bounded")]
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
        #[serde(deserialize_with = "bounded")]
        number: u64,
    },
    Alive {
        #[serde(deserialize_with = "bounded")]
        number: u64,
    },
    Coordinator {
        epoch: Number,
        rank: Rank,
    },
    Trial {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        epoch: Number,
        list: Version,
    },
    Opinion {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        opinion: Opinion,
        epoch: Number,
    },
    Claim {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        epoch: Number,
        lease_ns: Nanos,
        list: Version,
    },
    Grant {
        incarnation: Number,
        #[serde(deserialize_with = "bounded")]
        number: u64,
        epoch: Number,
    },
    Refuse {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        opinion: Opinion,
        epoch: Number,
    },
    Heartbeat {
        epoch: Number,
        #[serde(deserialize_with = "bounded")]
        number: u64,
        rank: Rank,
        lease_ns: Nanos,
        settled: Version,
        #[serde(deserialize_with = "at_most::<_, _, MOST_MEMBERS>")]
        members: Vec<MemberReport>,
        /// Earlier versions know of no pause.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<Pause>,
        /// Earlier versions know of no switchover.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chosen: Option<Uuid>,
    },
    Acknowledge {
        incarnation: Number,
        epoch: Number,
        #[serde(deserialize_with = "bounded")]
        number: u64,
        rank: Rank,
        #[serde(rename = "stands")]
        eligible: bool,
        /// Earlier versions know of no pause.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<Pause>,
    },
    View(View),
    Preempt {
        epoch: Number,
        rank: Rank,
        #[serde(deserialize_with = "at_most::<_, _, MOST_MEMBERS>")]
        votes: Vec<Uuid>,
    },
    Freed {
        leader: Uuid,
        epoch: Number,
    },
    Timing {
        timing: [Nanos; 4],
    },
    Release {
        epoch: Number,
        successor: Option<Uuid>,
        #[serde(rename = "stands")]
        eligible: bool,
    },
    List(super::members::List),
    Listed {
        version: Version,
    },
    Forward {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        command: Forwarded,
    },
    Outcome {
        #[serde(deserialize_with = "bounded")]
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
        released: Number,
        wait_ns: Nanos,
    },
    No {
        wait_ns: Nanos,
        /// Whether it does not know where the cluster stands. Earlier versions do not say so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        uninformed: bool,
    },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Run {
    pub epoch: Number,
    pub initiator: Uuid,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Candidate {
    #[serde(rename = "stands")]
    pub eligible: bool,
    pub rank: Rank,
    pub incarnation: Number,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    pub version: Version,
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
    pub epoch: Number,
    pub leader: Option<Rank>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct MemberReport {
    pub id: Uuid,
    pub incarnation: Number,
    pub status: Liveness,
    #[serde(rename = "stands")]
    pub eligible: bool,
    pub value: i64,
}

/// Whether the cluster is paused; the times in milliseconds since 1970.
#[derive(Debug, Serialize, Deserialize)]
pub struct Pause {
    pub version: Version,
    pub paused: bool,
    pub since_ms: Number,
    pub until_ms: Option<Number>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Liveness {
    Alive,
    Suspected,
    Dead,
}
