//! A stop that reaches a thread wherever it waits: for the next sample, or for a program.

use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The end that is dropped to stop the other side.
pub type Stopper = PipeWriter;

/// Why a wait ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Woken {
    /// The [`Stopper`] is gone.
    Stopped,
    /// The deadline has passed.
    Late,
    /// Something is to be read: which of those waited for.
    Ready(Vec<bool>),
}

/// The side that waits.
#[derive(Debug)]
pub struct Stop(PipeReader);

impl Stop {
    /// Both sides.
    ///
    /// # Errors
    /// When no file can be opened any more.
    pub fn new() -> io::Result<(Stopper, Stop)> {
        let (reader, writer) = io::pipe()?;
        Ok((writer, Stop(reader)))
    }

    /// Waits until one of these can be read or has ended, at most until `deadline`.
    ///
    /// # Errors
    /// When the system cannot wait, which is a defect.
    pub fn wait(&self, others: &[BorrowedFd<'_>], deadline: Instant) -> io::Result<Woken> {
        let all = [self.0.as_fd()].into_iter().chain(others.iter().copied());
        let mut all: Vec<PollFd> =
            all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut all, Some(&timeout)) {
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(0) if left.is_zero() => return Ok(Woken::Late),
                Ok(0) => {}
                Ok(_) => break,
            }
        }
        let mut ready = all.iter().map(|fd| !fd.revents().is_empty());
        match ready.next() {
            Some(true) => Ok(Woken::Stopped),
            _ => Ok(Woken::Ready(ready.collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_wait_ends_by_a_stop_before_all_else_and_by_what_can_be_read_before_its_deadline() {
        let (stopper, stop) = Stop::new().unwrap();
        let (silent, _keeps_open) = io::pipe().unwrap();
        let (speaks, mut speaker) = io::pipe().unwrap();
        let wait =
            |time| stop.wait(&[silent.as_fd(), speaks.as_fd()], Instant::now() + time).unwrap();
        let begun = Instant::now();
        assert_eq!(wait(Duration::from_millis(20)), Woken::Late);
        assert!(begun.elapsed() >= Duration::from_millis(20));
        speaker.write_all(b"so").unwrap();
        assert_eq!(wait(Duration::from_secs(1000)), Woken::Ready(vec![false, true]));
        assert_eq!(wait(Duration::ZERO), Woken::Ready(vec![false, true]));
        drop(speaker);
        assert_eq!(
            wait(Duration::from_secs(1000)),
            Woken::Ready(vec![false, true]),
            "it has ended"
        );
        drop(stopper);
        // A process that another test just forks has a copy, until it becomes its program.
        let begun = Instant::now();
        while wait(Duration::from_secs(1000)) != Woken::Stopped {
            assert!(begun.elapsed() < Duration::from_secs(20));
        }
    }
}
