//! What members say to each other about locks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::table::{Life, LockName, LockTable};
use super::voter::{PromiseReport, TableRead};
use crate::core::membership::ListVersion;
use crate::core::types::{Epoch, Incarnation, Version};

/// How much a member wants a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockWant {
    /// How much work it is beside others.
    pub weight: u32,
    /// The greater is preferred.
    pub prefer: u32,
}

/// The names that a member wants.
pub type LockWants = BTreeMap<LockName, LockWant>;

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
        wants: Arc<LockWants>,
        released: BTreeMap<LockName, u64>,
        promises: PromiseReport,
    },
}
