//! Which locks changed hands from one table to the next, and what became of their holders.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use electd_election::core::locks::table::{Life, LockHold, LockName, LockTable, MOST_NAMES};
use electd_election::core::membership::MemberList;
use electd_election::core::types::NodeId;

use super::hold::{HoldEnd, HolderBefore, LockChange, LockEvent};

/// A done table, as this node learns of it.
#[derive(Debug)]
pub struct DoneTable {
    /// The table.
    pub table: Arc<LockTable>,
    /// The members, for their names.
    pub list: Arc<MemberList>,
    /// The lives that are certified to be over.
    pub over: Vec<Life>,
    /// How long ago each member spoke of locks.
    pub silent: BTreeMap<NodeId, Duration>,
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: u64,
}

/// The last table, and what became of the locks in those before.
#[derive(Debug, Default)]
pub struct ComparedTables {
    last: Option<Arc<LockTable>>,
    before: BTreeMap<LockName, HolderBefore>,
    /// Since when nobody holds each of these.
    free: BTreeMap<LockName, u64>,
}

impl ComparedTables {
    /// The holder that each lock had before.
    #[must_use]
    pub fn before(&self) -> &BTreeMap<LockName, HolderBefore> {
        &self.before
    }

    /// The changes by this table, as the member of this id tells them. Of the first table nothing is known to have changed.
    pub fn take(&mut self, done: &DoneTable, own: NodeId) -> Vec<LockChange> {
        let Some(last) = self.last.replace(done.table.clone()) else { return Vec::new() };
        let mut changes = Vec::new();
        let (held, freed) = done.table.differing(&last);
        let freed = freed.into_iter().map(|name| (name, None));
        for (name, next) in freed.chain(held.into_iter().map(|(name, hold)| (name, Some(hold)))) {
            if let Some(hold) = last.get(&name) {
                self.ended(&name, hold, &last, done);
            }
            changes.push(self.change(&name, next, done, own));
        }
        if self.before.len() > 2 * MOST_NAMES {
            self.before.retain(|name, _| done.table.get(name).is_some());
            self.free.clear(); // how long those were free is not known any more
        }
        changes
    }

    /// The holder of this name lost it.
    fn ended(&mut self, name: &LockName, hold: LockHold, last: &LockTable, done: &DoneTable) {
        let end = end_of(hold, last, done);
        let silence = match end {
            HoldEnd::GaveBack => None,
            HoldEnd::Died | HoldEnd::Silent => done.silent.get(&hold.by.member),
        };
        let silence = silence.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(0));
        self.free.insert(name.clone(), done.at_ms.saturating_sub(silence));
        let holder = done.list.name(hold.by.member);
        let before = HolderBefore::new(holder, hold.token, done.at_ms, end);
        self.before.insert(name.clone(), before);
    }

    fn change(
        &mut self,
        name: &LockName,
        hold: Option<LockHold>,
        done: &DoneTable,
        own: NodeId,
    ) -> LockChange {
        let free = hold.and_then(|_| self.free.remove(name));
        LockChange {
            id: String::new(),
            at_ms: done.at_ms,
            event: if hold.is_some() { LockEvent::LockHeld } else { LockEvent::LockFree },
            node: done.list.name(own),
            lock: name.to_string(),
            holder: hold.map(|hold| done.list.name(hold.by.member)),
            token: hold.map(|hold| hold.token),
            before: self.before.get(name).cloned(),
            unheld_ms: free.map(|since| done.at_ms.saturating_sub(since)),
        }
    }
}

/// Why this table has the hold no more.
fn end_of(hold: LockHold, last: &LockTable, done: &DoneTable) -> HoldEnd {
    let Life { member, incarnation } = hold.by;
    let is_taken = |table: &LockTable| {
        let note = table.note(member).unwrap_or_default();
        note.version > last.version() && note.incarnation >= incarnation
    };
    if done.over.iter().any(|life| hold.by.is_up_to(*life)) {
        HoldEnd::Died
    } else if is_taken(&done.table) {
        HoldEnd::Silent
    } else {
        HoldEnd::GaveBack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use electd_election::core::locks::table::TableChange;
    use electd_election::core::membership::Member;
    use electd_election::core::types::{Epoch, Incarnation, Role, Version};

    fn id(number: u128) -> NodeId {
        serde_json::from_value(format!("00000000-0000-4000-8000-{number:012}").into()).unwrap()
    }

    fn list() -> Arc<MemberList> {
        let member = |(number, name): (u128, &str)| Member {
            id: id(number),
            name: name.to_owned(),
            address: format!("h:{number}"),
            admin: None,
            role: Role::Member,
        };
        let members = [(1, "a"), (2, "b"), (3, "c")].map(member);
        Arc::new(MemberList::new(version(1), members.into()))
    }

    fn version(counter: u64) -> Version {
        Version { epoch: Epoch(1), counter }
    }

    #[test]
    fn each_change_of_hands_is_told_with_its_cause_and_the_time_without_a_holder() {
        let list = list();
        let lives = [1, 2].map(|number| Life { member: id(number), incarnation: Incarnation(1) });
        let [a, b] = lives;
        let mut compared = ComparedTables::default();
        let mut table = LockTable::default();
        let mut step = |counter, changes: Vec<TableChange>, over: &[Life], silent_ms| {
            table = table.changed(version(counter), &list, changes).table;
            let silent = [(id(1), Duration::from_millis(silent_ms))].into();
            let (table, list, over) = (Arc::new(table.clone()), list.clone(), over.to_vec());
            let done = DoneTable { table, list, over, silent, at_ms: counter * 1000 };
            let told = compared.take(&done, id(3)).into_iter();
            told.map(|change| (change.words(), change.unheld_ms)).collect::<Vec<_>>()
        };
        let names = ["x", "y"].map(|name| LockName::new(name).unwrap());
        let take = |at: usize, by| TableChange::Take { name: names[at].clone(), by };
        let told = |words: &str, unheld| (words.to_owned(), unheld);
        assert!(step(1, vec![take(1, b)], &[], 0).is_empty(), "nobody knows what was before");
        assert_eq!(step(2, vec![take(0, a)], &[], 0), [told("a holds x, under token 2", None)]);
        let back = TableChange::Release { name: names[0].clone(), token: 2 };
        let free = told("nobody holds x; a gave it back", None);
        assert_eq!(step(3, vec![back], &[], 700), [free]);
        let next = told("a holds x, under token 5; a gave it back", Some(2000));
        assert_eq!(step(5, vec![take(0, a)], &[], 0), [next]);
        let silent = "b holds x, under token 6; a was silent, and the promises to it ended";
        let taken = vec![TableChange::Strip(a), take(0, b)];
        assert_eq!(step(6, taken, &[], 700), [told(silent, Some(700))]);
        let moves = TableChange::Move { name: names[0].clone(), token: 6, to: a };
        let moved = told("a holds x, under token 7; b gave it back", Some(0));
        assert_eq!(step(7, vec![moves], &[], 0), [moved]);
        let died = "nobody holds x; the electd of a ended, and nothing of its jobs is left";
        assert_eq!(step(8, vec![TableChange::Bury(a)], &[a], 30), [told(died, None)]);
        assert!(step(9, vec![], &[a], 0).is_empty());
    }
}
