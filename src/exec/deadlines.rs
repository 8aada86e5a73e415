//! When a job is sent TERM and KILL, so that nothing of it runs when the leadership has ended.

use std::time::Duration;

use crate::config::Config;
use crate::core::settings::Quorum;

/// How long before the end of the leadership a job is ended, if the leadership is not renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// TERM comes this long before the end.
    pub term: Duration,
    /// KILL comes this long before the end.
    pub kill: Duration,
}

impl Deadlines {
    /// A quarter of the time for which a heartbeat is valid is reserved for ending the job, and half of
    /// that quarter for the time after KILL. A heartbeat is valid for 9/11 of the lease; without a
    /// majority, for the time after which a stalled leader counts itself as failed.
    #[must_use]
    pub fn of(config: &Config) -> Deadlines {
        Deadlines::of_renewal(match config.quorum {
            Quorum::Majority => config.timing.lease * 9 / 11,
            Quorum::None => config.timing.stall(),
        })
    }

    /// The same, if a heartbeat is valid for this long.
    #[must_use]
    pub fn of_renewal(whole: Duration) -> Deadlines {
        Deadlines { term: whole / 4, kill: whole / 8 }
    }
}
