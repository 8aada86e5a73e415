//! The table of locks: who holds which name, and when something was last taken from each member.

use std::collections::BTreeMap;

use thiserror::Error;

pub use super::name::{BadLockName, LockName};
use super::periods::{PeriodRun, RunEnd};
use crate::core::membership::{ListVersion, MemberList};
use crate::core::planted::Fault;
use crate::core::types::{Incarnation, NodeId, Version};

/// The most names of a cluster.
pub const MOST_NAMES: usize = 10_000;

/// The most names whose last run it has.
pub const MOST_RUNS: usize = 64;

/// One life of a member, from a start to its end. All that is held and promised belongs to a life: the next one begins
/// with nothing. (G7)
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Life {
    pub member: NodeId,
    pub incarnation: Incarnation,
}

impl Life {
    /// Whether it is this life, or an earlier one of the same member.
    pub fn is_up_to(self, other: Life) -> bool {
        self.member == other.member && self.incarnation <= other.incarnation
    }
}

/// Who holds a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockHold {
    pub by: Life,
    /// The fencing token: the counter of the version in which the holder took the name. It only grows, over all names, so a
    /// name that nobody holds needs no entry.
    pub token: u64,
}

/// When something was last taken from a member that may not know of it. (G3)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TakingNote {
    /// It was taken from this life or an earlier one.
    pub incarnation: Incarnation,
    /// The version of the table that took it; the least if nothing ever was taken.
    pub version: Version,
}

/// A change of the table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TableChange {
    /// A member takes a name that nobody holds.
    Take { name: LockName, by: Life },
    /// The holder gave the name back.
    Release { name: LockName, token: u64 },
    /// The holder gave the name back, so that another member holds it.
    Move { name: LockName, token: u64, to: Life },
    /// All that this life and earlier ones of its member hold is taken from them.
    Strip(Life),
    /// This life is certified to be over, and with it its jobs: it holds nothing any more. Nothing is taken from it.
    Bury(Life),
    /// The member that takes the name in this very version does so for this run; the token of the run is that of the taking.
    /// (G13)
    Begin { name: LockName, run: PeriodRun },
    /// The run under this token ended so.
    End { name: LockName, token: u64, end: RunEnd },
    /// The last run under this name is forgotten.
    Forget { name: LockName },
}

/// Why a change was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeRefusal {
    /// Another member holds the name.
    Held,
    /// Nobody holds the name under this token.
    OtherToken,
    /// There are [`MOST_NAMES`] names.
    TableFull,
    /// The list does not name the member that would hold the name.
    NoMember,
    /// Too many voters promised this member to take nothing from it, or did not report yet. (G11)
    Supported,
    /// The coordinator still reads the tables of the voters, or proposed another table.
    NotReady,
}

/// A table that changes made out of another, these changes, and those that were not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedTable {
    pub table: LockTable,
    pub made: Vec<TableChange>,
    pub refused: Vec<(TableChange, ChangeRefusal)>,
}

/// All locks of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LockTable {
    version: Version,
    /// The member list whose voters are to store it.
    list: ListVersion,
    held: BTreeMap<LockName, LockHold>,
    /// How many of these each life holds that holds any.
    holders: BTreeMap<Life, usize>,
    /// One for each member, and for those that the list remembers as removed.
    notes: BTreeMap<NodeId, TakingNote>,
    /// The last run under each name that is held once in each period.
    runs: BTreeMap<LockName, PeriodRun>,
}

/// Why the parts of a table from outside make none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BadTable {
    #[error("it has more than {MOST_NAMES} names")]
    Names,
    #[error("a token or a note is later than the table itself")]
    Later,
    #[error("it has no note for a member that holds a name")]
    Unnoted,
    #[error("it has more than {MOST_RUNS} runs")]
    Runs,
}

impl LockTable {
    /// A table from a disk or another member.
    ///
    /// # Errors
    /// If no coordinator ever made it.
    pub fn from_parts(
        version: Version,
        list: ListVersion,
        held: BTreeMap<LockName, LockHold>,
        notes: BTreeMap<NodeId, TakingNote>,
    ) -> Result<LockTable, BadTable> {
        if held.len() > MOST_NAMES {
            return Err(BadTable::Names);
        }
        let late_token = held.values().any(|hold| hold.token > version.counter);
        if late_token || notes.values().any(|note| note.version > version) {
            return Err(BadTable::Later);
        }
        if held.values().any(|hold| !notes.contains_key(&hold.by.member)) {
            return Err(BadTable::Unnoted);
        }
        let mut holders = BTreeMap::new();
        held.values().for_each(|hold| *holders.entry(hold.by).or_default() += 1);
        Ok(LockTable { version, list, held, holders, notes, runs: BTreeMap::new() })
    }

