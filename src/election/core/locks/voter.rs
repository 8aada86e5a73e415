//! A voter: it stores what coordinators propose, and promises members to take nothing from them for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::table::{Life, LockTable};
use crate::core::membership::{ListVersion, MemberList};
use crate::core::planted::Fault;
use crate::core::types::{Epoch, Time, Version};

/// What a restart must find again. It is durable before the answer that relies on it is sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct KeptTable {
    /// The stored table; none of a newcomer, or of a voter that lost its disk.
    pub table: Option<Arc<LockTable>>,
    /// The greatest epoch whose coordinator read this voter's table, or whose table it stored.
    pub promised: Epoch,
}

impl KeptTable {
    /// What a voter with an empty disk begins with, which others told the greatest epoch so far (Q5). It may have stored
    /// tables of that epoch, and stores none again: an older one of them would pass for the newest that it ever had. (G6)
    pub fn lost(told: Epoch) -> KeptTable {
        let promised = if Fault::LostUpTo.is_planted() { told } else { told.next() };
        KeptTable { table: None, promised }
    }

    /// What a voter begins with whose disk never held a table, and who was told this greatest epoch when it learned of its
    /// cluster. If there was none, no member ever led: the voter knows that it never stored a table, so it has an empty
    /// one. (G6)
    pub fn first(told: Epoch) -> KeptTable {
        if told > Epoch(0) {
            return KeptTable::lost(told);
        }
        KeptTable { table: Some(Arc::default()), promised: told }
    }
}

/// A promise to a life of a member: until it ends, this voter stores no table that takes anything from that life which the
/// member did not know of when it asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct TakingPromise {
    /// The version of the last done table that the member knew.
    known: Version,
    until: Time,
}

/// What a voter reports of its promises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PromiseReport {
    /// It may have promised anything to anybody before it restarted.
    pub to_all: bool,
    pub to: BTreeSet<Life>,
}

impl PromiseReport {
    /// Whether a promise lets it store no table that takes something from this life or an earlier one.
    pub fn is_bound_to(&self, life: Life) -> bool {
        self.to_all || self.to.iter().any(|to| to.is_up_to(life))
    }
}

/// What a new coordinator reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableRead {
    pub table: Option<Arc<LockTable>>,
    pub promises: PromiseReport,
}

/// The answer to a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum StoreAnswer {
    /// It has stored the table.
    Stored,
    /// It has a newer one, or knows a later coordinator.
    Outdated,
    /// The table was made for the voters of another list than this voter's.
    OtherList,
    /// A promise runs to a member that the table takes something from.
    Wait(PromiseReport),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TableVoter {
    kept: KeptTable,
    /// Whether a coordinator said that the stored table is done.
    done: bool,
    promises: BTreeMap<Life, TakingPromise>,
    /// After a restart: the promises of before may run until then.
    recovers_until: Option<Time>,
    /// The newest table that it could not store yet, because of a promise.
    awaited: Option<Arc<LockTable>>,
}

impl TableVoter {
    /// A voter that starts now. It forgot its promises, and waits for as long as the longest one. (G6)
    pub fn new(now: Time, kept: KeptTable, longest: Duration) -> TableVoter {
        let recovers_until = (!Fault::RestartForgets.is_planted()).then_some(now + longest);
        TableVoter { kept, recovers_until, ..TableVoter::default() }
    }

    pub fn kept(&self) -> &KeptTable {
        &self.kept
    }

    fn version(&self) -> Version {
        self.kept.table.as_ref().map(|table| table.version()).unwrap_or_default()
    }

    /// The coordinator of this epoch reads the table, to begin. From then on the voter stores nothing of an earlier
    /// coordinator. A coordinator with an older list than the voter's is not answered (Q6). (G2)
    pub fn read(&mut self, epoch: Epoch, of: ListVersion, own: ListVersion) -> Option<TableRead> {
        if epoch < self.kept.promised || of < own {
            return None;
        }
        self.kept.promised = epoch;
        Some(TableRead { table: self.kept.table.clone(), promises: self.report() })
    }

