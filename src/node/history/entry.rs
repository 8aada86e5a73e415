//! One leadership, or the time without one, as it is shown and stored.

use serde::{Deserialize, Serialize};

/// A leadership, as one node saw it. Field names and meanings are part of electd's interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The name of the leader.
    pub leader: String,
    /// Its epoch.
    pub epoch: u64,
    /// When it became known, in milliseconds since the Unix epoch.
    pub since_ms: u64,
    /// When this node no longer knew it; null while it does, and if this node did not see the end.
    pub until_ms: Option<u64>,
    /// Whether this node knows it still.
    pub lasts: bool,
    /// The previous leader; null if this is the first leader since the node's start.
    pub before: Option<String>,
    /// Why the previous leadership ended, as one word; "start" for the first leadership since the
    /// node's start.
    pub cause: String,
    /// The same in words.
    pub reason: String,
    /// For how long this node knew no leader before, in milliseconds.
    pub leaderless_ms: u64,
}
