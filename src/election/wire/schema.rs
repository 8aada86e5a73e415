//! The JSON of every message, apart from the core's types, so that either can change alone.
//!
//! An enum here mirrors one of the core, variant by variant, and says how each is written: its name, the names of its
//! fields, the optional fields, and the bounds. `values.rs` mirrors the values in the messages.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bounds::{at_most, bounded, nanos, nanos_each};
use super::mirror::mirrors;
use crate::core::death::DeathCertificate;
use crate::core::locks::word::{LockWord, MOST_WORDS};
use crate::core::membership::{ListVersion, MOST_MEMBERS, MemberList};
use crate::core::message as core;
use crate::core::message::{Ballot, Done, Forwarded, Heartbeat, Lap, Opinion, Refusal, View};
use crate::core::types::{Epoch, Incarnation, NodeId, Pause, Rank, Task, TaskVersion};

mirrors! { Envelope => core::Envelope, Message => core::Message }

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Envelope")]
struct Envelope {
    epoch: Epoch,
    incarnation: Incarnation,
    message: core::Message,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "core::Message", rename_all = "snake_case")]
enum Message {
    Election {
        round: Epoch,
        rank: Rank,
        #[serde(rename = "stands")]
        eligible: bool,
    },
    Answer {
        round: Epoch,
    },
    Lower {
        round: Epoch,
    },
    AreYouThere {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        under: Option<Epoch>,
        rank: Rank,
        #[serde(rename = "stands")]
        eligible: bool,
    },
    AreYouNormal {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        epoch: Epoch,
    },
    Halt {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        round: Epoch,
        rank: Rank,
        incumbent: bool,
    },
    Elected {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        round: Epoch,
        task: TaskVersion,
    },
    Task(Task),
    Ready {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        round: Epoch,
        task: Task,
    },
    Reply {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        accepted: bool,
    },
    Ballot(Ballot),
    Lap(Lap),
    Probe {
        #[serde(deserialize_with = "bounded")]
        number: u64,
    },
    Alive {
        #[serde(deserialize_with = "bounded")]
        number: u64,
    },
    Coordinator {
        epoch: Epoch,
        rank: Rank,
    },
    #[serde(rename = "trial")]
    PreVote {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        epoch: Epoch,
        list: ListVersion,
    },
    #[serde(rename = "opinion")]
    PreVoteReply {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        opinion: Opinion,
        epoch: Epoch,
    },
    #[serde(rename = "claim")]
    VoteRequest {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        epoch: Epoch,
        #[serde(rename = "lease_ns", with = "nanos")]
        lease: Duration,
        list: ListVersion,
    },
    #[serde(rename = "grant")]
    Vote {
        incarnation: Incarnation,
        #[serde(deserialize_with = "bounded")]
        number: u64,
        epoch: Epoch,
    },
    #[serde(rename = "refuse")]
    Denial {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        opinion: Opinion,
        epoch: Epoch,
    },
    Heartbeat(Heartbeat),
    Acknowledge {
        incarnation: Incarnation,
        epoch: Epoch,
        #[serde(deserialize_with = "bounded")]
        number: u64,
        rank: Rank,
        #[serde(rename = "stands")]
        eligible: bool,
        /// Earlier versions do not know pauses.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pause: Option<Pause>,
    },
    View(View),
    Preempt {
        epoch: Epoch,
        rank: Rank,
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_MEMBERS>")]
        votes: Vec<NodeId>,
    },
    Freed {
        leader: NodeId,
        epoch: Epoch,
    },
    Dead(DeathCertificate),
    Timing {
        #[serde(with = "nanos_each")]
        timing: [u64; 4],
    },
    Release {
        epoch: Epoch,
        successor: Option<NodeId>,
        #[serde(rename = "stands")]
        eligible: bool,
    },
    /// The list alone, without the name of its field.
    #[serde(serialize_with = "Serialize::serialize")]
    #[serde(deserialize_with = "Deserialize::deserialize")]
    List {
        list: Arc<MemberList>,
    },
    Listed {
        version: ListVersion,
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
    Lock(#[serde(deserialize_with = "at_most::<_, _, _, MOST_WORDS>")] Vec<LockWord>),
}
