//! The duration of one durable write on this disk. Without a quorum a failover must not wait for a
//! write; with a majority a vote is durable before the voter sends it, so a handover waits for one
//! write.

use std::path::Path;
use std::time::{Duration, Instant};

use electd::core::durable::Durable;
use electd::core::restart::KeptState;
use electd::core::types::{Epoch, Incarnation, NodeId};
use electd::store::{Store, StoreRecord};
use uuid::Uuid;

/// A data folder of its own, on the disk that the nodes write to.
pub struct Disk {
    store: Store,
    id: NodeId,
    epoch: u64,
}

impl Disk {
    pub fn new(folder: &Path) -> Disk {
        let id = NodeId(Uuid::new_v4());
        let (store, _) = Store::open(folder, id).expect("the folder is new");
        Disk { store, id, epoch: 0 }
    }

    /// The time of one save, as a node does it.
    pub fn measure(&mut self) -> Duration {
        self.epoch += 1;
        let epoch = Epoch(self.epoch);
        let durable =
            Durable { epoch, reserved: epoch, leader: Some(self.id), ..Durable::default() };
        let kept = KeptState { incarnation: Incarnation(1), durable };
        let record = StoreRecord { id: self.id, kept };
        let start = Instant::now();
        self.store.save(&record).expect("the disk can be written");
        start.elapsed()
    }
}
