//! A job that must not outlive this member's leadership.
//!
//! While a job runs, leadership that ends in order (the leader resigns, is preempted or stops) is released
//! after the job has ended. Leadership that ends in any other way ends at once; with a majority nobody is told
//! so before the job has ended, so that the votes stay bound until their lease has expired.

use std::time::Duration;

use super::types::{CommandId, NodeId};

/// The job of this member, and what waits for its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Job {
    /// How long the job may take to end in order. None while no job runs.
    pub stops_within: Option<Duration>,
    /// What ends the leadership once the job has ended.
    pub ending: Option<Ending>,
    /// The job did not end in time, and nothing waits for it any more.
    pub overdue: bool,
}

/// Why a leader ends its leadership in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ending {
    /// An operator asked the leader to hand over, to this member if any.
    Resign(Option<NodeId>),
    /// This higher member takes over.
    Preempted(NodeId),
    /// The process is about to end; these commands asked for it.
    Stop(Vec<CommandId>),
}
