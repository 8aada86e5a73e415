//! What one durable write takes on this disk: the one that a failover must not wait for.

use std::path::Path;
use std::time::{Duration, Instant};

use electd::core::membership::{ListVersion, MemberList};
use electd::core::types::{Epoch, Incarnation, NodeId};
use electd::store::{Record, Store};
use uuid::Uuid;

/// The times of this many saves, as a node does them.
pub fn durable_writes(folder: &Path, count: usize) -> Vec<Duration> {
    let id = NodeId(Uuid::new_v4());
    let (store, _) = Store::open(folder, id).expect("the folder is new");
    let save = |epoch| {
        let record = Record {
            id,
            incarnation: Incarnation(1),
            epoch: Epoch(epoch),
            reserved: Epoch(epoch),
            leader: Some(id),
            vote: None,
            members: MemberList::new(ListVersion::default(), Vec::new()),
            task: Default::default(),
        };
        let start = Instant::now();
        store.save(&record).expect("the disk can be written");
        start.elapsed()
    };
    (0..).take(count).map(save).collect()
}
