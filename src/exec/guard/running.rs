//! The command of a guard while it runs.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, Signal, WaitStatus, getpgid, kill_process_group, pidfd_send_signal};

use super::super::mark::Mark;
use crate::cgroup::Cgroup;

/// The command's own process.
pub(super) struct RunningJob<'a> {
    pub pid: Pid,
    pub process: OwnedFd,
    /// What all of the command have.
    pub mark: Mark,
    /// Where all of them are, if it has one.
    pub cgroup: Option<&'a Cgroup>,
}

impl RunningJob<'_> {
    /// Signals this process and its process group, by calls that need no look at anything else. It must not have
    /// been reaped: its number names the group.
    pub fn send(&self, signal: Signal) {
        if let Some(cgroup) = self.cgroup.filter(|_| signal == Signal::KILL) {
            cgroup.kill(); // with all that it ever started
        }
        let _ = kill_process_group(self.pid, signal);
        // It is in another group on a terminal. A second TERM would mean to end without order.
        if signal == Signal::KILL || getpgid(Some(self.pid)) != Ok(self.pid) {
            let _ = pidfd_send_signal(&self.process, signal);
        }
    }
}

/// The exit code as a shell tells it.
pub(super) fn code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
