//! What a member does as the coordinator, as long as it leads in one epoch: it knows the others, and has names placed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use self::runs::PeriodsNow;
use super::coordinator::TableCoordinator;
use super::periods::{RunEnd, WallTime};
use super::placing::{LockCandidate, LockWish, place};
use super::recurring::{PeriodWants, RunCoordination};
use super::rules::LockRules;
use super::table::{Life, LockName, LockTable, TableChange};
use super::word::LockWants;
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

/// What the coordinator knows of another member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct HeardMember {
    life: Life,
    heard: Time,
    wants: Arc<LockWants>,
    /// The hash of what its configuration says of locks.
    rules: u64,
    released: BTreeMap<LockName, u64>,
    periods: PeriodWants,
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
    pub asked_for_election: bool,
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
            asked_for_election: false,
            runs: RunCoordination::default(),
        }
    }

    pub fn hear(
        &mut self,
        now: Time,
        life: Life,
        (wants, rules): (Option<Arc<LockWants>>, u64),
        (released, periods): (BTreeMap<LockName, u64>, PeriodWants),
    ) {
        let before = self.members.get(&life.member);
        if before.is_some_and(|before| before.life.incarnation > life.incarnation) {
            return;
        }
        let known = before.filter(|before| before.life == life).map(|before| before.wants.clone());
        let wants = wants.or(known).unwrap_or_default();
        self.is_due |= before.is_none_or(|before| {
            before.life != life
                || before.wants != wants
                || before.released != released
                || before.periods != periods
        });
        let heard = HeardMember { life, heard: now, wants, rules, released, periods };
        self.members.insert(life.member, heard);
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
            self.table.propose(Vec::new());
        } else if std::mem::take(&mut self.is_due) {
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
        let gone: BTreeSet<Life> = (table.iter().map(|(_, hold)| hold.by))
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
        takes.truncate(self.rules.most.saturating_sub(table.iter().len()));
        takes
    }

    /// All names that live members want, with their candidates.
    pub fn to_place(&self, view: &ElectionView, periods: &PeriodsNow<'_>) -> Vec<LockWish> {
        let mut wishes: BTreeMap<&LockName, LockWish> = BTreeMap::new();
        let lives = |known: &&HeardMember| !self.is_gone(view, known.life);
        for known in self.members.values().filter(lives) {
            let may_hold = |name: &&LockName| periods.may_hold(known, name);
            for (name, want) in known.wants.iter().filter(|(name, _)| may_hold(name)) {
                let wish = wishes.entry(name).or_insert_with(|| LockWish {
                    name: name.clone(),
                    weight: want.weight,
                    with: self.rules.with.get(name).cloned(),
                    candidates: Vec::new(),
                });
                wish.weight = wish.weight.max(want.weight);
                wish.candidates.push(LockCandidate { life: known.life, prefer: want.prefer });
            }
        }
        wishes.into_values().collect()
    }

    /// Goes by these settings from now on.
    pub fn set_rules(&mut self, rules: Arc<LockRules>) {
        (self.rules, self.is_due) = (rules, true);
    }
}

mod runs;
