//! What a node asks of its member in the locks, and the simulator does not.

use std::sync::Arc;
use std::time::Duration;

use super::{LockMember, LockOutput};
use crate::core::locks::coordination::ElectionView;
use crate::core::locks::table::{LockName, LockTable};
use crate::core::locks::word::LockWants;
use crate::core::types::{NodeId, Time};

impl LockMember {
    /// The members that want names, as far as it knows: while it coordinates, all that spoke to it; else only itself.
    pub fn wishes(&self, view: &ElectionView) -> Vec<(NodeId, Arc<LockWants>)> {
        match &self.coordination {
            Some(present) => present.wishes(view).collect(),
            None => vec![(self.life.member, self.wants.clone())],
        }
    }

    /// An operator of the coordinator, which is this member, wants the last run under this name forgotten.
    pub fn forget_run(&mut self, now: Time, name: LockName) {
        if let Some(present) = &mut self.coordination {
            present.forget(now, name);
        }
    }

    /// Whether nobody wants or holds anything, as far as it knows: then it has nothing to say. Promises may still run, and
    /// keep it from nothing, as no table takes anything.
    pub fn is_idle(&self) -> bool {
        let is_empty = |table: Option<&Arc<LockTable>>| table.is_none_or(|it| it.is_empty());
        let proposes = self.coordination.as_ref().is_some_and(|it| it.table.open().is_some());
        let at_rest = self.wants.is_empty() && self.holder.released().is_empty() && !proposes;
        let tables = [self.holder.table(), self.voter.kept().table.as_ref()];
        at_rest && tables.into_iter().all(is_empty)
    }

    /// Whether the voters may change, as far as it coordinates. (G9)
    pub fn may_change_list(&self, now: Time) -> bool {
        let longest = self.longest();
        self.coordination.as_ref().is_none_or(|it| it.table.may_change_list(now, longest))
    }

    /// The longest promise that it makes from the next record on, which has to hold that: a later start waits for as long.
    pub fn lengthen(&mut self, longest: Duration, out: &mut Vec<LockOutput>) {
        if longest > self.longest && self.longer.is_none_or(|(_, longer)| longest > longer) {
            self.records.0 += 1;
            self.longer = Some((self.records.0, longest));
            let kept = self.voter.kept().clone();
            out.push(LockOutput::Keep { number: self.records.0, kept });
        }
    }

    /// The longest promise that it makes, or is about to make.
    pub fn longest(&self) -> Duration {
        self.longer.map_or(self.longest, |(_, longer)| longer)
    }
}
