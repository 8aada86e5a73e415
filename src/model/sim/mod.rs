//! The same core on a simulated network and clock: every run follows from its seed.
//!
//! A [`Scenario`] is an election with chosen initiators; its message counts are those of the
//! literature. An [`Experiment`] is a cluster with chosen faults. A [`Schedule`] is a random run of a cluster with crashes, restarts and commands
//! and, beyond the model, with partitions, losses, broken connections, pauses and clocks that
//! drift, and with members that come and go; invariants are checked after every event, and at the end, without further faults, that
//! all come to name one leader.

mod agenda;
mod arrival;
mod assured;
mod checker;
mod clock;
mod connected;
mod content;
mod coroners;
mod counters;
mod counts;
mod crashes;
mod deeds;
mod draft;
mod drawing;
mod drawn;
mod drive;
mod drops;
mod error;
mod events;
mod experiment;
mod failovers;
mod faults;
mod flights;
mod guards;
mod half_open;
#[cfg(test)]
mod hasty;
mod jobs;
mod joining;
mod link_faults;
mod links;
mod lists;
mod members;
mod model;
mod named;
mod names;
mod network;
mod node;
mod operators;
mod orders;
mod page;
mod pause;
mod periods;
mod plan;
mod play;
mod process;
mod questions;
#[cfg(test)]
mod records;
mod retiming;
mod run;
mod scenario;
mod schedule;
mod settle;
mod setup;
#[cfg(test)]
mod slow;
mod sources;
mod speech;
mod stay;
mod storm;
mod terrain;
mod transit;
mod trouble;
mod turn;
mod uptime;
mod votes;
mod waiting;
mod world;

pub use counters::{Counter, Faults};
pub use counts::MessageCounts;
pub use crashes::Crashes;
pub use deeds::Deed;
pub use error::SimError;
pub use experiment::{Elected, Experiment, ExperimentError, ExperimentOutcome, ObservedMember};
pub use failovers::{ClusterEnd, Failovers};
pub use flights::SimulatedFlight;
pub use periods::PeriodFigures;
pub use play::{Play, PlayStep};
pub use scenario::{Scenario, ScenarioOutcome};
pub use schedule::{FailedRun, PassedRun, Schedule};
pub use setup::{Delays, FaultSet, MOST_NODES, TIMING};
