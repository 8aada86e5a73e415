//! A coroner that stands still: it certifies nothing, and would keep others waiting, so that the next node ends it.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::event::PollFlags;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::local::tells;

/// Waits for the end of the coroner on the other side, and kills it if that takes longer than `timeout`. A killed one
/// may take as long as `gone` to be gone: on a host that is short of the processor, that has taken four seconds. Tells
/// whether it was killed.
///
/// # Errors
/// If it may not be killed, as it belongs to another user, or is not gone for all that.
pub fn end(stream: &UnixStream, timeout: Duration, gone: Duration) -> io::Result<bool> {
    // While the connection is open, this is the number of the process that accepts there, and of no other.
    let Some(pid) = process(stream)? else {
        return end_elsewhere(stream, timeout);
    };
    let Ok(coroner) = pidfd_open(pid, PidfdFlags::empty()) else { return Ok(false) };
    if has_ended(&coroner, timeout) || is_closed(stream) {
        return Ok(false);
    }
    pidfd_send_signal(&coroner, Signal::KILL)?;
    if has_ended(&coroner, gone) { Ok(true) } else { Err(io::ErrorKind::TimedOut.into()) }
}

/// The same of a coroner in another PID namespace, which has no number here: nobody here can kill it.
fn end_elsewhere(stream: &UnixStream, timeout: Duration) -> io::Result<bool> {
    if tells(stream, PollFlags::RDHUP, Some(timeout)) {
        return Ok(false);
    }
    Err(io::Error::other(
        "it does not end, and runs in another PID namespace (a container?): end `electd coroner` there",
    ))
}

/// Whether this process was stopped, by a signal or a debugger.
pub fn is_stopped(process: Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    let stat = stat.unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

/// The process that accepts at the other side, while that is open. None in another PID namespace.
pub fn process(stream: &UnixStream) -> io::Result<Option<Pid>> {
    Ok(Pid::from_raw(getsockopt(stream, PeerCredentials)?.pid()))
}

fn has_ended(process: &impl AsFd, timeout: Duration) -> bool {
    tells(process, PollFlags::IN, Some(timeout))
}

pub(super) fn is_closed(stream: &UnixStream) -> bool {
    tells(stream, PollFlags::RDHUP, Some(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::testing::within::within;

    /// Far longer than anything takes here.
    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_process_has_ended_when_the_system_says_so() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).unwrap();
        assert!(!has_ended(&process, Duration::ZERO));
        drop(child.stdin.take());
        assert!(has_ended(&process, LONG));
        child.wait().unwrap();
    }

    #[test]
    fn a_process_is_stopped_until_it_goes_on_or_ends() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = Pid::from_child(&child);
        let becomes = |stopped| {
            within(LONG, "the process follows", || is_stopped(process) == stopped);
        };
        becomes(false);
        for (signal, stopped) in [(Signal::STOP, true), (Signal::CONT, false)] {
            rustix::process::kill_process(process, signal).unwrap();
            becomes(stopped);
        }
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(!is_stopped(process));
    }

    /// The process on the other side of a pair is this one: it would be killed.
    #[test]
    fn one_whose_connection_has_ended_is_left_alone() {
        let (stream, mut far) = UnixStream::pair().unwrap();
        assert!(!is_closed(&stream));
        io::Write::write_all(&mut far, b"r").unwrap();
        assert!(!is_closed(&stream), "it has something to say");
        drop(far);
        // A process that another test just forks has a copy, until it becomes its program.
        assert!(tells(&stream, PollFlags::RDHUP, Some(LONG)));
        assert!(is_closed(&stream));
        assert!(!end(&stream, Duration::ZERO, LONG).unwrap());
    }

    /// As of a container that shares the state: the kernel gives its number as 0.
    #[test]
    fn one_of_another_pid_namespace_is_waited_for_and_cannot_be_killed() {
        let (stream, far) = UnixStream::pair().unwrap();
        let error = end_elsewhere(&stream, Duration::ZERO).unwrap_err().to_string();
        assert!(error.starts_with("it does not end, and runs in another PID namespace"), "{error}");
        drop(far);
        assert!(!end_elsewhere(&stream, LONG).unwrap());
    }
}
