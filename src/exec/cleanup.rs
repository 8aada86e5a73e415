//! The cleanup: a program that ends what the command began elsewhere, such as a container or a unit, which is not below
//! the guard. The guard runs it whenever the command has ended; electd does so in the place of a guard that was killed.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use log::warn;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use rustix::time::Timespec;

use super::deadlines::Deadlines;
use super::plan::Plan;
use crate::cgroup::VARIABLE;
use crate::node::leadership::Leadership;
use crate::rank::aside::{Aside, GONE};
use crate::rank::children;

/// Between two looks at the leadership, which may be renewed or not.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// Between two looks at a cleanup that is late: it is to be gone soon after KILL.
const PAUSE: Duration = Duration::from_millis(10);

fn command(program: &Path, epoch: u64) -> Command {
    let mut command = Command::new(program);
    command.env("ELECTD_EPOCH", epoch.to_string()).process_group(0).stdin(Stdio::null());
    command.env_remove(VARIABLE); // the cgroup of the command is gone
    command
}

/// Starts it, in a process group of its own. The caller reaps it.
pub(super) fn start(program: &Path, epoch: u64) -> io::Result<Pid> {
    Ok(Pid::from_child(&command(program, epoch).spawn()?))
}

/// Runs it in the place of the guard: for as long as the guard may, until the leadership is about to end. What hangs in the
/// system is given up. Returns whether it has done its work.
pub(super) fn run(plan: &Plan, leadership: &Leadership) -> bool {
    let Some(program) = plan.cleanup.clone() else { return true };
    let deadlines = leadership.renewal().map_or(plan.deadlines, Deadlines::of_renewal);
    let (reserve, most, leadership) = (deadlines.kill / 8, plan.stop_after, leadership.clone());
    let mut command = command(&program, leadership.epoch());
    plan.surround(&mut command);
    let begin = Instant::now();
    let is_late = move || begin.elapsed() > most || leadership.remaining() <= reserve;
    let late = is_late.clone();
    let mut aside = Aside::new("cleanup");
    let begun = aside.begin(move || {
        // It is this thread alone that reaps it, where another one reaps orphans.
        let mut child = children::start(&mut command)?;
        let ended = ends_by_itself(&child, late);
        let after = begin.elapsed();
        if !matches!(ended, Ok(true)) {
            let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        }
        let status = children::wait(&mut child)?;
        Ok::<_, io::Error>(match ended? {
            true => (!status.success()).then(|| format!("failed: {status}")),
            false => Some(format!("did not end in time: killed after {after:?}")),
        })
    });
    let (shown, mut late_since) = (program.display(), None);
    let ended = loop {
        if let Err(none) = &begun {
            break Ok(Some(none.to_string()));
        }
        if let Some(ended) = aside.wait(PAUSE) {
            break ended;
        }
        if is_late() && late_since.get_or_insert_with(Instant::now).elapsed() > GONE {
            break Ok(Some("hangs in the system: KILL does not end it".to_owned()));
        }
    };
    match ended {
        Ok(None) => return true,
        Ok(Some(how)) => warn!("the cleanup {shown} {how}"),
        Err(error) => warn!("cannot run the cleanup {shown}: {error}"),
    }
    false
}

/// Whether a process ends before it is late.
fn ends_by_itself(child: &Child, is_late: impl Fn() -> bool) -> io::Result<bool> {
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    while !is_late() {
        let polled = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&LOOK));
        if polled.is_ok_and(|ended| ended > 0) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::exec::plan::tests::{leadership, plan};
    use crate::node::logged::logged;
    use crate::testing::within::within;

    /// A plan with this cleanup in this folder.
    fn plan_of(folder: &Path, script: &str) -> Plan {
        // Written by another process: what this one has open for writing while a test beside starts a program cannot be run.
        let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0\"/cleanup; chmod +x \"$0\"/cleanup";
        let written =
            Command::new("sh").args(["-c", write]).arg(folder).arg(script).status().unwrap();
        assert!(written.success());
        Plan { cleanup: Some(folder.join("cleanup")), node: "a".to_owned(), ..plan() }
    }

    const LONG: Duration = Duration::from_secs(1000);

    /// One that would take longer than a test waits, and a leadership of this length. It is killed meanwhile.
    fn killed(stop_after: Duration, left: Duration) {
        let folder = tempfile::tempdir().unwrap();
        let script = "sleep 20 & echo $! >${0%/*}/left; wait; touch ${0%/*}/ended";
        let plan = plan_of(folder.path(), script);
        let (plan, leadership) = (Plan { stop_after, ..plan }, leadership(left, None));
        let told = logged(|| assert!(!run(&plan, &leadership))).join("; ");
        let words = format!(
            "WARN : the cleanup {}/cleanup did not end in time: killed after ",
            folder.path().display()
        );
        assert!(told.starts_with(&words), "{told}");
        let left = leadership.remaining();
        assert!(left > Duration::from_millis(200), "the next leader may be there: {left:?}");
        assert!(!folder.path().join("ended").exists(), "it ran to its end");
        let sleeps = fs::read_to_string(folder.path().join("left")).unwrap();
        let stat = || fs::read_to_string(format!("/proc/{}/stat", sleeps.trim()));
        within(Duration::from_secs(10), "what it started has ended as well", || {
            stat().map_or(true, |stat| stat.contains(") Z "))
        });
    }

    /// The next leader does not wait for it.
    #[test]
    fn a_cleanup_ends_with_the_leadership_however_long_it_may_take() {
        killed(LONG, Duration::from_millis(1500));
    }

    #[test]
    fn a_cleanup_gets_no_longer_than_a_command_gets_to_stop() {
        killed(Duration::from_millis(100), LONG);
    }

    /// As the guard runs it: the environment of the guard is the same.
    #[test]
    fn a_cleanup_in_the_place_of_the_guard_learns_whose_command_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo $ELECTD_CLUSTER $ELECTD_NODE $ELECTD_LEADER $ELECTD_EPOCH >${0%/*}/told; cat >>${0%/*}/told";
        let plan = plan_of(folder.path(), script);
        assert_eq!(logged(|| assert!(run(&plan, &leadership(LONG, None)))), [""; 0]);
        assert_eq!(fs::read_to_string(folder.path().join("told")).unwrap(), "hc a a 7\n");
    }

    #[test]
    fn a_cleanup_that_fails_or_cannot_be_run_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan_of(folder.path(), "exit 3");
        let shown = folder.path().display();
        let told = logged(|| assert!(!run(&plan, &leadership(LONG, None))));
        assert_eq!(told, [format!("WARN : the cleanup {shown}/cleanup failed: exit status: 3")]);
        let plan = Plan { cleanup: Some(folder.path().join("none")), ..plan };
        let told = logged(|| assert!(!run(&plan, &leadership(LONG, None))));
        let why = "No such file or directory (os error 2)";
        assert_eq!(told, [format!("WARN : cannot run the cleanup {shown}/none: {why}")]);
    }

    /// An eighth of the time after KILL: 50 of 3200 seconds.
    #[test]
    fn a_cleanup_begins_only_if_there_is_time_before_the_end_of_the_leadership() {
        let folder = tempfile::tempdir().unwrap();
        let plan = plan_of(folder.path(), "touch ${0%/*}/ran");
        let renewal = Some(Duration::from_secs(3200));
        let told =
            |left| logged(|| _ = run(&plan, &leadership(Duration::from_secs(left), renewal)));
        assert_eq!(told(90), [""; 0]);
        let late = told(45);
        assert!(late.len() == 1 && late[0].contains(" did not end in time"), "{late:?}");
    }
}
