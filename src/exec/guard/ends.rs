//! How the work of a guard ends.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use thiserror::Error;

use super::super::address::held::NotHeld;
use crate::cgroup::is_refused;

/// How long a killed process may take to be gone before the guard reports that and keeps trying.
pub(super) const GONE: Duration = Duration::from_secs(5);

/// Why a guard gave up.
#[derive(Debug, Error)]
pub(super) enum Failed {
    #[error("{0}")]
    Address(#[from] NotHeld),
    #[error("{whose}{0}", whose = whose(.0))]
    Guard(#[from] io::Error),
    #[error("the leadership ended before the job began")]
    Late {
        /// An address was added, and not removed.
        is_left: bool,
    },
}

/// Names the guard as what failed, where the error does not say itself what did.
fn whose(error: &io::Error) -> &'static str {
    if is_refused(error) { "" } else { "the guard of the job failed: " }
}

impl Failed {
    /// Whether nothing is left of a job that never began, beside processes.
    pub(super) fn is_clean(&self, has_address: bool) -> bool {
        match self {
            Failed::Address(address) => !address.is_left(),
            Failed::Late { is_left } => !is_left,
            Failed::Guard(_) => !has_address, // nobody knows whether one was removed
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The coroner certifies the death of a node that leaves nothing.
    #[test]
    fn a_guard_that_fails_leaves_nothing_if_no_address_can_be_left() {
        for (is_left, is_clean) in [(true, false), (false, true)] {
            let failed = Failed::from(NotHeld::in_a_test(is_left));
            assert_eq!(failed.is_clean(true), is_clean);
        }
        for (failed, is_clean) in [
            (Failed::from(Errno::IO), [false, true]),
            (Failed::Late { is_left: false }, [true; 2]),
            (Failed::Late { is_left: true }, [false; 2]),
        ] {
            assert_eq!([true, false].map(|has_address| failed.is_clean(has_address)), is_clean);
        }
    }
}
