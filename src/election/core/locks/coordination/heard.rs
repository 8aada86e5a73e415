//! What a coordinator has heard of another member, and what counts of the names that it wants once in each period.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::core::locks::periods::{self, OncePer, PeriodRun, WallTime};
use crate::core::locks::recurring::PeriodWants;
use crate::core::locks::table::{Life, LockName, LockTable, MOST_RUNS, TableChange};
use crate::core::locks::want::LockWants;
use crate::core::types::Time;

/// What the coordinator knows of another member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeardMember {
    pub(super) life: Life,
    pub(super) heard: Time,
    pub(super) wants: Arc<LockWants>,
    /// Under which number the member sent these.
    pub(super) number: u64,
    /// The hash of what its configuration says of locks.
    pub(super) rules: u64,
    pub(super) released: BTreeMap<LockName, u64>,
    pub(super) periods: PeriodWants,
}

/// What counts of names that are held once in each period, made once for all that goes by it.
pub struct PeriodsNow<'a> {
    pub(super) table: &'a LockTable,
    /// What time it is, if that is known. (G14)
    pub(super) time: Option<WallTime>,
    /// The periods that count for each name for which any candidate has some; none if the name is held like any other.
    pub(super) once: BTreeMap<&'a LockName, Option<OncePer>>,
}

impl PeriodsNow<'_> {
    pub fn time(&self) -> Option<WallTime> {
        self.time
    }

    /// Whether this member wants the name in the periods that count.
    pub(super) fn keeps(&self, known: &HeardMember, name: &LockName) -> bool {
        let counts = self.once.get(name);
        counts.is_none_or(|counts| known.periods.once.get(name).copied() == *counts)
    }

    /// Whether this member may hold the name now, if nobody does: one that is held once in each period only if its run is
    /// due. (G13)
    pub(super) fn may_hold(&self, known: &HeardMember, name: &LockName) -> bool {
        let Some(Some(once)) = self.once.get(name) else { return self.keeps(known, name) };
        let last = self.table.run(name);
        let has_room = last.is_some() || self.table.runs().len() < MOST_RUNS;
        let is_due = |now| periods::is_due(last, *once, now);
        has_room && self.keeps(known, name) && self.time.is_some_and(is_due)
    }

    /// The runs for which these names are taken. (G13)
    pub(super) fn begun(&self, placed: &[TableChange]) -> Vec<TableChange> {
        let Some(now) = self.time else { return Vec::new() };
        let begun = placed.iter().filter_map(|change| {
            let TableChange::Take { name, by } = change else { return None };
            let once = self.once.get(name).copied().flatten()?;
            let until = periods::until(self.table.run(name), once, now);
            // The change gives it the token of the taking.
            let run = PeriodRun { once, until, token: 0, by: by.member, begun: now, end: None };
            Some(TableChange::Begin { name: name.clone(), run })
        });
        begun.collect()
    }
}
