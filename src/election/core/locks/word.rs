//! What members say to each other about locks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::periods::{RunEnd, WallTime};
use super::piece::{TablePiece, TableWord, WantsPiece};
use super::recurring::PeriodWants;
use super::table::{Life, LockName, LockTable};
use super::voter::{PromiseReport, TableRead};
pub use super::want::{LockWant, LockWants};
use crate::core::membership::ListVersion;
use crate::core::types::{Epoch, Incarnation, Version};

/// The most words of one message.
pub const MOST_WORDS: usize = 64;

/// The most names that a word says were given back: the rest follows once the table says so of these.
pub const MOST_RELEASED: usize = 500;

/// A message about locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LockWord {
    /// A coordinator that begins reads the table of a voter. Expects [`LockWord::Table`] or [`LockWord::Later`].
    Read {
        epoch: Epoch,
        list: ListVersion,
    },
    /// The answer, once the voter has stored that it stores nothing of an earlier coordinator.
    Table {
        epoch: Epoch,
        read: TableRead,
    },
    /// The voter lost its disk, and stores and shows nothing before this epoch. (G6)
    Later {
        epoch: Epoch,
    },
    /// A coordinator asks a voter to store a table. Expects [`LockWord::Stored`] or [`LockWord::Waits`].
    Store {
        table: Arc<LockTable>,
    },
    Stored {
        version: Version,
    },
    /// A promise keeps the voter from storing the table of this version.
    Waits {
        version: Version,
        promises: PromiseReport,
    },
    /// This table is done: from its coordinator, or from a voter that knows it.
    Done {
        table: Arc<LockTable>,
    },
    /// A life of a member asks a voter for a promise of this length. Expects [`LockWord::Promise`]; and if the member does
    /// not know the last done table, [`LockWord::Done`].
    Ask {
        number: u64,
        life: Life,
        known: Version,
        length: Duration,
    },
    /// The voter promises what this incarnation asked for, by this list.
    Promise {
        number: u64,
        to: Incarnation,
        list: ListVersion,
    },
    /// What a member wants and has given back, for the coordinator, and what it promised as a voter.
    Want {
        life: Life,
        /// It grows whenever the member wants something else; 0 as long as it never wanted anything.
        number: u64,
        /// None if they are those that the member sent under this number before. Expects [`LockWord::Lacks`] if the
        /// coordinator does not have these.
        wants: Option<Arc<LockWants>>,
        released: BTreeMap<LockName, u64>,
        promises: PromiseReport,
        periods: PeriodWants,
        /// The hash of what its configuration says of locks.
        rules: u64,
    },
    /// A part of a table that is too long for one message, or of what the receiver lacks of it: whoever carries words makes
    /// these, and puts them together again.
    Piece {
        word: TableWord,
        piece: Arc<TablePiece>,
    },
    /// A part of what a member wants, before its [`LockWord::Want`]: made and put together in the same way.
    Wants {
        piece: WantsPiece,
    },
    /// The coordinator does not have what the member wants: it is to send all of it.
    Lacks,
    /// A holder gave these names back a while ago, each under a token, and its table does not say so: the coordinator may not
    /// reach it. A voter passes that on to the coordinator, once.
    Gave {
        released: BTreeMap<LockName, u64>,
        /// How the runs ended of those that are held once in each period.
        ended: BTreeMap<LockName, RunEnd>,
        passed: bool,
    },
    /// A member passes on what its operator wants of another: with a token, that the other gives the name back which it
    /// holds under that; without one, that it comes before all other candidates for a while. Expects
    /// [`LockWord::Ordered`]. The callers of members carry this out, not the members themselves.
    Order {
        number: u64,
        name: LockName,
        token: Option<u64>,
    },
    /// A member passes on to the coordinator that an operator has all locks spread anew. Expects [`LockWord::Ordered`].
    Rebalance {
        number: u64,
    },
    /// Whether the receiver does that: it holds the name under that token, or wants it.
    Ordered {
        number: u64,
        done: bool,
    },
    /// A coordinator of names that are held once in each period says what time it is, if it knows, and for which of these
    /// names it goes by other periods than those of the receiver. Expects [`LockWord::Wall`] of a voter. (G14)
    Clock {
        time: Option<WallTime>,
        differ: BTreeSet<LockName>,
    },
    /// What the wall clock of a voter shows.
    Wall {
        time: WallTime,
    },
    /// An operator wants the coordinator to forget the last run under this name, once its period has ended.
    Forget {
        name: LockName,
    },
}

impl TableWord {
    /// Of this word, and its table.
    pub fn of(word: &LockWord) -> Option<(TableWord, &Arc<LockTable>)> {
        Some(match word {
            LockWord::Store { table } => (TableWord::Store, table),
            LockWord::Done { table } => (TableWord::Done, table),
            LockWord::Table { epoch, read } => {
                let promises = read.promises.clone();
                (TableWord::Read { epoch: *epoch, promises }, read.table.as_ref()?)
            }
            _ => return None,
        })
    }

    /// The word, with this table.
    pub fn with(self, table: Arc<LockTable>) -> LockWord {
        match self {
            TableWord::Store => LockWord::Store { table },
            TableWord::Done => LockWord::Done { table },
            TableWord::Read { epoch, promises } => {
                LockWord::Table { epoch, read: TableRead { table: Some(table), promises } }
            }
        }
    }
}

impl LockWord {
    /// The table in it, which makes it long.
    pub fn table(&self) -> Option<&Arc<LockTable>> {
        match self {
            LockWord::Table { read, .. } => read.table.as_ref(),
            LockWord::Store { table } | LockWord::Done { table } => Some(table),
            _ => None,
        }
    }

    /// The greatest epoch and the greatest number that its sender claims, and its receiver may keep.
    pub fn claims(&self) -> (Epoch, u64) {
        match self {
            LockWord::Read { epoch, list } => ((*epoch).max(list.epoch), list.counter),
            LockWord::Table { epoch, read } => {
                let version = read.table.as_ref().map(|table| table.version()).unwrap_or_default();
                ((*epoch).max(version.epoch), version.counter)
            }
            LockWord::Later { epoch } => (*epoch, 0),
            LockWord::Store { table } | LockWord::Done { table } => {
                (table.version().epoch, table.version().counter)
            }
            LockWord::Stored { version } | LockWord::Waits { version, .. } => {
                (version.epoch, version.counter)
            }
            LockWord::Piece { piece, .. } => {
                let (version, base) = (piece.version, piece.base.unwrap_or_default());
                (version.epoch.max(base.epoch), version.counter.max(base.counter))
            }
            LockWord::Wants { .. } => (Epoch(0), 0),
            LockWord::Ask { known, .. } => (known.epoch, known.counter),
            LockWord::Want { released, .. } | LockWord::Gave { released, .. } => {
                (Epoch(0), released.values().copied().max().unwrap_or(0))
            }
            LockWord::Lacks
            | LockWord::Promise { .. }
            | LockWord::Order { .. }
            | LockWord::Rebalance { .. }
            | LockWord::Ordered { .. }
            | LockWord::Clock { .. }
            | LockWord::Wall { .. }
            | LockWord::Forget { .. } => (Epoch(0), 0),
        }
    }

    /// The incarnation that its sender says it has.
    pub fn life(&self) -> Option<Life> {
        match self {
            LockWord::Ask { life, .. } | LockWord::Want { life, .. } => Some(*life),
            _ => None,
        }
    }
}
