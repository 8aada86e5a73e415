//! Orphans: processes that became children of this one when their parents ended. That happens to the first process of a
//! PID namespace, such as a container's, and to one that runs a job ([`super::tree::adopt_orphans`]).
//!
//! An orphan that nobody reaps keeps its number for ever, and a container may have only so many. The kernel sends CHLD
//! when any child ends; the programs that this process started itself are left to the threads that wait for them.

use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use signal_hook::consts::SIGCHLD;

use crate::rank::children;

/// The signal at which [`reap`] is to be called.
pub const SIGNAL: i32 = SIGCHLD;

/// From now on orphans are also reaped after each program that this process started has been: the kernel tells of one
/// child at a time, and that program may have been the one.
pub fn adopt() {
    children::after_each(reap);
}

/// Reaps all orphans that have ended.
pub fn reap() {
    children::while_none_starts(|| {
        let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        while let Some(pid) = waitid(Id::All, look).ok().as_ref().and_then(WaitStatus::pid) {
            if children::has_started(pid.as_raw())
                || waitpid(pid, Some(WaitPidFlag::WNOHANG)).is_err()
            {
                return;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::testing::alone::alone;

    /// Until it can be waited for.
    fn until_ended(pid: u32) {
        let id = Id::Pid(nix::unistd::Pid::from_raw(i32::try_from(pid).unwrap()));
        waitid(id, WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT).unwrap();
    }

    #[test]
    fn what_nobody_waits_for_is_reaped_and_what_this_process_started_is_not() {
        if alone(
            "exec::orphans::tests::what_nobody_waits_for_is_reaped_and_what_this_process_started_is_not",
        )
        .is_some()
        {
            return;
        }
        let mut orphans =
            [(); 2].map(|()| children::start_unwatched(&mut Command::new("true")).unwrap());
        orphans.iter().for_each(|orphan| until_ended(orphan.id()));
        reap();
        assert!(orphans.iter_mut().all(|orphan| orphan.wait().is_err()), "both are gone");

        let mut own = children::start(Command::new("sh").args(["-c", "exit 3"])).unwrap();
        until_ended(own.id());
        reap();
        // The kernel tells of one child at a time: this one is reaped once that has been.
        let mut orphan = children::start_unwatched(&mut Command::new("true")).unwrap();
        until_ended(orphan.id());
        adopt();
        assert_eq!(children::wait(&mut own).unwrap().code(), Some(3));
        assert!(orphan.wait().is_err(), "it was reaped then");
    }
}
