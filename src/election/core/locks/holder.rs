//! A holder: what it holds by the last done table, and for how long a majority of the voters supports it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::periods::RunEnd;
use super::table::{Life, LockName, LockTable};
use crate::core::bounds;
use crate::core::membership::{ListVersion, MemberList};
use crate::core::planted::Fault;
use crate::core::types::{NodeId, Time, Version};

/// The promises of the voters of one list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Support {
    list: Arc<MemberList>,
    /// Until when this member may rely on the promise of each voter.
    until: BTreeMap<NodeId, Time>,
}

impl Support {
    fn new(list: Arc<MemberList>) -> Support {
        Support { list, until: BTreeMap::new() }
    }

    /// Until when a majority supports this member.
    fn end(&self) -> Time {
        bounds::bound_by(self.until.values().copied(), self.list.majority())
    }
}

/// One life of a member that may hold names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockHolder {
    life: Life,
    /// The newest done table that it knows.
    table: Option<Arc<LockTable>>,
    /// What it gave back, and the token of each, as long as its table does not say so.
    released: BTreeMap<LockName, u64>,
    /// How the runs of these ended, as far as it knows.
    ended: BTreeMap<LockName, RunEnd>,
    support: Support,
    /// What the voters of the list before promised; it lasts until it ends. Only the next change of the list waits for
    /// that, so there is no other before it. (G9)
    before: Option<Support>,
}

impl LockHolder {
    /// A member that starts now: it holds nothing.
    pub fn new(life: Life, list: Arc<MemberList>) -> LockHolder {
        let (released, ended) = (BTreeMap::new(), BTreeMap::new());
        LockHolder { life, table: None, released, ended, support: Support::new(list), before: None }
    }

    pub fn life(&self) -> Life {
        self.life
    }

    /// The version of the last done table that it knows: it asks the voters for promises with that. (G5)
    pub fn known(&self) -> Version {
        self.table.as_ref().map(|table| table.version()).unwrap_or_default()
    }

    /// The newest done table that it knows.
    pub fn table(&self) -> Option<&Arc<LockTable>> {
        self.table.as_ref()
    }

    /// A coordinator, or a voter that knows it, says that this table is done. (G1)
    pub fn learn(&mut self, table: &Arc<LockTable>) {
        if self.table.is_some() && table.version() <= self.known() {
            return;
        }
        // Tokens only grow: one that is gone never comes again.
        self.released
            .retain(|name, token| table.get(name).is_some_and(|hold| hold.token == *token));
        self.ended.retain(|name, _| self.released.contains_key(name));
        self.table = Some(table.clone());
    }

    /// A voter promised this member, by this list, what it asked for at this time and for this long. The promise began
    /// after that, by another clock. An answer by another list than this member's counts for nothing. (G8, G9)
    pub fn count(&mut self, voter: NodeId, list: ListVersion, sent: Time, length: Duration) {
        let support = &mut self.support;
        let same = list == support.list.version() || Fault::ListUnnamed.is_planted();
        if same && support.list.is_voter(voter) {
            let until = sent + bounds::certain(length);
            let latest = support.until.entry(voter).or_insert(until);
            *latest = until.max(*latest);
        }
    }

    /// Counts this voter no more.
    pub fn uncount(&mut self, voter: NodeId) {
        for support in [Some(&mut self.support), self.before.as_mut()].into_iter().flatten() {
            support.until.remove(&voter);
        }
        self.before.take_if(|before| before.until.is_empty());
    }

    /// The voters whose promises it counts, each with the list by which that voter promised.
    pub fn counted(&self) -> impl Iterator<Item = (ListVersion, NodeId)> {
        let all = [Some(&self.support), self.before.as_ref()].into_iter().flatten();
        all.flat_map(|support| support.until.keys().map(|voter| (support.list.version(), *voter)))
    }

    /// The member list changed. If its voters did not, what they promised counts on.
    pub fn adopt_list(&mut self, list: Arc<MemberList>) {
        if list.voters().eq(self.support.list.voters()) {
            self.support.list = list;
        } else {
            let before = std::mem::replace(&mut self.support, Support::new(list));
            self.before = Some(before).filter(|before| !before.until.is_empty());
        }
    }

    pub fn list(&self) -> &Arc<MemberList> {
        &self.support.list
    }

    /// Until when it may act under the names that it holds.
    pub fn supported_until(&self) -> Time {
        let before = self.before.as_ref().map(Support::end).unwrap_or_default();
        self.support.end().max(before)
    }

    /// The token under which it may act in this name now. (G10)
    pub fn token(&self, name: &LockName, now: Time) -> Option<u64> {
        let hold = self.table.as_ref()?.get(name).filter(|hold| hold.by == self.life)?;
        let given_back =
            self.released.get(name) == Some(&hold.token) && !Fault::ReleasedActs.is_planted();
        (now < self.supported_until() && !given_back).then_some(hold.token)
    }

    /// All names in which it may act as long as it is supported, with their tokens.
    pub fn held(&self) -> impl Iterator<Item = (&LockName, u64)> {
        let all = self.table.iter().flat_map(|table| table.iter());
        let own = all.filter(|(_, hold)| hold.by == self.life);
        let own = own.map(|(name, hold)| (name, hold.token));
        own.filter(|(name, token)| self.released.get(*name) != Some(token))
    }

    /// Whether it may act in any name as long as it is supported.
    pub fn is_holding(&self) -> bool {
        // What it gave back is in its table still.
        self.table.as_ref().is_some_and(|table| table.count_of(self.life) > self.released.len())
    }

    /// The token under which it may act in this name as long as it is supported.
    pub fn held_token(&self, name: &LockName) -> Option<u64> {
        let hold = self.table.as_ref()?.get(name).filter(|hold| hold.by == self.life)?;
        (self.released.get(name) != Some(&hold.token)).then_some(hold.token)
    }

    /// What it gave back, as far as its table does not say so, each with its token.
    pub fn released(&self) -> &BTreeMap<LockName, u64> {
        &self.released
    }

    /// How the runs ended of what it gave back, as far as its table does not say so.
    pub fn ended(&self) -> &BTreeMap<LockName, RunEnd> {
        &self.ended
    }

    /// Gives a name back that it held for a run, which ended so.
    pub fn end_run(&mut self, name: &LockName, end: RunEnd) -> Option<u64> {
        let token = self.release(name)?;
        self.ended.insert(name.clone(), end);
        Some(token)
    }

    /// Gives a name back: its work has ended. It never acts under that token again, and the token is what the coordinator
    /// is to be sent. (G10)
    pub fn release(&mut self, name: &LockName) -> Option<u64> {
        let token = self.held_token(name)?;
        self.released.insert(name.clone(), token);
        Some(token)
    }
}
