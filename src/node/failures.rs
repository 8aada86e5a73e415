//! Failures of the job that this node runs while it leads: after each, the node stands back for a while, twice as long each
//! time. That is kept in a file of its own, over restarts: an earlier version of electd ignores it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use log::{info, warn};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::clock::{after, moment, wall_clock_ms};
use crate::limits::shown;
use crate::store::{file, spare};

const FILE: &str = "failures.json";

/// How long the node stands back after the first failure, and at most.
const FIRST: Duration = Duration::from_secs(30);
const MOST_DOUBLINGS: u32 = 6;

/// A failure that comes this long after the node stood back is a first one again.
const FORGIVEN: Duration = Duration::from_secs(3600);

/// The greatest length of a reason in characters, and of the file in bytes.
const LONGEST: usize = 500;
const LARGEST: u64 = 8192; // each character of the reason may be shown by eleven

/// That the job of this node failed soon after its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobFailure {
    /// How many failures came one after another.
    pub count: u32,
    /// When it failed, in milliseconds since 1970.
    pub since_ms: u64,
    /// Until when the node stands back.
    pub until_ms: u64,
    /// How it failed, in words.
    pub reason: String,
}

/// The failures of this node.
#[derive(Debug, Default)]
pub struct Failures {
    path: OnceLock<PathBuf>,
    known: Mutex<KnownFailures>,
}

#[derive(Debug, Default)]
struct KnownFailures {
    /// The last failure, by which the next is counted.
    last: Option<JobFailure>,
    /// Whether the node stands back because of it.
    stands_back: bool,
}

impl Failures {
    /// Reads what an earlier start left in the state folder.
    pub(super) fn open(&self, folder: &Path) {
        let path = folder.join(FILE);
        let last = read(&path).unwrap_or_else(|error| {
            warn!(event = "problem"; "the failures of the job in {} cannot be read, and are forgotten: {error}", path.display());
            None
        });
        let stands_back = last.as_ref().is_some_and(|last| last.until_ms > wall_clock_ms());
        *self.known.lock() = KnownFailures { last, stands_back };
        let _ = self.path.set(path); // a node has one folder
    }

    /// The failure because of which the node stands back.
    pub fn present(&self) -> Option<JobFailure> {
        let known = self.known.lock();
        known.last.clone().filter(|_| known.stands_back)
    }

    /// The job failed: the node stands back from now on. [`Failures::store`] is to follow.
    pub(super) fn add(&self, reason: &str) -> JobFailure {
        let mut known = self.known.lock();
        let failure = next(known.last.as_ref(), wall_clock_ms(), reason);
        warn!(
            event = "problem", kind = "job";
            "the job failed here ({}): this node leads only if no other can, until {}",
            failure.reason, moment(failure.until_ms)
        );
        *known = KnownFailures { last: Some(failure.clone()), stands_back: true };
        failure
    }

    /// Keeps this over restarts. Waits for the disk.
    pub(super) fn store(&self, failure: &JobFailure) {
        if let Err(error) = self.path.get().map_or(Ok(()), |path| write(path, failure)) {
            warn!(event = "problem", kind = "job"; "this cannot be stored, and is forgotten at a restart: {error}");
        }
    }

    /// The node has stood back for long enough. The next failure is counted on.
    pub(super) fn end(&self) {
        self.known.lock().stands_back = false;
    }

    /// An operator has the node forget all failures.
    pub(super) fn clear(&self) {
        let known = std::mem::take(&mut *self.known.lock());
        if known.last.is_some() {
            info!(event = "problem_over", kind = "job"; "the failures of the job are forgotten");
            let _ = self.path.get().map(fs::remove_file); // it need not be there
        }
    }
}

/// The failure that follows the last one.
fn next(last: Option<&JobFailure>, now_ms: u64, reason: &str) -> JobFailure {
    let counts = |last: &&JobFailure| now_ms < after(last.until_ms, FORGIVEN);
    let count = last.filter(counts).map_or(0, |last| last.count).saturating_add(1);
    let length = FIRST * (1 << (count - 1).min(MOST_DOUBLINGS));
    let reason = shown(reason, LONGEST);
    JobFailure { count, since_ms: now_ms, until_ms: after(now_ms, length), reason }
}

fn read(path: &Path) -> io::Result<Option<JobFailure>> {
    let file = match file::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text)?;
    Ok(Some(serde_json::from_str(&text)?))
}

