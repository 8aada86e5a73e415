//! What a cluster agreed on before it started: the part of the configuration that the core needs.

use std::sync::Arc;
use std::time::Duration;

use super::membership::MemberList;
use super::types::{Epoch, Incarnation, NodeId};

/// The election algorithm that nominates a leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AlgorithmKind {
    /// The bully of seeds 000, 001, 003 and 004.
    #[default]
    Bully,
}

impl AlgorithmKind {
    /// All of them.
    pub const ALL: [AlgorithmKind; 1] = [AlgorithmKind::Bully];

    /// The word for this algorithm in config, status and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AlgorithmKind::Bully => "bully",
        }
    }
}

/// What is guaranteed when the network splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quorum {
    /// The model of the seeds: available down to one live member; a leader on each side of a
    /// partition.
    None,
}

impl Quorum {
    /// All of them.
    pub const ALL: [Quorum; 1] = [Quorum::None];

    /// The word for this mode in config, status and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Quorum::None => "none",
        }
    }
}

/// Whether a higher member takes over from a live lower leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Preempt {
    /// At once, every time: the bully's own rule.
    #[default]
    Always,
    /// Not while the leader lives.
    Never,
}

impl Preempt {
    /// All of them.
    pub const ALL: [Preempt; 2] = [Preempt::Always, Preempt::Never];

    /// The word for this choice in config, status and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Preempt::Always => "always",
            Preempt::Never => "never",
        }
    }
}

/// The timings, all derived from `failure` unless given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// How often the leader sends heartbeats.
    pub heartbeat: Duration,
    /// The silence that makes a suspect.
    pub failure: Duration,
    /// The longest that one message takes, its processing included.
    pub message: Duration,
}

impl Timing {
    /// T1: how long an asker waits for an ANSWER, two messages.
    #[must_use]
    pub fn t1(&self) -> Duration {
        self.message * 2
    }

    /// T2: how long one who was answered waits for a COORDINATOR, counted from the start of its
    /// election. Twice T1 and four messages; a shorter one multiplies the messages.
    #[must_use]
    pub fn t2(&self) -> Duration {
        self.t1() * 2 + self.message * 4
    }

    /// A member that missed its turn for longer than this was stalled and counts itself as
    /// failed: two messages before the others may have replaced it.
    #[must_use]
    pub fn stall(&self) -> Duration {
        self.failure.saturating_sub(self.message * 2)
    }
}

/// What a member does when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PowerOn {
    /// Look for a leader, then call an election: "when a process P recovers from failure".
    #[default]
    Elect,
    /// Wait to be asked or drawn in. For simulated scenarios that choose their initiators.
    Wait,
}

/// All that [`Core::new`](super::Core::new) must know.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Settings {
    /// The cluster's name; members of another are refused.
    pub cluster: String,
    /// This member.
    pub id: NodeId,
    /// A number drawn at this process's start, which tells two processes with one id apart.
    pub instance: u64,
    /// All members, this one included.
    pub members: Arc<MemberList>,
    /// The election algorithm.
    pub algorithm: AlgorithmKind,
    /// The guarantee.
    pub quorum: Quorum,
    /// Whether a higher member takes over.
    pub preempt: Preempt,
    /// The timings.
    pub timing: Timing,
    /// Whether a refused redial proves a death.
    pub trust_refused: bool,
    /// What to do at the start.
    pub power_on: PowerOn,
}

/// What the store gave back at the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Restored {
    /// This start's number, already durable.
    pub incarnation: Incarnation,
    /// The greatest epoch known when the last record was written.
    pub epoch: Epoch,
    /// No round of an earlier life was above this; own rounds start above it.
    pub floor: Epoch,
    /// Epochs up to this one are already durably reserved for this life.
    pub reserved: Epoch,
}
