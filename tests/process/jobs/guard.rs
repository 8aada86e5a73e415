//! The guard alone, with alarms as electd gives them to it: the test is the electd that renews just at the deadline.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::only_child;
use super::setup::{Guard, LONG, Setup, alarm, can_trace, said, set, text, until};
use crate::support::{ensure, eventually, within};

#[story]
fn a_command_that_got_term_just_before_the_renewal_has_not_ended_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let script = "(trap '' TERM; while :; do sleep 0.01; done) &
        trap 'touch termed; until [ -e renewed ]; do sleep 0.01; done; exit 0' TERM
        touch ready; while :; do sleep 0.01; done";
    let mut guard = Setup::of(script).start(folder.path());
    until(folder.path(), "ready");
    guard.term(1);
    until(folder.path(), "termed");
    guard.term(LONG);
    fs::write(folder.path().join("renewed"), "").unwrap();
    let ended = guard.end();
    assert_eq!(ended.signal(), Some(Signal::USR1.as_raw()), "{ended:?}");
    assert_eq!(said(folder.path()), "", "it was not left to itself");
}

/// It may have waited for months, and to start another takes less time than to lose the leadership.
#[story]
fn a_command_begins_though_the_process_that_was_to_become_it_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = Setup::of("echo $ELECTD_EPOCH >>ran; exit 3").start_early(folder.path());
    let waits = eventually("a process waits to become the command", || {
        only_child(guard.pid()).ok_or_else(|| said(folder.path()))
    });
    kill_process(waits, Signal::KILL).unwrap();
    eventually("it is gone", || {
        let stat = text(Path::new("/proc"), &format!("{}/stat", waits.as_raw_nonzero()));
        ensure(stat.is_empty() || stat.contains(") Z "), || stat)
    });
    guard.begin();
    assert_eq!(guard.end().code(), Some(3), "{}", said(folder.path()));
    assert_eq!(text(folder.path(), "ran"), "7\n");
}

/// Or by its own group, of which its guard is no part.
#[story]
fn the_code_of_a_command_that_ends_by_itself_is_told() {
    for (script, code) in [("exit 3", 3), ("kill -9 0", 128 + 9)] {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Setup::of(script).start(folder.path()).end().code(), Some(code));
    }
}

/// The program of a service that goes into the background, as many do by default.
#[story]
fn what_a_command_leaves_in_the_background_is_told_and_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "(setsid sh -c 'echo $$ >left; exec sleep 600' &); until [ -s left ]; do sleep 0.01; done; exit 3";
    let mut guard = Setup::of(script).start(folder.path());
    assert_eq!(guard.end().code(), Some(3));
    let left = text(folder.path(), "left");
    let told = text(folder.path(), "stderr");
    let words = ["sh", "sleep"].map(|name| {
        format!(
            "electd: the command has ended and left {} ({name}) behind: killed, as a job ends with its command; have \
             the command stay in the foreground for as long as its work lasts\n",
            left.trim()
        )
    });
    assert!(words.contains(&told), "{told}");
    assert!(!Path::new(&format!("/proc/{}", left.trim())).exists());
}

#[story]
fn a_guard_that_begins_late_goes_by_the_last_renewal() {
    let folder = tempfile::tempdir().unwrap();
    let script = "touch ran; exit 3";
    let alarms = [alarm(1), alarm(LONG)];
    let same = || [0, 1].map(|at: usize| alarms[at].try_clone().unwrap());
    let guard = Setup::of(script).start_with(folder.path(), same());
    assert_late(guard, folder.path());
    set(&alarms[0], LONG);
    let mut guard = Setup::of(script).start_with(folder.path(), same());
    let ended = guard.end();
    assert_eq!(ended.code(), Some(3), "{ended:?}");
}

