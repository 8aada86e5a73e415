//! What the election thread shows of the locks, and how readers see it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use electd_facts::locks::{LockEntry, LockHindrance, LocksUnavailable, LocksView, TableVersion};

use crate::core::locks::recurring::PeriodsKnown;
use crate::core::locks::table::{LockName, LockTable};
use crate::core::locks::word::LockWants;
use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};
use crate::node::clock;

/// All of it, cheap to copy.
#[derive(Clone, Debug, Default)]
pub struct LocksSeen {
    /// The last done table.
    pub table: Option<Arc<LockTable>>,
    /// What members want, as far as this one knows.
    pub wishes: Vec<(NodeId, Arc<LockWants>)>,
    /// When this member learned of each token, by the wall clock.
    pub since: Arc<BTreeMap<u64, u64>>,
    /// Whether a name is wanted here, and no done table is known yet.
    pub lacks_table: bool,
    /// A voter of a version without locks.
    pub older: Option<NodeId>,
    /// Why this member is no candidate for these locks, for which programs wait here.
    pub hindered: Option<(LockHindrance, Arc<BTreeSet<LockName>>)>,
    /// What it knows of the names that are held once in each period.
    pub periods: PeriodsKnown,
    /// The members whose configuration says something else of locks.
    pub differing: Vec<NodeId>,
    /// This member, and until when it may act under the names that it holds.
    pub own: Option<(NodeId, Time)>,
}

impl LocksSeen {
    /// Takes a table, at this time. Returns whether it is another.
    pub fn learn(&mut self, table: Option<&Arc<LockTable>>, now_ms: u64) -> bool {
        let version = |table: Option<&Arc<LockTable>>| table.map(|table| table.version());
        if version(table) == version(self.table.as_ref()) {
            return false;
        }
        // Tokens only grow: those up to the counter of the table before are known.
        let before = self.table.as_ref().map_or(0, |table| table.version().counter);
        let tokens = || table.iter().flat_map(|table| table.iter().map(|(_, hold)| hold.token));
        let since = Arc::make_mut(&mut self.since);
        since.extend(tokens().filter(|token| *token > before).map(|token| (token, now_ms)));
        if since.len() > 2 * table.map_or(0, |table| table.iter().len()) {
            let held: BTreeSet<u64> = tokens().collect();
            since.retain(|token, _| held.contains(token));
        }
        self.table = table.cloned();
        true
    }

    /// Why no lock can be had.
    pub fn unavailable(
        &self,
        is_majority: bool,
        leader: Option<NodeId>,
        list: &MemberList,
    ) -> Option<LocksUnavailable> {
        let older = || {
            let name = list.name(self.older?);
            Some(LocksUnavailable::OlderVoter { name })
        };
        if !is_majority {
            Some(LocksUnavailable::QuorumNone)
        } else {
            let unled = || leader.is_none().then_some(LocksUnavailable::NoLeader);
            older().or_else(unled).or(self.lacks_table.then_some(LocksUnavailable::NoTable))
        }
    }

    /// How many locks each member holds, without those that hold none.
    pub fn held(&self, list: &MemberList) -> BTreeMap<String, u64> {
        let mut held: BTreeMap<NodeId, u64> = BTreeMap::new();
        for (_, hold) in self.table.iter().flat_map(|table| table.iter()) {
            *held.entry(hold.by.member).or_default() += 1;
        }
        held.into_iter().map(|(member, count)| (list.name(member), count)).collect()
    }

    /// How many locks are wanted that nobody holds. Between its periods nobody holds a lock, and nobody lacks it.
    pub fn unheld(&self) -> u64 {
        let table = self.table.as_ref();
        let lacks = |name: &&LockName| {
            table.is_none_or(|table| table.get(name).is_none() && table.run(name).is_none())
        };
        let wanted = self.wanted().filter(lacks).collect::<BTreeSet<_>>();
        wanted.len() as u64
    }

    /// The version of the last done table.
    pub fn version(&self) -> Option<TableVersion> {
        let version = self.table.as_ref()?.version();
        Some(TableVersion { epoch: version.epoch.0, counter: version.counter })
    }

    /// The names that are wanted as far as this member knows, or for which a program waits here: some of them more than once.
    fn wanted(&self) -> impl Iterator<Item = &LockName> {
        let wanted = self.wishes.iter().flat_map(|(_, wants)| wants.keys());
        wanted.chain(self.hindered.iter().flat_map(|(_, names)| names.iter()))
    }

    /// All names that a member holds, that are wanted as far as this one knows, or that had a run.
    fn names(&self) -> BTreeSet<&LockName> {
        let held = self.table.iter().flat_map(|table| table.iter().map(|(name, _)| name));
        let run = self.table.iter().flat_map(|table| table.runs().map(|(name, _)| name));
        held.chain(self.wanted()).chain(run).collect()
    }

