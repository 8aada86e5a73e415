//! When a job is sent TERM and KILL, so that nothing of it runs when the leadership has ended.

use std::time::Duration;

use crate::config::Config;
use crate::core::settings::Quorum;

/// How long before the end of the leadership a job is ended, if nobody prolongs the leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// TERM comes so long before the end.
    pub term: Duration,
    /// KILL comes so long before the end.
    pub kill: Duration,
}

impl Deadlines {
    /// A quarter of what one heartbeat is good for is left to end the job, and half of that to its end
    /// after KILL. One heartbeat is good for 9/11 of the lease; without a majority, for the time after which
    /// a leader that stood still counts itself as failed.
    #[must_use]
    pub fn of(config: &Config) -> Deadlines {
        Deadlines::of_renewal(match config.quorum {
            Quorum::Majority => config.timing.lease * 9 / 11,
            Quorum::None => config.timing.stall(),
        })
    }

    /// The same where one heartbeat is good for so long.
    #[must_use]
    pub fn of_renewal(whole: Duration) -> Deadlines {
        Deadlines { term: whole / 4, kill: whole / 8 }
    }
}
