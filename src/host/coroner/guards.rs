//! The guards of jobs: each has a line to the coroner, and says on it when its job begins and when nothing of it is
//! left.
//!
//! The node makes the line: it gives one end to its coroner and hands the other to the guard, so that no path,
//! permission or namespace decides whether a job begins. The coroner has its end before the guard has the other, and
//! finds both what the guard said and the end of the line when the node has died: nobody waits for an answer.
//!
//! A guard may be of another version than the coroner, as `electd exec` may be: the two words are single bytes for good.
//! If the job has a cgroup, the guard passes that on with its first word, and the coroner ends the job of a guard that
//! was killed. An older coroner reads the word alone.

use std::io::{self, ErrorKind, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};

use crate::calls::Named;
use crate::cgroup::Cgroup;
use crate::local::has_ended;
use crate::local::passing::{self, Received};

/// What a guard says before anything of its job begins.
const BEGINS: u8 = b'b';

/// What a guard says when nothing of its job is left.
const CLEAN: u8 = b'c';

/// What one says that has passed its cgroup on and knows that something is left elsewhere.
const UNCLEAN: u8 = b'u';

/// The guard's side of its line.
#[derive(Debug)]
pub struct Registered {
    line: UnixStream,
    has_passed: bool,
}

/// What a coroner may end if the guard is killed.
#[derive(Clone, Copy, Debug)]
pub struct PassedCgroup<'a> {
    /// The cgroup of the job.
    pub cgroup: &'a Cgroup,
    /// The end of a pipe whose other end each process of the job has inherited: one that went to another cgroup has it,
    /// too.
    pub mark: BorrowedFd<'a>,
    /// Whether there is nothing but processes to end: no address, and no cleanup.
    pub is_all: bool,
}

impl Registered {
    /// The end of a line that the node has handed over.
    #[must_use]
    pub fn by(line: OwnedFd) -> Registered {
        Registered { line: line.into(), has_passed: false }
    }

    /// The job begins: from now on a guard that ends without its last word may have left something. A coroner that has
    /// ended certifies nothing, and needs no word.
    pub fn begin(&mut self, passed: Option<PassedCgroup<'_>>) {
        let given = passed.map(|passed| {
            let all = [passed.cgroup.killing_file(), passed.mark, passed.cgroup.folder()];
            all.into_iter().take(if passed.is_all { 3 } else { 2 })
        });
        let given: Vec<_> = given.into_iter().flatten().collect();
        self.has_passed = passing::send(&self.line, &[BEGINS], &given).is_ok() && !given.is_empty();
    }

    /// Nothing of the job is left. Without this word the death of the node is certified only if the coroner itself can
    /// end the job.
    pub fn leave_clean(mut self) {
        let _ = self.line.write_all(&[CLEAN]);
    }

    /// Something of the job may be left that is not in its cgroup.
    pub fn leave_unclean(mut self) {
        if self.has_passed {
            let _ = self.line.write_all(&[UNCLEAN]); // without one, its end says so
        }
    }
}

/// The coroner's side of all lines.
#[derive(Default)]
pub(super) struct Guards {
    /// Those that have not ended: the node makes one for each guard, of which it has at most 65.
    lines: Vec<GuardLine>,
    is_unclean: bool,
}

/// One line.
struct GuardLine {
    stream: UnixStream,
    /// Whether the job of its guard has begun.
    has_begun: bool,
    /// What to end if the guard is killed.
    passed: Option<PassedJob>,
    /// The guard was killed: what is to be ended.
    ending: Option<PassedJob>,
}

/// The coroner's side of what a guard has passed on.
struct PassedJob {
    killing_file: OwnedFd,
    mark: OwnedFd,
    /// None if the end of all processes is not the end of the job.
    cgroup: Option<Cgroup>,
}

/// What became of a line.
enum LineOutcome {
    /// It goes on.
    Nothing,
    /// Nothing of a job is left: it was clean, or never began.
    Over,
    /// Its guard ended without a word while the job ran.
    Unclean,
}

impl Guards {
    /// The descriptors that tell news.
    pub fn fds(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.lines.iter().map(|line| {
            match line.ending.as_ref().and_then(|job| job.cgroup.as_ref()) {
                Some(cgroup) => PollFd::from_borrowed_fd(cgroup.events(), PollFlags::PRI),
                None => PollFd::new(&line.stream, PollFlags::IN),
            }
        })
    }

    /// Whether a job of a killed guard is being ended: it is to be looked at again and again.
    pub fn are_ending(&self) -> bool {
        self.lines.iter().any(|line| line.ending.is_some())
    }

    /// Takes the line of a guard in.
    ///
    /// # Errors
    /// The error of the system: nobody would know then what is left of the job.
    pub fn take(&mut self, line: OwnedFd) -> io::Result<()> {
        let stream = UnixStream::from(line);
        stream.set_nonblocking(true).named("fcntl(O_NONBLOCK)")?;
        self.lines.push(GuardLine { stream, has_begun: false, passed: None, ending: None });
        Ok(())
    }

    /// Hears all that they have said until now.
    pub fn hear(&mut self) {
        let is_unclean = &mut self.is_unclean;
        self.lines.retain_mut(|line| match line.hear() {
            LineOutcome::Nothing => true,
            LineOutcome::Over => false,
            LineOutcome::Unclean => {
                *is_unclean = true;
                false
            }
        });
    }

    /// Whether a guard vanished without its last word: something of its job may be left.
    pub fn is_unclean(&self) -> bool {
        self.is_unclean
    }

    /// Whether nothing is left of any job, and none can begin.
    pub fn are_clean(&self) -> bool {
        !self.is_unclean && self.lines.is_empty()
    }
}

impl GuardLine {
    /// Reads what was said.
    fn hear(&mut self) -> LineOutcome {
        let mut words = [0; 16];
        loop {
            if let Some(job) = &self.ending {
                return job.end();
            }
            let (said, given) = match passing::receive_all(&self.stream, &mut words) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return LineOutcome::Nothing,
                Ok(Received { count, given }) => (&words[..count], given.unwrap_or_default()),
                Err(_) => (&[][..], Vec::new()),
            };
            match said {
                [BEGINS] => (self.has_begun, self.passed) = (true, PassedJob::of(given)),
                [CLEAN] | [BEGINS, CLEAN] => return LineOutcome::Over,
                [] if !self.has_begun => return LineOutcome::Over,
                [] if self.passed.is_some() => self.ending = self.passed.take(),
                _ => return LineOutcome::Unclean,
            }
        }
    }
}

impl PassedJob {
    /// Of these descriptors; none if they are too few.
    fn of(given: Vec<OwnedFd>) -> Option<PassedJob> {
        let mut given = given.into_iter();
        let (killing_file, mark) = (given.next()?, given.next()?);
        // A cgroup of another user's `exec` is killed, and not removed.
        let cgroup = given.next().and_then(|folder| Cgroup::of(folder).ok());
        Some(PassedJob { killing_file, mark, cgroup })
    }

    /// Kills all that is left of the job. That its cgroup could be removed proves that nothing is, unless something
    /// went to another cgroup with the mark.
    fn end(&self) -> LineOutcome {
        let Some(cgroup) = &self.cgroup else {
            let _ = rustix::io::write(&self.killing_file, b"1"); // it may be gone
            return LineOutcome::Unclean;
        };
        match cgroup.end_now() {
            Ok(false) => LineOutcome::Nothing,
            Ok(true) if has_ended(&self.mark, Duration::ZERO) => LineOutcome::Over,
            _ => LineOutcome::Unclean,
        }
    }
}

#[cfg(test)]
mod tests;