fn write(path: &Path, failure: &JobFailure) -> io::Result<()> {
    spare::replace(path, &serde_json::to_vec(failure)?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::node::logged::{fields, logged};

    #[test]
    fn a_node_stands_back_twice_as_long_each_time_until_it_is_forgiven() {
        let first = next(None, 1000, "code 1");
        assert_eq!((first.count, first.until_ms), (1, 31_000));
        let second = next(Some(&first), 32_000, "code 1");
        assert_eq!((second.count, second.until_ms), (2, 92_000));
        let long = (0..99).fold(second.clone(), |last, _| next(Some(&last), last.until_ms, ""));
        assert_eq!(long.until_ms - long.since_ms, 30_000 * 64, "at most");
        for last in [&second, &long] {
            let forgiven = last.until_ms + 3_600_000; // an hour after it stood back
            assert_eq!(next(Some(last), forgiven - 1, "").count, last.count + 1);
            assert_eq!(next(Some(last), forgiven, "").count, 1);
        }
        assert_eq!(next(Some(&second), 1, "").count, 3, "the clock was set back");
    }

    #[test]
    fn a_restart_knows_the_failures_and_undraining_forgets_them() {
        let folder = tempfile::tempdir().unwrap();
        let opened = || {
            let failures = Failures::default();
            failures.open(folder.path());
            failures
        };
        assert_eq!(opened().present(), None);
        let add = |to: &Failures, reason| to.store(&to.add(reason));
        add(&opened(), "code 1");
        let again = opened();
        assert_eq!(again.present().map(|failure| failure.count), Some(1));
        let file = folder.path().join("failures.json");
        let mode = || fs::metadata(&file).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        again.end();
        assert_eq!(again.present(), None);
        add(&again, "code 2");
        assert_eq!(opened().present(), again.present());
        assert_eq!((again.present().map(|failure| failure.count), mode()), (Some(2), 0o600));
        again.clear();
        assert_eq!((again.present(), opened().present()), (None, None));
        fs::write(folder.path().join(FILE), "{").unwrap();
        assert_eq!(opened().present(), None, "a damaged file costs nothing but itself");
        let (long_ago, reason) = (next(None, 0, "code 1"), format!("\u{1b}{}", "x".repeat(500)));
        again.store(&JobFailure { count: 2, ..long_ago });
        let past = opened();
        assert_eq!(past.present(), None, "its time was over before the start");
        assert_eq!(past.add(&reason).count, 1);
        let shown = past.present().map(|failure| failure.reason);
        assert_eq!(shown, Some(format!("\\u{{1b}}{}...", "x".repeat(499))));
    }

    /// Whatever else lies there is not read to its end.
    #[test]
    fn a_file_of_8_kib_is_read_and_of_a_longer_one_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let failure = next(None, wall_clock_ms(), "code 1");
        let text = serde_json::to_string(&failure).unwrap();
        for (length, known) in [(8192, Some(failure)), (8193, None)] {
            fs::write(folder.path().join(FILE), format!("{text:>length$}")).unwrap();
            let failures = Failures::default();
            failures.open(folder.path());
            assert_eq!(failures.present(), known, "{length}");
        }
    }

    #[test]
    fn what_becomes_of_the_failures_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let opened = |folder: &Path| {
            let failures = Failures::default();
            failures.open(folder);
            failures
        };
        let file = folder.path().join("failures.json");
        let one = |mut lines: Vec<String>| {
            assert_eq!(lines.len(), 1, "{lines:?}");
            lines.remove(0)
        };
        fs::write(&file, "{").unwrap();
        let unread = one(logged(|| _ = opened(folder.path())));
        let begin = format!(
            "WARN problem: the failures of the job in {} cannot be read, and are forgotten: EOF ",
            file.display()
        );
        assert!(unread.starts_with(&begin), "{unread}");
        assert_eq!(fields(|| _ = opened(folder.path())), ["event=problem"]);
        let failures = opened(&folder.path().join("gone"));
        let failed = one(logged(|| _ = failures.add("code 1")));
        let failure = failures.present().unwrap();
        let words = format!(
            "WARN problem: the job failed here (code 1): this node leads only if no other can, until \
             {}",
            moment(failure.until_ms)
        );
        assert_eq!(failed, words);
        let unstored = one(logged(|| failures.store(&failure)));
        let begin =
            "WARN problem: this cannot be stored, and is forgotten at a restart: No such file";
        assert!(unstored.starts_with(begin), "{unstored}");
        assert_eq!(fields(|| failures.store(&failure)), ["event=problem kind=job"]);
        assert_eq!(fields(|| _ = failures.add("code 1")), ["event=problem kind=job"]);
        assert_eq!(fields(|| failures.clear()), ["event=problem_over kind=job"]);
        assert_eq!(logged(|| failures.clear()), [""; 0]);
        failures.add("code 2");
        let forgotten = one(logged(|| failures.clear()));
        assert_eq!(forgotten, "INFO problem_over: the failures of the job are forgotten");
        let nowhere = Failures::default();
        assert_eq!(logged(|| nowhere.store(&failure)), [""; 0], "it has no folder yet");
    }
}
