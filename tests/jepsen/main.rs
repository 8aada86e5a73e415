//! A small Jepsen: clusters of real processes in network namespaces, with jobs, while faults and orders drawn from a seed
//! happen to them. `make jepsen MINUTES=10` runs it; without MINUTES it says so and does nothing.
//!
//! | variable | meaning |
//! |---|---|
//! | `MINUTES` | for how long; a round that has begun is ended |
//! | `SEED` | what everything is drawn from; another one each time, without it |
//! | `ROUND` | this round of the seed alone, once |
//! | `JEPSEN_ELECTD` | another build of electd |
//!
//! The same seed gives the same clusters and the same faults, while the moments differ by what the machine does. It exits
//! with 0 if all rounds passed, 1 if one failed, 2 if something is missing, and 130 after a signal.

mod cluster;
mod config;
mod events;
mod faults;
mod holder;
mod host;
mod job;
mod judge;
mod leaders;
mod ledger;
mod names;
mod plan;
mod process;
mod programs;
mod pulse;
mod report;
mod round;

#[path = "../process/support/claims.rs"]
#[expect(dead_code, reason = "the tests of tests/process use the rest")]
mod claims;
#[path = "../process/support/http.rs"]
#[expect(dead_code, reason = "the tests of tests/process use the rest")]
mod http;
#[path = "../process/support/network.rs"]
#[expect(dead_code, reason = "the tests of tests/process use the rest")]
mod network;

use std::env;
use std::os::unix::process::CommandExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use events::Counts;
use plan::Plan;
use round::Outcome;

/// The variable of a process that has a mount namespace of its own.
const APART: &str = "JEPSEN_APART";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [mode, manner, slot] = &arguments[..]
        && mode == job::MODE
    {
        job::run(manner, slot);
        return ExitCode::SUCCESS;
    }
    if let [mode, file, own] = &arguments[..]
        && mode == holder::MODE
    {
        holder::run(file, own);
        return ExitCode::SUCCESS;
    }
    let Some(minutes) = number("MINUTES") else {
        println!("nothing to do: `make jepsen MINUTES=10` runs it for ten minutes");
        return ExitCode::SUCCESS;
    };
    if env::var_os(APART).is_none() {
        // What it mounts is seen by nobody else, and goes with it.
        let own = env::current_exe().expect("it has a path");
        let error = Command::new("unshare").arg("--mount").arg(own).env(APART, "1").exec();
        eprintln!("it needs root, and `unshare` of util-linux: {error}");
        return ExitCode::from(2);
    }
    if let Err(missing) = network::Network::make(1) {
        eprintln!("it needs root, and `ip` and `bridge` of iproute2: {missing}");
        return ExitCode::from(2);
    }
    let folder = programs::folder().expect("a folder can be made");
    programs::copy(folder.path()).expect("the programs can be copied");
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs());
    let seed = number("SEED").unwrap_or_else(fresh);
    println!("SEED={seed}");
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, stop.clone()).expect("the signal can be handled");
    }
    campaign(seed, Duration::from_secs(minutes * 60), &stop)
}

/// Rounds until the time is over or a signal came.
fn campaign(seed: u64, time: Duration, stop: &AtomicBool) -> ExitCode {
    let (begin, mut counts) = (Instant::now(), Counts::default());
    let (mut passed, mut failed) = (0, 0);
    let only = number("ROUND");
    for round in only.unwrap_or(0).. {
        let plan = Plan::draw(seed, round);
        println!("round {round}: {plan}");
        let outcome = catch_unwind(AssertUnwindSafe(|| round::run(&plan, &mut counts, stop)));
        match outcome {
            Ok(Outcome::Passed) => passed += 1,
            Ok(Outcome::Failed(what)) => {
                failed += 1;
                println!("{what}\nagain: make jepsen MINUTES=1 SEED={seed} ROUND={round}");
            }
            Ok(Outcome::Interrupted) => {}
            Err(_) => {
                println!("the test itself failed: SEED={seed} ROUND={round}");
                failed += 1;
                break; // its panic was shown
            }
        }
        if only.is_some() || begin.elapsed() > time || stop.load(Ordering::SeqCst) {
            break;
        }
    }
    println!("{counts}\nSEED={seed}, {:.1} minutes", begin.elapsed().as_secs_f64() / 60.0);
    println!("{passed} passed, {failed} failed");
    let interrupted = stop.load(Ordering::SeqCst);
    ExitCode::from(if interrupted { 130 } else { u8::from(failed > 0) })
}

/// The whole number in a variable, if it is set.
fn number(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no whole number")))
}
