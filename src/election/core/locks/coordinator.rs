//! The coordinator: the elected leader, which alone changes the table in its epoch.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::table::{ChangeRefusal, ChangedTable, Life, LockTable, TableChange};
use super::voter::{PromiseReport, TableRead};
use crate::core::membership::MemberList;
use crate::core::planted::Fault;
use crate::core::types::{Epoch, NodeId, Time, Version};

/// A table that voters are asked to store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ProposedTable {
    table: Arc<LockTable>,
    /// What made it out of the base.
    changes: Vec<TableChange>,
    stored: BTreeSet<NodeId>,
    /// The voters that a promise keeps from storing it.
    waiting: BTreeSet<NodeId>,
}

/// The changes that were not made, and why.
pub type RefusedChanges = Vec<(TableChange, ChangeRefusal)>;

/// The leader of one epoch, as the coordinator of the locks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TableCoordinator {
    epoch: Epoch,
    list: Arc<MemberList>,
    /// The tables of the voters, until a majority has been read.
    reads: BTreeMap<NodeId, Option<Arc<LockTable>>>,
    /// What the next table is made of: the adopted table, later the last one that is done; none until it is read.
    base: Option<Arc<LockTable>>,
    /// Whether the base is done.
    done: bool,
    /// The version of the last table that it adopted or proposed.
    last: Version,
    open: Option<ProposedTable>,
    /// The last report of each voter.
    reports: BTreeMap<NodeId, PromiseReport>,
    /// Since when a majority of the present list has stored a table that was made for it.
    settled: Option<Time>,
    /// The voters that store nothing of this epoch, as they lost their disk, or joined, in it.
    later: BTreeSet<NodeId>,
    /// The voters that say that they know of nothing that is held, until these are a majority.
    bare: BTreeSet<NodeId>,
    read_nothing: bool,
}

impl TableCoordinator {
    /// A leader that begins: it reads the tables of the voters first.
    pub fn new(epoch: Epoch, list: Arc<MemberList>) -> TableCoordinator {
        TableCoordinator {
            epoch,
            list,
            reads: BTreeMap::new(),
            base: None,
            done: false,
            last: Version::default(),
            open: None,
            reports: BTreeMap::new(),
            settled: None,
            later: BTreeSet::new(),
            bare: BTreeSet::new(),
            read_nothing: false,
        }
    }

    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub fn list(&self) -> &Arc<MemberList> {
        &self.list
    }

    /// A voter answered the reading. Once a majority has, the coordinator adopts the newest of their tables: what was done
    /// before is in it. A voter without a table counts for nothing, as it may have lost what was done, unless all voters
    /// were read: then one of them has what was done. (G2, G6)
    pub fn read(&mut self, voter: NodeId, read: TableRead) {
        if !self.list.is_voter(voter) {
            return;
        }
        self.reports.insert(voter, read.promises);
        if self.base.is_some() {
            return;
        }
        if read.table.as_ref().is_none_or(|table| table.is_bare()) {
            self.read_bare(voter);
        }
        self.reads.insert(voter, read.table);
        let counts =
            |table: &&Option<Arc<LockTable>>| table.is_some() || Fault::EmptyCounts.is_planted();
        let enough = self.reads.values().filter(counts).count() >= self.list.majority();
        let newest = if Fault::NothingAdopted.is_planted() {
            self.reads.values().flatten().min_by_key(|table| table.version())
        } else {
            self.reads.values().flatten().max_by_key(|table| table.version())
        };
        if enough || self.reads.len() == self.list.voters().count() {
            let base = newest.cloned().unwrap_or_default();
            self.last = base.version();
            self.base = Some(base);
            self.reads.clear();
        }
    }

    /// Whether it may propose a table: it has read a majority, and no other proposal is under way.
    pub fn is_ready(&self) -> bool {
        self.base.is_some() && self.open.is_none()
    }

    /// Proposes these changes, as one table, if it is ready. Without changes it only gives the adopted table a version in
    /// this epoch, which is the first thing that a new coordinator has to do. Returns the changes that were not made.
    pub fn propose(&mut self, changes: Vec<TableChange>) -> RefusedChanges {
        let Some(base) = self.base.clone().filter(|_| self.open.is_none()) else {
            return changes.into_iter().map(|change| (change, ChangeRefusal::NotReady)).collect();
        };
        let (changes, mut refused) = self.without_supported(changes);
        self.last = self.last.next(self.epoch);
        let changed = base.changed(self.last, &self.list, changes);
        let ChangedTable { table, made, refused: not_made } = changed;
        refused.extend(not_made);
        let (stored, waiting) = (BTreeSet::new(), BTreeSet::new());
        self.open = Some(ProposedTable { table: Arc::new(table), changes: made, stored, waiting });
        refused
    }

    /// Nothing is taken from a member before a majority of the voters reported no promise to it. (G11)
    fn without_supported(&self, changes: Vec<TableChange>) -> (Vec<TableChange>, RefusedChanges) {
        let (mut made, mut refused) = (Vec::new(), Vec::new());
        for change in changes {
            match &change {
                TableChange::Strip(life) if !self.may_strip(*life) => {
                    refused.push((change, ChangeRefusal::Supported));
                }
                _ => made.push(change),
            }
        }
        (made, refused)
    }

    /// Whether a majority of the voters reported no promise to this life, or an earlier one of its member.
    pub fn may_strip(&self, life: Life) -> bool {
        let free = self.reports.values().filter(|report| !report.is_bound_to(life));
        free.count() >= self.list.majority()
    }

