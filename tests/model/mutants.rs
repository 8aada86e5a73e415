//! A tool: breaks the rules of the core one by one and checks that the simulator finds the damage.
//!
//! The faults are those of src/election/core/planted.rs, which the cargo feature `planted` builds in. For each,
//! the tool runs the seeds from 0 on, on all processor cores, and reports the first that fails. If none
//! fails below the bound, the seed that was recorded with the fault has to; a seed recorded beyond the
//! bound is tried first, and if it fails the search is skipped. A run that fails without the fault as
//! well has found something else: the tool reports it and searches on.
//!
//! ```text
//! make mutants MUTANTS="ring bully-no-t2"
//! ```
//!
//! tries the faults with these names or beginnings of names; without names it tries all. With `SEED` it
//! runs only that seed, and prints the trace. It fails if a fault is not found.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::Parser;
use electd_election::core::planted::{self, Fault};
use electd_election::core::settings::{AlgorithmKind, Quorum};
use electd_model::sim::{FaultSet, Schedule};

use crate::exhaustive::{book, locks, search::search, start};
use crate::names;
use crate::words;

/// The choice of faults, from the environment.
#[derive(Parser)]
struct Arguments {
    /// The names of the faults to try, or the beginnings of names; all without one.
    #[arg(long = "name", env = "MUTANTS", default_value = "")]
    names: String,
    /// How far to search.
    #[arg(long, env, default_value_t = 20_000)]
    seeds: u64,
    /// Live through this seed alone and print its trace.
    #[arg(long, env)]
    seed: Option<u64>,
    /// Search these runs, as "bully majority storm", and not those of the fault.
    #[arg(long, env)]
    runs: Option<String>,
}

/// Claim: epoch.
#[test]
#[ignore = "a tool: make mutants"]
fn each_planted_fault_is_found() {
    if !planted::BUILT_IN {
        panic!("this build cannot break a rule: run it by `make mutants`");
    }
    let arguments = Arguments::parse_from(["mutants"]);
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {})); // a panic is one of the ways to find a fault
    let missed = try_all(&arguments);
    panic::set_hook(hook);
    assert_eq!(missed, Ok(0), "faults were not found: see above");
}

/// Tries all faults, or those named. Tells how many were not found.
fn try_all(arguments: &Arguments) -> Result<usize, String> {
    let names: Vec<&str> = arguments.names.split_whitespace().collect();
    let wanted = |fault: &&Fault| {
        names.is_empty() || names.iter().any(|name| fault.plan().name.starts_with(*name))
    };
    let faults: Vec<Fault> = Fault::ALL.iter().filter(wanted).copied().collect();
    if faults.is_empty() {
        return Err(format!(
            "no fault of src/election/core/planted.rs is named {}",
            names.join(" or ")
        ));
    }
    let mut missed = 0;
    for fault in faults {
        println!("{:<28} {}: {}", fault.plan().name, fault.plan().rule, fault.plan().what);
        let runs = arguments.runs.as_deref().unwrap_or(fault.plan().runs);
        missed += usize::from(!try_runs(fault, runs, arguments)?);
        for (_, words) in ALSO.iter().filter(|(also, _)| *also == fault) {
            missed += usize::from(!try_runs(fault, words, arguments)?);
        }
    }
    Ok(missed)
}

/// Faults that are also found elsewhere: by the search of the locks, or in clusters whose members want names.
const ALSO: [(Fault, &str); 3] = [
    (Fault::CertificateEarly, "locks lives"),
    (Fault::NoTrap, "names"),
    (Fault::ReleasedActs, "names"),
];

