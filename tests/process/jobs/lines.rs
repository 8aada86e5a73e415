//! The output of the commands of a test: which one ran when, and that no two ran at one instant.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use super::worker::{BEGIN, END, MANNERS, manner_file};
use crate::support::{Cluster, ensure, eventually};

/// One run of a command: of which node, and in which epoch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Run {
    pub node: String,
    pub epoch: u64,
}

/// When a run wrote first and last, in nanoseconds of CLOCK_BOOTTIME.
#[derive(Clone, Copy, Debug)]
struct Span {
    first: u64,
    last: u64,
    ended: bool,
    /// How its command behaves, once it has said so.
    manner: Option<&'static str>,
}

/// The lines read so far: each look reads only new ones, as a long test writes a hundred megabytes.
#[derive(Default)]
struct Known {
    bytes: u64,
    runs: BTreeMap<Run, Span>,
}

/// The one file that all commands write to.
pub struct Lines {
    path: PathBuf,
    known: RefCell<Known>,
    /// A lock on the file: the commands run for as long as this process holds it, so that none outlives a suite that is
    /// killed.
    _lock: File,
}

impl Lines {
    /// An empty file beside that of the cluster.
    pub fn beside(cluster: &Cluster) -> Lines {
        Lines::named(cluster, "lines")
    }

    /// One of several such files.
    pub fn named(cluster: &Cluster, name: &str) -> Lines {
        let path = cluster.file().with_file_name(name);
        let lock = File::create(&path).unwrap();
        lock.lock().unwrap();
        let lines = Lines { path, known: RefCell::default(), _lock: lock };
        lines.draw(MANNERS[0]);
        lines
    }

    /// Has the commands that begin from now on behave like this, those whose manner is drawn.
    pub fn draw(&self, manner: &str) {
        // As a whole: a command that begins reads the one or the other.
        let (file, new) = (manner_file(&self.file()), manner_file(&self.file()) + ".new");
        fs::write(&new, manner).unwrap();
        fs::rename(new, file).unwrap();
    }

    /// How the command of this run behaves.
    pub fn manner(&self, run: &Run) -> &'static str {
        eventually("a command says how it behaves", || {
            self.read();
            let manner = self.known.borrow().runs.get(run).and_then(|span| span.manner);
            manner.ok_or_else(|| format!("{run:?} has not"))
        })
    }

    /// Its path.
    pub fn file(&self) -> String {
        self.path.display().to_string()
    }

    /// Takes in what was written since the last look.
    fn read(&self) {
        let mut known = self.known.borrow_mut();
        let (mut file, mut text) = (File::open(&self.path).unwrap(), String::new());
        file.seek(SeekFrom::Start(known.bytes)).unwrap();
        file.read_to_string(&mut text).unwrap();
        let whole = text.rfind('\n').map_or(0, |end| end + 1); // the last line may be half written
        known.bytes += whole as u64;
        for line in text[..whole].lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [nanos, node, epoch, what] = words[..] else {
                panic!("a line of something else: {line}")
            };
            let (nanos, epoch) = (nanos.parse().unwrap(), epoch.parse().unwrap());
            let run = Run { node: node.to_owned(), epoch };
            let span = known.runs.entry(run).or_insert_with(|| {
                assert_eq!(what, BEGIN, "{line}");
                Span { first: nanos, last: nanos, ended: false, manner: None }
            });
            // If the leadership was renewed late, its command begins again in the same epoch.
            assert!(!span.ended || what == BEGIN, "after its end: {line}");
            let ended = what == END;
            let manner = MANNERS.into_iter().find(|manner| *manner == what).or(span.manner);
            *span =
                Span { first: span.first.min(nanos), last: span.last.max(nanos), ended, manner };
        }
    }

    /// The run that wrote last.
    fn latest(&self) -> Option<Run> {
        self.read();
        let known = self.known.borrow();
        known.runs.iter().max_by_key(|(_, span)| span.last).map(|(run, _)| run.clone())
    }

    /// The run that is there, once it is another one than this.
    pub fn runs_next(&self, last: Option<&Run>) -> Run {
        eventually("a command begins to run", || self.is_next(last))
    }

    /// The run that is there, if it is another one than this.
    pub fn is_next(&self, last: Option<&Run>) -> Result<Run, String> {
        let now = self.latest().ok_or("no line yet")?;
        ensure(Some(&now) != last, || format!("still {now:?}"))?;
        Ok(now)
    }

    /// "At no instant do two members' jobs run": who wrote once after another never writes again. And no epoch is that of
    /// two members. Gives how many ran.
    #[track_caller]
    pub fn assert_never_two(&self) -> usize {
        self.read();
        let known = self.known.borrow();
        let mut runs: Vec<(&Run, &Span)> = known.runs.iter().collect();
        runs.sort_by_key(|(_, span)| span.first);
        for pair in runs.windows(2) {
            let [(before, old), (after, new)] = pair else { unreachable!() };
            let beside = old.last.saturating_sub(new.first);
            assert!(
                old.last < new.first,
                "{before:?} wrote for {beside} ns after {after:?} had begun"
            );
            assert!(before.epoch < after.epoch, "{after:?} came after {before:?}");
        }
        runs.len()
    }

    /// When this run wrote last, in nanoseconds of CLOCK_BOOTTIME.
    pub fn last_of(&self, run: &Run) -> u64 {
        self.read();
        self.known.borrow().runs[run].last
    }

    /// How long no command wrote before the next one did, in milliseconds: below zero, two ran at once.
    pub fn gaps(&self) -> String {
        self.read();
        let known = self.known.borrow();
        let mut spans: Vec<&Span> = known.runs.values().collect();
        spans.sort_by_key(|span| span.first);
        let gap = |pair: &[&Span]| (pair[1].first as f64 - pair[0].last as f64) / 1e6;
        let mut gaps: Vec<f64> = spans.windows(2).map(gap).collect();
        gaps.sort_by(f64::total_cmp);
        format!("gaps: {gaps:.1?} ms")
    }

    /// Nothing of any command is left, or soon will be.
    #[track_caller]
    pub fn assert_nobody_writes(&self) {
        let file = self.file();
        eventually("no command is left", || {
            let left = processes_with(&file);
            ensure(left.is_empty(), || format!("{left:?}"))
        });
    }
}

impl Lines {
    /// The processes of the command of this epoch.
    pub fn processes_of(&self, epoch: u64) -> Vec<String> {
        let entry = format!("ELECTD_EPOCH={epoch}\0");
        let mut all = processes_with(&self.file());
        all.retain(|path| {
            let environment = fs::read(format!("{path}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&entry)
        });
        all
    }
}

/// The processes that have this in their environment.
fn processes_with(value: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let has = |path: &PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(value)
    };
    entries.filter(has).map(|path| path.display().to_string()).collect()
}