    /// A voter reports its promises.
    pub fn report(&mut self, voter: NodeId, report: PromiseReport) {
        if self.list.is_voter(voter) {
            self.reports.insert(voter, report);
        }
    }

    /// The table that the voters are to store.
    pub fn open(&self) -> Option<&Arc<LockTable>> {
        self.open.as_ref().map(|open| &open.table)
    }

    /// Whether this voter has stored it, as far as is known.
    pub fn has_stored(&self, voter: NodeId) -> bool {
        self.open.as_ref().is_some_and(|open| open.stored.contains(&voter))
    }

    /// A voter has stored the table of this version. Returns that table if it is done by that: a majority has stored it.
    /// An answer to a proposal that was withdrawn counts for nothing. (G1, G11)
    pub fn stored(&mut self, now: Time, voter: NodeId, version: Version) -> Option<Arc<LockTable>> {
        let open = self.open.as_mut()?;
        let same = open.table.version() == version || Fault::WithdrawnCounts.is_planted();
        if !same || !self.list.is_voter(voter) {
            return None;
        }
        open.waiting.remove(&voter);
        open.stored.insert(voter);
        if open.stored.len() < self.list.majority() {
            return None;
        }
        let table = self.open.take()?.table;
        self.base = Some(table.clone());
        self.done = true;
        self.settled = self.settled.or(Some(now));
        Some(table)
    }

    /// A voter may not store the proposal yet. If too many may not, the coordinator goes on without what is taken: returns
    /// the changes that wait. (G11)
    pub fn wait(
        &mut self,
        voter: NodeId,
        version: Version,
        report: PromiseReport,
    ) -> RefusedChanges {
        self.report(voter, report);
        let voters = self.list.voters().count();
        let waits = |open: &&mut ProposedTable| {
            open.table.version() == version && !open.stored.contains(&voter)
        };
        let Some(open) = self.open.as_mut().filter(waits).filter(|_| self.list.is_voter(voter))
        else {
            return Vec::new();
        };
        open.waiting.insert(voter);
        if voters - open.waiting.len().min(voters) >= self.list.majority() {
            return Vec::new();
        }
        self.withdraw()
    }

    /// Withdraws a proposal that takes something from somebody, and proposes the rest of it: also when a voter waits, and
    /// others do not answer. The table that a new coordinator adopted stays, as it may be done. (G11)
    pub fn withdraw(&mut self) -> RefusedChanges {
        let takes = |change: &TableChange| matches!(change, TableChange::Strip(_));
        let Some(open) = self.open.take_if(|open| open.changes.iter().any(takes)) else {
            return Vec::new();
        };
        let (taken, rest): (Vec<_>, Vec<_>) = open.changes.into_iter().partition(takes);
        let mut refused = self.propose(rest);
        refused.extend(taken.into_iter().map(|change| (change, ChangeRefusal::Supported)));
        refused
    }

    /// What the next table is made of: the adopted one, or the last that is done.
    pub fn base(&self) -> Option<&Arc<LockTable>> {
        self.base.as_ref()
    }

    /// The last table that this coordinator knows to be done: all members are to learn it.
    pub fn done(&self) -> Option<&Arc<LockTable>> {
        self.base.as_ref().filter(|_| self.done)
    }

    /// The member list changed: what is proposed is proposed anew, to the voters of that list. (G9)
    pub fn change_list(&mut self, list: Arc<MemberList>) -> RefusedChanges {
        self.list = list;
        self.settled = None;
        let voters: BTreeSet<NodeId> = self.list.voters().collect();
        self.reports.retain(|voter, _| voters.contains(voter));
        self.reads.retain(|voter, _| voters.contains(voter));
        self.bare.retain(|voter| voters.contains(voter));
        self.later.retain(|voter| voters.contains(voter));
        let open = self.open.take();
        if open.is_none() && !self.done {
            return Vec::new(); // nothing was proposed so far
        }
        self.propose(open.map(|open| open.changes).unwrap_or_default())
    }

    /// This voter stores nothing of this epoch, but of a later one. Returns whether it takes a later one to go on: the tables
    /// of a majority are not read yet, or too few voters are left that store what is proposed. (G6)
    pub fn needs_later(&mut self, voter: NodeId) -> bool {
        if self.list.is_voter(voter) {
            self.later.insert(voter);
        }
        self.read_bare(voter);
        let others = self.list.voters().filter(|voter| !self.later.contains(voter));
        self.base.is_none() || others.count() < self.list.majority()
    }

    /// This voter knows of nothing that is held.
    pub fn read_bare(&mut self, voter: NodeId) {
        if self.list.is_voter(voter) {
            self.bare.insert(voter);
            self.read_nothing |= self.bare.len() >= self.list.majority();
        }
    }

    /// Whether a majority of the voters knew of nothing that is held: nothing that was done before is missed then.
    pub fn has_read_nothing(&self) -> bool {
        self.read_nothing
    }

    /// Whether the voters may change: a majority of the present list has stored a table that was read from a majority of
    /// the list before, and all that voters promised by that list is over. (G9)
    pub fn may_change_list(&self, now: Time, longest: Duration) -> bool {
        let settled = self.settled.is_some_and(|since| since + longest <= now);
        settled || Fault::ListUnsettled.is_planted()
    }
}
