//! The mark of a command: a pipe that only its processes have, each from the one that started it.
//!
//! A process of a command may leave all its ancestors: where one enters another PID namespace and its parent ends there, it
//! becomes a child of the first process of that namespace. It still holds the mark, unless it closed all that it inherited.
//! The kernel tells without a look at any process whether somebody holds it; who that is, only a look at all tells.

use std::fs;
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::fs::fstat;
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use super::tree;
use crate::calls::Named;
use crate::local;

/// The least descriptor of the mark in a command: above those that shells and scripts name.
const LEAST: i32 = 1020;

/// Between two looks for those that hold a mark.
const ROUND: Duration = Duration::from_millis(20);

/// The shortest time for which they are looked for.
const LOOKS: Duration = Duration::from_millis(50);

/// The end of a mark that tells whether somebody holds the other one.
#[derive(Debug)]
pub struct Mark(OwnedFd);

/// The other end, for the first process of a command. No thread beside may start a program while it is given: that would
/// get it too.
pub struct InheritedEnd(OwnedFd);

impl InheritedEnd {
    /// Whether the next program inherits it that this process starts.
    ///
    /// # Errors
    /// The error of the system.
    pub fn give(&self, is_given: bool) -> io::Result<()> {
        let flags = if is_given { FdFlags::empty() } else { FdFlags::CLOEXEC };
        fcntl_setfd(&self.0, flags).named("fcntl(F_SETFD)")
    }
}

impl AsFd for Mark {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Mark {
    /// A mark that nobody has yet, and what the next program inherits that this process starts.
    ///
    /// # Errors
    /// When the system has no pipe left.
    pub fn new() -> io::Result<(Mark, InheritedEnd)> {
        let (reader, writer): (PipeReader, _) = io::pipe().named("pipe")?;
        let writer = OwnedFd::from(writer);
        // A process that may not have so many descriptors keeps the low one.
        let writer = fcntl_dupfd_cloexec(&writer, LEAST).unwrap_or(writer);
        let given = InheritedEnd(writer);
        given.give(true)?;
        Ok((Mark(reader.into()), given))
    }

    /// One that nobody has or gets.
    #[cfg(test)]
    pub fn of_nobody() -> Mark {
        let (reader, _) = io::pipe().unwrap(); // no program that a test beside starts inherits an end
        Mark(reader.into())
    }

    /// Whether a process has it.
    pub fn is_held(&self) -> bool {
        !local::has_ended(self, Duration::ZERO)
    }

    /// Kills the processes that hold it, for at most this time. Returns whether none does then.
    pub fn kill_holders(&self, timeout: Duration) -> bool {
        let begin = Instant::now();
        // The last of those that were killed already may be about to let go of it.
        while !local::has_ended(self, ROUND) {
            if begin.elapsed() > timeout.max(LOOKS) {
                return false;
            }
            for holder in self.holders().unwrap_or_default() {
                self.kill(holder);
            }
        }
        true
    }

    /// The number may be another's by now: so it is looked at again once that cannot change any more.
    fn kill(&self, holder: Pid) {
        if let Ok(process) = pidfd_open(holder, PidfdFlags::empty())
            && self.name().is_ok_and(|name| holds(holder, &name))
        {
            let _ = pidfd_send_signal(&process, Signal::KILL); // it may have ended, or belong to another user
        }
    }

    /// The processes that hold it, as far as this process may look into them.
    ///
    /// # Errors
    /// When the processes of this host cannot be listed.
    pub fn holders(&self) -> io::Result<Vec<Pid>> {
        let (name, own) = (self.name()?, getpid());
        let all = tree::numbers("/proc")?.into_iter();
        Ok(all.filter(|pid| *pid != own && holds(*pid, &name)).collect())
    }

    /// A sentence on the processes that hold it, and did not end.
    pub fn strays(&self) -> String {
        let left = self.holders().unwrap_or_default().into_iter();
        let left: Vec<String> = left.map(|pid| pid.as_raw_nonzero().to_string()).collect();
        let which = match &left[..] {
            [] => "this process cannot see them".to_owned(),
            left => left.join(", "),
        };
        format!(
            "processes of the command have left all that is below its guard, as in another PID namespace, and did not end \
             by KILL ({which}): end them, as the next leader's command runs beside them"
        )
    }

    /// What a descriptor of it is called.
    fn name(&self) -> io::Result<String> {
        Ok(format!("pipe:[{}]", fstat(&self.0)?.st_ino))
    }
}

/// Whether a process has a descriptor of this name.
fn holds(process: Pid, name: &str) -> bool {
    let folder = format!("/proc/{}/fd", process.as_raw_nonzero());
    let mut links = fs::read_dir(folder).into_iter().flatten().flatten();
    links.any(|link| fs::read_link(link.path()).is_ok_and(|target| target.as_os_str() == name))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;
    use crate::testing::alone::alone;

    /// In a process of its own, where no test beside starts a program.
    #[test]
    fn a_mark_is_held_by_whatever_a_command_started_until_that_is_killed() {
        let this =
            "exec::mark::tests::a_mark_is_held_by_whatever_a_command_started_until_that_is_killed";
        if alone(this).is_some() {
            return;
        }
        let (mark, given) = Mark::new().unwrap();
        assert!(mark.is_held(), "nobody has begun");
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 1000 & echo $!"]).stdout(Stdio::piped());
        let child = command.spawn().unwrap();
        drop(given);
        let own = rustix::io::fcntl_getfd(&mark.0).unwrap();
        assert!(own.contains(FdFlags::CLOEXEC), "no command has this end");
        let mut line = [0; 16];
        let count = rustix::io::read(child.stdout.as_ref().unwrap(), &mut line).unwrap();
        let left = std::str::from_utf8(&line[..count]).unwrap().trim().parse().unwrap();
        let mut child = child;
        child.wait().unwrap();
        assert!(mark.is_held(), "the command has ended, and left a process");
        assert_eq!(mark.holders().unwrap(), [Pid::from_raw(left).unwrap()]);
        assert!(mark.kill_holders(Duration::from_secs(20)) && !mark.is_held());
        assert_eq!(mark.holders().unwrap(), []);
    }

    /// It may be of another user, or see this process and not be seen.
    #[test]
    fn one_that_cannot_be_killed_is_given_up() {
        if alone("exec::mark::tests::one_that_cannot_be_killed_is_given_up").is_some() {
            return;
        }
        let (mark, given) = Mark::new().unwrap(); // of this process, which spares itself
        assert!(!mark.kill_holders(Duration::ZERO) && mark.is_held());
        drop(given);
        assert!(mark.kill_holders(Duration::ZERO));
    }
}
