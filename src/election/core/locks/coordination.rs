//! What a member does as the coordinator, as long as it leads in one epoch: it knows the others, and has names placed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::heard::{HeardMember, PeriodsNow};
use super::coordinator::TableCoordinator;
use super::periods::{RunEnd, WallTime};
use super::placing::{LockCandidate, LockWish, place};
use super::recurring::{PeriodWants, RunCoordination};
use super::rules::LockRules;
use super::table::{Life, LockName, LockTable, TableChange};
use super::word::{LockWant, LockWants};
use crate::core::membership::MemberList;
use crate::core::settings::Timing;
use crate::core::types::{Epoch, Incarnation, NodeId, Time, Version};

/// What the election knows by now.
#[derive(Clone, Debug)]
pub struct ElectionView {
    pub now: Time,
    pub list: Arc<MemberList>,
    /// The leader that this member names, itself included, and its epoch.
    pub leader: Option<(NodeId, Epoch)>,
    /// The greatest round that this voter was told when it learned of its cluster; none before. (Q5)
    pub told: Option<Epoch>,
    /// Epochs up to this one are durable in the record of the election: the voter stores nothing of a later coordinator, so
    /// that it still knows how late a table it may have stored if it loses that alone. (G6)
    pub reserved: Epoch,
    pub timing: Timing,
    /// Lives that are certified to be over. (Z1)
    pub over: Vec<Life>,
    /// What the wall clock shows.
    pub wall: WallTime,
}

impl ElectionView {
    /// The epoch in which this member leads.
    pub fn leads(&self, own: NodeId) -> Option<Epoch> {
        self.leader.filter(|(leader, _)| *leader == own).map(|(_, epoch)| epoch)
    }
}

/// What a member does as long as it leads in one epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Coordination {
    pub table: TableCoordinator,
    rules: Arc<LockRules>,
    since: Time,
    members: BTreeMap<NodeId, HeardMember>,
    /// What voters passed on that its holder gave back.
    passed: BTreeMap<LockName, u64>,
    /// The last life of each member that is certified to be over.
    over: BTreeMap<NodeId, Incarnation>,
    /// The proposal that was sent to the voters last, and when for the first time.
    pub sent: Option<(Version, Time)>,
    /// Whether anything has happened by which a name may be placed.
    pub is_due: bool,
    /// Whether time has passed since the last look at what that alone changes.
    pub is_later: bool,
    /// The lives that are gone, by the last look: to each of them whether it may be stripped.
    gone: BTreeMap<Life, bool>,
    /// When it last asked to be elected anew. A change of the members that is under way may be in the way.
    asked_for_election: Option<Time>,
    pub(super) runs: RunCoordination,
}

impl Coordination {
    pub fn new(epoch: Epoch, rules: Arc<LockRules>, view: &ElectionView) -> Coordination {
        Coordination {
            table: TableCoordinator::new(epoch, view.list.clone()),
            rules,
            since: view.now,
            members: BTreeMap::new(),
            passed: BTreeMap::new(),
            over: BTreeMap::new(),
            sent: None,
            is_due: false,
            is_later: false,
            gone: BTreeMap::new(),
            asked_for_election: None,
            runs: RunCoordination::default(),
        }
    }

    /// A member says what it wants and gave back. Returns whether the coordinator lacks what it wants by now.
    pub fn hear(
        &mut self,
        now: Time,
        life: Life,
        (number, wants, rules): (u64, Option<Arc<LockWants>>, u64),
        (released, periods): (BTreeMap<LockName, u64>, PeriodWants),
    ) -> bool {
        let before = self.members.get(&life.member);
        if before.is_some_and(|before| before.life.incarnation > life.incarnation) {
            return false;
        }
        let known = before.filter(|before| before.life == life);
        let known = known.map(|before| (before.number, before.wants.clone())).unwrap_or_default();
        // A word that was long under way says nothing new.
        let told = wants.filter(|_| number > known.0).map(|wants| (number, wants));
        let (told, wants) = told.unwrap_or(known);
        self.is_due |= before.is_none_or(|before| {
            before.life != life
                || before.wants != wants
                || before.released != released
                || before.periods != periods
        });
        let heard = HeardMember { life, heard: now, wants, number: told, rules, released, periods };
        self.members.insert(life.member, heard);
        told < number
    }

