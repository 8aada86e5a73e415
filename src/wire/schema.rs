//! The JSON of every message, apart from the core's types, so that either can change alone.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The first frame of a dialer.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub cluster: String,
    pub id: Uuid,
    pub incarnation: u64,
    pub instance: u64,
    pub algorithm: String,
    pub quorum: String,
    pub preempt: String,
    pub rank_by: String,
    pub timing: [u64; 3],
    pub rank: i64,
    pub stands: bool,
    pub view: View,
    pub round: u64,
    pub list: [u64; 2],
}

/// The first frame of the accepter.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Welcome(Hello),
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
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Envelope {
    pub epoch: u64,
    pub incarnation: u64,
    pub message: Message,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    Election { round: u64, rank: Rank, stands: bool },
    Answer { round: u64 },
    Coordinator { epoch: u64, rank: Rank },
    Heartbeat { epoch: u64, number: u64, rank: Rank, members: Vec<MemberReport> },
    Acknowledge { epoch: u64, number: u64, rank: Rank, stands: bool },
    View(View),
    Preempt { epoch: u64 },
    Release { epoch: u64, successor: Option<Uuid>, stands: bool },
    Forward { number: u64, command: Forwarded },
    Outcome { number: u64, result: Result<Done, Refusal> },
}

#[derive(Debug, Serialize, Deserialize)]
pub struct Rank {
    pub value: i64,
    pub id: Uuid,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct View {
    pub epoch: u64,
    pub leader: Option<Rank>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct MemberReport {
    pub id: Uuid,
    pub incarnation: u64,
    pub status: Liveness,
    pub stands: bool,
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
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Done {
    Called,
    Resigned { epoch: u64, successor: Option<Uuid> },
    Stopped,
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
}
