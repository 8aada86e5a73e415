//! The JSON of words about locks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounds::{at_most, bounded, bounded_if_any, nanos};
use super::runs::{EndForm, OncePerForm, ended_of, ends};
use super::tables::{NumberForm, WantsForm};
use crate::core::locks::periods::WallTime;
use crate::core::locks::piece::{TablePiece, TableWord, WantsPiece};
use crate::core::locks::recurring::{MOST_ONCE, PeriodWants};
use crate::core::locks::table::{Life, LockName, LockTable};
use crate::core::locks::voter::{PromiseReport, TableRead};
use crate::core::locks::word::{LockWants, LockWord, MOST_RELEASED};
use crate::core::membership::{ListVersion, MOST_MEMBERS};
use crate::core::types::{Epoch, Incarnation, NodeId, Version};

/// The most lives that a voter supports: those of a member that restarts again and again run out.
const MOST_LIVES: usize = 4 * MOST_MEMBERS;

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

/// Of which word a table is part.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TableWordForm {
    Store,
    Done,
    Read { epoch: Epoch, promises: ReportForm },
}

impl From<&TableWord> for TableWordForm {
    fn from(word: &TableWord) -> TableWordForm {
        match word {
            TableWord::Store => TableWordForm::Store,
            TableWord::Done => TableWordForm::Done,
            TableWord::Read { epoch, promises } => {
                TableWordForm::Read { epoch: *epoch, promises: promises.into() }
            }
        }
    }
}

impl From<TableWordForm> for TableWord {
    fn from(form: TableWordForm) -> TableWord {
        match form {
            TableWordForm::Store => TableWord::Store,
            TableWordForm::Done => TableWord::Done,
            TableWordForm::Read { epoch, promises } => {
                TableWord::Read { epoch, promises: promises.into() }
            }
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
        #[serde(default, deserialize_with = "bounded")]
        number: u64,
        /// Name, weight and preference.
        wants: Option<WantsForm>,
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_RELEASED>")]
        released: Vec<(LockName, NumberForm)>,
        promises: ReportForm,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_ONCE>")]
        once: Vec<(LockName, OncePerForm)>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_RELEASED>")]
        ended: Vec<(LockName, EndForm)>,
        #[serde(default, deserialize_with = "bounded")]
        rules: u64,
    },
    Lacks,
    Piece {
        word: TableWordForm,
        piece: Arc<TablePiece>,
    },
    Wants {
        piece: WantsPiece,
    },
    Gave {
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_RELEASED>")]
        released: Vec<(LockName, NumberForm)>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_RELEASED>")]
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
        #[serde(deserialize_with = "at_most::<_, _, _, MOST_ONCE>")]
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
            LockWord::Lacks => WordForm::Lacks,
            LockWord::Piece { word, piece } => {
                WordForm::Piece { word: word.into(), piece: piece.clone() }
            }
            LockWord::Wants { piece } => WordForm::Wants { piece: piece.clone() },
            LockWord::Want { life, number, wants, released, promises, rules, periods } => {
                WordForm::Want {
                    life: pair(life),
                    number: *number,
                    wants: wants.as_deref().map(WantsForm::from),
                    released: tokens(released),
                    promises: promises.into(),
                    once: (periods.once.iter())
                        .map(|(name, once)| (name.clone(), OncePerForm::from(*once)))
                        .collect(),
                    ended: ends(&periods.ended),
                    rules: *rules,
                }
            }
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
            WordForm::Lacks => LockWord::Lacks,
            WordForm::Piece { word, piece } => LockWord::Piece { word: word.into(), piece },
            WordForm::Wants { piece } => LockWord::Wants { piece },
            WordForm::Want {
                life: of,
                number,
                wants,
                released: given,
                promises,
                rules,
                once,
                ended,
            } => {
                let wants = wants.map(|wants| Arc::new(LockWants::from(wants)));
                let (released, promises) = (released(given), promises.into());
                let once = once.into_iter().map(|(name, once)| (name, once.into())).collect();
                let periods = PeriodWants { once, ended: ended_of(ended) };
                LockWord::Want { life: life(of), number, wants, released, promises, rules, periods }
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
