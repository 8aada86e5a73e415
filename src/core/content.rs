//! What messages carry: opinions, ballots, views and reports.

use std::time::Duration;

use strum::IntoStaticStr;

use super::types::{Epoch, Incarnation, NodeId, Rank};

/// What a voter says to a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opinion {
    /// It votes for the candidate.
    Yes,
    /// It does so if the leader of this epoch releases it, or after so long.
    YesIf {
        /// The leader's epoch.
        released: Epoch,
        /// How long its promise still runs.
        wait: Duration,
    },
    /// It does not, for at least so long.
    No {
        /// For how long.
        wait: Duration,
    },
    /// It votes for nobody before it knows where the cluster stands; another try makes sense after so long.
    Uninformed {
        /// After how long.
        wait: Duration,
    },
}

impl Opinion {
    /// The same, with no longer a wait than this.
    #[must_use]
    pub fn at_most(self, longest: Duration) -> Opinion {
        match self {
            Opinion::Yes => Opinion::Yes,
            Opinion::YesIf { released, wait } => {
                Opinion::YesIf { released, wait: wait.min(longest) }
            }
            Opinion::No { wait } => Opinion::No { wait: wait.min(longest) },
            Opinion::Uninformed { wait } => Opinion::Uninformed { wait: wait.min(longest) },
        }
    }
}

/// A run of the ring election. Runs compare by epoch, then by initiator: the hierarchy of seed 004.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// The round, which becomes the epoch.
    pub epoch: Epoch,
    /// Who began it.
    pub initiator: NodeId,
}

/// Who a ballot nominates. Candidates compare by whether they are eligible, then by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate {
    /// Whether it may be nominated; one that may not only begins a ballot.
    pub eligible: bool,
    /// Its rank, frozen for the run.
    pub rank: Rank,
    /// Which start of it this is.
    pub incarnation: Incarnation,
}

/// A ballot on its way around the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ballot {
    /// The run that it belongs to.
    pub run: Run,
    /// The best so far.
    pub candidate: Candidate,
    /// How often it has been sent.
    pub hops: u32,
}

/// The announcement of a ring's leader on its way around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lap {
    /// The run that it won.
    pub run: Run,
    /// The leader.
    pub leader: Candidate,
    /// How often it has been sent.
    pub hops: u32,
}

/// The greatest epoch that a member knows and the leader it belongs to. Views compare by epoch,
/// then by the leader's rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    /// The greatest epoch known.
    pub epoch: Epoch,
    /// Its leader, if known.
    pub leader: Option<Rank>,
}

/// What one member knows of another, as it tells third ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberReport {
    /// The member.
    pub id: NodeId,
    /// The incarnation that this is about.
    pub incarnation: Incarnation,
    /// Alive, suspected or dead.
    pub status: Liveness,
    /// Whether it may be nominated.
    pub eligible: bool,
    /// The value of its rank.
    pub value: i64,
}

/// What the failure detector thinks of a member.
#[derive(Clone, Copy, Debug, Eq, Hash, IntoStaticStr, PartialEq)]
#[strum(serialize_all = "snake_case")]
pub enum Liveness {
    /// It was heard, or nothing speaks against it.
    Alive,
    /// It has been silent for too long.
    Suspected,
    /// Its process is proved to be gone, or was never met.
    Dead,
}

impl Liveness {
    /// The word for it in status and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
