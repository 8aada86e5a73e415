//! What a node knows of the locks of its cluster.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::hold::HolderBefore;
use super::runs::LastRun;

/// All locks, as one node sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LocksView {
    /// The member that coordinates them; null while no leader is known.
    pub coordinator: Option<String>,
    /// The version of the last done table that this node knows; null before the first.
    pub version: Option<TableVersion>,
    /// Why no name can be had now; null if names can be had.
    pub unavailable: Option<LocksUnavailable>,
    /// All names that a member holds, that are wanted here, or that the coordinator knows to be wanted, in their order.
    pub locks: Vec<LockEntry>,
}

/// The version of a table of locks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableVersion {
    /// The epoch of its coordinator.
    pub epoch: u64,
    /// It goes on over all epochs; the tokens are such counters.
    pub counter: u64,
}

/// A lock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockEntry {
    /// Its name.
    pub name: String,
    /// The member that holds it, by the last done table that this node knows; null if none does.
    pub holder: Option<String>,
    /// The fencing token of that holder.
    pub token: Option<u64>,
    /// Since when this node knows that holder, by its wall clock.
    pub since_ms: Option<u64>,
    /// The members that want it, as far as this node knows: the coordinator knows all of them, another member only itself.
    pub candidates: Vec<String>,
    /// Why nobody holds it, or why its holder may not act under it; null if all is well. One sentence without its full stop.
    pub reason: Option<String>,
    /// The holder before, and why that holds it no more; left out if this node saw none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<HolderBefore>,
    /// The candidates that come after all others for a while; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub behind: Vec<String>,
    /// Why this node is no candidate, although a program here waits for it; left out if none does, or nothing is amiss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindered: Option<LockHindrance>,
    /// Where the work of its holder is reached, as `--url` says: only the holder itself knows that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The last run of a command that runs once in each period (`exec --once-per`); absent of any other lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_run: Option<LastRun>,
}

/// Why a cluster has no locks now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case", tag = "cause")]
pub enum LocksUnavailable {
    /// The cluster works without a majority.
    #[error("locks need `\"quorum\": \"majority\"`")]
    QuorumNone,
    /// A voter runs a version that knows no locks.
    #[error("the voter {name} runs a version of electd without locks: upgrade it")]
    OlderVoter {
        /// The first such voter.
        name: String,
    },
    /// No leader is known, who would coordinate them.
    #[error("no leader is known, who would coordinate the locks")]
    NoLeader,
    /// The coordinator has not read the table of a majority yet, or of all voters if this cluster never had a lock.
    #[error(
        "the coordinator has not read the locks of a majority of the voters yet; before the first lock of a cluster it \
         reads those of all voters"
    )]
    NoTable,
}

/// Why a member where a program waits for a lock is no candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Error)]
#[serde(rename_all = "snake_case")]
pub enum LockHindrance {
    /// An operator keeps it from leading, and from holding locks.
    #[error("is drained")]
    Drained,
    /// Its health check fails.
    #[error("fails its health check")]
    Unhealthy,
    /// It is about to end.
    #[error("is stopping")]
    Stopping,
    /// A voter runs a version without locks.
    #[error("wants no locks, as a voter runs a version of electd without them")]
    OlderVoter,
}
