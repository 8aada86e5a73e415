//! What is for a process as a whole, tried in one of its own: a panic, and signals.

use std::process::Output;

use clap::Parser;
use signal_hook::low_level::raise;

use super::*;
use crate::cli;

/// Runs this test of this file alone in another process, and gives the end of that; none there.
fn alone(test: &str) -> Option<Output> {
    crate::testing::alone::output(&format!("cli::run::tests::{test}"))
}

#[test]
fn a_panic_of_any_thread_ends_the_process() {
    if let Some(Output { status, stderr, .. }) = alone("a_panic_of_any_thread_ends_the_process") {
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(70), "{said}");
        assert!(said.contains("ERROR a: the thread worker panicked at "), "{said}");
        return;
    }
    let command = cli::Cli::parse_from(["electd", "run"]).command;
    let cli::Command::Run(run) = command else { panic!("{command:?}") };
    fail_stop(run.log.start("x", "a").unwrap(), Keeper::default());
    let worker = std::thread::Builder::new().name("worker".to_owned());
    let _ = worker.spawn(|| panic!("so")).unwrap().join();
}

/// As it waits for its names, before it runs.
#[test]
fn a_node_that_is_about_to_start_is_ended_by_term_and_quit_alone() {
    if let Some(output) = alone("a_node_that_is_about_to_start_is_ended_by_term_and_quit_alone") {
        return assert!(output.status.success(), "{output:?}");
    }
    let quits = !signals::heeded(&[SIGQUIT]).is_empty(); // whoever runs the tests may ignore it
    let mut signals = Endings::hear().unwrap();
    signals.watch().unwrap();
    for (signal, ends) in [(SIGHUP, false), (SIGUSR1, false), (SIGTERM, true), (SIGQUIT, quits)] {
        raise(signal).unwrap();
        assert_eq!(signals.have_ended(), ends, "signal {signal}");
    }
}