/// To take the lock, or to add an address, may take as long as the system likes: here, to look whether electd lives.
#[story]
fn no_command_begins_if_the_leadership_was_not_renewed_while_its_guard_prepared() {
    if !can_trace() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let strace = ["-e", "trace=timerfd_gettime,ppoll", "-e", "inject=ppoll:delay_enter=3s:when=2"];
    let guard = Setup { strace: &strace, ..Setup::of("touch ran") }.start(folder.path());
    eventually("the guard has found that the leadership lasts, and goes on to prepare", || {
        let calls = text(folder.path(), "calls");
        ensure(calls.contains("timerfd_gettime"), || calls)
    });
    guard.term(1);
    let stderr = folder.path().join("stderr");
    assert_late(guard, folder.path());
    let told = fs::read_to_string(stderr).unwrap();
    assert_eq!(told, "electd: the leadership ended before the job began\n");
}

fn assert_late(mut guard: Guard, folder: &Path) {
    let ended = guard.end();
    assert_eq!(ended.signal(), Some(Signal::USR1.as_raw()), "{ended:?}");
    assert!(!folder.join("ran").exists());
}

/// A command of three processes, each of which writes one line for each TERM and does not end: its own, one in its process
/// group, and one that left that and lost its parent.
const THREE: &str =
    "note() { trap \"echo >>$1.termed\" TERM; touch $1.ready; while :; do sleep 0.01; done; }
    note group & (setsid sh -c \"$(cat astray)\" &) ; note own";
const ASTRAY: &str =
    "trap 'echo >>astray.termed' TERM; touch astray.ready; while :; do sleep 0.01; done";

/// Starts it, and waits until all three are there.
fn three(folder: &Path, setup: &Setup<'_>) -> Guard {
    fs::write(folder.join("astray"), ASTRAY).unwrap();
    let guard = setup.start(folder);
    for name in ["own", "group", "astray"] {
        until(folder, &format!("{name}.ready"));
    }
    guard
}

/// And no other process of the host is looked at, however many there are.
#[story]
fn the_first_signals_come_before_any_look_at_processes() {
    if !can_trace() {
        return;
    }
    for (signal, alarm) in [("SIGTERM", 0), ("SIGKILL", 1)] {
        let folder = tempfile::tempdir().unwrap();
        let strace = ["-e", "trace=open,openat,kill,pidfd_send_signal"];
        let mut guard = three(folder.path(), &Setup { strace: &strace, ..Setup::of(THREE) });
        set(&guard.alarms[alarm], 1);
        if alarm == 0 {
            for name in ["own", "group", "astray"] {
                until(folder.path(), &format!("{name}.termed"));
            }
            guard.kill(1);
        }
        guard.end();
        let calls = text(folder.path(), "calls");
        let (before, _) =
            calls.split_once(signal).unwrap_or_else(|| panic!("no {signal}: {calls}"));
        assert!(!before.contains("/task"), "before {signal}: {before}");
        assert!(!calls.contains("\"/proc\""), "all processes were looked at: {calls}");
        let (_, after) = calls.split_once(signal).unwrap();
        let (first, _) = after.split_once("/task").unwrap_or((after, ""));
        let is_twice = first.contains("pidfd_send_signal");
        assert_eq!(is_twice, alarm == 1, "a second TERM may mean to end without order: {calls}");
    }
}

/// Each of the two ways of TERM reaches what the other does not, and no process gets it twice.
#[story]
fn term_reaches_the_group_and_what_left_it_once_each() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = three(folder.path(), &Setup::of(THREE));
    guard.term(1);
    for name in ["own", "group", "astray"] {
        until(folder.path(), &format!("{name}.termed"));
    }
    guard.kill(1);
    guard.end();
    for name in ["own", "group", "astray"] {
        assert_eq!(text(folder.path(), &format!("{name}.termed")), "\n", "{name}");
    }
}

