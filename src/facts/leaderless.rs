//! The time in which a node knows no leader, and why it does not.

use serde::{Deserialize, Serialize};

/// That no leader is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaderlessStatus {
    /// When this node heard the last leader last, or started, such as `2026-11-22T10:58:33.123Z`.
    pub since: String,
    /// For how long that was, in milliseconds.
    pub lasts_ms: u64,
    /// Why, as one word: what keeps the members from electing one, such as `isolated`; if nothing does, why the last
    /// leadership ended, such as `leader_dead`.
    pub cause: String,
    /// The same in words.
    pub reason: String,
}
