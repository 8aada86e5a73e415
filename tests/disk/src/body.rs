//! What is in a file or a folder: as processes see it, and what of it is on the disk.

use std::collections::BTreeMap;
use std::ffi::OsString;

use electd_election::core::random::Random;

use crate::share::Share;

/// What a disk writes at once. A write of more may be torn between two of them.
pub const SECTOR: u64 = 512;

/// The names in a folder.
pub type Names = BTreeMap<OsString, u64>;

/// What somebody did to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// These bytes are there.
    At(u64, Vec<u8>),
    /// It has this length.
    Length(u64),
}

/// What somebody did to a folder in one step: each of these names is that of this file, or of none.
pub type Naming = Vec<(OsString, Option<u64>)>;

/// Something with a cache above the disk.
#[derive(Clone, Debug)]
pub struct Cached<T, S> {
    /// As processes see it.
    pub seen: T,
    /// As it is on the disk.
    pub durable: T,
    /// What the disk may or may not have of the difference.
    since: Vec<S>,
}

/// The content of a file.
pub type Content = Cached<Vec<u8>, Write>;

/// The content of a folder.
pub type Entries = Cached<Names, Naming>;

/// A step that leads from one content to the next.
pub trait Step<T> {
    /// Does it.
    fn apply(&self, to: &mut T);

    /// Does what survives of it.
    fn tear(&self, to: &mut T, random: &mut Random, share: Share);
}

impl<T: Clone + Default, S: Step<T>> Cached<T, S> {
    /// An empty one.
    pub fn new() -> Cached<T, S> {
        Cached { seen: T::default(), durable: T::default(), since: Vec::new() }
    }

    /// Takes a step, which the disk does not have yet.
    pub fn step(&mut self, step: S) {
        step.apply(&mut self.seen);
        self.since.push(step);
    }

    /// The disk has all of it. Steps are taken one by one, as a sync that failed may have left out earlier ones.
    pub fn sync(&mut self) {
        for step in self.since.drain(..) {
            step.apply(&mut self.durable);
        }
    }

    /// A sync that fails, as Linux has it: what was to be written counts as written from then on, so that the next sync
    /// succeeds, and the disk never gets it. Processes go on to see it.
    pub fn fail_sync(&mut self) {
        self.since.clear();
    }

    /// The power fails: some of the steps survive, whichever came first.
    pub fn lose_power(&mut self, random: &mut Random, share: Share) {
        for step in self.since.drain(..) {
            step.tear(&mut self.durable, random, share);
        }
        self.seen = self.durable.clone();
    }

    /// Whether the disk has all of it, as far as the cache knows.
    pub fn is_clean(&self) -> bool {
        self.since.is_empty()
    }
}

impl Step<Vec<u8>> for Write {
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Write::At(at, bytes) => put(to, *at, bytes),
            Write::Length(length) => to.resize(index(*length), 0),
        }
    }

    fn tear(&self, to: &mut Vec<u8>, random: &mut Random, share: Share) {
        match self {
            Write::Length(_) if share.keeps(random) => self.apply(to),
            Write::Length(_) => {}
            Write::At(at, bytes) => {
                for (at, sector) in sectors(*at, bytes) {
                    if share.keeps(random) {
                        put(to, at, sector);
                    }
                }
            }
        }
    }
}

impl Step<Names> for Naming {
    fn apply(&self, to: &mut Names) {
        for (name, file) in self {
            match file {
                Some(file) => to.insert(name.clone(), *file),
                None => to.remove(name),
            };
        }
    }

    /// A journal keeps one step whole, and says nothing about the order of two.
    fn tear(&self, to: &mut Names, random: &mut Random, share: Share) {
        if share.keeps(random) {
            self.apply(to);
        }
    }
}

/// The parts of a write that reach the disk each on their own, with their places.
fn sectors(at: u64, bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let mut rest = (at, bytes);
    std::iter::from_fn(move || {
        let (at, bytes) = rest;
        let length = index(SECTOR - at % SECTOR).min(bytes.len());
        let (sector, more) = bytes.split_at(length);
        rest = (at + length as u64, more);
        (length > 0).then_some((at, sector))
    })
}

/// Puts bytes into a file, which grows if need be: what was never written reads as zeros.
fn put(to: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    let (start, end) = (index(at), index(at) + bytes.len());
    to.resize(to.len().max(end), 0);
    to[start..end].copy_from_slice(bytes);
}

/// The same number, which fits as files are in memory.
pub fn index(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
