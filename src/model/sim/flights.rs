//! The flights of all processes of a run, as the nodes of a cluster record theirs, for tests: what a core did in the
//! simulator, it does again in a replay, and it is a behaviour of the specification.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::core::types::Time;
use crate::core::{Core, Input, Output};
use crate::flight::tape::{Tape, Taped};

/// The segments of one process.
pub type SimulatedFlight = Vec<Arc<Vec<u8>>>;

/// The tapes of the processes, by the place of the node and the number of its start.
#[derive(Debug, Default)]
pub(super) struct Flights(BTreeMap<(usize, u64), (Tape, Taped)>);

impl Flights {
    /// A process has started. Its tape begins before its first turn.
    pub fn starts(&mut self, process: (usize, u64), core: &Core, now: Time) {
        let taped = Taped::default();
        self.0.insert(process, (Tape::new(core, now, &taped), taped));
    }

    /// A process takes an input.
    pub fn begin(&mut self, process: (usize, u64), now: Time, input: &Input) {
        if let Some((tape, taped)) = self.0.get_mut(&process) {
            tape.begin(now, input, taped);
        }
    }

    /// It has put this out.
    pub fn end(&mut self, process: (usize, u64), core: &Core, now: Time, out: &[Output]) {
        if let Some((tape, taped)) = self.0.get_mut(&process) {
            tape.end(out);
            tape.pass_on(core, now, taped);
        }
    }

    /// The segments of each process.
    pub fn segments(&self) -> Vec<SimulatedFlight> {
        self.0.values().map(|(_, taped)| taped.segments()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::settings::{AlgorithmKind, Quorum};
    use crate::flight::replay::replay;
    use crate::sim::{FaultSet, Schedule};

    /// The flights of the processes of this run.
    fn recorded(schedule: Schedule) -> Vec<SimulatedFlight> {
        let (flights, breach) = schedule.recorded();
        assert_eq!(breach, None, "{schedule:?}");
        flights
    }

    #[test]
    fn every_process_does_the_same_again() {
        let mut turns = 0;
        for algorithm in AlgorithmKind::ALL {
            for quorum in Quorum::ALL {
                for faults in [FaultSet::All, FaultSet::Storm, FaultSet::Jobs] {
                    let schedule = Schedule { algorithm, quorum, faults, seed: 7, trace: true };
                    for flight in recorded(schedule) {
                        let replayed = replay(&flight).unwrap();
                        assert_eq!(replayed.difference, None, "{schedule:?}");
                        assert_eq!((replayed.unfinished, replayed.gaps), (None, 0));
                        turns += replayed.turns;
                    }
                }
            }
        }
        assert!(turns > 10_000, "{turns}");
    }

    #[cfg(feature = "planted")]
    mod broken {
        use super::*;
        use crate::core::planted::{Fault, plant};

        /// Rules of a start, of what a node publishes, and of coroners: no turn of a core depends on them.
        const OUTSIDE: [&str; 10] = [
            "bully-no-power-on",
            "bully-no-reserve",
            "majority-promise-forgotten",
            "majority-snapshot-for-ever",
            "jobs-drain-forgotten",
            "jobs-pause-forgotten",
            "majority-file-wins",
            "death-early",
            "death-guard-unheeded",
            "orders-replaced-amid-job",
        ];

        /// They matter in turns that are seldom, and in none of the runs below.
        const SELDOM: [&str; 7] = [
            "halting-any-elected",
            "ring-no-run-timer",
            "ring-unmet-leader",
            "majority-older-leader",
            "majority-stale-vote",
            "majority-answer-stretched",
            "majority-takeover-at-once",
        ];

        /// How many runs are tried for each fault.
        const RUNS: u64 = 20;

        /// The runs of the simulator that find this fault, by its row in the table.
        fn runs(fault: Fault) -> Option<Schedule> {
            let plan = fault.plan();
            let words: Vec<_> = plan.runs.split(' ').collect();
            let [algorithm, quorum, faults] = words[..] else { return None };
            Some(Schedule {
                algorithm: AlgorithmKind::ALL.into_iter().find(|one| one.name() == algorithm)?,
                quorum: Quorum::ALL.into_iter().find(|one| one.name() == quorum)?,
                faults: FaultSet::ALL.into_iter().find(|one| one.name() == faults)?,
                seed: plan.seed,
                trace: true,
            })
        }

        /// Whether a core with this fault does something else than one without, and that is named.
        fn is_seen(fault: Fault, runs: Schedule) -> bool {
            (0..RUNS).any(|more| {
                let flights = recorded(Schedule { seed: runs.seed + more, ..runs });
                plant(Some(fault));
                let found = flights.iter().find_map(|flight| replay(flight).unwrap().difference);
                plant(None);
                found.is_some_and(|found| found.turn > 0 && found.recorded != found.replayed)
            })
        }

        #[test]
        fn a_core_with_a_broken_rule_is_found_out() {
            let hook = std::panic::take_hook();
            std::panic::set_hook(Box::new(|_| {})); // a broken core may panic
            let searched = Fault::ALL.iter().filter(|fault| {
                let name = fault.plan().name;
                !OUTSIDE.contains(&name) && !SELDOM.contains(&name)
            });
            let silent: Vec<_> = searched
                .filter(|fault| runs(**fault).is_some_and(|runs| !is_seen(**fault, runs)))
                .map(|fault| fault.plan().name)
                .collect();
            std::panic::set_hook(hook);
            assert_eq!(silent, [""; 0]);
        }
    }
}
