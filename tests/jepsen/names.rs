//! The locks of a round: a few are held by `electd exec --lock`, whose commands write as all jobs do; the rest by programs that
//! embed a member.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::events::now;
use crate::holder::END;
use crate::ledger::Ledger;

/// How many names have an `exec` on each host, and how many the programs want.
pub const OF_EXECS: usize = 2;
const OF_PROGRAMS: usize = 28;

/// A name that was claimed so long ago may be held by nobody any more.
const FRESH: u64 = 500_000_000;

/// The number of a lock's job within its ledger.
pub const SLOT: usize = 1;

pub fn of_exec(number: usize) -> String {
    format!("job-{number}")
}

pub fn of_programs() -> impl Iterator<Item = String> {
    (1..=OF_PROGRAMS).map(|number| format!("name-{number}"))
}

/// The first and the last instant of a holder.
struct Held {
    by: String,
    first: u64,
    last: u64,
}

/// What the holders of all locks wrote.
pub struct Names {
    claims: PathBuf,
    read: u64,
    /// By name and token.
    held: BTreeMap<String, BTreeMap<u64, Held>>,
    /// What must not be, and when it was.
    broken: Vec<(u64, String)>,
    /// What the jobs of each name wrote that an `exec` holds.
    pub ledgers: Vec<Ledger>,
}

impl Names {
    /// Of a cluster with locks, or without.
    pub fn new(folder: &Path, there: bool) -> Names {
        let claims = folder.join("claims");
        File::create(&claims).expect("a file can be made");
        let numbers = (1..=OF_EXECS).filter(|_| there);
        let ledgers = numbers.map(|number| Ledger::new(folder, &of_exec(number))).collect();
        let held = of_programs().filter(|_| there).map(|name| (name, BTreeMap::new())).collect();
        Names { claims, read: 0, held, broken: Vec::new(), ledgers }
    }

    pub fn claims(&self) -> &Path {
        &self.claims
    }

    /// Takes in what was written since the last look.
    pub fn read(&mut self) {
        self.ledgers.iter_mut().for_each(Ledger::read);
        let (mut file, mut text) = (File::open(&self.claims).expect("it is there"), String::new());
        file.seek(SeekFrom::Start(self.read)).expect("it can be read");
        file.read_to_string(&mut text).expect("it can be read");
        let whole = text.rfind('\n').map_or(0, |end| end + 1); // the last line may be half written
        self.read += whole as u64;
        for line in text[..whole].lines().filter_map(|line| line.strip_suffix(END)) {
            self.take(line).unwrap_or_else(|| panic!("a line of something else: {line}"));
        }
    }

    fn take(&mut self, line: &str) -> Option<()> {
        let mut words = line.split_whitespace();
        let at: u64 = words.next()?.parse().ok()?;
        let by = words.next()?;
        let token: u64 = words.next()?.parse().ok()?;
        let name = words.next()?;
        let new = || Held { by: by.to_owned(), first: at, last: at };
        let held = self.held.get_mut(name)?.entry(token).or_insert_with(new);
        if held.by != by {
            let what = format!("token {token} of {name} had the holders {} and {by}", held.by);
            self.broken.push((at, what));
        }
        (held.first, held.last) = (held.first.min(at), held.last.max(at));
        Some(())
    }

    /// The names that nobody has claimed just now.
    pub fn unheld(&self) -> Vec<String> {
        let fresh = now().saturating_sub(FRESH);
        let by_program = self.held.iter().filter(|(_, held)| {
            let last = held.last_key_value();
            last.is_none_or(|(_, held)| held.last < fresh)
        });
        let by_exec = self.ledgers.iter().filter(|ledger| {
            let last = ledger.latest(SLOT);
            last.is_none_or(|(.., time)| *time < fresh)
        });
        let names = by_program.map(|(name, _)| name.clone());
        names.chain(by_exec.map(|ledger| ledger.name().to_owned())).collect()
    }

    /// How often a name was taken by a program.
    pub fn takings(&self) -> usize {
        self.held.values().map(BTreeMap::len).sum()
    }

    /// What must not be: a name that two hold at one instant, or that an older token holds after a newer one. No host is
    /// excepted: what a program claims, it had the lease for.
    pub fn findings(&mut self) -> Vec<(u64, String)> {
        let mut found = std::mem::take(&mut self.broken);
        for (name, held) in &self.held {
            for ((old, before), (new, after)) in held.iter().zip(held.iter().skip(1)) {
                if before.last >= after.first {
                    let micros = (before.last - after.first) / 1000;
                    let what = format!(
                        "{name}: {} held it under token {old} until {}, and {} under token {new} from {} on: {micros} us",
                        before.by, before.last, after.by, after.first
                    );
                    found.push((after.first, what));
                }
            }
        }
        found
    }

    /// For how long nobody held a name, from holder to holder, in milliseconds.
    pub fn gaps(&self) -> Vec<u64> {
        let of = |held: &BTreeMap<u64, Held>| {
            let pairs = held.values().zip(held.values().skip(1));
            pairs
                .map(|(old, new)| new.first.saturating_sub(old.last) / 1_000_000)
                .collect::<Vec<_>>()
        };
        self.held.values().flat_map(of).collect()
    }
}
