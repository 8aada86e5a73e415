//! What a member says and stores: what relies on a record goes out once that is durable.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{LockMember, LockOutput};
use crate::core::locks::coordination::ElectionView;
use crate::core::locks::periods::RunEnd;
use crate::core::locks::table::{LockName, LockTable};
use crate::core::locks::voter::KeptTable;
use crate::core::locks::word::{LockWord, MOST_RELEASED};
use crate::core::types::{NodeId, Time};

impl LockMember {
    pub(super) fn say(&mut self, to: NodeId, word: LockWord, out: &mut Vec<LockOutput>) {
        if to == self.life.member {
            self.own.push_back(word);
        } else {
            out.push(LockOutput::Say { to, word });
        }
    }

    /// Says this once all that the voter has stored by now is durable.
    pub(super) fn say_durable(&mut self, to: NodeId, word: LockWord, out: &mut Vec<LockOutput>) {
        let (last, durable) = self.records;
        if last == durable {
            self.say(to, word, out);
        } else if !self.waiting.iter().any(|(_, whom, waits)| *whom == to && *waits == word) {
            self.waiting.push((last, to, word));
        }
    }

    /// The voter has something to store, if anything is new.
    pub(super) fn keep(&mut self, before: &KeptTable, out: &mut Vec<LockOutput>) {
        if self.voter.kept() != before {
            self.records.0 += 1;
            out.push(LockOutput::Keep { number: self.records.0, kept: self.voter.kept().clone() });
        }
    }

    pub(super) fn kept(&mut self, number: u64, out: &mut Vec<LockOutput>) {
        self.records.1 = self.records.1.max(number);
        if let Some((_, longer)) = self.longer.take_if(|(record, _)| *record <= number) {
            self.longest = longer;
        }
        let due: Vec<_> = self.waiting.extract_if(.., |(record, ..)| *record <= number).collect();
        due.into_iter().for_each(|(_, to, word)| self.say(to, word, out));
    }

    /// It tells the leader what it wants, all of it if the leader does not have that yet, and what it gave back.
    pub(super) fn say_wants(&mut self, leader: NodeId, out: &mut Vec<LockOutput>) {
        let is_told = std::mem::replace(&mut self.is_told, true);
        let word = LockWord::Want {
            life: self.life,
            number: self.wanted,
            wants: (!is_told).then(|| self.wants.clone()),
            released: self.some_released(),
            promises: self.voter.report(),
            rules: self.rules.digest,
            periods: self.period_wants(),
        };
        self.say(leader, word, out);
    }

    /// As much of what it gave back as a word says at a time.
    fn some_released(&self) -> BTreeMap<LockName, u64> {
        let released = self.holder.released().iter().take(MOST_RELEASED);
        released.map(|(name, token)| (name.clone(), *token)).collect()
    }

    /// A table is done. What else was given back than one word says comes next.
    pub(super) fn learn(&mut self, view: &ElectionView, table: &Arc<LockTable>) {
        let before = self.holder.released().len();
        self.holder.learn(table);
        let left = self.holder.released().len();
        if before > MOST_RELEASED && (1..before).contains(&left) {
            self.beat = view.now;
        }
    }

    /// The coordinator did not take what it gave back: it sends that by all voters, which may reach the coordinator.
    pub(super) fn repeat_released(&mut self, view: &ElectionView, out: &mut Vec<LockOutput>) {
        let is_late = |since: &Time| view.now.since(*since) >= view.timing.heartbeat;
        self.gave.take_if(|_| self.holder.released().is_empty());
        if !self.gave.as_ref().is_some_and(is_late) {
            return;
        }
        let own = self.life.member;
        let (released, ended) = (self.some_released(), self.some_ended());
        for voter in view.list.voters().filter(|voter| *voter != own) {
            let (released, ended) = (released.clone(), ended.clone());
            self.say(voter, LockWord::Gave { released, ended, passed: false }, out);
        }
    }

    /// A voter that does not coordinate passes on what a holder gave back, once.
    pub(super) fn pass_on(
        &mut self,
        view: &ElectionView,
        from: NodeId,
        (released, ended): (BTreeMap<LockName, u64>, BTreeMap<LockName, RunEnd>),
        out: &mut Vec<LockOutput>,
    ) {
        if let Some((leader, _)) = view.leader.filter(|(leader, _)| *leader != from) {
            self.say(leader, LockWord::Gave { released, ended, passed: true }, out);
        }
    }
}
