//! Where the locks that the file declares would be held: by the rules of the coordinator itself.

use std::collections::BTreeSet;

use crate::config::{Config, MemberConfig};
use crate::core::locks::placing::{LockCandidate, LockWish, place};
use crate::core::locks::table::{Life, LockTable, TableChange};
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::types::{Epoch, Incarnation};

/// Where a declared lock is held, and where it would be; none for nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockForecast {
    pub name: String,
    pub before: Option<String>,
    pub after: Option<String>,
}

fn life(member: &MemberConfig) -> Life {
    Life { member: member.id, incarnation: Incarnation(1) }
}

/// The locks of the file, if each member that may hold one waits for it, and all began together. These members go, and the
/// others are on these sides: the one with a majority of the voters hands names out, if one has.
pub fn forecast(
    config: &Config,
    down: &BTreeSet<usize>,
    sides: &[BTreeSet<usize>],
) -> Vec<LockForecast> {
    let all = || config.members.iter().enumerate();
    let list = MemberList::new(ListVersion::default(), all().map(|(_, it)| listed(it)).collect());
    let votes = |at: &usize| config.members.get(*at).is_some_and(|it| list.is_voter(it.id));
    let voters = |side: &BTreeSet<usize>| side.iter().filter(|at| votes(at)).count();
    let live = sides.iter().map(|side| side.difference(down).copied().collect::<BTreeSet<_>>());
    let live = live.max_by_key(voters).unwrap_or_default();
    let has_majority = voters(&live) >= list.majority();
    let wishes = |stays: &dyn Fn(usize) -> bool| {
        let wish = |(name, lock): (&_, &crate::config::locks::DeclaredLock)| LockWish {
            name: Clone::clone(name),
            weight: lock.weight,
            with: lock.with.clone(),
            candidates: all()
                .filter(|(at, member)| stays(*at) && lock.allows(&member.name))
                .map(|(_, member)| (life(member), lock.preference(&member.name)))
                .map(|(life, prefer)| LockCandidate { life, prefer })
                .collect(),
        };
        config.locks.declared.iter().map(wish).collect::<Vec<_>>()
    };
    let gone: BTreeSet<Life> =
        all().filter(|(at, _)| !live.contains(at)).map(|(_, member)| life(member)).collect();
    let first = LockTable::default();
    let placed = place(&first, &BTreeSet::new(), &wishes(&|_| true));
    let before = changed(&first, &list, placed);
    let mut changes: Vec<TableChange> = gone.iter().copied().map(TableChange::Strip).collect();
    if has_majority {
        changes.extend(place(&before, &gone, &wishes(&|at| live.contains(&at))));
    }
    let after = changed(&before, &list, changes);
    let holder = |table: &LockTable, name| table.get(name).map(|hold| list.name(hold.by.member));
    let of = |name| LockForecast {
        name: ToString::to_string(name),
        before: holder(&before, name),
        after: holder(&after, name).filter(|_| has_majority),
    };
    config.locks.declared.keys().map(of).collect()
}

fn listed(member: &MemberConfig) -> Member {
    let MemberConfig { name, id, address, role, .. } = member.clone();
    Member { id, name, address, admin: None, role }
}

fn changed(table: &LockTable, list: &MemberList, changes: Vec<TableChange>) -> LockTable {
    table.changed(table.version().next(Epoch(1)), list, changes).table
}

/// A line for each, for people.
pub fn text(locks: &[LockForecast]) -> String {
    let or_nobody = |name: &Option<String>| name.clone().unwrap_or_else(|| "nobody".to_owned());
    let line = |lock: &LockForecast| match (&lock.before, &lock.after) {
        (before, after) if before == after => {
            format!("  {} stays at {}\n", lock.name, or_nobody(after))
        }
        (before, after) => {
            format!("  {} moves from {} to {}\n", lock.name, or_nobody(before), or_nobody(after))
        }
    };
    let lines: String = locks.iter().map(line).collect();
    let head = "LOCKS, if each member that may hold one waits for it, and all began together";
    if locks.is_empty() { lines } else { format!("\n{head}\n{lines}") }
}
