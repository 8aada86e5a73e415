//! Leaders that go one after the other, within the model: each is replaced within the bound that `check` prints, in
//! clusters of odd and even size.
//!
//! `SEEDS=1000 cargo test --profile model --test model failovers` tries more; with `SEED=7 ALGORITHM=ring MEMBERS=4` it
//! prints what happens in one run.

use std::time::Duration;

use electd::core::settings::AlgorithmKind;
use electd::sim::Failovers;

/// How many leaders go in each run.
const TIMES: usize = 20;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

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
