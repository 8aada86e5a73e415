//! Runs random schedules on all cores and says what they met: `make sim SEEDS=1000`.
//!
//! Arguments: COUNT, or FROM..TO; and an algorithm, without which all take their turn. Ends with 1
//! if a seed fails, and prints the command that replays it.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use electd::core::settings::AlgorithmKind;
use electd::sim::{Failure, Faults, Schedule};

/// At most so many failures are told of.
const SHOWN: usize = 20;

/// What a thread has seen.
#[derive(Default)]
struct Seen {
    faults: Faults,
    slowest: (Duration, u64),
    failures: Vec<Failure>,
}

fn main() -> ExitCode {
    let argument = std::env::args().nth(1).unwrap_or_else(|| "1000".to_owned());
    let Some((from, to)) = range(&argument) else {
        eprintln!("{argument}: give a number of seeds, or the first and the last as FROM..TO");
        return ExitCode::from(2);
    };
    let word = std::env::args().nth(2);
    let chosen = |algorithm: &AlgorithmKind| word.as_deref().is_none_or(|w| w == algorithm.name());
    let algorithms: Vec<_> = AlgorithmKind::ALL.into_iter().filter(chosen).collect();
    if algorithms.is_empty() {
        let names = AlgorithmKind::ALL.map(AlgorithmKind::name).join(", ");
        eprintln!("{}: there is no such algorithm; there are {names}", word.unwrap_or_default());
        return ExitCode::from(2);
    }
    let mut failed = false;
    for algorithm in algorithms {
        println!("{}, seeds {from}..{to}", algorithm.name());
        let begin = Instant::now();
        let seen = sweep(algorithm, from, to);
        report(&seen, to - from, begin.elapsed());
        failed |= !seen.failures.is_empty();
    }
    ExitCode::from(u8::from(failed))
}

fn range(argument: &str) -> Option<(u64, u64)> {
    let Some((from, to)) = argument.split_once("..") else {
        return Some((0, argument.parse().ok()?));
    };
    let (from, to) = (from.parse().ok()?, to.parse().ok()?);
    (from <= to).then_some((from, to))
}

/// Runs the seeds on all cores; whoever is free takes the next.
fn sweep(algorithm: AlgorithmKind, from: u64, to: u64) -> Seen {
    let next = AtomicU64::new(from);
    let work = || {
        let mut seen = Seen::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= to {
                return seen;
            }
            match (Schedule { algorithm, seed, trace: false }).run() {
                Ok(run) => {
                    seen.faults += run.faults;
                    seen.slowest = seen.slowest.max((run.settled, seed));
                }
                Err(failure) => seen.failures.push(failure),
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut all = Seen::default();
    thread::scope(|scope| {
        let workers = (0..cores).map(|_| scope.spawn(work)).collect::<Vec<_>>();
        for worker in workers {
            let seen = worker.join().expect("a run panicked: see above");
            all.faults += seen.faults;
            all.slowest = all.slowest.max(seen.slowest);
            all.failures.extend(seen.failures);
        }
    });
    all.failures.sort_by_key(|failure| failure.seed);
    all
}

fn report(seen: &Seen, seeds: u64, took: Duration) {
    for failure in seen.failures.iter().take(SHOWN) {
        println!("FAILED {failure}\n       {}", failure.replay());
    }
    for (what, count) in seen.faults.list() {
        println!("{what:<32}{count:>10}");
    }
    let (settled, seed) = seen.slowest;
    println!("{:<32}{:>10}", "longest until agreement, ms", settled.as_millis());
    println!("{:<32}{seed:>10}", "  in seed");
    let speed = seeds as f64 / took.as_secs_f64();
    println!("{:<32}{speed:>10.0}", "seeds per second");
    println!("{:<32}{:>10}", "failed", seen.failures.len());
}
