//! `electd run` as the first process of a PID namespace, such as that of a container.
//!
//! When the first process ends, the kernel kills all others of its namespace: also the coroner of the node, before it could
//! say a word, and the guards of jobs. So the node runs as a child of it. The first process passes signals on, reaps, and
//! ends with the exit code of the node; after a crash once the guards and the coroner have done their work.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use rustix::process::{Pid, WaitStatus, kill_process};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;

use super::error::{CliError, SIGNALS};
use super::exit::Exit;
use crate::core::settings::Timing;
use crate::exec::{signals, tree};
use crate::rank::children;

/// Between two looks at what ends.
const LOOK: Duration = Duration::from_millis(10);

/// The signals that are for the node.
const PASSED_ON: [i32; 5] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1];

/// Whether this process is the first of its namespace.
pub fn is_first() -> bool {
    std::process::id() == 1
}

/// Runs the node as a child of this process, with the same arguments, and ends as it does. Its timing says how long the
/// coroner and the guards of a crashed node may need.
///
/// # Errors
/// With the exit code of the node, which has said what is wrong; or if it cannot be started.
pub fn attend(timing: Option<Timing>) -> Result<(), CliError> {
    let heard = [signals::heeded(&PASSED_ON), vec![SIGCHLD]].concat();
    let mut heard = Signals::new(heard).map_err(CliError::internal(SIGNALS))?;
    let node = children::this_program()
        .and_then(|mut command| command.args(std::env::args_os().skip(1)).spawn())
        .map_err(CliError::internal("start the node beside process 1"))?;
    let status = pass_on(&node, &mut heard);
    let code = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX);
    // A panic ends a node by itself.
    if status.terminating_signal().is_some() || code == Exit::Internal.code() {
        let most = timing.map_or(Duration::ZERO, |timing| timing.lease + timing.failure);
        await_last(most);
    }
    if code == 0 { Ok(()) } else { Err(CliError::silent(Exit::Command(code))) }
}

/// Passes signals on to the node, and reaps, until the node has ended.
fn pass_on(node: &Child, heard: &mut Signals) -> WaitStatus {
    let node = Pid::from_child(node);
    loop {
        for signal in heard.wait() {
            match rustix::process::Signal::from_named_raw(signal) {
                Some(signal) if signal != rustix::process::Signal::CHILD => {
                    let _ = kill_process(node, signal); // it is not reaped yet
                }
                _ => {
                    while let Some((ended, status)) = tree::reap() {
                        if ended == node {
                            return status;
                        }
                    }
                }
            }
        }
    }
}

/// After a crash: has all others end, as a service manager does with what is left of a unit, and waits for them. The
/// coroner answers for a while first, and a guard ends its job.
fn await_last(most: Duration) {
    let _ = kill(nix::unistd::Pid::from_raw(-1), Signal::SIGTERM); // there may be none
    let begin = Instant::now();
    while !tree::is_childless() && begin.elapsed() < most {
        if tree::reap().is_none() {
            thread::sleep(LOOK);
        }
    }
}
