//! What a node asks of its member in the locks, and the simulator does not.

use std::sync::Arc;
use std::time::Duration;

use super::{LockMember, LockOutput};
use crate::core::locks::coordination::{Coordination, ElectionView};
use crate::core::locks::placing::{LockWish, rebalance};
use crate::core::locks::rules::LockRules;
use crate::core::locks::table::{LockName, LockTable, TableChange};
use crate::core::locks::word::LockWants;
use crate::core::types::{NodeId, Time};

/// A name that were better held by another member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BetterPlace {
    pub name: LockName,
    pub from: NodeId,
    pub to: NodeId,
    pub why: WhyBetter,
}

/// Why another member were the better holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyBetter {
    /// That member holds the name that this one is to be held with.
    Beside,
    /// That member is preferred to the holder: by the configuration, or only as the holder failed with it lately.
    Preferred { more_than_others: bool },
    /// That member has less work.
    Lighter,
}

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

    /// Goes by these settings from now on, while it coordinates.
    pub fn set_rules(&mut self, rules: Arc<LockRules>) {
        if let Some(present) = &mut self.coordination {
            present.set_rules(rules.clone());
        }
        self.rules = rules;
    }

    /// The members whose configuration says something else of locks than this one's, as far as it coordinates.
    pub fn differing(&self) -> Vec<NodeId> {
        self.coordination.as_ref().map(Coordination::differing).unwrap_or_default()
    }

    /// The names that were better held elsewhere, as far as it coordinates. (G12)
    pub fn better_places(&self, view: &ElectionView) -> Vec<BetterPlace> {
        let Some(present) = &self.coordination else { return Vec::new() };
        let Some(table) = present.table.done() else { return Vec::new() };
        // A run ends where it is.
        let runs = |wish: &LockWish| {
            let token = table.get(&wish.name).map(|hold| hold.token);
            table.run(&wish.name).is_some_and(|run| Some(run.token) == token)
        };
        let wishes = present.to_place(view, &present.periods(view, table)).into_iter();
        let wishes: Vec<LockWish> = wishes.filter(|wish| !runs(wish)).collect();
        let better = |change| {
            let TableChange::Move { name, to, .. } = change else { return None };
            let wish = wishes.iter().find(|wish| wish.name == name && !wish.is_ordered())?;
            let hold = table.get(&name)?;
            let (old, new) = (wish.preference(hold.by), wish.preference(to)?);
            let why = match &wish.with {
                Some(with) if table.get(with).is_some() => WhyBetter::Beside,
                _ if Some(new) > old => WhyBetter::Preferred { more_than_others: new > 1 },
                _ => WhyBetter::Lighter,
            };
            Some(BetterPlace { name, from: hold.by.member, to: to.member, why })
        };
        rebalance(table, &wishes).into_iter().filter_map(better).collect()
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

    /// Whether the voters may change, as far as it coordinates. Where nobody wants or holds anything, it has to know that
    /// from a majority: one that was elected just now may have missed all tables. (G9)
    pub fn may_change_list(&self, now: Time) -> bool {
        let (longest, idle) = (self.longest(), self.is_idle());
        self.coordination.as_ref().is_some_and(|it| {
            (idle && it.table.has_read_nothing()) || it.table.may_change_list(now, longest)
        })
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
