//! Which locks changed hands: a thread of its own compares the tables, so that neither thousands of names nor a reader of
//! events delays the election thread.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded};
use electd_facts::hands::{ComparedTables, DoneTable};
use electd_facts::hold::{HolderBefore, LockChange};
use electd_facts::locks::LocksView;
use parking_lot::RwLock;

use crate::calls::{Named, THREAD};
use crate::core::locks::table::LockName;
use crate::core::types::NodeId;
use crate::node::events::EventLog;
use crate::node::tally::Tally;

const STACK: usize = 256 * 1024;

/// The holder that each lock had before.
type HoldersBefore = BTreeMap<LockName, HolderBefore>;

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

    /// These changed, of all that had a holder before.
    fn learn(&self, changes: &[LockChange], all: &HoldersBefore) {
        let mut before = self.before.write();
        for name in changes.iter().filter_map(|change| LockName::new(&change.lock).ok()) {
            let known = all.get(&name).cloned();
            before.extend(known.map(|known| (name, known)));
        }
        if before.len() > all.len() {
            before.retain(|name, _| all.contains_key(name)); // some were forgotten
        }
    }

    /// Shows the holder before of each of these locks.
    pub fn show(&self, locks: &mut LocksView) {
        let before = self.before.read();
        for lock in locks.locks.iter_mut().filter(|_| !before.is_empty()) {
            let name = LockName::new(&lock.name).ok();
            lock.before = name.and_then(|name| before.get(&name).cloned());
        }
    }
}

/// The thread.
pub struct HandsThread {
    latest: LatestTable,
    thread: JoinHandle<()>,
}

impl HandsThread {
    /// Of the member of this id.
    pub fn start(own: NodeId, hands: Arc<Hands>, tally: Arc<Tally>) -> io::Result<HandsThread> {
        let (latest, tables) = LatestTable::new();
        let builder = thread::Builder::new().name("lock-hands".to_owned()).stack_size(STACK);
        let thread = builder.spawn(move || compare(own, &hands, &tally, &tables)).named(THREAD)?;
        Ok(HandsThread { latest, thread })
    }

    /// Another table is done. Never waits.
    pub fn tell(&self, table: DoneTable) {
        self.latest.put(table);
    }

    pub fn stop(self) {
        drop(self.latest);
        if self.thread.join().is_err() {
            log::error!("the thread that compares tables of locks panicked; this is a defect");
        }
    }
}

/// The last table that the thread has not taken yet. One that comes before the thread took the one before replaces that: the
/// thread then sees all changes from the last that it took to this one, and needs no queue.
struct LatestTable {
    tables: Sender<DoneTable>,
    untaken: Receiver<DoneTable>,
}

impl LatestTable {
    fn new() -> (LatestTable, Receiver<DoneTable>) {
        let (tables, untaken) = bounded(1);
        (LatestTable { tables, untaken: untaken.clone() }, untaken)
    }

    /// Never waits.
    fn put(&self, mut table: DoneTable) {
        while let Err(TrySendError::Full(again)) = self.tables.try_send(table) {
            let _ = self.untaken.try_recv(); // the thread may have taken it meanwhile
            table = again;
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
        hands.learn(&changes, compared.before());
        changes.iter().for_each(|change| tally.lock_changed(change.unheld_ms));
        hands.events.push(changes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::locks::table::LockTable;
    use crate::core::membership::{ListVersion, MemberList};
    use crate::core::types::{Epoch, Version};

    #[test]
    fn of_tables_that_nobody_took_yet_the_latest_alone_waits() {
        let (latest, tables) = LatestTable::new();
        for counter in 1..=1000 {
            let version = Version { epoch: Epoch(1), counter };
            let list = Arc::new(MemberList::new(ListVersion::default(), Vec::new()));
            let table = LockTable::default().changed(version, &list, Vec::new()).table;
            let (over, silent) = (Vec::new(), BTreeMap::new());
            latest.put(DoneTable { table: Arc::new(table), list, over, silent, at_ms: counter });
        }
        assert_eq!(tables.len(), 1);
        assert_eq!(tables.recv().unwrap().at_ms, 1000);
        drop(latest);
        assert!(tables.recv().is_err(), "the thread ends");
    }
}