    /// The same table with these runs.
    ///
    /// # Errors
    /// If no coordinator ever made it.
    pub fn with_runs(self, runs: BTreeMap<LockName, PeriodRun>) -> Result<LockTable, BadTable> {
        if runs.len() > MOST_RUNS {
            return Err(BadTable::Runs);
        }
        if runs.values().any(|run| run.token > self.version.counter) {
            return Err(BadTable::Later);
        }
        Ok(LockTable { runs, ..self })
    }

    /// The last run under each name that is held once in each period, in the order of the names.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = (&LockName, &PeriodRun)> {
        self.runs.iter()
    }

    pub fn run(&self, name: &LockName) -> Option<&PeriodRun> {
        self.runs.get(name)
    }

    /// All notes.
    pub fn notes(&self) -> impl ExactSizeIterator<Item = (NodeId, TakingNote)> {
        self.notes.iter().map(|(member, note)| (*member, *note))
    }

    pub fn version(&self) -> Version {
        self.version
    }

    pub fn list(&self) -> ListVersion {
        self.list
    }

    pub fn get(&self, name: &LockName) -> Option<LockHold> {
        self.held.get(name).copied()
    }

    /// Whether nobody holds anything.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Whether the table says nothing: nobody holds anything, and no run is known.
    pub fn is_bare(&self) -> bool {
        self.held.is_empty() && self.runs.is_empty()
    }

    /// All names that somebody holds, in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&LockName, LockHold)> {
        self.held.iter().map(|(name, hold)| (name, *hold))
    }

    /// The lives that hold names, and how many each of them.
    pub fn holders(&self) -> impl ExactSizeIterator<Item = (Life, usize)> {
        self.holders.iter().map(|(life, count)| (*life, *count))
    }

    /// How many names this life holds.
    pub fn count_of(&self, life: Life) -> usize {
        self.holders.get(&life).copied().unwrap_or(0)
    }

    /// What it has that the other has not so, and the names that the other has alone: each in the order of the names.
    pub fn differing(&self, other: &LockTable) -> (Vec<(LockName, LockHold)>, Vec<LockName>) {
        let (mut held, mut freed) = (Vec::new(), Vec::new());
        let mut old = other.iter().peekable();
        for (name, hold) in self.iter() {
            while let Some((gone, _)) = old.next_if(|(other, _)| *other < name) {
                freed.push(gone.clone());
            }
            let before = old.next_if(|(other, _)| *other == name).map(|(_, before)| before);
            if before != Some(hold) {
                held.push((name.clone(), hold));
            }
        }
        freed.extend(old.map(|(name, _)| name.clone()));
        (held, freed)
    }

    pub fn note(&self, member: NodeId) -> Option<TakingNote> {
        self.notes.get(&member).copied()
    }

    /// Whether it takes anything from this life of a member that the member does not know of: the last done table that
    /// the member knows has this version. Without a note something counts as taken now. (G3)
    pub fn takes_from(&self, life: Life, known: Version) -> bool {
        match self.notes.get(&life.member) {
            Some(note) => note.incarnation >= life.incarnation && note.version > known,
            None => !Fault::NoteForgotten.is_planted(),
        }
    }

    /// Whether it takes nothing from anybody that the other table does not take.
    pub fn takes_no_more_than(&self, other: &LockTable) -> bool {
        let kept = |(id, old): (&NodeId, &TakingNote)| {
            self.notes
                .get(id)
                .is_some_and(|new| new.version <= old.version && new.incarnation <= old.incarnation)
        };
        let new = |(id, new): (&NodeId, &TakingNote)| {
            other.notes.contains_key(id) || *new == TakingNote::default()
        };
        other.notes.iter().all(kept) && self.notes.iter().all(new)
    }

    /// Whether this life holds anything that it does not hold in the other table: for a planted fault alone.
    pub fn has_more_of(&self, life: Life, other: &LockTable) -> bool {
        let mut held = self.held.iter().filter(|(_, hold)| hold.by == life);
        held.any(|(name, hold)| other.held.get(name) != Some(hold))
    }

    /// The table of this version after these changes, one after the other, for the voters of this list.
    pub fn changed(
        &self,
        version: Version,
        list: &MemberList,
        changes: Vec<TableChange>,
    ) -> ChangedTable {
        let mut table = LockTable { version, list: list.version(), ..self.clone() };
        let (mut made, mut refused) = (Vec::new(), Vec::new());
        for change in changes {
            match table.change(list, &change) {
                Ok(()) => made.push(change),
                Err(refusal) => refused.push((change, refusal)),
            }
        }
        table.keep_notes(list);
        ChangedTable { table, made, refused }
    }

    fn change(&mut self, list: &MemberList, change: &TableChange) -> Result<(), ChangeRefusal> {
        match change {
            TableChange::Take { name, by } => {
                if self.held.contains_key(name) {
                    return Err(ChangeRefusal::Held);
                } else if self.held.len() >= MOST_NAMES {
                    return Err(ChangeRefusal::TableFull);
                }
                self.give(list, name, *by)?;
            }
            TableChange::Release { name, token } => {
                self.expect(name, *token)?;
                let hold = self.held.remove(name);
                self.uncount(hold);
            }
            TableChange::Move { name, token, to } => {
                self.expect(name, *token)?;
                self.give(list, name, *to)?;
            }
            TableChange::Strip(life) => {
                let before = self.held.len();
                self.free(|by| by.is_up_to(*life));
                if self.held.len() < before {
                    let note = self.notes.entry(life.member).or_default();
                    let incarnation = note.incarnation.max(life.incarnation);
                    *note = TakingNote { incarnation, version: self.version };
                }
            }
            TableChange::Bury(life) => self.free(|by| by == *life),
            TableChange::Begin { name, run } => {
                self.expect(name, self.version.counter)?;
                if self.runs.len() >= MOST_RUNS && !self.runs.contains_key(name) {
                    return Err(ChangeRefusal::TableFull);
                }
                self.runs.insert(name.clone(), PeriodRun { token: self.version.counter, ..*run });
            }
            TableChange::End { name, token, end } => {
                let run = self.runs.get_mut(name).filter(|run| run.token == *token);
                run.ok_or(ChangeRefusal::OtherToken)?.end = Some(*end);
            }
            TableChange::Forget { name } => _ = self.runs.remove(name),
        }
        Ok(())
    }

    fn give(&mut self, list: &MemberList, name: &LockName, by: Life) -> Result<(), ChangeRefusal> {
        list.get(by.member).ok_or(ChangeRefusal::NoMember)?;
        let hold = LockHold { by, token: self.version.counter };
        let before = self.held.insert(name.clone(), hold);
        *self.holders.entry(by).or_default() += 1;
        self.uncount(before);
        Ok(())
    }

    /// Such lives hold nothing any more.
    fn free(&mut self, is_free: impl Fn(Life) -> bool) {
        let before = self.holders.len();
        self.holders.retain(|life, _| !is_free(*life));
        if self.holders.len() < before {
            self.held.retain(|_, hold| !is_free(hold.by));
        }
    }

    /// This was held, and is not any more.
    fn uncount(&mut self, hold: Option<LockHold>) {
        let Some(LockHold { by, .. }) = hold else { return };
        if let Some(count) = self.holders.get_mut(&by) {
            *count -= 1;
            if *count == 0 {
                self.holders.remove(&by);
            }
        }
    }

    /// A release names its token: a late one frees no later holder. (G10)
    fn expect(&self, name: &LockName, token: u64) -> Result<(), ChangeRefusal> {
        let same = self.held.get(name).is_some_and(|hold| hold.token == token);
        if same { Ok(()) } else { Err(ChangeRefusal::OtherToken) }
    }

    /// Each member has a note. Those of removed members stay for as long as the list remembers these: some voters may still
    /// support them. (G3)
    fn keep_notes(&mut self, list: &MemberList) {
        let removed =
            |id: &NodeId| list.removed().contains(id) && !Fault::NoteForgotten.is_planted();
        self.notes.retain(|id, _| list.get(*id).is_some() || removed(id));
        for member in list.iter() {
            self.notes.entry(member.id).or_default();
        }
    }
}

#[cfg(test)]
mod tests;
