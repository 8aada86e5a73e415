//! Recordings of simulated runs are behaviours of the specification (docs/spec). Those of a core with a planted fault are
//! not, nor are those that somebody changed.

mod changed;
mod planted;

use std::collections::BTreeMap;

use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_model::sim::{FaultSet, Schedule};
use electd_record::behaviour::life::RecordedLife;
use electd_record::behaviour::{SpecAction, judge};

/// So many runs of each kind are judged: 210 in the optimized build.
const RUNS: u64 = crate::fewer(1, 14);

const SETS: [FaultSet; 5] =
    [FaultSet::Model, FaultSet::All, FaultSet::Storm, FaultSet::Jobs, FaultSet::Orders];

/// A run with a majority.
fn run_of(algorithm: AlgorithmKind, faults: FaultSet, seed: u64) -> Schedule {
    Schedule { quorum: Quorum::Majority, faults, ..Schedule::new(algorithm, seed) }
}

/// The lives of the nodes of this run.
fn lives(schedule: Schedule) -> Vec<RecordedLife> {
    let (flights, _) = schedule.recorded();
    flights.iter().flat_map(|flight| RecordedLife::read(flight).expect("it is ours")).collect()
}

/// Claim: one-leader.
#[test]
fn recordings_of_simulated_runs_are_behaviours_of_the_specification() {
    let runs = std::env::var("RUNS").map_or(RUNS, |runs| runs.parse().expect("a number"));
    let mut steps: BTreeMap<SpecAction, u64> = BTreeMap::new();
    let (mut turns, mut refused) = (0, Vec::new());
    for algorithm in AlgorithmKind::ALL {
        for (faults, seed) in
            SETS.into_iter().flat_map(|set| (0..runs).map(move |seed| (set, seed)))
        {
            match judge(&lives(run_of(algorithm, faults, seed))) {
                Ok(judged) => {
                    turns += judged.turns;
                    for (action, times) in judged.steps {
                        *steps.entry(action).or_default() += times;
                    }
                }
                Err(no) => refused.push(format!("{algorithm:?} {} {seed}: {no}", faults.name())),
            }
        }
    }
    println!("{turns} turns; {steps:?}");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
    let rare = [SpecAction::Done, SpecAction::Take, SpecAction::Release];
    for action in
        [SpecAction::GiveVote, SpecAction::Acknowledge, SpecAction::Write, SpecAction::Become]
            .into_iter()
            .chain([SpecAction::Beat, SpecAction::Renew])
            .chain(rare.into_iter().filter(|_| !crate::IS_SHORT))
    {
        assert!(steps.contains_key(&action), "no run has a step {action:?}: {steps:?}");
    }
}