    /// The view of a reader that knows the members, and the leader if there is one: of all locks, or of this one.
    pub fn view(
        &self,
        name: Option<&LockName>,
        is_majority: bool,
        leader: Option<NodeId>,
        list: &MemberList,
    ) -> LocksView {
        let unavailable = self.unavailable(is_majority, leader, list);
        let reason = unavailable.as_ref().map(ToString::to_string);
        let names = name.map_or_else(|| self.names(), |name| [name].into());
        LocksView {
            coordinator: leader.map(|leader| list.name(leader)),
            version: self.version(),
            unavailable,
            locks: names.into_iter().map(|name| self.entry(name, reason.clone(), list)).collect(),
        }
    }

    fn entry(&self, name: &LockName, reason: Option<String>, list: &MemberList) -> LockEntry {
        let hold = self.table.as_ref().and_then(|table| table.get(name));
        let candidates = self.wishes.iter().filter(|(_, wants)| wants.contains_key(name));
        let is_own = |id| hold.is_some_and(|hold| hold.by.member == id);
        let hindered = self.hindered.as_ref().filter(|(_, names)| names.contains(name));
        let hindered = hindered.map(|(by, _)| *by);
        let here = hindered.map(|by| format!("a program waits for it here, but this node {by}"));
        let is_wanted = candidates.clone().next().is_some();
        let reason = match self.own {
            _ if hold.is_none() => (reason.or(here.filter(|_| !is_wanted)))
                .or_else(|| self.rests(name, list))
                .or_else(|| {
                    is_wanted.then(|| "the coordinator has given it to no candidate yet".to_owned())
                }),
            Some((own, until)) if is_own(own) && until <= clock::now() => {
                Some("no majority of the voters supports that any more".to_owned())
            }
            _ => None,
        };
        LockEntry {
            name: name.to_string(),
            holder: hold.map(|hold| list.name(hold.by.member)),
            token: hold.map(|hold| hold.token),
            since_ms: hold.and_then(|hold| self.since.get(&hold.token).copied()),
            behind: (candidates.clone())
                .filter(|(_, wants)| wants.get(name).is_some_and(|want| want.prefer == 0))
                .map(|(id, _)| list.name(*id))
                .collect(),
            candidates: candidates.map(|(id, _)| list.name(*id)).collect(),
            reason,
            hindered,
            last_run: self.last_run(name, list),
            ..LockEntry::default() // what others know
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use uuid::Uuid;

    use super::*;
    use crate::core::locks::periods::{OncePer, PeriodRun, WallTime};
    use crate::core::locks::table::{Life, TableChange};
    use crate::core::locks::word::LockWant;
    use crate::core::membership::Member;
    use crate::core::types::{Epoch, Incarnation, Role, Version};

    #[test]
    fn the_count_of_what_nobody_holds_is_that_of_the_view() {
        let id = NodeId(Uuid::from_u128(1));
        let (address, role) = ("h:1".to_owned(), Role::Member);
        let member = Member { id, name: "a".to_owned(), address, admin: None, role };
        let version = Version { epoch: Epoch(3), counter: 7 };
        let list = MemberList::new(version, vec![member]);
        let name = |text: &str| LockName::new(text).unwrap();
        let by = Life { member: id, incarnation: Incarnation(1) };
        let take = |text| TableChange::Take { name: name(text), by };
        let once = OncePer::new(Duration::from_secs(60), Duration::ZERO, false).unwrap();
        let (until, begun) = (WallTime(60_000), WallTime(0));
        let run = PeriodRun { once, until, token: 0, by: id, begun, end: None };
        let rests = [
            take("rests"),
            TableChange::Begin { name: name("rests"), run },
            TableChange::Release { name: name("rests"), token: 7 },
        ];
        let changes = rests.into_iter().chain([take("held")]).collect();
        let changed = LockTable::default().changed(version, &list, changes);
        assert_eq!(changed.refused, []);
        let want = LockWant { weight: 1, prefer: 1 };
        let wants = |texts: &[&str]| -> Arc<LockWants> {
            Arc::new(texts.iter().map(|text| (name(text), want)).collect())
        };
        let mut seen = LocksSeen {
            wishes: vec![(id, wants(&["free", "held", "rests"])), (id, wants(&["free", "other"]))],
            hindered: Some((
                LockHindrance::Drained,
                Arc::new([name("other"), name("here")].into()),
            )),
            ..LocksSeen::default()
        };
        for (table, unheld) in [(None, 5), (Some(Arc::new(changed.table)), 3)] {
            seen.learn(table.as_ref(), 0);
            let view = seen.view(None, true, Some(id), &list);
            assert_eq!((seen.unheld(), view.unheld()), (unheld, unheld));
            assert_eq!(seen.version(), view.version);
        }
    }
}
