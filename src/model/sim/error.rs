//! Why a simulation was not run, or did not end well.

use super::setup::MOST_NODES;
use crate::core::settings::AlgorithmKind;
use crate::core::types::Time;
use crate::trace::length;

/// Why a scenario has no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// Too few or too many nodes.
    #[error("--nodes {nodes}: give a number from 1 to {MOST_NODES}")]
    Nodes {
        /// How many were asked for.
        nodes: usize,
    },
    /// Too few or too many attributes.
    #[error("--attributes: {given} for {nodes} nodes; give one for each, from node 1 on")]
    Attributes {
        /// How many were given.
        given: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// The ring's own choice, for another algorithm.
    #[error(
        "--no-hierarchy: with --algorithm {} initiators have no hierarchy; leave it out, or give \
         --algorithm ring",
        algorithm.name()
    )]
    Hierarchy {
        /// The algorithm.
        algorithm: AlgorithmKind,
    },
    /// A number that names no node.
    #[error("--{list} {node}: there is no such node; they are numbered 1 to {nodes}")]
    NoSuchNode {
        /// Where it was named.
        list: &'static str,
        /// The number.
        node: usize,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A number that was given twice.
    #[error("--{list}: node {node} is named twice; name it once")]
    Twice {
        /// Where it was named.
        list: &'static str,
        /// The number.
        node: usize,
    },
    /// An initiator that is dead.
    #[error("--initiators {node}: node {node} crashes before the election; name a live one")]
    DeadInitiator {
        /// Its number.
        node: usize,
    },
    /// Nobody is left.
    #[error("--crash: no node is left to elect; let one live")]
    AllDead,
    /// Those that are left may not elect.
    #[error(
        "--crash: {left} of {nodes} nodes are left, which are no majority, so none comes to lead; let \
         {majority} live, or give --quorum none"
    )]
    Minority {
        /// How many are left.
        left: usize,
        /// How many there are.
        nodes: usize,
        /// How many elect a leader.
        majority: usize,
    },
    /// An invariant did not hold.
    #[error("an invariant was broken {0}")]
    Breach(String),
    /// The election went on and on.
    #[error("the election was not over after {}", length(time.since(Time(0))))]
    Endless {
        /// The simulated time.
        time: Time,
    },
}

impl SimError {
    /// Whether the caller that asked for the run made a mistake, and not electd.
    #[must_use]
    pub fn is_usage(&self) -> bool {
        !matches!(self, SimError::Breach(_) | SimError::Endless { .. })
    }
}
