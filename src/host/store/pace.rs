//! How long durable writes take: of a running node, for its status; and on the disk of a node that is
//! about to be started, for `check`.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use atomic_write_file::AtomicWriteFile;
use electd_facts::status::DiskTrouble;
use parking_lot::Mutex;
use prometheus_client::metrics::histogram::Histogram;
use rustix::fs::{StatVfsMountFlags, statvfs};

use super::DiskFault;

/// How many of the latest writes are looked at.
const WRITES: usize = 16;

/// The number of writes that `check` makes, and their size in bytes: about the state of five members.
const TRIES: usize = 5;
const BYTES: usize = 1500;

/// Upper ends of the buckets of the histogram, in seconds: from a fast disk to one that hangs.
const BUCKETS: [f64; 12] =
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// The most that the state of a member takes, with a task of 64 KiB that is written as text, while the old
/// file is still there.
const ROOM: u64 = 256 * 1024;

/// How long a write, or a question for the room, may be under way before that is a trouble.
pub(super) const HANGS: Duration = Duration::from_secs(1);

/// How durable writes go: the time that each of the latest took, and what is wrong with the present one.
#[derive(Debug)]
pub struct Pace {
    writes: Mutex<Writes>,
    histogram: Histogram,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { writes: Mutex::default(), histogram: Histogram::new(BUCKETS) }
    }
}

#[derive(Debug, Default)]
struct Writes {
    latest: VecDeque<Duration>,
    /// When the write that is under way began.
    begun: Option<Instant>,
    /// Why the last write failed.
    failed: Option<DiskFault>,
}

impl Pace {
    /// A write begins.
    pub(super) fn begin(&self) {
        self.writes.lock().begun = Some(Instant::now());
    }

    /// The write that began last failed.
    pub(super) fn fail(&self, why: DiskFault) {
        let mut writes = self.writes.lock();
        (writes.begun, writes.failed) = (None, Some(why));
    }

    /// Adds a write that took this long.
    pub(super) fn add(&self, time: Duration) {
        self.histogram.observe(time.as_secs_f64());
        let mut writes = self.writes.lock();
        (writes.begun, writes.failed) = (None, None);
        if writes.latest.len() == WRITES {
            writes.latest.pop_front();
        }
        writes.latest.push_back(time);
    }

    /// The durations of all writes. The clone keeps counting.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        self.histogram.clone()
    }

    /// Why nothing can be made durable at present; none if the last write succeeded.
    #[must_use]
    pub fn trouble(&self) -> Option<DiskFault> {
        let writes = self.writes.lock();
        let hangs = writes.begun.map(|begun| begun.elapsed()).filter(|time| *time >= HANGS);
        let hangs = hangs.map(|time| DiskFault {
            kind: DiskTrouble::Stuck,
            text: format!(
                "a write of the state has been under way for {} s; is the disk stuck?",
                time.as_secs()
            ),
        });
        hangs.or_else(|| writes.failed.clone())
    }

    /// The time of the slowest of the latest 16 writes; none before the first.
    #[must_use]
    pub fn slowest(&self) -> Option<Duration> {
        self.writes.lock().latest.iter().max().copied()
    }
}

/// What is wrong if the file system has so little room that the state may soon not fit, or is read-only;
/// none if that is unknown. This writes nothing.
#[must_use]
pub fn disk_trouble(dir: &Path) -> Option<DiskFault> {
    let system = statvfs(dir).ok()?;
    let shown = dir.display();
    let fault = |kind, text| Some(DiskFault { kind, text });
    if system.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let text = format!("the file system of {shown} is read-only: the state cannot be written");
        return fault(DiskTrouble::ReadOnly, text);
    }
    let (room, most) = (system.f_bavail.saturating_mul(system.f_frsize), ROOM);
    if system.f_blocks > 0 && room < most {
        let text = format!(
            "{shown} has room for {room} bytes, and the state takes up to {most} bytes: free some"
        );
        return fault(DiskTrouble::Full, text);
    }
    // Some file systems do not count files and say 0 of 0.
    if system.f_files > 0 && system.f_ffree == 0 {
        let text = format!("the file system of {shown} has no room for one more file: remove some");
        return fault(DiskTrouble::Full, text);
    }
    None
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
        pace.add(Duration::from_secs(9));
        (1..=WRITES as u64).for_each(|ms| pace.add(Duration::from_millis(ms)));
        assert_eq!(pace.slowest(), Some(Duration::from_millis(16)), "the first is forgotten");
    }

    #[test]
    fn a_write_that_hangs_for_a_second_is_a_trouble_until_it_ends() {
        let pace = Pace::default();
        let failed = |text: &str| DiskFault { kind: DiskTrouble::Failing, text: text.to_owned() };
        let begun_before = |ms| {
            pace.begin();
            let since = Instant::now() - Duration::from_millis(ms);
            assert!(pace.writes.lock().begun.replace(since).is_some(), "it is under way");
            (pace.trouble().unwrap().text, since.elapsed())
        };
        pace.fail(failed("no luck"));
        let (told, elapsed) = begun_before(600);
        assert!(told == "no luck" || elapsed >= Duration::from_secs(1), "{told}");
        // The machine may stand still for the rest of the third second.
        let told = "a write of the state has been under way for 2 s; is the disk stuck?";
        assert!((0..20).any(|_| begun_before(2001).0 == told));
        assert!(begun_before(1001).0.starts_with("a write of the state has been under way for "));
        pace.fail(failed("still none"));
        assert_eq!(pace.trouble(), Some(failed("still none")), "it has ended");
        pace.begin();
        pace.add(Duration::from_secs(1));
        assert_eq!(pace.trouble(), None);
    }

    /// The metrics show no other figures of the disk.
    #[test]
    fn writes_are_counted_by_how_long_they_took() {
        let pace = Pace::default();
        [250, 500, 2000].into_iter().for_each(|ms| pace.add(Duration::from_millis(ms)));
        let mut registry = prometheus_client::registry::Registry::default();
        registry.register("w", "w", pace.histogram());
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        let counts: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("w_")).collect();
        let expected = [
            "sum 2.75",
            "count 3",
            "bucket{le=\"0.0005\"} 0",
            "bucket{le=\"0.001\"} 0",
            "bucket{le=\"0.002\"} 0",
            "bucket{le=\"0.005\"} 0",
            "bucket{le=\"0.01\"} 0",
            "bucket{le=\"0.025\"} 0",
            "bucket{le=\"0.05\"} 0",
            "bucket{le=\"0.1\"} 0",
            "bucket{le=\"0.25\"} 1",
            "bucket{le=\"0.5\"} 2",
            "bucket{le=\"1.0\"} 2",
            "bucket{le=\"5.0\"} 3",
            "bucket{le=\"+Inf\"} 3",
        ];
        assert_eq!(counts, expected);
    }

    #[test]
    fn measuring_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let time = measure(&dir.path().join("data/node-1")).unwrap();
        assert!(time > Duration::ZERO);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(measure(Path::new("/proc/node-1")).is_err(), "nobody can write there");
        assert_eq!(disk_trouble(&dir.path().join("nowhere")), None, "that is unknown");
    }
}