/// The lock is held as long as anything of the command may run: that no process can be seen does not mean that none is
/// left.
#[story]
fn a_guard_that_cannot_look_signals_the_group_and_waits_for_the_rest() {
    if !can_trace() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let strace = ["-e", "trace=getdents64", "-e", "inject=getdents64:error=EIO"];
    let mut guard = three(folder.path(), &Setup { strace: &strace, ..Setup::of(THREE) });
    guard.term(1);
    for name in ["own", "group"] {
        until(folder.path(), &format!("{name}.termed"));
    }
    let lines = |name: &str| text(folder.path(), name).lines().count();
    guard.kill(1);
    let astray = eventually("only what left the group is left, unseen", || {
        let left = processes_in(folder.path());
        if let [astray] = left[..] { Ok(astray) } else { Err(format!("{left:?}")) }
    });
    assert_eq!(lines("astray.termed"), 0);
    let lock = File::open(folder.path().join("job.lock")).unwrap();
    assert!(lock.try_lock().is_err(), "the job may run, and its lock is free");
    let own = format!("/{}/", only_child(guard.pid()).unwrap().as_raw_nonzero());
    let has_lists = Path::new("/proc/thread-self/children").exists();
    let place = if has_lists { "/proc/OWN/task" } else { "/proc" };
    let why = format!("cannot look for processes in {place}: Input/output error (os error 5)");
    let of_group = format!("TERM reached the process group of the command alone: {why}");
    within(Duration::from_secs(60), "it says why it does not end", || {
        let told = said(folder.path()).replace(&own, "/OWN/");
        ensure(told == format!("electd: {of_group}\nelectd: {why}\n"), || told)
    });
    assert!(guard.process.try_wait().unwrap().is_none());
    kill_process(astray, Signal::KILL).unwrap();
    assert_eq!(guard.end().signal(), Some(Signal::USR1.as_raw()));
    assert_eq!(said(folder.path()).lines().count(), 2, "each once");
}

/// The shells that work in this folder.
fn processes_in(folder: &Path) -> Vec<Pid> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_shell = |pid: &i32| {
        let works_in = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
        works_in && fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sh\n")
    };
    pids.filter(is_shell).filter_map(Pid::from_raw).collect()
}

/// Orphans of a command that runs for long do not pile up.
#[story]
fn what_the_command_orphans_is_reaped_while_it_runs() {
    let folder = tempfile::tempdir().unwrap();
    let script = "for i in 1 2 3 4 5; do (sleep 0.01 &); done; touch ready; exec sleep 1000";
    let mut guard = Setup::of(script).start(folder.path());
    until(folder.path(), "ready");
    let own = Pid::from_child(&guard.process);
    eventually("only the command is left", || {
        let left = super::children(own).count();
        ensure(left == 1, || format!("{left} children"))
    });
    guard.kill(1);
    let ended = guard.end();
    assert_eq!(ended.signal(), Some(Signal::USR1.as_raw()), "it was not told to end it: {ended:?}");
}

/// Neither alarm has gone off: electd is gone, and the lease is not over yet.
/// Claim: job-ends.
#[story]
fn a_command_gets_term_before_kill_when_electd_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = three(folder.path(), &Setup { limit: "3600000", ..Setup::of(THREE) });
    guard.orphan();
    for name in ["own", "group", "astray"] {
        until(folder.path(), &format!("{name}.termed"));
    }
    assert!(guard.process.try_wait().unwrap().is_none(), "KILL comes with its alarm");
    guard.kill(1);
    assert_eq!(guard.end().code(), Some(128 + 9), "nobody renews any more");
    assert!(processes_in(folder.path()).is_empty());
}

/// The other members need not wait for the end of the lease.
#[story]
fn a_command_that_ignores_term_is_killed_soon_after_its_electd() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = three(folder.path(), &Setup { limit: "200", ..Setup::of(THREE) });
    guard.orphan();
    assert_eq!(guard.end().code(), Some(128 + 9));
    for name in ["own", "group", "astray"] {
        until(folder.path(), &format!("{name}.termed"));
    }
    assert!(processes_in(folder.path()).is_empty());
}

/// Another member may lead at any moment.
#[story]
fn a_command_without_a_lease_is_killed_at_once_when_electd_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = three(folder.path(), &Setup { is_leased: false, ..Setup::of(THREE) });
    guard.orphan();
    assert_eq!(guard.end().code(), Some(128 + 9));
    assert!(processes_in(folder.path()).is_empty());
    assert_eq!(said(folder.path()), "", "nothing was left behind by itself");
}
