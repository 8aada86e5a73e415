//! What a guard needs that only the node of its job can give: a locked file, and a line to the coroner.
//!
//! The guard gets open descriptors of both. So it counts for nothing where its own paths lead, which files it may open, or
//! which processes it sees: it may belong to an `electd exec` of another user, container or namespace.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use super::lock;
use crate::coroner::guards::Registered;
use crate::node::Attendance;

/// The descriptors of both.
#[derive(Debug)]
pub struct Equipment {
    /// Nobody else has the lock of this file before all copies of the descriptor are closed.
    pub lock: File,
    /// By this the coroner of the node knows of the guard; none where nobody will certify the death of the node.
    line: Option<OwnedFd>,
}

impl Equipment {
    /// For a job of a node with this coroner, whose state folder has this file.
    ///
    /// # Errors
    /// If another job has not ended, or the coroner cannot know of this one: it must not begin then.
    pub(crate) fn new(lock: &Path, attendance: &Attendance) -> io::Result<Equipment> {
        Ok(Equipment { lock: lock::take(lock)?, line: attendance.register()? })
    }

    /// Without a line to a coroner: that of the node has been dismissed for this job.
    pub(super) fn unattended(lock: File) -> Equipment {
        Equipment { lock, line: None }
    }

    /// Of these descriptors, which another process has passed here; none if that has not passed so many.
    #[must_use]
    pub fn of(given: impl IntoIterator<Item = OwnedFd>) -> Option<Equipment> {
        let mut given = given.into_iter();
        Some(Equipment { lock: File::from(given.next()?), line: given.next() })
    }

    /// To be passed to another process.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        [self.lock.as_fd()].into_iter().chain(self.line.as_ref().map(AsFd::as_fd))
    }

    /// The locked file, and what the guard says to the coroner by its line.
    pub(super) fn open(self) -> (File, Option<Registered>) {
        (self.lock, self.line.map(Registered::by))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Of a node that nobody attends, and a file that nobody else locks.
    pub fn equipment() -> Equipment {
        Equipment::unattended(tempfile::tempfile().unwrap())
    }

    #[test]
    fn what_is_passed_to_another_process_is_the_same_there() {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        for line in [None, Some(OwnedFd::from(far))] {
            let count = 1 + line.iter().count();
            let given = Equipment { line, ..equipment() };
            let copies = given.fds().map(|fd| fd.try_clone_to_owned().unwrap());
            let copies: Vec<OwnedFd> = copies.collect();
            assert_eq!(copies.len(), count);
            let (_, registered) = Equipment::of(copies).unwrap().open();
            assert_eq!(registered.is_some(), count == 2);
        }
        assert!(Equipment::of([]).is_none());
        drop(near);
    }
}
