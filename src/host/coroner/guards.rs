//! The guards of jobs: each has a line to the coroner, and says on it when its job begins and when nothing of it is left.
//!
//! The node makes the line: it gives one end to its coroner and hands the other to the guard, so that no path, permission
//! or namespace decides whether a job begins. The coroner has its end before the guard has the other, and finds both what
//! the guard said and the end of the line when the node has died: nobody waits for an answer.
//!
//! A guard may be of another version than the coroner, as `electd exec` may be: the two words are single bytes for good.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use crate::calls::Named;

/// What a guard says before anything of its job begins.
const BEGINS: u8 = b'b';

/// What a guard says when nothing of its job is left.
const CLEAN: u8 = b'c';

/// The guard's side of its line.
#[derive(Debug)]
pub struct Registered(UnixStream);

impl Registered {
    /// The end of a line that the node has handed over.
    #[must_use]
    pub fn by(line: OwnedFd) -> Registered {
        Registered(line.into())
    }

    /// The job begins: from now on a guard that ends without its last word may have left something. A coroner that has ended
    /// certifies nothing, and needs no word.
    pub fn begin(&mut self) {
        let _ = self.0.write_all(&[BEGINS]);
    }

    /// Nothing of the job is left. Without this word the death of the node is never certified.
    pub fn leave_clean(mut self) {
        let _ = self.0.write_all(&[CLEAN]);
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
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.lines.iter().map(|line| line.stream.as_fd())
    }

    /// Takes the line of a guard in.
    ///
    /// # Errors
    /// The error of the system: nobody would know then what is left of the job.
    pub fn take(&mut self, line: OwnedFd) -> io::Result<()> {
        let stream = UnixStream::from(line);
        stream.set_nonblocking(true).named("fcntl(O_NONBLOCK)")?;
        self.lines.push(GuardLine { stream, has_begun: false });
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
            let said = match self.stream.read(&mut words) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return LineOutcome::Nothing,
                said => said.map_or(&[][..], |count| &words[..count]),
            };
            match said {
                [BEGINS] => self.has_begun = true,
                [CLEAN] | [BEGINS, CLEAN] => return LineOutcome::Over,
                [] if !self.has_begun => return LineOutcome::Over,
                _ => return LineOutcome::Unclean,
            }
        }
    }
}

#[cfg(test)]
mod tests;
