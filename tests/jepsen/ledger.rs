//! What the jobs of a round wrote: which process lived when, and what the resource accepted in the order in which the lines
//! arrived.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::job::{BARRED, BEGIN, END};

/// From its first line to its last a process lived for certain.
struct Span {
    node: String,
    epoch: u64,
    slot: usize,
    pid: u32,
    first: u64,
    last: u64,
}

impl fmt::Display for Span {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Span { node, epoch, slot, pid, first, last } = self;
        write!(to, "{node}, epoch {epoch}, job {slot}, process {pid}, {first} to {last}")
    }
}

/// Something that must not be, unless an exception of docs/exec.md holds for one of these nodes at that time.
#[derive(Clone, Debug)]
pub struct Finding {
    pub from: u64,
    pub until: u64,
    pub nodes: [String; 2],
    pub what: String,
    /// Whether no exception counts: two holders of one epoch.
    pub always: bool,
}

pub struct Ledger {
    /// Of the lock; empty of the leadership.
    name: String,
    path: PathBuf,
    read: u64,
    spans: BTreeMap<(u32, String, u64), Span>,
    /// The line that came last of each job: its node, its epoch, and when.
    latest: BTreeMap<usize, (String, u64, u64)>,
    /// The greatest epoch that the resource accepted, and from which node.
    accepted: Option<(u64, String)>,
    pub findings: Vec<Finding>,
    pub begun: usize,
    pub refused: usize,
    /// Lines that were cut off, as their writer was killed.
    pub torn: usize,
}

impl Ledger {
    /// An empty one in this folder: of a lock, or with an empty name of the leadership.
    pub fn new(folder: &Path, name: &str) -> Ledger {
        let path = folder.join(format!("ledger{name}"));
        File::create(&path).expect("a file can be made");
        let (spans, latest) = (BTreeMap::new(), BTreeMap::new());
        let (findings, accepted) = (Vec::new(), None);
        Ledger {
            name: name.to_owned(),
            path,
            read: 0,
            spans,
            latest,
            accepted,
            findings,
            begun: 0,
            refused: 0,
            torn: 0,
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes in what was written since the last look.
    pub fn read(&mut self) {
        let (mut file, mut text) = (File::open(&self.path).expect("it is there"), String::new());
        file.seek(SeekFrom::Start(self.read)).expect("it can be read");
        file.read_to_string(&mut text).expect("it can be read");
        let whole = text.rfind('\n').map_or(0, |end| end + 1); // the last line may be half written
        self.read += whole as u64;
        for line in text[..whole].lines().filter(|line| !line.is_empty()) {
            match line.strip_suffix(END) {
                Some(line) => {
                    self.take(line).unwrap_or_else(|| panic!("a line of something else: {line}"));
                }
                None => self.torn += 1,
            }
        }
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let time: u64 = words.next()?.parse().ok()?;
        let node = words.next()?;
        let epoch: u64 = words.next()?.parse().ok()?;
        let slot: usize = words.next()?.parse().ok()?;
        let pid: u32 = words.next()?.parse().ok()?;
        let what = words.next()?;
        let new = || Span { node: node.to_owned(), epoch, slot, pid, first: time, last: time };
        let span = self.spans.entry((pid, node.to_owned(), epoch)).or_insert_with(new);
        span.last = span.last.max(time);
        self.begun += usize::from(what == BEGIN);
        if what == BARRED {
            let holder = words.next()?.to_owned();
            let what =
                format!("job {slot} of {node} in epoch {epoch} found its lock held by {holder}");
            if holder != node {
                self.find(time, [node.to_owned(), holder], what, false);
            }
        }
        self.latest.insert(slot, (node.to_owned(), epoch, time));
        self.arrive(time, node, epoch);
        Some(())
    }

    /// The resource accepts a write unless its epoch is older than the newest that has written. A host that leads again may
    /// still be ending its job of before.
    fn arrive(&mut self, time: u64, node: &str, epoch: u64) {
        match &self.accepted {
            Some((newest, holder)) if *newest == epoch && holder != node => {
                let what = format!("two holders of epoch {epoch}: {holder} and {node}");
                let nodes = [holder.clone(), node.to_owned()];
                self.find(time, nodes, what, true);
            }
            Some((newest, holder)) if *newest > epoch && holder == node => self.refused += 1,
            Some((newest, holder)) if *newest > epoch => {
                let what =
                    format!("{node} wrote in epoch {epoch} after {holder} in epoch {newest}");
                let nodes = [holder.clone(), node.to_owned()];
                self.refused += 1;
                self.find(time, nodes, what, false);
            }
            Some((newest, _)) if *newest == epoch => {}
            _ => self.accepted = Some((epoch, node.to_owned())),
        }
    }

    /// The first of a row of equal findings stands for all.
    fn find(&mut self, at: u64, nodes: [String; 2], what: String, always: bool) {
        match self.findings.iter_mut().rev().find(|known| known.what == what) {
            Some(known) => known.until = known.until.max(at),
            None => self.findings.push(Finding { from: at, until: at, nodes, what, always }),
        }
    }

    /// The node, the epoch and the time of the latest line of a job.
    pub fn latest(&self, slot: usize) -> Option<&(String, u64, u64)> {
        self.latest.get(&slot)
    }

    /// The pairs of processes of jobs that lived on two hosts at one instant.
    pub fn overlaps(&self) -> Vec<Finding> {
        let mut spans: Vec<&Span> = self.spans.values().collect();
        spans.sort_by_key(|span| span.first);
        let (mut open, mut found): (Vec<&Span>, Vec<Finding>) = Default::default();
        for new in spans {
            open.retain(|old| old.last > new.first);
            for old in open.iter().filter(|old| old.node != new.node) {
                let (from, until) = (new.first, old.last.min(new.last));
                let micros = (until - from) / 1000;
                let what = format!("two jobs ran at one instant, for {micros} us: {old}; {new}");
                let nodes = [old.node.clone(), new.node.clone()];
                found.push(Finding { from, until, nodes, what, always: false });
            }
            open.push(new);
        }
        found
    }

    /// The times between two jobs in which none ran, in milliseconds.
    pub fn gaps(&self) -> Vec<u64> {
        let mut spans: Vec<&Span> = self.spans.values().collect();
        spans.sort_by_key(|span| span.first);
        let (mut gaps, mut last) = (Vec::new(), None::<&Span>);
        for span in spans {
            if let Some(last) = last.filter(|last| last.last < span.first) {
                gaps.push((span.first - last.last) / 1_000_000);
            }
            if last.is_none_or(|last| last.last < span.last) {
                last = Some(span);
            }
        }
        gaps
    }
}
