//! A member and the names that are held once in each period.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{LockMember, LockOutput};
use crate::core::locks::coordination::ElectionView;
use crate::core::locks::periods::{AgreedTime, RunEnd, WallTime};
use crate::core::locks::recurring::{OnceWants, PeriodWants, PeriodsKnown};
use crate::core::locks::table::{LockName, LockTable};
use crate::core::locks::word::{LockWord, MOST_RELEASED};
use crate::core::types::NodeId;

impl LockMember {
    /// Of the names that it wants these are held once in each period.
    pub fn want_once(&mut self, view: &ElectionView, once: OnceWants) {
        if once != self.periods.once {
            self.periods.once = once;
            self.beat = view.now;
        }
    }

    pub fn once(&self) -> &OnceWants {
        &self.periods.once
    }

    /// The run for which it held the name ended so, and it gives the name back.
    pub fn end_run(&mut self, view: &ElectionView, name: &LockName, end: RunEnd) {
        if self.holder.end_run(name, end).is_some() {
            self.beat = view.now;
        }
    }

    pub fn periods(&self) -> &PeriodsKnown {
        &self.periods.known
    }

    /// What the coordinator is to know of them.
    pub(super) fn period_wants(&self) -> PeriodWants {
        PeriodWants { once: self.periods.once.clone(), ended: self.some_ended() }
    }

    /// How the runs ended of some of what it gave back.
    pub(super) fn some_ended(&self) -> BTreeMap<LockName, RunEnd> {
        let ended = self.holder.ended().iter().take(MOST_RELEASED);
        ended.map(|(name, end)| (name.clone(), *end)).collect()
    }

    /// A coordinator that has to know the time asks for it, and says what it knows.
    pub(super) fn say_time(&mut self, view: &ElectionView, out: &mut Vec<LockOutput>) {
        let Some(present) = &mut self.coordination else { return };
        present.end_forgets(view);
        if !present.needs_time() {
            return;
        }
        let blank = LockTable::default();
        let periods = present.periods(view, present.table.done().map_or(&blank, |table| table));
        let time = periods.time();
        let words: Vec<(NodeId, LockWord)> = (view.list.iter())
            .map(|member| (member.id, present.differing_periods(&periods, member.id)))
            .map(|(id, differ)| (id, LockWord::Clock { time, differ }))
            .collect();
        words.into_iter().for_each(|(to, word)| self.say(to, word, out));
    }

    /// The coordinator says what time it is.
    pub(super) fn hear_time(
        &mut self,
        view: &ElectionView,
        from: NodeId,
        (time, differ): (Option<WallTime>, BTreeSet<LockName>),
        out: &mut Vec<LockOutput>,
    ) {
        if view.leader.is_none_or(|(leader, _)| leader != from) {
            return;
        }
        self.periods.known = PeriodsKnown {
            agreed: time.map(|time| AgreedTime { time, at: view.now }),
            differ: Arc::new(differ),
        };
        if view.list.is_voter(self.life.member) {
            self.say(from, LockWord::Wall { time: view.wall }, out);
        }
    }
}
