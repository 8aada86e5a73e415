//! The lock that keeps a member's next process from starting while a job of its last process may still run.
//!
//! The guard holds a lock on a file in the member's state folder for as long as any process of its job
//! runs. Otherwise a node that was killed and restarted immediately would tell the others that it no
//! longer leads, before its guard has ended the job.
//!
//! The node opens and locks the file, and hands the guard that very descriptor (`equipment.rs`): a guard that opened a path
//! might find another file there. Nobody but the user of the node can open it, as whoever can open a file can lock it.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::calls::Named;
use crate::store::file;

/// The file in the state folder.
const FILE: &str = "job.lock";

/// How the names of the files of attached processes begin and end; between is a number.
const EXEC: &str = "exec-";
const END: &str = ".lock";

/// The mode of such a file: it is for the user of the node alone.
const MODE: u32 = 0o600;

/// Between two looks at a lock that another process holds.
const LOOK: Duration = Duration::from_millis(5);

/// The lock of the member whose state is in this folder.
#[must_use]
pub fn path(state: &Path) -> PathBuf {
    state.join(FILE)
}

/// Makes the file if it is not there, for the user of this process alone, and takes the lock. That is held until every
/// copy of the descriptor, by which nobody can write, is closed.
pub(super) fn take(path: &Path) -> io::Result<File> {
    let unable = |error| io::Error::other(format!("cannot lock {}: {error}", path.display()));
    match file::open_or_create(path) {
        Ok(file) => restrict(&file),
        // A file that is there can be locked nevertheless.
        Err(error) if error.kind() == ErrorKind::ReadOnlyFilesystem && path.exists() => {}
        Err(error) => return Err(unable(error)),
    }
    take_made(path)
}

/// A file of an older version.
fn restrict(file: &File) {
    let _ = file.set_permissions(Permissions::from_mode(MODE)); // another user's stays as it is
}

/// Takes the lock of a file that is there.
pub(super) fn take_made(path: &Path) -> io::Result<File> {
    let unable = |error| io::Error::other(format!("cannot lock {}: {error}", path.display()));
    let file = file::open(path).map_err(unable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(io::Error::other(format!("{} is held: another job has not ended", path.display())))
        }
        Err(TryLockError::Error(error)) => Err(unable(error)),
    }
}

/// Another descriptor of the same file, by which this process sees whether the lock is free. That its name may lead to
/// another file by now does not matter.
pub(super) fn watch(file: &File) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    File::open(&path).named_for("open", path)
}

/// The lock of the command that the process of this number has run: `electd exec`, attached to the member whose
/// state is in this folder.
pub(super) fn of_exec(state: &Path, number: u64) -> PathBuf {
    state.join(format!("{EXEC}{number}{END}"))
}

/// Whether the lock is free. The caller closes the file then, as it has the lock.
pub(super) fn check_free(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error).named("flock"),
    }
}

/// Whether the lock at this path is free.
fn look(path: &Path) -> io::Result<bool> {
    match file::open(path) {
        Ok(file) => check_free(&file),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error),
    }
}

/// Waits until no job of an earlier process of this member runs, nor of one attached to it, at most this long.
/// Tells the lock that is still held then.
///
/// # Errors
/// When a lock is there and cannot be used.
pub fn await_free(state: &Path, timeout: Duration) -> io::Result<Option<PathBuf>> {
    let begin = Instant::now();
    for lock in all(state)? {
        while !look(&lock)? {
            if begin.elapsed() > timeout {
                return Ok(Some(lock));
            }
            thread::sleep(LOOK);
        }
    }
    Ok(None)
}

/// All locks in this state folder.
fn all(state: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(state) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let is_lock = |name: &str| name == FILE || name.starts_with(EXEC) && name.ends_with(END);
    let locks = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_lock));
    Ok(locks.map(|entry| entry.path()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_free_once_its_holder_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let held_now = || await_free(folder.path(), Duration::ZERO).unwrap();
        assert_eq!(held_now(), None, "nobody ever held it");
        for lock in [path(folder.path()), of_exec(folder.path(), 7)] {
            let held = take(&lock).unwrap();
            assert_eq!(held_now().as_ref(), Some(&lock));
            let refused = take(&lock).expect_err("it is held").to_string();
            let words = format!("{} is held: another job has not ended", lock.display());
            assert_eq!(refused, words);
            drop(held);
            // A program that another test starts at this moment has a copy of the file until its exec.
            let soon = Duration::from_secs(10);
            assert_eq!(await_free(folder.path(), soon).unwrap(), None);
        }
    }

    /// Where nobody can look, a job may run.
    #[test]
    fn a_lock_that_is_not_there_is_free_and_one_that_cannot_be_looked_at_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = path(folder.path());
        assert!(look(&file).unwrap() && await_free(&file, Duration::ZERO).unwrap().is_none());
        fs::write(&file, "").unwrap();
        assert!(look(&file).unwrap());
        assert!(look(&file.join("deeper")).is_err());
        assert!(await_free(&file, Duration::ZERO).is_err(), "the folder is a file");
        assert!(take(&file.join("deeper")).is_err());
        let first = folder.path().join("first");
        assert_eq!(await_free(&first, Duration::ZERO).unwrap(), None, "as at a first start");
    }

    /// The folder may be another user's: he has a node that root runs make no file elsewhere, and wait for no pipe.
    #[test]
    fn a_lock_is_a_regular_file_that_only_the_nodes_user_may_use() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (lock, other) = (path(folder.path()), folder.path().join("other"));
        symlink(&other, &lock).unwrap();
        assert!(take(&lock).is_err() && look(&lock).is_err());
        fs::write(&other, "theirs").unwrap();
        assert!(take(&lock).is_err() && look(&lock).is_err());
        fs::remove_file(&lock).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&lock).status().unwrap();
        assert!(made.success() && take(&lock).is_err() && look(&lock).is_err());
        fs::remove_file(&lock).unwrap();
        let held = take(&lock).unwrap();
        assert_eq!(held.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn no_other_file_of_the_state_is_taken_for_a_lock() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["job.lock", "exec-1.lock", "exec-1", "1.lock", "job.lock.new", "state.json"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let mut locks = all(folder.path()).unwrap();
        locks.sort();
        assert_eq!(locks, [of_exec(folder.path(), 1), path(folder.path())]);
    }
}
