//! The JSON of words about locks, and of the table, which a voter's disk holds in the same form.
//!
//! A table is judged whole as it is read: its names, their number, and whether a coordinator can have made it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounds::{at_most, bounded, bounded_if_any, nanos};
use super::runs::{EndForm, OncePerForm, RunForm, ended_of, ends, runs_of};
use crate::core::locks::periods::WallTime;
use crate::core::locks::recurring::PeriodWants;
use crate::core::locks::table::{
    Life, LockHold, LockName, LockTable, MOST_NAMES, MOST_RUNS, TakingNote,
};
use crate::core::locks::voter::{PromiseReport, TableRead};
use crate::core::locks::word::{LockWant, LockWants, LockWord};
use crate::core::membership::{ListVersion, MOST_MEMBERS, MOST_REMOVED};
use crate::core::types::{Epoch, Incarnation, NodeId, Version};

/// The most members that a table notes: all of a list, and all that it remembers as removed.
pub(super) const MOST_NOTED: usize = MOST_MEMBERS + MOST_REMOVED;

/// The most lives that a voter supports: those of a member that restarts again and again run out.
const MOST_LIVES: usize = 4 * MOST_MEMBERS;

impl Serialize for LockName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.as_str().serialize(to)
    }
}

impl<'de> Deserialize<'de> for LockName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LockName, D::Error> {
        LockName::new(&Cow::<str>::deserialize(from)?).map_err(D::Error::custom)
    }
}

/// The form of a table. A member is named once; holds and notes say its place among the members.
#[derive(Serialize, Deserialize)]
struct TableForm {
    version: Version,
    list: ListVersion,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_NOTED>")]
    noted: Vec<NodeId>,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_NAMES>")]
    held: Vec<(LockName, u32, Incarnation, NumberForm)>,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_NOTED>")]
    notes: Vec<(u32, Incarnation, Version)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_RUNS>")]
    runs: Vec<RunForm>,
}

/// What a member wants: names, each with its weight and its preference.
#[derive(Serialize, Deserialize)]
struct WantsForm(
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_NAMES>")] Vec<(LockName, u32, u32)>,
);

impl From<&LockWants> for WantsForm {
    fn from(wants: &LockWants) -> WantsForm {
        let form = |(name, want): (&LockName, &LockWant)| (name.clone(), want.weight, want.prefer);
        WantsForm(wants.iter().map(form).collect())
    }
}

impl From<WantsForm> for LockWants {
    fn from(WantsForm(wants): WantsForm) -> LockWants {
        let want = |(name, weight, prefer)| (name, LockWant { weight, prefer });
        wants.into_iter().map(want).collect()
    }
}

