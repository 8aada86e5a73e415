//! One member of a cluster with locks: its voter, its holder and, while it leads, the coordinator, with the words that go
//! between these and those of other members.
//!
//! It runs beside the election, which it asks who leads and by which list, and of which it changes nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::coordination::{Coordination, ElectionView};
use super::holder::LockHolder;
use super::recurring::MemberPeriods;
use super::rules::LockRules;
use super::table::{Life, LockName};
use super::voter::{KeptTable, StoreAnswer, TableVoter};
use super::word::{LockWants, LockWord};
use crate::core::types::{Epoch, NodeId, Time};

/// A proposal that takes something is withdrawn if it is not done within so many heartbeats: a voter may neither store it
/// nor answer. (G11)
const PATIENCE: u32 = 3;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LockInput {
    /// Time has passed, or the election has moved on.
    Tick,
    Word {
        from: NodeId,
        word: LockWord,
    },
    /// All records up to this number are durable.
    Kept {
        number: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LockOutput {
    Say {
        to: NodeId,
        word: LockWord,
    },
    /// Write this, and report with [`LockInput::Kept`] when it is durable.
    Keep {
        number: u64,
        kept: KeptTable,
    },
    /// This leader is to have itself elected anew: a voter that it needs shows its table only to a later epoch. (G6)
    Elect,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockMember {
    life: Life,
    voter: TableVoter,
    holder: LockHolder,
    wants: Arc<LockWants>,
    /// The number of these wants.
    wanted: u64,
    /// Of the names that are held once in each period.
    periods: MemberPeriods,
    /// Whether it sent these wants to the leader.
    is_told: bool,
    rules: Arc<LockRules>,
    /// Since when something is given back that its table does not say.
    gave: Option<Time>,
    coordination: Option<Coordination>,
    /// The longest promise that it makes.
    longest: Duration,
    /// A longer one that it makes once the record of this number is durable.
    longer: Option<(u64, Duration)>,
    leader: Option<(NodeId, Epoch)>,
    /// When it speaks next without being asked.
    beat: Time,
    /// When it asked for promises, and for how long, by the number.
    asked: BTreeMap<u64, (Time, Duration)>,
    number: u64,
    /// The numbers of the last record, and of the last that is durable.
    records: (u64, u64),
    /// What it says once the record of this number is durable.
    waiting: Vec<(u64, NodeId, LockWord)>,
    /// What it says to itself.
    own: VecDeque<LockWord>,
}

impl LockMember {
    /// A member that starts now, with what its disk holds.
    pub fn new(view: &ElectionView, life: Life, kept: KeptTable, longest: Duration) -> LockMember {
        LockMember {
            life,
            voter: TableVoter::new(view.now, kept, longest),
            holder: LockHolder::new(life, view.list.clone()),
            wants: Arc::default(),
            wanted: 0,
            periods: MemberPeriods::default(),
            is_told: false,
            rules: Arc::default(),
            gave: None,
            coordination: None,
            longest,
            longer: None,
            leader: None,
            beat: view.now,
            asked: BTreeMap::new(),
            number: 0,
            records: (0, 0),
            waiting: Vec::new(),
            own: VecDeque::new(),
        }
    }

    pub fn life(&self) -> Life {
        self.life
    }

    pub fn wants(&self) -> &Arc<LockWants> {
        &self.wants
    }

    /// The names that it wants from now on. What it holds beside these it has to release itself.
    pub fn want(&mut self, view: &ElectionView, wants: LockWants) {
        (self.wants, self.is_told) = (Arc::new(wants), false);
        self.wanted += 1;
        self.beat = view.now;
    }

    pub fn holder(&self) -> &LockHolder {
        &self.holder
    }

    /// Its work under a name has ended, and it gives the name back.
    pub fn release(&mut self, view: &ElectionView, name: &LockName) {
        if self.holder.release(name).is_some() {
            self.gave.get_or_insert(view.now);
            self.beat = view.now;
        }
    }

    /// When the caller has to call it again, if nothing happens before.
    pub fn deadline(&self) -> Time {
        self.voter.deadline().map_or(self.beat, |ends| ends.min(self.beat))
    }

    /// Takes one input, and appends what the caller carries out in this order.
    pub fn take(&mut self, view: &ElectionView, input: LockInput, out: &mut Vec<LockOutput>) {
        let ends = self.voter.deadline().is_some_and(|ends| ends <= view.now);
        self.voter.end_promises(view.now);
        self.follow(view);
        self.bury(view);
        if let (true, Some(table), Some((leader, _))) = (ends, self.voter.awaited(), view.leader) {
            self.hear_as_voter(view, leader, LockWord::Store { table }, out);
        }
        match input {
            LockInput::Tick => {}
            LockInput::Word { from, word } => self.hear(view, from, word, out),
            LockInput::Kept { number } => self.kept(number, out),
        }
        if self.beat <= view.now {
            self.beat(view, out);
        }
        self.coordinate(view, out);
        while let Some(word) = self.own.pop_front() {
            self.hear(view, self.life.member, word, out);
            self.coordinate(view, out);
        }
    }

    /// Goes by what the election knows by now.
    fn follow(&mut self, view: &ElectionView) {
        if self.holder.list().version() != view.list.version() {
            self.holder.adopt_list(view.list.clone());
        }
        if self.leader != view.leader {
            (self.leader, self.is_told) = (view.leader, false);
            self.beat = view.now;
        }
        if let (Some(told), true) = (view.told, *self.voter.kept() == KeptTable::default()) {
            self.voter.begin_empty(told);
        }
        let leads = view.leads(self.life.member);
        self.coordination.take_if(|present| Some(present.table.epoch()) != leads);
        match (&mut self.coordination, leads) {
            (Some(present), _) if present.table.list().version() != view.list.version() => {
                present.table.change_list(view.list.clone());
            }
            (None, Some(epoch)) => {
                let rules = self.rules.clone();
                self.coordination = Some(Coordination::new(epoch, rules, view));
            }
            _ => {}
        }
    }

    /// What the election proves to be over is so for the locks as well. (G7)
    fn bury(&mut self, view: &ElectionView) {
        for life in &view.over {
            self.voter.free(*life);
            if let Some(present) = &mut self.coordination {
                present.bury(*life);
            }
        }
    }

    /// It asks all voters for promises, tells the leader what it wants, and repeats what it proposes.
    fn beat(&mut self, view: &ElectionView, out: &mut Vec<LockOutput>) {
        self.beat = view.now + view.timing.heartbeat;
        self.number += 1;
        let (number, length) = (self.number, view.timing.lease);
        self.asked.retain(|_, (sent, length)| view.now.since(*sent) < *length);
        self.asked.insert(number, (view.now, length));
        let (life, known) = (self.life, self.holder.known());
        for voter in view.list.voters() {
            self.say(voter, LockWord::Ask { number, life, known, length }, out);
        }
        if let Some((leader, _)) = view.leader {
            self.say_wants(leader, out);
        }
        self.repeat_released(view, out);
        self.say_time(view, out);
        let Some(present) = &mut self.coordination else { return };
        present.is_later = true;
        let patient = view.timing.heartbeat * PATIENCE;
        if present.sent.is_some_and(|(_, since)| view.now.since(since) >= patient) {
            present.table.withdraw();
        }
        let (epoch, list) = (present.table.epoch(), view.list.version());
        if present.table.base().is_none() {
            for voter in view.list.voters() {
                self.say(voter, LockWord::Read { epoch, list }, out);
            }
        }
        self.send_open(view, true, out);
    }

    fn hear(
        &mut self,
        view: &ElectionView,
        from: NodeId,
        word: LockWord,
        out: &mut Vec<LockOutput>,
    ) {
        match word {
            LockWord::Read { .. } | LockWord::Store { .. } | LockWord::Ask { .. } => {
                self.hear_as_voter(view, from, word, out);
            }
            LockWord::Done { table } => {
                // A voter that missed it has it from now on as well.
                self.hear_as_voter(view, from, LockWord::Store { table: table.clone() }, out);
                self.voter.learn_done(table.version());
                self.learn(view, &table);
            }
            LockWord::Lacks => {
                self.is_told &= view.leader.is_none_or(|(leader, _)| leader != from);
            }
            LockWord::Promise { number, to, list } => {
                let asked = self.asked.get(&number).filter(|_| to == self.life.incarnation);
                if let Some((sent, length)) = asked {
                    self.holder.count(from, list, *sent, *length);
                }
            }
            LockWord::Clock { time, differ } => self.hear_time(view, from, (time, differ), out),
            LockWord::Gave { released, ended, passed: false } if self.coordination.is_none() => {
                self.pass_on(view, from, (released, ended), out);
            }
            word => self.hear_as_coordinator(view, from, word, out),
        }
    }

    /// A voter answers a coordinator once it has stored what it answers. Before it knows its cluster it answers nothing.
    fn hear_as_voter(
        &mut self,
        view: &ElectionView,
        from: NodeId,
        word: LockWord,
        out: &mut Vec<LockOutput>,
    ) {
        let (own, before) = (view.list.version(), self.voter.kept().clone());
        let (epoch, _) = word.claims();
        let is_durable = matches!(word, LockWord::Ask { .. }) || epoch <= view.reserved;
        if view.told.is_none() || !is_durable || !view.list.is_voter(self.life.member) {
            return;
        }
        let is_asked = matches!(word, LockWord::Read { .. } | LockWord::Store { .. });
        if is_asked && before.table.is_none() && epoch < before.promised {
            return self.say_durable(from, LockWord::Later { epoch: before.promised }, out);
        }
        match word {
            LockWord::Read { epoch, list } => {
                if let Some(read) = self.voter.read(epoch, list, own) {
                    self.keep(&before, out);
                    self.say_durable(from, LockWord::Table { epoch, read }, out);
                }
            }
            LockWord::Store { table } => {
                let version = table.version();
                match self.voter.store(&table, own) {
                    StoreAnswer::Stored => {
                        self.keep(&before, out);
                        self.say_durable(from, LockWord::Stored { version }, out);
                    }
                    StoreAnswer::Wait(promises) => {
                        self.say(from, LockWord::Waits { version, promises }, out);
                    }
                    StoreAnswer::Outdated | StoreAnswer::OtherList => {}
                }
            }
            LockWord::Ask { number, life, known, length } if life.member == from => {
                let until = view.now + length;
                let may = length <= self.longest;
                if may && self.voter.promise(&view.list, life, known, until) {
                    let promise = LockWord::Promise { number, to: life.incarnation, list: own };
                    self.say(from, promise, out);
                }
                let newer = self.voter.done_table().filter(|table| table.version() > known);
                if let Some(table) = newer.cloned() {
                    self.say(from, LockWord::Done { table }, out);
                }
            }
            _ => {}
        }
    }

    fn hear_as_coordinator(
        &mut self,
        view: &ElectionView,
        from: NodeId,
        word: LockWord,
        out: &mut Vec<LockOutput>,
    ) {
        let Some(present) = &mut self.coordination else { return };
        match word {
            LockWord::Table { epoch, read } if epoch == present.table.epoch() => {
                present.table.read(from, read);
            }
            LockWord::Later { epoch } if epoch > present.table.epoch() => {
                if present.hear_later(view, from) {
                    out.push(LockOutput::Elect);
                }
            }
            LockWord::Stored { version } => {
                let Some(table) = present.table.stored(view.now, from, version) else { return };
                present.is_due = true;
                for member in view.list.iter() {
                    self.say(member.id, LockWord::Done { table: table.clone() }, out);
                }
            }
            LockWord::Waits { version, promises } => {
                present.table.wait(from, version, promises);
            }
            LockWord::Want { life, number, wants, released, promises, rules, periods }
                if life.member == from =>
            {
                present.table.report(from, promises);
                let wants = (number, wants, rules);
                if present.hear(view.now, life, wants, (released, periods)) {
                    self.say(from, LockWord::Lacks, out);
                }
            }
            LockWord::Gave { released, ended, .. } => present.hear_released(released, ended),
            word => present.hear_of_runs(view.now, from, word),
        }
    }

    /// The coordinator does what there is to do by now.
    fn coordinate(&mut self, view: &ElectionView, out: &mut Vec<LockOutput>) {
        if let Some(present) = &mut self.coordination {
            present.propose(view);
            self.send_open(view, false, out);
        }
    }

    /// Sends the open proposal to the voters that have not stored it: if it is a new one, or once more.
    fn send_open(&mut self, view: &ElectionView, again: bool, out: &mut Vec<LockOutput>) {
        let Some(present) = &mut self.coordination else { return };
        let Some(table) = present.table.open().cloned() else {
            present.sent = None;
            return;
        };
        let is_sent = present.sent.is_some_and(|(version, _)| version == table.version());
        if is_sent && !again {
            return;
        }
        if !is_sent {
            present.sent = Some((table.version(), view.now));
        }
        let missing = |voter: &NodeId| !present.table.has_stored(*voter);
        let voters: Vec<NodeId> = view.list.voters().filter(missing).collect();
        for voter in voters {
            self.say(voter, LockWord::Store { table: table.clone() }, out);
        }
    }
}

pub mod outside;
mod periods;
mod saying;
#[cfg(test)]
mod tests;