/// Whether these runs find the fault.
fn try_runs(fault: Fault, words: &str, arguments: &Arguments) -> Result<bool, String> {
    if let Some(word) = words.strip_prefix("exhaustive ") {
        return is_met(fault, word);
    }
    if words.starts_with("locks ") {
        return is_scheduled(fault, words);
    }
    match words {
        "words" => return Ok(is_heard(fault, arguments.seeds)),
        "names" => return Ok(is_seen_by_names(fault, arguments.seeds, names::run)),
        "runs" => return Ok(is_seen_by_names(fault, arguments.seeds, names::run_with_periods)),
        _ => {}
    }
    let runs = runs(fault, words)?;
    match arguments.seed {
        Some(seed) => print_run(fault, Schedule { seed, trace: true, ..runs }),
        None => return Ok(is_found(fault, runs, arguments.seeds)),
    }
    Ok(true)
}

/// About how many states of an exhaustive search are visited.
const STATES: usize = 2_000_000;

/// Whether the exhaustive search with this word in its name finds the fault.
fn is_met(fault: Fault, word: &str) -> Result<bool, String> {
    let story = start::STORIES.iter().find(|story| story.name.contains(word));
    let story = story.ok_or_else(|| {
        format!(
            "src/election/core/planted.rs: {}: no exhaustive search has the word {word}",
            fault.plan().name
        )
    })?;
    let mut book = book::Book::default();
    planted::plant(Some(fault));
    let begin = story.begin(&mut book);
    let report = search(&mut book, &begin, STATES);
    planted::plant(None);
    let (states, took) = (report.states, report.took.as_secs_f64());
    match &report.breach {
        Some(breach) => {
            println!("{:<28} state {states}: {} ({took:.1} s)", "", breach.rule);
        }
        None => println!("{:<28} NOT FOUND in {states} states ({took:.1} s)", ""),
    }
    Ok(report.breach.is_some())
}

/// Whether the search of the locks with this name finds the fault, after as many steps as its row says.
fn is_scheduled(fault: Fault, name: &str) -> Result<bool, String> {
    let story = locks::story::STORIES.into_iter().find(|story| story.name == name);
    let mut story = story.ok_or_else(|| format!("there is no search of the name {name}"))?;
    planted::plant(Some(fault));
    let begin = locks::world::World::begin(&story);
    let report = search(&mut story, &begin, STATES);
    planted::plant(None);
    println!("{report}");
    let found = report.breach.map(|breach| breach.trace.len() as u64);
    let recorded = Some(fault.plan().seed).filter(|_| fault.plan().runs == name);
    if recorded.is_some() && found != recorded {
        println!("{:<28} NOT FOUND after {recorded:?} steps: {found:?}", "");
    }
    Ok(found.is_some() && (recorded.is_none() || found == recorded))
}

/// Whether the lies of a seed below the bound show the fault.
fn is_heard(fault: Fault, bound: u64) -> bool {
    let begin = Instant::now();
    planted::plant(Some(fault));
    let broken = |seed| words::hear_out(seed).err().map(|broken| (seed, broken));
    let found = (0..bound).find_map(broken);
    planted::plant(None);
    let took = begin.elapsed().as_secs_f64();
    match &found {
        Some((seed, broken)) => println!("{:<28} seed {seed}: {broken} ({took:.1} s)", ""),
        None => println!("{:<28} NOT FOUND below {bound} ({took:.1} s)", ""),
    }
    found.is_some()
}

/// Whether members that want names show the fault in a seed below the bound.
fn is_seen_by_names<T>(
    fault: Fault,
    bound: u64,
    run: fn(AlgorithmKind, u64) -> Result<T, String>,
) -> bool {
    let begin = Instant::now();
    planted::plant(Some(fault));
    let broken = |seed| run(AlgorithmKind::Bully, seed).err().map(|broken| (seed, broken));
    let found = (0..bound).find_map(broken);
    planted::plant(None);
    let took = begin.elapsed().as_secs_f64();
    match &found {
        Some((seed, broken)) => println!("{:<28} names, seed {seed}: {broken} ({took:.1} s)", ""),
        None => println!("{:<28} NOT FOUND by names below {bound} ({took:.1} s)", ""),
    }
    found.is_some()
}

