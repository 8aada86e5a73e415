//! Clusters whose members want names, with deaths, cuts, pauses and drifting clocks.

use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_model::sim::{FaultSet, PeriodFigures, Schedule};

use crate::simulator::BEYOND;

/// Rules G1 to G11: no two members act under one name, tokens grow, and in the end each name that is wanted is held.
///
/// Claim: one-holder.
#[test]
fn names_are_held_by_one_member_each_whatever_happens() {
    let mut taken = 0;
    for algorithm in AlgorithmKind::ALL {
        for seed in 0..BEYOND {
            taken += run(algorithm, seed).unwrap_or_else(|what| {
                panic!("{}, seed {seed}: {what}", algorithm.name());
            });
        }
    }
    assert!(taken > BEYOND * 10, "names were taken only {taken} times");
}

/// The faults are those of orders: the voters stay the same.
pub fn run(algorithm: AlgorithmKind, seed: u64) -> Result<u64, String> {
    let (quorum, faults) = (Quorum::Majority, FaultSet::Orders);
    Schedule { quorum, faults, ..Schedule::new(algorithm, seed) }.run_with_names()
}

/// Rules G13 and G14: a job runs once in each period, or until it ended with 0, whatever a minority of the clocks shows.
///
/// Claim: once-per.
#[test]
fn a_job_runs_once_in_each_period_whatever_happens() {
    let mut all = PeriodFigures::default();
    for algorithm in AlgorithmKind::ALL {
        for seed in 0..BEYOND {
            let figures = run_with_periods(algorithm, seed).unwrap_or_else(|what| {
                panic!("{}, seed {seed}: {what}", algorithm.name());
            });
            all.begun += figures.begun;
            all.missed += figures.missed;
        }
    }
    println!("{all:?}");
    assert!(all.begun > BEYOND * 10 && (all.missed > 0 || crate::IS_SHORT), "{all:?}");
}

pub fn run_with_periods(algorithm: AlgorithmKind, seed: u64) -> Result<PeriodFigures, String> {
    let (quorum, faults) = (Quorum::Majority, FaultSet::Orders);
    Schedule { quorum, faults, ..Schedule::new(algorithm, seed) }.run_with_periods()
}
