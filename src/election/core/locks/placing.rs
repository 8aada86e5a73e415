//! The holder of a name: one coordinator decides, by what it knows and without chance, so that the answer can be known before.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::table::{Life, LockName, LockTable, TableChange};
use crate::core::random::Random;
use crate::core::types::NodeId;

/// A member that may hold a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockCandidate {
    pub life: Life,
    /// The greater is preferred.
    pub prefer: u32,
}

/// A name that is to be held.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockWish {
    pub name: LockName,
    /// How much work it is beside others.
    pub weight: u32,
    /// It is to be held where this name is.
    pub with: Option<LockName>,
    /// The members that may hold it now: healthy, not drained, named by the settings.
    pub candidates: Vec<LockCandidate>,
}

impl LockWish {
    fn best(&self) -> Option<u32> {
        self.candidates.iter().map(|candidate| candidate.prefer).max()
    }

    /// The candidate of this life.
    fn candidate(&self, life: Life) -> Option<Life> {
        self.candidates.iter().map(|candidate| candidate.life).find(|known| *known == life)
    }

    /// Whether a candidate is to come before all others, as somebody has the name moved there.
    pub fn is_ordered(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.prefer == u32::MAX)
    }

    /// How much this life is preferred; none if it is no candidate.
    pub fn preference(&self, life: Life) -> Option<u32> {
        self.candidates.iter().find(|one| one.life == life).map(|one| one.prefer)
    }

    /// The candidates of the greatest preference.
    fn preferred(&self) -> impl Iterator<Item = Life> {
        let best = self.best();
        let preferred = self.candidates.iter().filter(move |one| Some(one.prefer) == best);
        preferred.map(|candidate| candidate.life)
    }
}

/// The work of each member.
struct Loads(BTreeMap<NodeId, u64>);

impl Loads {
    /// Without what lives hold that are gone; and the wishes for names that nobody else holds. All of these are walked once,
    /// in the order of their names.
    fn of<'a>(
        table: &LockTable,
        gone: &BTreeSet<Life>,
        wishes: &NamedWishes<'a>,
    ) -> (Loads, Vec<&'a LockWish>) {
        let (mut loads, mut free) = (Loads(BTreeMap::new()), Vec::new());
        let mut wishes = wishes.0.iter().copied().peekable();
        for (name, hold) in table.iter().filter(|(_, hold)| !gone.contains(&hold.by)) {
            free.extend(std::iter::from_fn(|| wishes.next_if(|wish| wish.name < *name)));
            let wish = wishes.next_if(|wish| wish.name == *name);
            loads.add(hold.by.member, wish.map_or(1, |wish| wish.weight));
        }
        free.extend(wishes);
        (loads, free)
    }

    fn get(&self, member: NodeId) -> u64 {
        self.0.get(&member).copied().unwrap_or(0)
    }

    fn add(&mut self, member: NodeId, weight: u32) {
        *self.0.entry(member).or_default() += u64::from(weight);
    }

    fn remove(&mut self, member: NodeId, weight: u32) {
        let load = self.0.entry(member).or_default();
        *load = load.saturating_sub(u64::from(weight));
    }

    /// The preferred candidate with the least load; of several the one with the greatest hash of name and member, so that
    /// names which come one by one do not all come to one member. (G12)
    fn least(&self, wish: &LockWish) -> Option<Life> {
        let key = |life: &Life| {
            (self.get(life.member), Reverse((rendezvous(&wish.name, life.member), *life)))
        };
        wish.preferred().min_by_key(key)
    }
}

/// A number that this name and this member have together, as if by chance (Thaler, Ravishankar: Using name-based mappings to
/// increase hit rates, 1998).
fn rendezvous(name: &LockName, member: NodeId) -> u64 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(member.0.as_bytes());
    hash.update(name.as_str().as_bytes());
    Random::new(u64::from(hash.finalize())).draw()
}

/// All wishes, in the order of their names.
struct NamedWishes<'a>(Vec<&'a LockWish>);

