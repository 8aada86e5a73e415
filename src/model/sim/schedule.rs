//! A random run of a cluster, drawn from a seed: starts, crashes, restarts and commands, and
//! whatever befalls networks, processes and clocks; then, without further faults, all must come to
//! name one leader.

use std::time::Duration;

use super::counters::Faults;
use super::setup::FaultSet;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::trace::{DrawnEvent, TraceLine};

/// A random schedule.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// How the members elect.
    pub algorithm: AlgorithmKind,
    /// The quorum that a leader needs.
    pub quorum: Quorum,
    /// The faults that may happen.
    pub faults: FaultSet,
    /// All that happens follows from it.
    pub seed: u64,
    /// Whether to keep a trace.
    pub trace: bool,
}

/// A run that ended as it must.
#[derive(Clone, Debug)]
pub struct PassedRun {
    /// The counters of the run.
    pub faults: Faults,
    /// How long after the last fault all named one leader.
    pub settled: Duration,
    /// What happened.
    pub trace: Vec<TraceLine>,
    /// The same as values, to be drawn.
    pub events: Vec<DrawnEvent>,
    /// How many members there are, those included that are added later.
    pub nodes: usize,
}

/// A run that did not.
#[derive(Clone, Debug, thiserror::Error)]
#[error("seed {}: {what}", schedule.seed)]
pub struct FailedRun {
    /// The schedule.
    pub schedule: Schedule,
    /// The breach.
    pub what: String,
    /// What happened.
    pub trace: Vec<TraceLine>,
}

impl FailedRun {
    /// The command that shows this run again.
    #[must_use]
    pub fn replay(&self) -> String {
        let Schedule { algorithm, quorum, faults, seed, .. } = self.schedule;
        let [algorithm, quorum, faults] = [algorithm.name(), quorum.name(), faults.name()];
        format!(
            "electd simulate --algorithm {algorithm} --quorum {quorum} --faults {faults} --seed {seed}"
        )
    }
}

impl Schedule {
    /// A schedule within the model, without a trace.
    #[must_use]
    pub fn new(algorithm: AlgorithmKind, seed: u64) -> Schedule {
        let (quorum, faults) = (Quorum::None, FaultSet::Model);
        Schedule { algorithm, quorum, faults, seed, trace: false }
    }
}
