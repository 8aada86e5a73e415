//! Which locks changed hands: a thread of its own compares the tables, so that neither thousands of names nor a reader of
//! events delays the election thread.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, unbounded};
use electd_facts::hold::{HoldEnd, HolderBefore, LockChange, LockEvent};
use electd_facts::locks::LocksView;
use parking_lot::RwLock;

use crate::calls::{Named, THREAD};
use crate::core::locks::table::{Life, LockHold, LockName, LockTable, MOST_NAMES};
use crate::core::membership::MemberList;
use crate::core::types::NodeId;
use crate::node::events::EventLog;
use crate::node::tally::Tally;

const STACK: usize = 256 * 1024;

/// The holder that each lock had before.
type HoldersBefore = Arc<BTreeMap<LockName, HolderBefore>>;

/// A done table, as this node learns of it.
#[derive(Debug)]
pub struct DoneTable {
    pub table: Arc<LockTable>,
    pub list: Arc<MemberList>,
    /// The lives that are certified to be over.
    pub over: Vec<Life>,
    /// How long ago each member spoke of locks.
    pub silent: BTreeMap<NodeId, Duration>,
    pub at_ms: u64,
}

/// What this node knows of locks that changed hands.
#[derive(Debug)]
pub struct Hands {
    pub events: Arc<EventLog<LockChange>>,
    before: RwLock<HoldersBefore>,
}

impl Hands {
    /// Of this start of a node.
    pub fn new(start: u64) -> Hands {
        Hands { events: Arc::new(EventLog::of_locks(start)), before: RwLock::default() }
    }

    /// Shows the holder before of each of these locks.
    pub fn show(&self, locks: &mut LocksView) {
        let before = self.before.read().clone();
        for lock in locks.locks.iter_mut().filter(|_| !before.is_empty()) {
            let name = LockName::new(&lock.name).ok();
            lock.before = name.and_then(|name| before.get(&name).cloned());
        }
    }
}

/// The thread.
pub struct HandsThread {
    tables: Sender<DoneTable>,
    thread: JoinHandle<()>,
}

impl HandsThread {
    /// Of the member of this id.
    pub fn start(own: NodeId, hands: Arc<Hands>, tally: Arc<Tally>) -> io::Result<HandsThread> {
        let (tables, told) = unbounded();
        let builder = thread::Builder::new().name("lock-hands".to_owned()).stack_size(STACK);
        let thread = builder.spawn(move || compare(own, &hands, &tally, &told)).named(THREAD)?;
        Ok(HandsThread { tables, thread })
    }

    /// Another table is done. Never waits.
    pub fn tell(&self, table: DoneTable) {
        let _ = self.tables.send(table); // the thread lives as long as this
    }

    pub fn stop(self) {
        drop(self.tables);
        if self.thread.join().is_err() {
            log::error!("the thread that compares tables of locks panicked; this is a defect");
        }
    }
}

fn compare(own: NodeId, hands: &Hands, tally: &Tally, tables: &Receiver<DoneTable>) {
    let mut compared = ComparedTables::default();
    while let Ok(done) = tables.recv() {
        let changes = compared.take(&done, own);
        if changes.is_empty() {
            continue;
        }
        *hands.before.write() = Arc::new(compared.before.clone());
        changes.iter().for_each(|change| tally.lock_changed(change.unheld_ms));
        hands.events.push(changes);
    }
}

/// The last table, and what became of the locks in those before.
#[derive(Debug, Default)]
struct ComparedTables {
    last: Option<Arc<LockTable>>,
    before: BTreeMap<LockName, HolderBefore>,
    /// Since when nobody holds each of these.
    free: BTreeMap<LockName, u64>,
}

impl ComparedTables {
    /// The changes by this table, as the member of this id tells them. Of the first table nothing is known to have changed.
    fn take(&mut self, done: &DoneTable, own: NodeId) -> Vec<LockChange> {
        let Some(last) = self.last.replace(done.table.clone()) else { return Vec::new() };
        let mut changes = Vec::new();
        for (name, hold) in last.iter() {
            let next = done.table.get(name);
            if next.is_some_and(|next| next.token == hold.token) {
                continue;
            }
            let end = end_of(hold, &last, done);
            let silence = match end {
                HoldEnd::GaveBack => None,
                HoldEnd::Died | HoldEnd::Silent => done.silent.get(&hold.by.member),
            };
            let silence = silence.map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(0));
            self.free.insert(name.clone(), done.at_ms.saturating_sub(silence));
            let holder = done.list.name(hold.by.member);
            let before = HolderBefore::new(holder, hold.token, done.at_ms, end);
            self.before.insert(name.clone(), before);
            changes.push(self.change(name, next, done, own));
        }
        for (name, hold) in done.table.iter().filter(|(name, _)| last.get(name).is_none()) {
            changes.push(self.change(name, Some(hold), done, own));
        }
        if self.before.len() > 2 * MOST_NAMES {
            self.before.retain(|name, _| done.table.get(name).is_some());
            self.free.clear(); // how long those were free is not known any more
        }
        changes
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
    match () {
        () if done.over.iter().any(|life| hold.by.is_up_to(*life)) => HoldEnd::Died,
        () if is_taken(&done.table) => HoldEnd::Silent,
        () => HoldEnd::GaveBack,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::locks::table::TableChange;
    use crate::core::membership::Member;
    use crate::core::types::{Epoch, Incarnation, Role, Version};

    fn id(number: u128) -> NodeId {
        NodeId(uuid::Uuid::from_u128(number))
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
        assert_eq!(step(1, vec![take(1, b)], &[], 0), [], "nobody knows what was before");
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
        assert_eq!(step(9, vec![], &[a], 0), []);
    }
}