    /// Time has passed. What may be placed by that alone: what a member held that is gone by now, or may be stripped by
    /// now, and the runs of a period that began. To look at that does not take longer with more names.
    fn pass_time(&mut self, view: &ElectionView) {
        let lives = self.members.values().map(|known| known.life);
        let holders = self.table.done().into_iter().flat_map(|table| table.holders());
        let holders = holders.map(|(life, _)| life);
        let gone: BTreeSet<Life> =
            lives.chain(holders).filter(|it| self.is_gone(view, *it)).collect();
        let gone: BTreeMap<Life, bool> =
            gone.into_iter().map(|life| (life, self.table.may_strip(life))).collect();
        self.is_due |= self.gone != gone || self.has_due_run(view);
        self.gone = gone;
    }

    /// The members whose configuration says something else of locks than this one's.
    pub fn differing(&self) -> Vec<NodeId> {
        let differs = |known: &HeardMember| known.rules > 0 && known.rules != self.rules.digest;
        self.members.iter().filter(|(_, known)| differs(known)).map(|(id, _)| *id).collect()
    }

    /// A holder that this member may not hear gave these names back.
    pub fn hear_released(
        &mut self,
        released: BTreeMap<LockName, u64>,
        ended: BTreeMap<LockName, RunEnd>,
    ) {
        let Some(table) = self.table.done() else { return };
        let holds =
            |name: &LockName, token: u64| table.get(name).is_some_and(|hold| hold.token == token);
        self.passed.retain(|name, token| holds(name, *token));
        self.passed.extend(released.into_iter().filter(|(name, token)| holds(name, *token)));
        self.runs.passed.extend(ended);
        self.runs.passed.retain(|name, _| self.passed.contains_key(name));
        self.is_due |= !self.passed.is_empty();
    }

    /// This voter stores nothing of this epoch. Returns whether this leader is to have itself elected anew because of that.
    pub fn hear_later(&mut self, view: &ElectionView, voter: NodeId) -> bool {
        let recent = |asked: Time| view.now.since(asked) < view.timing.failure;
        let asks = self.table.needs_later(voter)
            && !self.asked_for_election.is_some_and(recent)
            && self.wishes(view).any(|(_, wants)| !wants.is_empty());
        if asks {
            self.asked_for_election = Some(view.now);
        }
        asks
    }

    /// What each member wants, as it last said. One that is gone, or removed, wants nothing any more.
    pub fn wishes(&self, view: &ElectionView) -> impl Iterator<Item = (NodeId, Arc<LockWants>)> {
        let present = self.members.iter().filter(|(_, known)| !self.is_gone(view, known.life));
        present.map(|(id, known)| (*id, known.wants.clone()))
    }

    /// This life is certified to be over. (G7)
    pub fn bury(&mut self, life: Life) {
        let before = self.over.insert(life.member, life.incarnation);
        self.is_due |= before != Some(life.incarnation);
    }

    fn is_over(&self, life: Life) -> bool {
        self.over.get(&life.member) == Some(&life.incarnation)
    }

    /// Whether this life is over, or was silent for so long that its names go to others.
    fn is_gone(&self, view: &ElectionView, life: Life) -> bool {
        let silent = |since: Time| view.now.since(since) >= view.timing.failure;
        match self.members.get(&life.member) {
            _ if view.list.get(life.member).is_none() || self.is_over(life) => true,
            Some(known) if known.life == life => silent(known.heard),
            Some(known) => known.life.incarnation > life.incarnation,
            None => silent(self.since),
        }
    }

