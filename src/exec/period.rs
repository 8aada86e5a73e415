//! A command that runs once in each period: how `electd exec` asks for that, and what its node answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::node::locks::{BadPeriod, LockName, OncePer};

/// What `exec` says of the periods of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeriodWish {
    /// How long a period is.
    pub length_ms: u64,
    /// When one begins, after 1970-01-01 00:00 UTC.
    pub begin_ms: u64,
    /// Whether it runs until it ended with 0.
    pub retry: bool,
    /// Whether it waits for the next period if this one has its run.
    pub stays: bool,
}

impl PeriodWish {
    /// The periods.
    ///
    /// # Errors
    /// If these are none.
    pub fn once(self) -> Result<OncePer, BadPeriod> {
        let millis = Duration::from_millis;
        OncePer::new(millis(self.length_ms), millis(self.begin_ms), self.retry)
    }
}

impl From<(OncePer, bool)> for PeriodWish {
    fn from((once, stays): (OncePer, bool)) -> PeriodWish {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let (length_ms, begin_ms) = (millis(once.length()), millis(once.offset()));
        PeriodWish { length_ms, begin_ms, retry: once.retry, stays }
    }
}

/// The lock by which a command runs.
#[derive(Clone, Copy, Debug)]
pub struct LockAsked<'a> {
    /// Its name.
    pub name: &'a LockName,
    /// If the command runs once in each period.
    pub period: Option<PeriodWish>,
}
