//! The cleanup: a program that ends what the command began elsewhere, such as a container or a unit, which is not below
//! the guard. The guard runs it whenever the command has ended; electd does so in the place of a guard that was killed.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use log::warn;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::time::Timespec;

use super::deadlines::Deadlines;
use super::plan::Plan;
use crate::node::leadership::Leadership;

/// Between two looks at the leadership, which may be renewed or not.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

fn command(program: &Path, epoch: u64) -> Command {
    let mut command = Command::new(program);
    command.env("ELECTD_EPOCH", epoch.to_string()).process_group(0).stdin(Stdio::null());
    command
}

/// Starts it, in a process group of its own. The caller reaps it.
pub(super) fn start(program: &Path, epoch: u64) -> io::Result<Pid> {
    Ok(Pid::from_child(&command(program, epoch).spawn()?))
}

/// Runs it in the place of the guard: for as long as the guard may, until the leadership is about to end.
pub(super) fn run(plan: &Plan, leadership: &Leadership) {
    let Some(program) = &plan.cleanup else { return };
    let deadlines = leadership.renewal().map_or(plan.deadlines, Deadlines::of_renewal);
    let reserve = deadlines.kill / 8;
    let mut command = command(program, leadership.epoch());
    command.env("ELECTD_CLUSTER", &plan.cluster);
    command.env("ELECTD_NODE", &plan.node).env("ELECTD_LEADER", &plan.node);
    let mut ends = || -> io::Result<Option<String>> {
        let begin = Instant::now();
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let process = pidfd_open(pid, PidfdFlags::empty())?;
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok((!status.success()).then(|| format!("failed: {status}")));
            }
            if begin.elapsed() > plan.stop_after || leadership.remaining() <= reserve {
                let _ = kill_process_group(pid, Signal::KILL);
                child.wait()?;
                return Ok(Some(format!(
                    "did not end in time: killed after {:?}",
                    begin.elapsed()
                )));
            }
            let _ = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&LOOK));
        }
    };
    match ends() {
        Ok(None) => {}
        Ok(Some(how)) => warn!("the cleanup {} {how}", program.display()),
        Err(error) => warn!("cannot run the cleanup {}: {error}", program.display()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::core::types::Time;
    use crate::exec::plan::Restart;
    use crate::node::leadership::{Feed, Term};
    use crate::node::now;

    /// The next leader does not wait for it.
    #[test]
    fn a_cleanup_ends_with_the_leadership_however_long_it_may_take() {
        let folder = tempfile::tempdir().unwrap();
        // Written by another process: what this one has open for writing while a test beside starts a program cannot be run.
        let write = "printf '#!/bin/sh\\nsleep 20; touch %s/ended\\n' \"$0\" >\"$0\"/cleanup; chmod +x \"$0\"/cleanup";
        let written = Command::new("sh").args(["-c", write]).arg(folder.path()).status().unwrap();
        assert!(written.success());
        let deadlines = Deadlines::of_renewal(Duration::from_millis(800));
        let plan = Plan {
            command: Vec::new(),
            addresses: Vec::new(),
            wait: None,
            stop_after: Duration::from_secs(1000),
            cleanup: Some(folder.path().join("cleanup")),
            is_leased: true,
            restart: Restart::Never,
            moves: false,
            returns: false,
            deadlines,
            lock: folder.path().join("lock"),
            register: None,
            cluster: "hc".to_owned(),
            node: "a".to_owned(),
        };
        let (feed, until) = (Feed::default(), now() + Duration::from_secs(3));
        feed.show(Some(Term { epoch: 1, until, renewal: None, now: Time(until.0) }));
        run(&plan, &feed.leadership().unwrap());
        assert!(!folder.path().join("ended").exists(), "it ran to its end");
    }
}