/// A number that is never above the greatest.
#[derive(Serialize, Deserialize)]
struct NumberForm(#[serde(deserialize_with = "bounded")] u64);

impl Serialize for LockTable {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let members: Vec<NodeId> = self.notes().map(|(member, _)| member).collect();
        // A note is there for each holder; were it not, the place would be none, and the table refused.
        let place = |member: NodeId| members.binary_search(&member).unwrap_or(members.len()) as u32;
        let held = self.iter().map(|(name, LockHold { by, token })| {
            (name.clone(), place(by.member), by.incarnation, NumberForm(token))
        });
        let notes =
            self.notes().map(|(member, note)| (place(member), note.incarnation, note.version));
        let (held, notes) = (held.collect(), notes.collect());
        let runs = self.runs().map(RunForm::from).collect();
        let (version, list, noted) = (self.version(), self.list(), members);
        TableForm { version, list, noted, held, notes, runs }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for LockTable {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LockTable, D::Error> {
        let TableForm { version, list, noted: members, held, notes, runs } =
            TableForm::deserialize(from)?;
        let at = |place: u32| {
            members.get(place as usize).copied().ok_or_else(|| D::Error::custom("no such member"))
        };
        let counts = (held.len(), notes.len());
        let hold = |(name, place, incarnation, token): (LockName, _, _, NumberForm)| {
            let by = Life { member: at(place)?, incarnation };
            Ok((name, LockHold { by, token: token.0 }))
        };
        let note = |(place, incarnation, version): (u32, _, _)| {
            Ok((at(place)?, TakingNote { incarnation, version }))
        };
        let held: BTreeMap<LockName, LockHold> =
            held.into_iter().map(hold).collect::<Result<_, D::Error>>()?;
        let notes: BTreeMap<NodeId, TakingNote> =
            notes.into_iter().map(note).collect::<Result<_, D::Error>>()?;
        if (held.len(), notes.len()) != counts {
            return Err(D::Error::custom("a name or a note is there twice"));
        }
        let runs = runs_of(runs)?;
        let table = LockTable::from_parts(version, list, held, notes);
        table.and_then(|table| table.with_runs(runs)).map_err(D::Error::custom)
    }
}

/// The form of a report of promises.
#[derive(Serialize, Deserialize)]
struct ReportForm {
    to_all: bool,
    #[serde(deserialize_with = "at_most::<_, _, _, MOST_LIVES>")]
    to: Vec<(NodeId, Incarnation)>,
}

impl From<&PromiseReport> for ReportForm {
    fn from(report: &PromiseReport) -> ReportForm {
        let to = report.to.iter().map(|life| (life.member, life.incarnation)).collect();
        ReportForm { to_all: report.to_all, to }
    }
}

impl From<ReportForm> for PromiseReport {
    fn from(form: ReportForm) -> PromiseReport {
        let life = |(member, incarnation)| Life { member, incarnation };
        PromiseReport {
            to_all: form.to_all,
            to: form.to.into_iter().map(life).collect::<BTreeSet<_>>(),
        }
    }
}

/// The forms of the words.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WordForm {
    Read {
        epoch: Epoch,
        list: ListVersion,
    },
    Table {
        epoch: Epoch,
        table: Option<Arc<LockTable>>,
        promises: ReportForm,
    },
    Later {
        epoch: Epoch,
    },
    Store {
        table: Arc<LockTable>,
    },
    Stored {
        version: Version,
    },
    Waits {
        version: Version,
        promises: ReportForm,
    },
    Done {
        table: Arc<LockTable>,
    },
    Ask {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        life: (NodeId, Incarnation),
        known: Version,
        #[serde(rename = "length_ns", with = "nanos")]
        length: Duration,
    },
    Promise {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        to: Incarnation,
        list: ListVersion,
    },
    Want {
        life: (NodeId, Incarnation),
        /// Name, weight and preference.
        wants: Option<WantsForm>,
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_NAMES>")]
        released: Vec<(LockName, NumberForm)>,
        promises: ReportForm,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_NAMES>")]
        once: Vec<(LockName, OncePerForm)>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_NAMES>")]
        ended: Vec<(LockName, EndForm)>,
        #[serde(default, deserialize_with = "bounded")]
        rules: u64,
    },
    Gave {
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_NAMES>")]
        released: Vec<(LockName, NumberForm)>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_NAMES>")]
        ended: Vec<(LockName, EndForm)>,
        passed: bool,
    },
    Order {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        name: LockName,
        #[serde(deserialize_with = "bounded_if_any")]
        token: Option<u64>,
    },
    Rebalance {
        #[serde(deserialize_with = "bounded")]
        number: u64,
    },
    Ordered {
        #[serde(deserialize_with = "bounded")]
        number: u64,
        done: bool,
    },
    Clock {
        #[serde(deserialize_with = "bounded_if_any")]
        time: Option<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_NAMES>")]
        differ: Vec<LockName>,
    },
    Wall {
        #[serde(deserialize_with = "bounded")]
        time: u64,
    },
    Forget {
        name: LockName,
    },
}

fn tokens(released: &BTreeMap<LockName, u64>) -> Vec<(LockName, NumberForm)> {
    released.iter().map(|(name, token)| (name.clone(), NumberForm(*token))).collect()
}

fn released(tokens: Vec<(LockName, NumberForm)>) -> BTreeMap<LockName, u64> {
    tokens.into_iter().map(|(name, token)| (name, token.0)).collect()
}

impl From<&LockWord> for WordForm {
    fn from(word: &LockWord) -> WordForm {
        let pair = |life: &Life| (life.member, life.incarnation);
        match word {
            LockWord::Read { epoch, list } => WordForm::Read { epoch: *epoch, list: *list },
            LockWord::Table { epoch, read: TableRead { table, promises } } => {
                WordForm::Table { epoch: *epoch, table: table.clone(), promises: promises.into() }
            }
            LockWord::Later { epoch } => WordForm::Later { epoch: *epoch },
            LockWord::Store { table } => WordForm::Store { table: table.clone() },
            LockWord::Stored { version } => WordForm::Stored { version: *version },
            LockWord::Waits { version, promises } => {
                WordForm::Waits { version: *version, promises: promises.into() }
            }
            LockWord::Done { table } => WordForm::Done { table: table.clone() },
            LockWord::Ask { number, life, known, length } => {
                WordForm::Ask { number: *number, life: pair(life), known: *known, length: *length }
            }
            LockWord::Promise { number, to, list } => {
                WordForm::Promise { number: *number, to: *to, list: *list }
            }
            LockWord::Want { life, wants, released, promises, rules, periods } => WordForm::Want {
                life: pair(life),
                wants: wants.as_deref().map(WantsForm::from),
                released: tokens(released),
                promises: promises.into(),
                once: (periods.once.iter())
                    .map(|(name, once)| (name.clone(), OncePerForm::from(*once)))
                    .collect(),
                ended: ends(&periods.ended),
                rules: *rules,
            },
            LockWord::Gave { released, ended, passed } => {
                WordForm::Gave { released: tokens(released), ended: ends(ended), passed: *passed }
            }
            LockWord::Order { number, name, token } => {
                WordForm::Order { number: *number, name: name.clone(), token: *token }
            }
            LockWord::Rebalance { number } => WordForm::Rebalance { number: *number },
            LockWord::Ordered { number, done } => {
                WordForm::Ordered { number: *number, done: *done }
            }
            LockWord::Clock { time, differ } => WordForm::Clock {
                time: time.map(|time| time.0),
                differ: differ.iter().cloned().collect(),
            },
            LockWord::Wall { time } => WordForm::Wall { time: time.0 },
            LockWord::Forget { name } => WordForm::Forget { name: name.clone() },
        }
    }
}

impl From<WordForm> for LockWord {
    fn from(form: WordForm) -> LockWord {
        let life = |(member, incarnation)| Life { member, incarnation };
        match form {
            WordForm::Read { epoch, list } => LockWord::Read { epoch, list },
            WordForm::Table { epoch, table, promises } => {
                let read = TableRead { table, promises: promises.into() };
                LockWord::Table { epoch, read }
            }
            WordForm::Later { epoch } => LockWord::Later { epoch },
            WordForm::Store { table } => LockWord::Store { table },
            WordForm::Stored { version } => LockWord::Stored { version },
            WordForm::Waits { version, promises } => {
                LockWord::Waits { version, promises: promises.into() }
            }
            WordForm::Done { table } => LockWord::Done { table },
            WordForm::Ask { number, life: of, known, length } => {
                LockWord::Ask { number, life: life(of), known, length }
            }
            WordForm::Promise { number, to, list } => LockWord::Promise { number, to, list },
            WordForm::Want { life: of, wants, released: given, promises, rules, once, ended } => {
                let wants = wants.map(|wants| Arc::new(LockWants::from(wants)));
                let (released, promises) = (released(given), promises.into());
                let once = once.into_iter().map(|(name, once)| (name, once.into())).collect();
                let periods = PeriodWants { once, ended: ended_of(ended) };
                LockWord::Want { life: life(of), wants, released, promises, rules, periods }
            }
            WordForm::Gave { released: given, ended, passed } => {
                LockWord::Gave { released: released(given), ended: ended_of(ended), passed }
            }
            WordForm::Order { number, name, token } => LockWord::Order { number, name, token },
            WordForm::Rebalance { number } => LockWord::Rebalance { number },
            WordForm::Ordered { number, done } => LockWord::Ordered { number, done },
            WordForm::Clock { time, differ } => {
                LockWord::Clock { time: time.map(WallTime), differ: differ.into_iter().collect() }
            }
            WordForm::Wall { time } => LockWord::Wall { time: WallTime(time) },
            WordForm::Forget { name } => LockWord::Forget { name },
        }
    }
}

impl Serialize for LockWord {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        WordForm::from(self).serialize(to)
    }
}

impl<'de> Deserialize<'de> for LockWord {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<LockWord, D::Error> {
        WordForm::deserialize(from).map(LockWord::from)
    }
}

#[cfg(test)]
mod tests;