impl<'a> NamedWishes<'a> {
    fn new(wishes: &'a [LockWish]) -> NamedWishes<'a> {
        let mut sorted: Vec<&LockWish> = wishes.iter().collect();
        sorted.sort_by(|one, other| one.name.cmp(&other.name));
        NamedWishes(sorted)
    }

    fn weight(&self, name: &LockName) -> u32 {
        let at = self.0.binary_search_by(|wish| wish.name.cmp(name));
        at.map_or(0, |at| self.0[at].weight)
    }
}

/// These of all wishes, the heaviest first; but each right after the one that it is to be held with.
fn in_order<'a>(mut some: Vec<&'a LockWish>, all: &NamedWishes<'a>) -> Vec<&'a LockWish> {
    let anchors: BTreeMap<&LockName, &LockName> =
        all.0.iter().filter_map(|wish| Some((&wish.name, wish.with.as_ref()?))).collect();
    let key = |wish: &LockWish| {
        // No name leads back to itself, and were it so, the way would end.
        let way = std::iter::successors(anchors.get(&wish.name), |name| anchors.get(*name));
        let way = way.take(anchors.len());
        let first = way.clone().last().copied().unwrap_or(&wish.name);
        let weight = all.weight(first);
        (Reverse(weight), first.clone(), way.count(), Reverse(wish.weight), wish.name.clone())
    };
    some.sort_by_cached_key(|wish| key(wish));
    some
}

/// Gives each name that nobody holds, or one of these lives that are gone, to a candidate. A name that is held stays where it
/// is. (G12)
pub fn place(table: &LockTable, gone: &BTreeSet<Life>, wishes: &[LockWish]) -> Vec<TableChange> {
    let wishes = NamedWishes::new(wishes);
    let (mut loads, free) = Loads::of(table, gone, &wishes);
    let (mut changes, mut placed) = (Vec::new(), BTreeMap::new());
    let holder =
        |name: &LockName| table.get(name).map(|hold| hold.by).filter(|life| !gone.contains(life));
    for wish in in_order(free, &wishes) {
        let anchor = wish.with.as_ref();
        let anchor = anchor.and_then(|with| holder(with).or(placed.get(with).copied()));
        let beside = anchor.and_then(|life| wish.candidate(life));
        if let Some(by) = beside.or_else(|| loads.least(wish)) {
            loads.add(by.member, wish.weight);
            placed.insert(&wish.name, by);
            changes.push(TableChange::Take { name: wish.name.clone(), by });
        }
    }
    changes
}

/// The moves that an operator asks for: a name that is to be held with another goes there; each other one to the candidates
/// of the greatest preference, and among these from those
/// with more work to those with less, as long as that makes the two more equal. Each holder then ends its work first.
pub fn rebalance(table: &LockTable, wishes: &[LockWish]) -> Vec<TableChange> {
    let named = NamedWishes::new(wishes);
    let (mut loads, _) = Loads::of(table, &BTreeSet::new(), &named);
    let mut at: BTreeMap<&LockName, Life> = BTreeMap::new();
    let wishes = in_order(wishes.iter().collect(), &named);
    let holder = |name: &LockName| table.get(name).map(|hold| hold.by);
    let follows = |wish: &LockWish| wish.with.as_ref().is_some_and(|with| holder(with).is_some());
    loop {
        let mut moved = false;
        for wish in wishes.iter().filter(|wish| !follows(wish)) {
            let Some(hold) = table.get(&wish.name) else { continue };
            let from = at.get(&wish.name).copied().unwrap_or(hold.by);
            let Some(to) = better(&loads, wish, from) else { continue };
            loads.remove(from.member, wish.weight);
            loads.add(to.member, wish.weight);
            at.insert(&wish.name, to);
            moved = true;
        }
        if !moved {
            break;
        }
    }
    for wish in wishes.iter().filter(|wish| follows(wish)) {
        let anchor = wish.with.as_ref();
        let anchor = anchor.and_then(|with| at.get(with).copied().or(holder(with)));
        let beside = anchor.and_then(|life| wish.candidate(life));
        at.extend(beside.map(|life| (&wish.name, life)));
    }
    let moves = at.into_iter().filter_map(|(name, to)| {
        let hold = table.get(name).filter(|hold| hold.by != to)?;
        Some(TableChange::Move { name: name.clone(), token: hold.token, to })
    });
    moves.collect()
}

/// A better place of a name that this member holds. Work leaves those with the most alone, so that few names move. The sum
/// of the squares of all loads falls with each move between preferred candidates, and to these a name comes once: so there
/// is an end.
fn better(loads: &Loads, wish: &LockWish, from: Life) -> Option<Life> {
    let to = loads.least(wish)?;
    if !wish.preferred().any(|life| life == from) {
        return Some(to);
    }
    let load = loads.get(from.member);
    let is_most = wish.preferred().all(|life| loads.get(life.member) <= load);
    let lighter = loads.get(to.member) + u64::from(wish.weight) < load;
    (wish.weight > 0 && is_most && lighter).then_some(to)
}

#[cfg(test)]
mod tests;
