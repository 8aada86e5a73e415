//! What a job needs of the system, tried before anything relies on it: a node that finds only as the leader that it
//! cannot guard its job would lead for nothing.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, child_subreaper, getpid,
    parent_process_death_signal, pidfd_open, pidfd_send_signal, waitid,
};

use super::alarms::Alarm;
use super::guarded::GUARDED;
use super::tree;
use crate::calls::{self, Named, PROCESS};
use crate::cgroup::{MadeCgroup, refused};
use crate::core::types::Time;
use crate::limits::MOUNT_PROC;
use crate::rank::children;

/// A call of the system that a guard needs and that fails here.
#[derive(Debug)]
pub struct Unmet {
    call: &'static str,
    error: io::Error,
}

impl std::error::Error for Unmet {}

impl fmt::Display for Unmet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unmet { call, error, .. } = self;
        write!(f, "no job can be guarded here, as {call} fails: {error}; {}", self.remedy())
    }
}

impl Unmet {
    fn remedy(&self) -> &'static str {
        let code = calls::errno(&self.error);
        code.and_then(|code| calls::remedy(self.call, "", code)).unwrap_or(MOUNT_PROC)
    }
}

/// Tries each of them.
///
/// # Errors
/// With the first that fails, and what to do about it.
pub fn look() -> Result<(), Unmet> {
    type Try = fn() -> io::Result<()>;
    let tried: [(&str, Try); 9] = [
        ("pidfd_open", || own_process().map(drop)),
        ("pidfd_send_signal", || Ok(pidfd_send_signal(own_process()?, IGNORED)?)),
        ("waitid(P_PIDFD)", || {
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            match waitid(WaitId::PidFd(own_process()?.as_fd()), look) {
                Err(Errno::CHILD) => Ok(()), // it is none of its own
                looked => Ok(looked.map(drop)?),
            }
        }),
        ("timerfd_create", || Alarm::new().map(drop)),
        ("timerfd_settime", || Alarm::new()?.set(Time::default())),
        ("timerfd_gettime", || Alarm::new()?.left().map(drop)),
        ("prctl(PR_GET_CHILD_SUBREAPER)", || Ok(child_subreaper().map(drop)?)),
        ("prctl(PR_GET_PDEATHSIG)", || {
            Ok(parent_process_death_signal().map(drop::<Option<Signal>>)?)
        }),
        ("reading /proc", || {
            std::fs::read_link("/proc/self/exe").and_then(|_| tree::cost_of_a_walk()).map(drop)
        }),
    ];
    // The names of the calls stand in the sentence.
    let unnamed =
        |error: io::Error| calls::errno(&error).map_or(error, io::Error::from_raw_os_error);
    let unmet = |call| move |error| Unmet { call, error: unnamed(error) };
    tried.into_iter().try_for_each(|(call, tries)| tries().map_err(unmet(call)))
}

/// Makes a cgroup as a job would have it, and has a process enter it.
///
/// # Errors
/// With what failed, and what to do about it.
pub fn try_cgroup() -> io::Result<()> {
    let made = MadeCgroup::make()?;
    let mut command = children::this_program()?;
    let own = getpid().as_raw_nonzero().to_string();
    command.args([GUARDED, &own, "true"]).stdin(Stdio::piped()); // it waits for a word, and gets none
    let mut waits = children::start(&mut command).named(PROCESS)?;
    let entered = made.cgroup.enter(Pid::from_child(&waits));
    let _ = waits.kill();
    children::wait(&mut waits)?;
    entered.map_err(refused)
}

/// A signal that no process minds.
const IGNORED: Signal = Signal::URG;

fn own_process() -> io::Result<OwnedFd> {
    Ok(pidfd_open(getpid(), PidfdFlags::empty())?)
}

/// Why a program given by its path cannot be run, as far as that can be told before: its host may have it later. Others
/// are looked for in PATH when they are run.
#[must_use]
pub fn why_no_program(program: &OsString) -> Option<String> {
    let path = Path::new(program);
    if path.components().count() < 2 {
        return None;
    }
    let can = access(path, Access::EXEC_OK).map_err(io::Error::from);
    let is_file = can.and_then(|()| path.metadata()).map(|found| found.is_file());
    match is_file {
        Ok(true) => None,
        Ok(false) => Some(format!("{} is no program", path.display())),
        Err(error) => Some(format!("{} cannot be run on this host: {error}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MORE_FILES;

    #[test]
    fn all_that_a_guard_needs_is_here() {
        look().unwrap();
    }

    #[test]
    fn a_program_that_is_not_there_is_told_before_it_is_run() {
        let why = |program: &str| why_no_program(&OsString::from(program));
        assert_eq!(why("/bin/sh"), None);
        assert_eq!(why("sh"), None, "PATH decides when it is run");
        for (program, error) in [
            ("./no/such/worker", "No such file or directory (os error 2)"),
            ("/etc/passwd", "Permission denied (os error 13)"),
        ] {
            let words = format!("{program} cannot be run on this host: {error}");
            assert_eq!(why(program), Some(words));
        }
        assert_eq!(why("/etc").as_deref(), Some("/etc is no program"));
    }

    #[test]
    fn what_is_missing_is_named_with_its_remedy() {
        let filter = "have the filter of system calls allow it: the seccomp profile of the container, or \
                      SystemCallFilter= of the unit";
        for (errno, remedy) in [
            (Errno::PERM, filter),
            (Errno::ACCESS, filter),
            (Errno::NOSYS, "use Linux 5.4 or later"),
            (Errno::MFILE, MORE_FILES),
            (Errno::NOENT, "mount the file system of processes: mount -t proc proc /proc"),
        ] {
            let error = io::Error::from(errno);
            let words =
                format!("no job can be guarded here, as pidfd_open fails: {error}; {remedy}");
            assert_eq!(Unmet { call: "pidfd_open", error }.to_string(), words);
        }
    }
}
