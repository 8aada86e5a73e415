//! The records of all nodes of a run, as nodes keep theirs, each by a clock of its own. For tests alone: an election
//! that is merged from them is held against what the run knows.

use std::collections::BTreeMap;

use super::world::World;
use crate::core::types::Time;
use crate::core::{Core, Input, Output};
use crate::recorder::{Recorded, Recorder};
use crate::trace::merge::TimedRecord;
use crate::trace::record::Record;

/// The records of the processes, by the place of the node and the number of its start.
#[derive(Debug, Default)]
pub struct OwnRecords(BTreeMap<(usize, u64), (Recorder, Recorded)>);

impl OwnRecords {
    /// A process takes an input.
    pub fn begin(&mut self, process: (usize, u64), core: &Core, now: Time, input: &Input) {
        let now = by_own_clock(process.0, now);
        let (recorder, _) =
            self.0.entry(process).or_insert_with(|| (Recorder::new(core, now), Recorded::new(now)));
        recorder.begin(now, input, core);
    }

    /// It has put this out.
    pub fn end(&mut self, process: (usize, u64), core: &Core, now: Time, out: &[Output]) {
        if let Some((recorder, recorded)) = self.0.get_mut(&process) {
            recorder.end(by_own_clock(process.0, now), out, core.phase(), core.waits());
            recorder.pass_on(recorded);
        }
    }
}

/// By how much the clock of a node is ahead: hosts were booted at different times.
fn ahead(node: usize) -> u64 {
    1_000_000_000_000 + node as u64 * 77_000_000_000
}

fn by_own_clock(node: usize, now: Time) -> Time {
    Time(now.0 + ahead(node))
}

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
