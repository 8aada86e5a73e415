//! The lock that keeps a member's next process from starting while a job of its last process may still run.
//!
//! The guard holds a lock on a file in the member's state folder for as long as anything of its job runs. A
//! process that was killed and started again at once would otherwise tell the others that it leads no more,
//! before its guard has ended the job.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The file in the state folder.
const FILE: &str = "job.lock";

/// Between two looks at a lock that another process holds.
const LOOK: Duration = Duration::from_millis(5);

/// The lock of the member whose state is in this folder.
#[must_use]
pub fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

/// Takes the lock. It is held until the file is closed.
pub(super) fn take(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other(format!("{} is held: another job has not ended", path.display())))
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Waits until no job of an earlier process of this member runs, at most this long. Tells whether that is so.
///
/// # Errors
/// When the file is there and cannot be used.
pub fn await_free(state: &Path, patience: Duration) -> io::Result<bool> {
    let begin = Instant::now();
    let file = match File::options().write(true).open(path(state)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        file => file?,
    };
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begin.elapsed() > patience => return Ok(false),
            Err(TryLockError::WouldBlock) => thread::sleep(LOOK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_free_once_its_holder_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        assert!(await_free(folder.path(), Duration::ZERO).unwrap(), "nobody ever held it");
        let held = take(&path(folder.path())).unwrap();
        assert!(!await_free(folder.path(), Duration::ZERO).unwrap());
        assert!(take(&path(folder.path())).is_err());
        drop(held);
        assert!(await_free(folder.path(), Duration::ZERO).unwrap());
    }
}
