//! How long durable writes take: of a running node, for its status; and on the disk of a node that is
//! about to be started, for `check`.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use atomic_write_file::AtomicWriteFile;
use parking_lot::Mutex;

/// How many of the latest writes are looked at.
const WRITES: usize = 16;

/// How many writes `check` makes, and of so many bytes: about what the state of five members takes.
const TRIES: usize = 5;
const BYTES: usize = 1500;

/// The time that each of the latest durable writes took.
#[derive(Debug, Default)]
pub struct Pace(Mutex<VecDeque<Duration>>);

impl Pace {
    /// A write took so long.
    pub(super) fn note(&self, time: Duration) {
        let mut latest = self.0.lock();
        if latest.len() == WRITES {
            latest.pop_front();
        }
        latest.push_back(time);
    }

    /// The time of the slowest of the latest 16 writes; none before the first.
    #[must_use]
    pub fn slowest(&self) -> Option<Duration> {
        self.0.lock().iter().max().copied()
    }
}

/// Makes a few durable writes where the folder of a node is or will be, leaves nothing behind, and tells
/// how long the slowest took.
///
/// # Errors
/// When that place cannot be written.
pub fn measure(dir: &Path) -> io::Result<Duration> {
    let existing = dir.ancestors().find(|dir| dir.is_dir());
    let path = existing.unwrap_or(Path::new(".")).join(format!(".check.{}", std::process::id()));
    let write = || {
        let start = Instant::now();
        let mut file = AtomicWriteFile::open(&path)?;
        file.write_all(&[b' '; BYTES])?;
        file.commit()?;
        Ok(start.elapsed())
    };
    let times: io::Result<Vec<Duration>> = (0..TRIES).map(|_| write()).collect();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    Ok(times?.into_iter().max().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_of_the_latest_writes_is_told() {
        let pace = Pace::default();
        assert_eq!(pace.slowest(), None);
        pace.note(Duration::from_secs(9));
        (1..=WRITES as u64).for_each(|ms| pace.note(Duration::from_millis(ms)));
        assert_eq!(pace.slowest(), Some(Duration::from_millis(16)), "the first is forgotten");
    }

    #[test]
    fn measuring_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let time = measure(&dir.path().join("data/node-1")).unwrap();
        assert!(time > Duration::ZERO);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
