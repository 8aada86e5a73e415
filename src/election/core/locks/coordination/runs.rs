//! What a coordinator does for names that are held once in each period.

use std::collections::BTreeSet;

use super::heard::{HeardMember, PeriodsNow};
use super::{Coordination, ElectionView};
use crate::core::locks::periods::{OncePer, WallTime};
use crate::core::locks::table::{LockName, LockTable, MOST_RUNS, TableChange};
use crate::core::locks::word::LockWord;
use crate::core::planted::Fault;
use crate::core::types::{NodeId, Time};

/// A run is forgotten within so many times `failure`, or not at all.
const FORGETTING: u32 = 4;

impl Coordination {
    /// A word about runs came: a voter says what its clock shows, or an operator wants a run forgotten.
    pub fn hear_of_runs(&mut self, now: Time, from: NodeId, word: LockWord) {
        match word {
            LockWord::Wall { time } => {
                self.runs.clocks.hear(from, time, now);
                self.is_later = true;
            }
            LockWord::Forget { name } => self.forget(now, name),
            _ => {}
        }
    }

    /// An operator wants the last run under this name forgotten.
    pub fn forget(&mut self, now: Time, name: LockName) {
        if self.runs.forgets.len() < MOST_RUNS {
            self.runs.forgets.insert(name, now);
            self.is_due = true;
        }
    }

    /// An operator does not wait for longer.
    pub fn end_forgets(&mut self, view: &ElectionView) {
        let patience = view.timing.failure * FORGETTING;
        self.runs.forgets.retain(|_, since| view.now.since(*since) < patience);
    }

    /// Whether it has to know what time it is.
    pub fn needs_time(&self) -> bool {
        let wanted = self.members.values().any(|known| !known.periods.once.is_empty());
        wanted || !self.runs.forgets.is_empty()
    }

    /// Whether a name may be held for a run by now, or a run forgotten.
    pub(super) fn has_due_run(&self, view: &ElectionView) -> bool {
        if !self.needs_time() {
            return false;
        }
        let Some(table) = self.table.done() else { return false };
        let now = self.periods(view, table);
        let present = self.members.values().filter(|known| !self.is_gone(view, known.life));
        let mut names =
            present.flat_map(|known| known.periods.once.keys().map(move |it| (known, it)));
        let wants = |(known, name): (&HeardMember, &LockName)| {
            known.wants.contains_key(name) && table.get(name).is_none() && now.may_hold(known, name)
        };
        names.any(wants) || !self.ended(&now).is_empty()
    }

    /// What time it is, if a majority of the voters said of late what their clocks show. (G14)
    pub fn time(&self, view: &ElectionView) -> Option<WallTime> {
        if Fault::OwnClock.is_planted() {
            return Some(view.wall);
        }
        let (voters, majority) = (view.list.voters(), view.list.majority());
        self.runs.clocks.time(voters, majority, (view.now, view.timing.failure))
    }

    /// Of candidates that differ those are right that have the periods of the last run, else those of the first member.
    pub fn periods<'a>(&'a self, view: &ElectionView, table: &'a LockTable) -> PeriodsNow<'a> {
        let present = || self.members.values().filter(|known| !self.is_gone(view, known.life));
        let names: BTreeSet<&LockName> =
            present().flat_map(|known| known.periods.once.keys()).collect();
        let counts = |name: &LockName| {
            let wants = present().filter(|known| known.wants.contains_key(name));
            let all: Vec<Option<OncePer>> =
                wants.map(|known| known.periods.once.get(name).copied()).collect();
            let last = table.run(name).map(|run| run.once);
            let same = all.iter().copied().flatten().find(|once| Some(*once) == last);
            same.or_else(|| all.first().copied().flatten())
        };
        let once = names.into_iter().map(|name| (name, counts(name))).collect();
        PeriodsNow { table, time: self.time(view), once }
    }

    /// The names for which this member has other periods than those that count.
    pub fn differing_periods(&self, now: &PeriodsNow<'_>, member: NodeId) -> BTreeSet<LockName> {
        let Some(known) = self.members.get(&member) else { return BTreeSet::new() };
        // A name for which nobody has periods is held like any other.
        let named = now.once.keys().filter(|name| known.wants.contains_key(**name));
        named.filter(|name| !now.keeps(known, name)).map(|name| (*name).clone()).collect()
    }

    /// How runs ended by what their hosts gave back, and what is to be forgotten.
    pub(super) fn ended(
        &self,
        PeriodsNow { table, time, .. }: &PeriodsNow<'_>,
    ) -> Vec<TableChange> {
        let ended = self.members.values().flat_map(|known| {
            let token = |name| known.released.get(name).copied();
            let ended = known.periods.ended.iter();
            ended.filter_map(move |(name, end)| Some((name, token(name)?, *end)))
        });
        let passed = self.runs.passed.iter();
        let passed = passed.filter_map(|(name, end)| Some((name, *self.passed.get(name)?, *end)));
        let ended = ended.chain(passed);
        let is_news = |(name, token, end): &(&LockName, u64, _)| {
            let run = table.run(name).filter(|run| run.token == *token);
            run.is_some_and(|run| run.end != Some(*end))
        };
        let ended = ended.filter(is_news).map(|(name, token, end)| {
            let name = name.clone();
            TableChange::End { name, token, end }
        });
        let is_over = |name: &&LockName| {
            let run = table.run(name).filter(|_| table.get(name).is_none());
            run.is_some_and(|run| time.is_some_and(|now| now >= run.until))
        };
        let forgotten = self.runs.forgets.keys().filter(is_over);
        ended.chain(forgotten.map(|name| TableChange::Forget { name: name.clone() })).collect()
    }
}