    /// Proposes what there is to propose by now: first of all, the adopted table as one of this epoch. (G2)
    pub fn propose(&mut self, view: &ElectionView) {
        if !self.table.is_ready() {
            return;
        }
        if self.table.done().is_none() {
            let is_wanted = self.members.values().any(|known| !known.wants.is_empty());
            // Where nobody ever wanted anything there is nothing to hand on.
            if is_wanted || !self.table.base().is_some_and(|base| base.is_bare()) {
                self.table.propose(Vec::new());
            }
            return;
        }
        if std::mem::take(&mut self.is_later) {
            self.pass_time(view);
        }
        if std::mem::take(&mut self.is_due) {
            let changes = self.changes(view);
            if !changes.is_empty() {
                self.table.propose(changes);
            }
        }
    }

    /// What is to change: names that were given back are free, and so are those of lives that are certified to be over;
    /// those of other lives that are gone are taken from them; and each name that nobody holds is placed.
    fn changes(&self, view: &ElectionView) -> Vec<TableChange> {
        let Some(table) = self.table.done() else { return Vec::new() };
        let gone: BTreeSet<Life> = (table.holders().map(|(life, _)| life))
            .filter(|life| self.is_gone(view, *life))
            .filter(|life| self.is_over(*life) || self.table.may_strip(*life))
            .collect();
        let released = self.members.values().flat_map(|known| known.released.iter());
        let released: BTreeMap<&LockName, &u64> = (released.chain(&self.passed))
            .filter(|(name, token)| table.get(name).is_some_and(|hold| hold.token == **token))
            .collect();
        let mut changes: Vec<TableChange> = (released.into_iter())
            .map(|(name, token)| TableChange::Release { name: name.clone(), token: *token })
            .collect();
        let periods = self.periods(view, table);
        let placed = self.placed(view, &periods, (table, &gone));
        let begun = periods.begun(&placed);
        changes.extend(self.ended(&periods));
        changes.extend(gone.into_iter().map(|life| match self.is_over(life) {
            true => TableChange::Bury(life),
            false => TableChange::Strip(life),
        }));
        changes.extend(placed);
        changes.extend(begun);
        changes
    }

    fn placed(
        &self,
        view: &ElectionView,
        periods: &PeriodsNow<'_>,
        (table, gone): (&LockTable, &BTreeSet<Life>),
    ) -> Vec<TableChange> {
        let mut takes = place(table, gone, &self.to_place(view, periods));
        let stay = table.holders().filter(|(life, _)| !gone.contains(life));
        let held = stay.map(|(_, count)| count).sum();
        takes.truncate(self.rules.most.saturating_sub(held));
        takes
    }

    /// All names that live members want, with their candidates.
    pub fn to_place(&self, view: &ElectionView, periods: &PeriodsNow<'_>) -> Vec<LockWish> {
        let lives = |known: &&HeardMember| !self.is_gone(view, known.life);
        let wants = self.members.values().filter(lives).flat_map(|known| {
            let wants = known.wants.iter().filter(move |(name, _)| periods.may_hold(known, name));
            wants.map(move |(name, want)| (name, *want, known.life))
        });
        let mut wants: Vec<(&LockName, LockWant, Life)> = wants.collect();
        wants.sort_by(|one, other| one.0.cmp(other.0)); // each member's are sorted already
        let wish = |of: &[(&LockName, LockWant, Life)]| LockWish {
            name: of[0].0.clone(),
            weight: of.iter().map(|(_, want, _)| want.weight).max().unwrap_or(0),
            with: self.rules.with.get(of[0].0).cloned(),
            candidates: (of.iter())
                .map(|(_, want, life)| LockCandidate { life: *life, prefer: want.prefer })
                .collect(),
        };
        wants.chunk_by(|one, other| one.0 == other.0).map(wish).collect()
    }

    /// Goes by these settings from now on.
    pub fn set_rules(&mut self, rules: Arc<LockRules>) {
        (self.rules, self.is_due) = (rules, true);
    }
}

mod heard;
mod runs;
