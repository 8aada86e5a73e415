//! The jobs of a world, as the guards of their hosts know them.

use std::time::Duration;

use super::setup::TIMING;
use crate::core::random::Random;
use crate::core::types::{Epoch, Time};

/// The random numbers for jobs come from a sequence of their own.
const JOBS: u64 = 0x6a6f_6273;

/// The jobs of a world.
#[derive(Debug)]
pub(super) struct Jobs {
    pub random: Random,
    pub of: Vec<Job>,
    /// How long a job may take to end in a clean handover.
    pub stops_within: Duration,
    /// Whether no two may run at one instant: what proves a death frees votes before the guard has acted.
    pub exclusive: bool,
}

/// The job of one host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Job {
    /// Counts what was started here, so that what is meant for an earlier job does not end a later.
    pub number: u64,
    /// The epoch that it was started for. None until the process got any input.
    pub epoch: Option<Epoch>,
    /// It runs until then, by its host's clock, unless it ends before.
    pub until: Time,
    /// It is about to end, or to be started.
    pub moving: bool,
}

impl Jobs {
    pub fn new(seed: u64, nodes: usize, exclusive: bool) -> Jobs {
        let mut random = Random::new(seed ^ JOBS);
        let stops_within = TIMING.message + random.up_to(TIMING.failure * 2);
        Jobs { random, of: vec![Job::default(); nodes], stops_within, exclusive }
    }
}
