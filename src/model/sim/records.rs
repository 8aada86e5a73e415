//! The records of all nodes of a run, as nodes keep theirs, each by a clock of its own. For tests alone: an election
//! that is merged from them is held against what the run knows.

use std::collections::BTreeMap;

use crate::core::types::Time;
use crate::core::{Core, Input, Output};
use crate::recorder::{Recorded, Recorder};

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

mod tests;
