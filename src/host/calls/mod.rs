//! The names of calls of the system that failed, and what can be done about it.
//!
//! "Permission denied (os error 13)" alone helps nobody: who reads it has to know which call failed, for which file or
//! address, and what to change on the host.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;

use rustix::io::Errno;

use crate::limits::MORE_FILES;

/// To start a thread.
pub const THREAD: &str = "starting a thread";

/// To start a process of this program.
pub const PROCESS: &str = "starting a process";

/// To take an address of the network.
pub const BIND: &str = "bind";

/// What to do where no process or thread can be started.
pub const MORE_PROCESSES: &str = "raise the limit of processes and threads (TasksMax= in the unit, pids of the container, or ulimit -u)";

/// What to do where there is no memory for a call.
pub const MORE_MEMORY: &str = "free memory, or raise the limit of it (MemoryMax= and LimitAS= in the unit, memory of the container, or ulimit -v)";

/// What to do where a call that needs no right fails for want of one.
const FILTER: &str = "have the filter of system calls allow it: the seccomp profile of the container, or SystemCallFilter= of the unit";

/// A call that failed, by its name.
#[derive(Debug)]
struct FailedCall {
    call: &'static str,
    /// The file or address that it was for; empty for none.
    of: String,
    error: io::Error,
}

impl Display for FailedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FailedCall { call, of, error } = self;
        let space = if of.is_empty() { "" } else { " " };
        write!(f, "{call}{space}{of}: {error}")?;
        let remedy = error.raw_os_error().and_then(|code| remedy(call, of, code));
        remedy.map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl Error for FailedCall {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

/// Gives what failed the name of its call.
pub trait Named<T> {
    /// Names the call. An error that is not the system's, or has a name, keeps its words: they are closer to the cause.
    ///
    /// # Errors
    /// The same, with the name.
    fn named(self, call: &'static str) -> io::Result<T>;

    /// Names the call, and the file or address that it was for.
    ///
    /// # Errors
    /// The same, with the name.
    fn named_for(self, call: &'static str, of: impl Display) -> io::Result<T>;
}

impl<T, E: Into<io::Error>> Named<T> for Result<T, E> {
    fn named(self, call: &'static str) -> io::Result<T> {
        self.named_for(call, "")
    }

    fn named_for(self, call: &'static str, of: impl Display) -> io::Result<T> {
        self.map_err(|error| {
            let error: io::Error = error.into();
            if error.raw_os_error().is_none() {
                return error; // it says more than a number, or has a name
            }
            io::Error::new(error.kind(), FailedCall { call, of: of.to_string(), error })
        })
    }
}

fn inner(error: &io::Error) -> Option<&FailedCall> {
    error.get_ref()?.downcast_ref()
}

/// The number of the system's error, with or without a name.
#[must_use]
pub fn errno(error: &io::Error) -> Option<i32> {
    inner(error).map_or(error, |failed| &failed.error).raw_os_error()
}

/// What to do where this call, for this file or address if any, failed with this number.
#[must_use]
pub fn remedy(call: &str, of: &str, code: i32) -> Option<&'static str> {
    let starts = [THREAD, PROCESS].contains(&call);
    Some(match Errno::from_raw_os_error(code) {
        Errno::MFILE | Errno::NFILE => MORE_FILES,
        Errno::AGAIN if starts => MORE_PROCESSES,
        Errno::NOMEM => MORE_MEMORY,
        Errno::ADDRINUSE => "another process listens there: ss -ltnp shows it",
        Errno::ADDRNOTAVAIL if call == BIND => {
            "this host does not have that address: ip address shows those that it has"
        }
        Errno::AFNOSUPPORT => {
            "the kernel, or RestrictAddressFamilies= of the unit, has no addresses of this kind"
        }
        Errno::ACCESS | Errno::PERM if call == BIND => {
            "give a port of 1024 or more, or the process CAP_NET_BIND_SERVICE"
        }
        Errno::ACCESS | Errno::PERM if of.is_empty() => FILTER,
        Errno::NOSYS => "use Linux 5.4 or later",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    fn told(call: &'static str, of: &str, errno: Errno) -> String {
        Err::<(), _>(errno).named_for(call, of).unwrap_err().to_string()
    }

    #[test]
    fn a_failed_call_is_told_with_its_name_what_it_was_for_and_the_remedy() {
        for (told, words) in [
            (
                told(BIND, "10.0.0.1:7400", Errno::ADDRINUSE),
                "bind 10.0.0.1:7400: Address already in use (os error 98); another process listens there: ss -ltnp shows it",
            ),
            (
                told(BIND, "[::1]:80", Errno::ACCESS),
                "bind [::1]:80: Permission denied (os error 13); give a port of 1024 or more, or the process \
                 CAP_NET_BIND_SERVICE",
            ),
            (
                told("open", "/proc/self/fd", Errno::ACCESS),
                "open /proc/self/fd: Permission denied (os error 13)",
            ),
            (told("poll", "", Errno::INVAL), "poll: Invalid argument (os error 22)"),
        ] {
            assert_eq!(told, words);
        }
        for (call, errno, remedy) in [
            ("pidfd_open", Errno::PERM, FILTER),
            ("socket", Errno::MFILE, MORE_FILES),
            (THREAD, Errno::AGAIN, MORE_PROCESSES),
            (PROCESS, Errno::NOMEM, MORE_MEMORY),
            ("pidfd_open", Errno::NOSYS, "use Linux 5.4 or later"),
        ] {
            let words = told(call, "", errno);
            let expected = format!("{call}: {}; {remedy}", io::Error::from(errno));
            assert_eq!(words, expected);
        }
    }

    #[test]
    fn a_name_changes_neither_the_kind_nor_the_number_and_the_first_one_stays() {
        let error = Err::<(), _>(Errno::CONNREFUSED).named_for("connect", "b:1");
        let error = error.named("poll").unwrap_err();
        assert!(error.to_string().starts_with("connect b:1: Connection refused"), "{error}");
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(errno(&error), Some(Errno::CONNREFUSED.raw_os_error()));
        let own = Err::<(), _>(io::Error::other("so")).named("poll");
        assert_eq!(own.unwrap_err().to_string(), "so");
        assert_eq!(errno(&error), Some(Errno::CONNREFUSED.raw_os_error()));
        assert_eq!(errno(&Errno::IO.into()), Some(Errno::IO.raw_os_error()));
        assert_eq!(errno(&io::Error::other("so")), None);
    }
}
