//! A tool: runs random schedules on all processor cores and reports which events occurred.
//!
//! ```text
//! make sim SEEDS=0..5000 ALGORITHM=ring QUORUM=none FAULTS=all
//! ```
//!
//! Without these choices it runs all algorithms, quorums and sets of faults in turn. Now and then a
//! line shows the progress, so that you can resume a long sweep from there. The tool fails if a seed
//! does, and prints the command that replays it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_model::sim::{FailedRun, FaultSet, Faults, Schedule};

/// At most this many failures are reported.
const SHOWN: usize = 20;

/// After this many seeds a line shows the progress.
const BLOCK: u64 = 5000;

/// The choices, from the environment.
#[derive(Parser)]
struct Arguments {
    /// How many seeds, from 0 on; or the first, and the one after the last, as FROM..TO.
    #[arg(long, env, default_value = "1000", value_parser = range)]
    seeds: (u64, u64),
    /// Only this algorithm.
    #[arg(long, env, value_parser = one_of(&AlgorithmKind::ALL, AlgorithmKind::name))]
    algorithm: Option<AlgorithmKind>,
    /// Only this guarantee.
    #[arg(long, env, value_parser = one_of(&Quorum::ALL, Quorum::name))]
    quorum: Option<Quorum>,
    /// Only these faults.
    #[arg(long, env, value_parser = one_of(&FaultSet::ALL, FaultSet::name))]
    faults: Option<FaultSet>,
}

/// Takes the name of one of these.
fn one_of<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    let names = PossibleValuesParser::new(all.iter().map(|one| name(*one)));
    names.try_map(move |word| {
        all.iter().copied().find(|one| name(*one) == word).ok_or("there is none of this name")
    })
}

fn range(argument: &str) -> Result<(u64, u64), String> {
    let number =
        |text: &str| text.parse().map_err(|_| format!("\"{text}\" is no number of a seed"));
    let (from, to) = match argument.split_once("..") {
        Some((from, to)) => (number(from)?, number(to)?),
        None => (0, number(argument)?),
    };
    if from <= to { Ok((from, to)) } else { Err(format!("{from} comes after {to}")) }
}

/// The findings of a thread.
#[derive(Default)]
struct Seen {
    faults: Faults,
    slowest: (Duration, u64),
    failures: Vec<FailedRun>,
}

impl Seen {
    fn add(&mut self, other: Seen) {
        self.faults += other.faults;
        self.slowest = self.slowest.max(other.slowest);
        self.failures.extend(other.failures);
    }
}

#[test]
#[ignore = "a tool: make sim SEEDS=1000"]
fn random_schedules_keep_the_invariants() {
    let arguments = Arguments::parse_from(["sweep"]);
    let (from, to) = arguments.seeds;
    let mut failed = 0;
    for schedule in schedules(&arguments) {
        let Schedule { algorithm, quorum, faults, .. } = schedule;
        let name =
            format!("{}, quorum {}, faults {}", algorithm.name(), quorum.name(), faults.name());
        println!("{name}: seeds {from}..{to}");
        let begin = Instant::now();
        let mut all = Seen::default();
        for start in (from..to).step_by(BLOCK as usize) {
            let end = to.min(start + BLOCK);
            all.add(sweep(schedule, start, end));
            if end < to {
                println!("{name}: done up to {end}, {} failed", all.failures.len());
            }
        }
        report(&all, to - from, begin.elapsed());
        failed += all.failures.len();
    }
    assert_eq!(failed, 0, "seeds failed: see above");
}

/// The schedules to run with every seed.
fn schedules(arguments: &Arguments) -> Vec<Schedule> {
    let mut schedules = Vec::new();
    let Arguments { algorithm, quorum, faults, .. } = arguments;
    for kind in AlgorithmKind::ALL.into_iter().filter(|kind| algorithm.is_none_or(|a| a == *kind)) {
        for quorum in Quorum::ALL.into_iter().filter(|one| quorum.is_none_or(|q| q == *one)) {
            let chosen = |set: &FaultSet| faults.is_none_or(|faults| faults == *set);
            for faults in FaultSet::ALL.into_iter().filter(chosen) {
                schedules.push(Schedule { quorum, faults, ..Schedule::new(kind, 0) });
            }
        }
    }
    schedules
}

/// Runs the seeds on all processor cores; an idle thread takes the next.
fn sweep(schedule: Schedule, from: u64, to: u64) -> Seen {
    let next = AtomicU64::new(from);
    let work = || {
        let mut seen = Seen::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= to {
                return seen;
            }
            match (Schedule { seed, ..schedule }).run() {
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
            all.add(worker.join().expect("a run panicked: see above"));
        }
    });
    all.failures.sort_by_key(|failure| failure.schedule.seed);
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
