//! The failure of a command: an exit code and a message for stderr.

use std::fmt::Display;
use std::io;

use rustix::io::Errno;

use super::exit::Exit;
use crate::calls::MORE_PROCESSES;
use crate::config::{ConfigErrors, NodeNameError};
use crate::limits::MORE_FILES;

/// What a process does that is to end in order.
pub const SIGNALS: &str = "watch for signals (sigaction, socketpair)";

/// Why a command did not end with [`Exit::Done`]; or, without a message, that it ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CliError {
    /// The exit code of the process.
    pub exit: Exit,
    /// For stderr; nothing is printed when it is empty.
    pub message: String,
}

impl CliError {
    /// An exit with a message.
    pub fn new(exit: Exit, message: impl Display) -> CliError {
        CliError { exit, message: message.to_string() }
    }

    /// The system refused a call without which this process cannot go on: what it was for, and what to do.
    pub fn internal(what: &str) -> impl Fn(io::Error) -> CliError {
        move |error| {
            let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
            let remedy = match () {
                () if is(Errno::MFILE) => format!("; {MORE_FILES}"),
                () if is(Errno::AGAIN) => format!("; {MORE_PROCESSES}"),
                () => String::new(),
            };
            CliError::new(Exit::Internal, format_args!("cannot {what}: {error}{remedy}"))
        }
    }

    /// An exit whose code says all, such as the "no" of a check.
    #[must_use]
    pub fn silent(exit: Exit) -> CliError {
        CliError { exit, message: String::new() }
    }

    /// Results could not be written to stdout. If the reader closed the pipe, it has read enough, as `head` does:
    /// then the command ends without a failure.
    #[must_use]
    pub fn stdout(error: &io::Error) -> CliError {
        match error.kind() {
            io::ErrorKind::BrokenPipe => CliError::silent(Exit::Done),
            _ => CliError::new(Exit::Internal, format_args!("cannot write to stdout: {error}")),
        }
    }
}

impl From<ConfigErrors> for CliError {
    fn from(errors: ConfigErrors) -> CliError {
        CliError::new(Exit::Config, errors)
    }
}

impl From<NodeNameError> for CliError {
    fn from(error: NodeNameError) -> CliError {
        CliError::new(Exit::Config, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_the_system_refuses_is_named_with_the_remedy() {
        let words = |error: Errno| CliError::internal("start a thread")(error.into()).message;
        let begin = "cannot start a thread: ";
        for (errno, end) in [(Errno::MFILE, MORE_FILES), (Errno::AGAIN, MORE_PROCESSES)] {
            let told = words(errno);
            assert!(told.starts_with(begin) && told.ends_with(end), "{told}");
        }
        assert_eq!(words(Errno::PERM), format!("{begin}Operation not permitted (os error 1)"));
    }

    #[test]
    fn a_reader_that_has_read_enough_is_no_failure_and_a_full_disk_is_one() {
        let stdout = |kind: io::ErrorKind| CliError::stdout(&kind.into());
        let done = CliError { exit: Exit::Done, message: String::new() };
        assert_eq!(stdout(io::ErrorKind::BrokenPipe), done);
        let full = CliError::new(Exit::Internal, "cannot write to stdout: no storage space");
        assert_eq!(stdout(io::ErrorKind::StorageFull), full);
    }
}
