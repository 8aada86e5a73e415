//! How the work of a guard ends.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use thiserror::Error;

use super::super::address::held::NotHeld;

/// How long a killed process may take to be gone before the guard reports that and keeps trying.
pub(super) const GONE: Duration = Duration::from_secs(5);

/// Why a guard gave up.
#[derive(Debug, Error)]
pub(super) enum Failed {
    #[error("{0}")]
    Address(#[from] NotHeld),
    #[error("the guard of the job failed: {0}")]
    Guard(#[from] io::Error),
    #[error("the leadership ended before the job began")]
    Late,
    #[error("the job does not begin, as the coroner of the node does not know of it: {0}")]
    Unregistered(io::Error),
}

/// How a job ended.
pub(super) enum Ended {
    /// With this code of the command.
    With(u8),
    /// By TERM or KILL, as the leadership was not renewed in time.
    ByDeadline,
}

impl From<Errno> for Failed {
    fn from(error: Errno) -> Failed {
        Failed::Guard(error.into())
    }
}
