//! Recordings of simulated runs are behaviours of the specification (docs/spec), and those of a core with a planted fault
//! are not.

use std::panic::{self, AssertUnwindSafe};

use electd_election::core::planted::{self, Fault};
use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_model::sim::{FaultSet, Schedule};
use electd_record::behaviour::life::Life;
use electd_record::behaviour::{Judged, Refused, judge};

/// The lives of the nodes of this run.
fn lives(schedule: Schedule) -> Vec<Life> {
    let (flights, _) = schedule.recorded();
    flights.iter().flat_map(|flight| Life::read(flight).expect("it is ours")).collect()
}

fn schedule(algorithm: AlgorithmKind, faults: FaultSet, seed: u64) -> Schedule {
    Schedule { quorum: Quorum::Majority, faults, ..Schedule::new(algorithm, seed) }
}

#[test]
fn recordings_are_behaviours() {
    let sets = [FaultSet::Model, FaultSet::All, FaultSet::Storm, FaultSet::Jobs, FaultSet::Orders];
    let (mut runs, mut turns) = (0, 0);
    let more: u64 = std::env::var("RUNS").map_or(14, |runs| runs.parse().unwrap());
    let mut refused = 0;
    for algorithm in AlgorithmKind::ALL {
        for faults in sets {
            for seed in 0..more {
                let lives = lives(schedule(algorithm, faults, seed));
                match judge(&lives) {
                    Ok(judged) => turns += judged.turns,
                    Err(no) => {
                        refused += 1;
                        println!("{} {} {seed}: {no}", algorithm.name(), faults.name());
                    }
                }
                runs += 1;
            }
        }
    }
    println!("{runs} runs, {turns} turns, {refused} refused");
    assert_eq!(refused, 0);
}