/// The settings of the runs that find a fault.
fn runs(fault: Fault, words: &str) -> Result<Schedule, String> {
    let wrong = |what: &str| format!("{}: the runs \"{words}\": {what}", fault.plan().name);
    let words: Vec<&str> = words.split(' ').collect();
    let [algorithm, quorum, faults] = words[..] else {
        return Err(wrong("give an algorithm, a quorum and a set of faults"));
    };
    let algorithm = AlgorithmKind::ALL.into_iter().find(|one| one.name() == algorithm);
    let quorum = Quorum::ALL.into_iter().find(|one| one.name() == quorum);
    let faults = FaultSet::ALL.into_iter().find(|one| one.name() == faults);
    Ok(Schedule {
        quorum: quorum.ok_or_else(|| wrong("there is no such quorum"))?,
        faults: faults.ok_or_else(|| wrong("there is no such set of faults"))?,
        ..Schedule::new(algorithm.ok_or_else(|| wrong("there is no such algorithm"))?, 0)
    })
}

/// Whether the runs find it: a seed that was recorded beyond the bound, a fresh search, or the recorded seed.
fn is_found(fault: Fault, runs: Schedule, bound: u64) -> bool {
    let begin = Instant::now();
    let recorded = fault.plan().seed;
    let replay =
        || finding(fault, Schedule { seed: recorded, ..runs }).map(|what| (recorded, what));
    let far = if recorded < bound { None } else { replay() };
    let found = far.or_else(|| first_failing(fault, runs, bound)).or_else(replay);
    let took = begin.elapsed().as_secs_f64();
    match &found {
        Some((seed, what)) => {
            let how = if *seed < bound { "seed" } else { "only its recorded seed" };
            println!("{:<28} {how} {seed}: {what} ({took:.1} s)", "");
        }
        None => {
            println!("{:<28} NOT FOUND below {bound}, nor in seed {recorded} ({took:.1} s)", "");
        }
    }
    found.is_some()
}

/// How a run with this fault fails, if it does and would not without.
fn finding(fault: Fault, schedule: Schedule) -> Option<String> {
    let what = failure(Some(fault), schedule)?;
    let Some(anyway) = failure(None, schedule) else { return Some(what) };
    println!("{:<28} seed {} FAILS WITHOUT THE FAULT: {anyway}", "", schedule.seed);
    None
}

/// The first of the seeds below the bound that fails, and how. A thread that is free takes the next; those before a
/// seed that fails are lived through to their end.
fn first_failing(fault: Fault, runs: Schedule, bound: u64) -> Option<(u64, String)> {
    let (next, end) = (AtomicU64::new(0), AtomicU64::new(bound));
    let failures = Mutex::new(BTreeMap::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end.load(Ordering::Relaxed) {
                return;
            }
            if let Some(what) = finding(fault, Schedule { seed, ..runs }) {
                end.fetch_min(seed, Ordering::Relaxed);
                failures.lock().expect("nobody panics with it").insert(seed, what);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    failures.into_inner().expect("nobody panics with it").pop_first()
}

/// This much of a failure's text is printed; `--seed` prints all.
const SHOWN: usize = 160;

/// How a run fails, if it does; a panic is a failure as well.
fn failure(fault: Option<Fault>, schedule: Schedule) -> Option<String> {
    planted::plant(fault);
    let run = panic::catch_unwind(AssertUnwindSafe(|| schedule.run()));
    planted::plant(None);
    match run {
        Ok(run) => run.err().map(|failure| failure.what.chars().take(SHOWN).collect()),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or_else(|| panic.downcast_ref::<&str>().copied());
            Some(format!("a panic: {}", said.unwrap_or("without a word")))
        }
    }
}

/// Prints what happens in one run.
fn print_run(fault: Fault, schedule: Schedule) {
    planted::plant(Some(fault));
    let (trace, end) = match schedule.run() {
        Ok(run) => (run.trace, "found nothing".to_owned()),
        Err(failure) => (failure.trace.clone(), failure.to_string()),
    };
    planted::plant(None);
    for line in trace {
        println!("{line}");
    }
    println!("{end}");
}
