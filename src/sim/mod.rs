//! The same core on a simulated network and clock: every run follows from its seed.
//!
//! A [`Scenario`] is an election with chosen initiators; its message counts are those of the
//! literature. A [`Schedule`] is a random life of a cluster with crashes, restarts and commands;
//! invariants are checked after every event, and at the end, without further faults, that all
//! come to name one leader.

mod agenda;
mod checker;
mod error;
mod life;
mod network;
mod node;
mod play;
mod scenario;
mod schedule;
mod transit;
mod world;

pub use error::SimError;
pub use play::{Play, Step};
pub use scenario::{MOST_NODES, Outcome, Scenario};
pub use schedule::{Failure, Faults, Run, Schedule};
pub use world::{Delays, TIMING};

use crate::core::message::Kind;

/// How many messages of an election were sent. A COORDINATOR counts if its receiver lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// ELECTION, the dead included.
    pub election: u64,
    /// ANSWER.
    pub answer: u64,
    /// COORDINATOR.
    pub coordinator: u64,
}

impl Counts {
    fn of(sent: &[u64; Kind::ALL.len()]) -> Counts {
        Counts {
            election: sent[Kind::Election as usize],
            answer: sent[Kind::Answer as usize],
            coordinator: sent[Kind::Coordinator as usize],
        }
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.election + self.answer + self.coordinator
    }
}
