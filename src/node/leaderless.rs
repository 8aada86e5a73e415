//! The time in which a node knows no leader, and why it does not.

use serde::{Deserialize, Serialize};

use super::clock;

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

/// That no leader is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaderless {
    /// When the last leader was heard last, or this node started, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// What keeps the members from electing a leader, if anything does; otherwise why the last leadership ended.
    pub cause: String,
    /// The same in words.
    pub reason: String,
}

impl Leaderless {
    /// As it is shown at this moment, in milliseconds since the Unix epoch.
    pub fn at(self, now_ms: u64) -> LeaderlessStatus {
        let Leaderless { since_ms, cause, reason } = self;
        let lasts_ms = now_ms.saturating_sub(since_ms);
        LeaderlessStatus { since: clock::moment(since_ms), lasts_ms, cause, reason }
    }
}
