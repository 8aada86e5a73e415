//! Which locks changed hands: a thread of its own compares the tables, so that neither thousands of names nor a reader of
//! events delays the election thread.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam::channel::{Receiver, Sender, unbounded};
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
type HoldersBefore = Arc<BTreeMap<LockName, HolderBefore>>;

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
        *hands.before.write() = Arc::new(compared.before().clone());
        changes.iter().for_each(|change| tally.lock_changed(change.unheld_ms));
        hands.events.push(changes);
    }
}