    /// A coordinator proposes a table.
    pub fn store(&mut self, table: &Arc<LockTable>, own: ListVersion) -> StoreAnswer {
        let (version, epoch) = (table.version(), table.version().epoch);
        if version == self.version() {
            return StoreAnswer::Stored;
        }
        let late = epoch < self.kept.promised && !Fault::OlderProposal.is_planted();
        if version < self.version() || late {
            return StoreAnswer::Outdated;
        }
        if table.list() != own {
            return StoreAnswer::OtherList;
        }
        if self.is_bound_against(table) {
            if self.awaited.as_ref().is_none_or(|awaited| awaited.version() < version) {
                self.awaited = Some(table.clone());
            }
            return StoreAnswer::Wait(self.report());
        }
        self.kept =
            KeptTable { table: Some(table.clone()), promised: epoch.max(self.kept.promised) };
        self.done = false;
        self.awaited.take_if(|awaited| awaited.version() <= version);
        StoreAnswer::Stored
    }

    /// Whether a promise forbids it to store this table. After a restart it does not know its promises, but each of them
    /// was made by the table that it has, or an earlier one: it stores what takes no more than that. (G4, G6)
    fn is_bound_against(&self, table: &LockTable) -> bool {
        if Fault::StoredWhileSupported.is_planted() {
            return false;
        }
        let first = LockTable::default();
        let own = self.kept.table.as_deref().unwrap_or(&first);
        let takes = |(to, promise): (&Life, &TakingPromise)| {
            if Fault::OwnTableAlone.is_planted() {
                return own.has_more_of(*to, table);
            }
            table.takes_from(*to, promise.known)
        };
        let recovers = self.recovers_until.is_some() && !table.takes_no_more_than(own);
        recovers || self.promises.iter().any(takes)
    }

    /// A member of this list, the voter's own, asks for a promise; the last done table that it knows has this version.
    /// Returns whether the voter promises. The caller refuses a length beyond the longest (L2).
    ///
    /// A voter whose table takes something from the member that it does not know of promises it nothing (G5): that table
    /// may be done, and the name another's. Nor does it prolong what keeps it from storing a table. A voter without a
    /// table supports nobody. (G6)
    pub fn promise(&mut self, list: &MemberList, to: Life, known: Version, until: Time) -> bool {
        let Some(own) = &self.kept.table else { return false };
        let trapped = own.takes_from(to, known) && !Fault::NoTrap.is_planted();
        let awaited = self.awaited.as_ref().is_some_and(|table| table.takes_from(to, known));
        if list.get(to.member).is_none() || trapped || awaited {
            return false;
        }
        let promise = self.promises.entry(to).or_insert(TakingPromise { known, until });
        promise.known = promise.known.max(known);
        promise.until = promise.until.max(until);
        true
    }

    /// The promise to this life is over: its time has come, or the life is certified to be over. One to a later life of
    /// the member runs on. (G7)
    pub fn free(&mut self, life: Life) {
        let any = |to: &Life| to.member == life.member && Fault::AnyHolder.is_planted();
        self.promises.retain(|to, _| *to != life && !any(to));
    }

    /// All promises of before its start are over.
    pub fn recovered(&mut self) {
        self.recovers_until = None;
    }

    /// Ends what ends by now.
    pub fn end_promises(&mut self, now: Time) {
        self.recovers_until.take_if(|until| *until <= now);
        self.promises.retain(|_, promise| promise.until > now);
    }

    /// The newest table that a promise kept it from storing.
    pub fn awaited(&self) -> Option<Arc<LockTable>> {
        self.awaited.clone()
    }

    /// Its disk holds nothing, and it was told the greatest epoch so far.
    pub fn begin_empty(&mut self, told: Epoch) {
        self.kept = KeptTable::first(told);
    }

    /// When the next promise ends.
    pub fn deadline(&self) -> Option<Time> {
        self.promises.values().map(|promise| promise.until).chain(self.recovers_until).min()
    }

    pub fn report(&self) -> PromiseReport {
        let to = self.promises.keys().copied().collect();
        PromiseReport { to_all: self.recovers_until.is_some(), to }
    }

    /// A coordinator says that the table of this version is done.
    pub fn learn_done(&mut self, version: Version) {
        self.done |= self.kept.table.is_some() && version == self.version();
    }

    /// The stored table, if it is done: members that missed that learn it from this voter. (G1)
    pub fn done_table(&self) -> Option<&Arc<LockTable>> {
        let done = self.done || Fault::ActOnStored.is_planted();
        self.kept.table.as_ref().filter(|_| done)
    }
}
