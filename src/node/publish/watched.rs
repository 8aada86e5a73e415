//! What the threads beside the election thread found last: the thread "watch", and the health check.

use std::sync::Arc;

use crate::node::history::HistoryEntry;
use crate::node::leaderless::Leaderless;
use crate::node::status::{DiskTrouble, HealthStatus, Problem};

#[derive(Clone, Default)]
pub struct WatchedStatus {
    pub problems: Vec<Problem>,
    /// What is wrong with the disk, if anything is.
    pub disk: Option<DiskTrouble>,
    /// The leaderships, oldest first.
    pub history: Arc<Vec<HistoryEntry>>,
    /// Since when no leader is known, and why, if none is.
    pub leaderless: Option<Leaderless>,
    /// The last result of the health check; none if there is no check.
    pub health: Option<HealthStatus>,
}
