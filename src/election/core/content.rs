//! What messages carry: opinions, ballots, views and reports; and what a message claims: the numbers that its receiver
//! keeps.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::types::{Epoch, Incarnation, NodeId, Pause, Rank, Version};

/// A voter's reply to a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub enum Opinion {
    /// The voter votes for the candidate.
    Yes,
    /// The voter would vote for the candidate if the leader of this epoch releases it, or after this wait: the rest of
    /// the voter's promise to that leader.
    YesIf { released: Epoch, wait: Duration },
    /// The voter does not vote for the candidate, for at least this time.
    No { wait: Duration },
    /// The voter votes for nobody until it knows the state of the cluster; the candidate asks again after this wait.
    Uninformed { wait: Duration },
}

impl Opinion {
    /// The same, with at most this wait.
    #[must_use]
    pub fn at_most(mut self, longest: Duration) -> Opinion {
        match &mut self {
            Opinion::Yes => {}
            Opinion::YesIf { wait, .. } | Opinion::No { wait } | Opinion::Uninformed { wait } => {
                *wait = longest.min(*wait);
            }
        }
        self
    }
}

/// A run of the ring election. Runs compare by epoch, then by initiator: the hierarchy of seed 004.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(remote = "Self")]
pub struct Run {
    /// The round, which becomes the epoch.
    pub epoch: Epoch,
    /// The member that began it.
    pub initiator: NodeId,
}

/// The member that a ballot nominates. Candidates compare by whether they are eligible, then by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Candidate {
    /// Whether it may be nominated. An ineligible member only begins a ballot.
    pub eligible: bool,
    /// Its rank, frozen for the run.
    pub rank: Rank,
    /// The start of its process.
    pub incarnation: Incarnation,
}

/// A ballot on its way around the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Ballot {
    pub run: Run,
    /// The best candidate so far.
    pub candidate: Candidate,
    /// How often it has been sent.
    pub hops: u32,
}

/// The announcement of a ring's leader on its way around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Lap {
    pub run: Run,
    pub leader: Candidate,
    /// How often it has been sent.
    pub hops: u32,
}

/// The greatest epoch that a member knows and the leader it belongs to. Views compare by epoch,
/// then by the leader's rank.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(remote = "Self")]
pub struct View {
    /// The greatest epoch known.
    pub epoch: Epoch,
    /// Its leader, if known.
    pub leader: Option<Rank>,
}

/// What a leader says in each round to every member that is not proved dead.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Heartbeat {
    /// The epoch that it leads in.
    pub epoch: Epoch,
    /// Counts the leader's heartbeat rounds.
    pub number: u64,
    pub rank: Rank,
    /// For how long a voter that acknowledges it promises its vote to this leader.
    pub lease: Duration,
    /// The version of the leader's list, once it is committed; before, the least.
    pub settled: Version,
    /// The leader's reports on all members.
    pub members: Arc<[MemberReport]>,
    /// Whether the cluster is paused; none if it never was.
    pub pause: Option<Pause>,
    /// The member that an operator chose to lead, whatever its rank: this leader, or the next.
    pub chosen: Option<NodeId>,
    /// Whether its leadership is about to end, as it hands over or stops.
    pub ending: bool,
}

/// What one member knows of another, as it reports it to a third.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct MemberReport {
    pub id: NodeId,
    /// The incarnation that the report is about.
    pub incarnation: Incarnation,
    pub status: Liveness,
    pub eligible: bool,
    pub value: i64,
}

/// The failure detector's judgement of a member.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Deserialize,
    Eq,
    Hash,
    IntoStaticStr,
    PartialEq,
    Serialize,
    VariantArray,
)]
#[strum(serialize_all = "snake_case")]
#[serde(remote = "Self")]
pub enum Liveness {
    /// The member was heard, or was not lost since it was met.
    Alive,
    /// The member has been silent for too long.
    #[default]
    Suspected,
    /// Its process is proved to be gone, or was never met.
    Dead,
}

/// What a message claims: the greatest number of each kind in it that its receiver keeps.
#[derive(Default)]
pub struct Claims {
    pub epoch: Epoch,
    /// Of a member list.
    pub list: u64,
    /// Of a task.
    pub task: u64,
    /// Of a pause.
    pub pause: u64,
    pub lease: Duration,
}

impl Claims {
    pub fn epoch(epoch: Epoch) -> Claims {
        Claims { epoch, ..Claims::default() }
    }

    pub fn list(Version { epoch, counter }: Version) -> Claims {
        Claims { epoch, list: counter, ..Claims::default() }
    }

    pub fn task(Version { epoch, counter }: Version) -> Claims {
        Claims { epoch, task: counter, ..Claims::default() }
    }

    /// The same, in this epoch.
    pub fn and(self, epoch: Epoch) -> Claims {
        Claims { epoch: self.epoch.max(epoch), ..self }
    }

    /// The same, with a pause.
    pub fn and_pause(self, pause: Option<&Pause>) -> Claims {
        let Some(Version { epoch, counter }) = pause.map(|pause| pause.version) else {
            return self;
        };
        Claims { pause: counter, ..self }.and(epoch)
    }
}
