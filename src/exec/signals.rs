//! The signals that end a process of electd, and those that must not.
//!
//! A signal that was ignored when electd started stays ignored, here and in every program that electd starts: `nohup`
//! means all of them. Other signals get handlers and are never ignored, since a program would inherit that.

use std::io;
use std::sync::Arc;

use signal_hook::consts::{SIGALRM, SIGUSR1, SIGUSR2};

use crate::calls::Named;
pub use crate::node::endings::heeded;

/// Signals that would end electd, and mean nothing to it; USR1 means something to a node that runs.
const FOREIGN: [i32; 3] = [SIGALRM, SIGUSR1, SIGUSR2];

/// Keeps foreign signals and these from ending this process.
///
/// # Errors
/// When the system has no memory for a handler.
pub fn survive(more: &[i32]) -> io::Result<()> {
    let all = heeded(&[more, &FOREIGN].concat()); // those that may come first
    all.into_iter()
        .try_for_each(|signal| signal_hook::flag::register(signal, Arc::default()).map(drop))
        .named("sigaction")
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::{SIGCHLD, SIGPIPE, SIGTERM};

    use super::*;
    use crate::node::endings::signal_mask;
    use crate::testing::alone::alone;

    #[test]
    fn what_is_ignored_is_not_heeded() {
        // Every Rust program ignores PIPE.
        assert_eq!(heeded(&[SIGCHLD, SIGPIPE, SIGTERM]), [SIGCHLD, SIGTERM]);
    }

    #[test]
    fn a_process_survives_foreign_signals_and_those_that_it_names_but_ignores_none_more() {
        let this =
            "a_process_survives_foreign_signals_and_those_that_it_names_but_ignores_none_more";
        if alone(&format!("exec::signals::tests::{this}")).is_some() {
            return;
        }
        let ignored = || signal_mask("SigIgn:");
        let before = ignored();
        survive(&[SIGTERM, SIGPIPE]).unwrap();
        for signal in [SIGALRM, SIGUSR1, SIGUSR2, SIGTERM, SIGPIPE] {
            signal_hook::low_level::raise(signal).unwrap();
        }
        assert_eq!(ignored(), before, "a program would inherit that");
    }
}
