//! Leaders that go one after the other, within the model: each is replaced within the bound that `check` prints, in
//! clusters of odd and even size.
//!
//! `SEEDS=1000 cargo test --profile model --test model failovers` tries more; with `SEED=7 ALGORITHM=ring MEMBERS=4` it
//! prints what happens in one run.

use std::time::Duration;

use electd_election::core::settings::AlgorithmKind;
use electd_model::sim::{Crashes, Failovers};

/// How many leaders go in each run.
const TIMES: usize = 20;

/// Prints how long the others have no leader after a crash, with coroners and without.
#[test]
#[ignore = "a tool: cargo test --profile model --test model figures_of_crashes -- --ignored --nocapture"]
fn figures_of_crashes() {
    for algorithm in AlgorithmKind::ALL {
        for members in [3, 5, 9] {
            for (certified, often) in [(false, false), (true, false), (false, true), (true, true)] {
                let runs = (0..10).map(|seed| Crashes {
                    algorithm,
                    members,
                    certified,
                    often,
                    times: TIMES,
                    seed,
                });
                let took: Result<Vec<_>, _> = runs.map(Crashes::run).collect();
                let mut took = took.expect("each leader is replaced").concat();
                took.sort_unstable();
                println!(
                    "{}, {members} members, {}{}: median {:.1?}, 95 % within {:.1?}, at most {:.1?}",
                    algorithm.name(),
                    if certified { "certified" } else { "not certified" },
                    if often { ", again and again" } else { "" },
                    took[took.len() / 2],
                    took[took.len() * 95 / 100],
                    took[took.len() - 1]
                );
            }
        }
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Claim: bound.
#[test]
fn each_leader_is_replaced_within_the_printed_bound() {
    let (first, end) = match number("SEED") {
        Some(seed) => (seed, seed + 1),
        None => (0, number("SEEDS").unwrap_or(if cfg!(debug_assertions) { 2 } else { 50 })),
    };
    let trace = number("SEED").is_some();
    let chosen = std::env::var("ALGORITHM").ok();
    let sizes = number("MEMBERS").map_or(2..=7, |members| members as usize..=members as usize);
    let mut failed = Vec::new();
    for algorithm in AlgorithmKind::ALL {
        if chosen.as_deref().is_some_and(|chosen| chosen != algorithm.name()) {
            continue;
        }
        for members in sizes.clone().filter(|members| *members > 2) {
            let (mut longest, mut wrong) = ([Duration::ZERO; 2], 0);
            for seed in first..end {
                let run = Failovers { algorithm, members, times: TIMES, seed, trace };
                let ended = run.run();
                ended.trace.iter().for_each(|line| println!("{line}"));
                match ended.longest {
                    Ok(took) => longest = std::array::from_fn(|at| took[at].max(longest[at])),
                    Err(what) => {
                        wrong += 1;
                        failed.push(format!(
                            "{}, {members} members, seed {seed}: {what}",
                            algorithm.name()
                        ));
                    }
                }
            }
            println!(
                "{}, {members} members: at most {:?}, and {:?} while one came and went; {wrong} failed",
                algorithm.name(),
                longest[0],
                longest[1]
            );
        }
    }
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
}
