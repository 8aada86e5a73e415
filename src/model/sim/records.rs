//! The records of all nodes of a run, as somebody who asks them gets them. For tests alone: an election that is merged from
//! them is held against what the run knows.

use super::own_records::{OwnRecords, ahead, by_own_clock};
use super::world::World;
use crate::trace::merge::TimedRecord;
use crate::trace::record::Record;

/// What all nodes that run would show to somebody who estimates their clocks wrong by up to 30 ms.
fn shown(world: &World) -> Vec<TimedRecord> {
    let Some(OwnRecords(records)) = &world.records else { return Vec::new() };
    let live = world.live().filter_map(|(node, core)| {
        let recorded = &records.get(&(node, world.nodes[node].incarnation))?.1;
        let (since_ns, entries) = recorded.entries(&world.members);
        let record = Record {
            cluster: "simulated".to_owned(),
            node: world.members.name(core.id()),
            incarnation: world.nodes[node].disk.incarnation().0,
            algorithm: world.setup.algorithm.name().to_owned(),
            quorum: world.setup.quorum.name().to_owned(),
            now_ns: by_own_clock(node, world.nodes[node].local(world.now)).0,
            since_ns,
            members: world.members.iter().map(|member| member.name.clone()).collect(),
            entries,
            ..Record::default()
        };
        let wrong = (node as i128 * 17 % 7 - 3) * 10_000_000;
        Some(TimedRecord { record, ahead_ns: wrong - i128::from(ahead(node)) })
    });
    live.collect()
}

mod tests;
