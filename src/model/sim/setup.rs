//! The setup of a simulated world: its members, their timings and clocks, and the faults that may
//! happen.

use std::time::Duration;

use strum::IntoStaticStr;

use super::clock::Clock;
use crate::core::settings::{AlgorithmKind, PowerOn, Preempt, Quorum, RankKind, Timing};
use crate::core::types::Role;
use crate::trace::Detail;

/// The timings of every simulated cluster: the defaults of the configuration.
pub const TIMING: Timing = Timing {
    heartbeat: Duration::from_millis(100),
    failure: Duration::from_millis(500),
    message: Duration::from_millis(50),
    lease: Duration::from_millis(400),
};

/// The most nodes of a scenario: each knows every other.
pub const MOST_NODES: usize = 1000;

/// How long messages take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delays {
    /// All the same, so that an ANSWER is back well before T1.
    Lockstep,
    /// Drawn from the seed, below the longest that the model allows.
    Random,
    /// Drawn from the seed, as in a fast network: below a twentieth of the longest.
    Short,
}

/// The faults that may happen in a random run.
#[derive(Clone, Copy, Debug, Default, Eq, IntoStaticStr, PartialEq)]
#[strum(serialize_all = "snake_case")]
pub enum FaultSet {
    /// The faults within the model: crashes, restarts, slow disks and commands, in a network that
    /// delivers everything in time.
    #[default]
    Model,
    /// Also partitions, late, lost and doubled messages, broken and half-open connections,
    /// pauses, and clocks that drift and step.
    All,
    /// The same, and dense: many of them within one or two `failure`, aimed at leaders, candidates and
    /// voters.
    Storm,
    /// Faults that stay: dials that fail, dead links, slow and stuck disks, files that differ. A leader is demanded
    /// without a heal.
    Stay,
    /// As `All`, and each member runs a job while it leads.
    Jobs,
    /// As `Jobs`, with orders of operators that the leader judges: drains, of several members at once too, and other
    /// addresses; and coroners that end and are replaced. The members of the cluster stay the same.
    Orders,
}

impl FaultSet {
    /// All sets.
    pub const ALL: [FaultSet; 6] = [
        FaultSet::Model,
        FaultSet::All,
        FaultSet::Storm,
        FaultSet::Stay,
        FaultSet::Jobs,
        FaultSet::Orders,
    ];

    /// Whether the network, the processes and their clocks keep to the model.
    #[must_use]
    pub fn is_within_model(self) -> bool {
        self == FaultSet::Model
    }

    /// Whether each member runs a job while it leads.
    pub(super) fn has_jobs(self) -> bool {
        matches!(self, FaultSet::Jobs | FaultSet::Orders)
    }

    /// Its name in commands.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The setup of a world.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub algorithm: AlgorithmKind,
    pub quorum: Quorum,
    /// The role of each member; all are full members if none is given.
    pub roles: Vec<Role>,
    /// The places of those that the first list does not have.
    pub newcomers: Vec<usize>,
    /// Whether members may vote before they have met all others. Otherwise all voters have to meet
    /// once.
    pub bootstrap: bool,
    /// Whether a refused redial proves a death; with a majority it must not, whatever this says.
    pub trust_refused: bool,
    /// Whether the network and the clocks stay within the model.
    pub faults: FaultSet,
    /// Each node's clock; all run true where none is given.
    pub clocks: Vec<Clock>,
    /// Each member's attribute at its start.
    pub values: Vec<Option<i64>>,
    /// The meaning of the attributes.
    pub rank: RankKind,
    pub hierarchy: bool,
    pub preempt: Preempt,
    pub power_on: PowerOn,
    pub timing: Timing,
    pub delays: Delays,
    /// The longest that a write takes.
    pub disk: Duration,
    pub seed: u64,
    /// The content of the trace; none without one.
    pub detail: Option<Detail>,
}

impl Setup {
    /// Members with these attributes, all founders, that elect in lock-step within the model, without
    /// a quorum.
    pub fn plain(algorithm: AlgorithmKind, values: Vec<Option<i64>>) -> Setup {
        Setup {
            algorithm,
            quorum: Quorum::None,
            roles: Vec::new(),
            newcomers: Vec::new(),
            bootstrap: false,
            trust_refused: true,
            faults: FaultSet::Model,
            clocks: Vec::new(),
            values,
            rank: RankKind::Id,
            hierarchy: true,
            preempt: Preempt::Always,
            power_on: PowerOn::Elect,
            timing: TIMING,
            delays: Delays::Lockstep,
            disk: TIMING.message / 4,
            seed: 0,
            detail: None,
        }
    }
}

/// How many of so many voters are a majority. A judge does not borrow the arithmetic of the accused.
pub(super) fn majority(voters: usize) -> usize {
    voters / 2 + 1
}
