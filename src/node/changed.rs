//! A change of state, as the status, the history and the events tell it.

use serde::{Deserialize, Serialize};

/// One change of state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeStatus {
    /// Counts the changes since the start, from 1.
    pub number: u64,
    /// When it happened, in milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The state before.
    pub from: String,
    /// The state after.
    pub to: String,
    /// Its state in the halting algorithm: down, election, reorganization or normal; null with the
    /// others.
    pub halting: Option<String>,
    /// The leader named afterwards, by its name.
    pub leader: Option<String>,
    /// The epoch known afterwards.
    pub epoch: u64,
    /// Why, in words.
    pub reason: String,
    /// Why, as one word for programs, such as leader_dead.
    #[serde(default)]
    pub cause: String,
    /// Whether that keeps the members from electing a leader. Not told: `leaderless` tells what does.
    #[serde(skip)]
    pub hinders: bool,
    /// For how long this node had not heard the leader before, or had stood still, in milliseconds; 0 if it heard that
    /// leader until this change.
    #[serde(default)]
    pub silent_ms: u64,
}
