//! A program that ends what the command began elsewhere, where no guard finds it: whatever ended the command, it runs to its
//! end, and not beyond the deadline.
//!
//! The command is like `docker run`: it asks a server, which is not below it, to start the work, and waits.

use std::fs::File;
use std::io::{self, PipeReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use story::story;

use super::setup::{Guard, Setup, can_trace, text, until};
use super::{command_of, only_child};
use crate::support::script::script;
use crate::support::traced::Traced;
use crate::support::{Cluster, ensure, eventually};

/// A second, in nanoseconds.
const SECOND: u64 = 1_000_000_000;

/// Writes a program for the shell into the folder.
fn program(folder: &Path, name: &str, lines: &str) -> String {
    let path = folder.join(name);
    script(&path, &format!("cd {}\n{lines}", folder.display()));
    path.display().to_string()
}

/// Starts the work, and stops it, as it is asked to by files.
struct Server(Child);

impl Server {
    fn start(folder: &Path) -> Server {
        use std::os::unix::process::CommandExt;
        let script = "while :; do
            if [ -e start ]; then rm start; sleep 100000 & work=$!; echo >working; fi
            if [ -e stop ]; then kill -9 $work; rm -f working stop; fi
            sleep 0.01; done";
        let mut server = Command::new("sh");
        server.args(["-c", script]).current_dir(folder).process_group(0).stdin(Stdio::null());
        Server(server.spawn().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// A cause for the command to end.
type End = fn(&mut Guard);

/// Asks the server to start, and waits as the client of a container does.
const CLIENT: &str = "touch start; until [ -e working ]; do sleep 0.01; done; touch ready; ";
/// Asks it to stop, and waits until it has.
const STOP: &str =
    "echo $ELECTD_EPOCH >>epochs; touch stop; while [ -e working ]; do sleep 0.01; done";

#[story]
fn the_work_of_a_server_ends_with_the_command_whatever_ends_that() {
    let by_deadline = (None, Some(Signal::USR1.as_raw()));
    let ends: [(&str, &str, End, _); 4] = [
        ("by itself", "exit 3", |_| (), (Some(3), None)),
        ("electd is killed", "exec sleep 100000", Guard::orphan, (Some(128 + 15), None)),
        (
            "KILL is due",
            "trap '' TERM; while :; do sleep 0.1; done",
            |guard| {
                guard.kill(3 * SECOND);
                guard.term(1);
            },
            by_deadline,
        ),
        ("TERM is due", "exec sleep 100000", |guard| guard.term(1), by_deadline),
    ];
    for (what, then, end, code) in ends {
        let folder = tempfile::tempdir().unwrap();
        let _server = Server::start(folder.path());
        let cleanup = program(folder.path(), "cleanup", STOP);
        let script = format!("{CLIENT}{then}");
        // After KILL there are two seconds more. By themselves they go off long after this test.
        let alarms = [3600 * SECOND, 3604 * SECOND];
        let setup = Setup { cleanup: &cleanup, alarms, ..Setup::of(&script) };
        let mut guard = setup.start(folder.path());
        until(folder.path(), "ready");
        end(&mut guard);
        let ended = guard.end();
        assert!(!folder.path().join("working").exists(), "{what}: {ended:?}");
        assert_eq!(text(folder.path(), "epochs"), "7\n", "{what}");
        assert_eq!(text(folder.path(), "stderr"), "", "{what}");
        assert_eq!((ended.code(), ended.signal()), code, "{what}");
    }
}

/// The lock is held until it has ended, and it is killed in time with all that it started; both are said. The code of the
/// command is told all the same.
#[story]
fn a_cleanup_that_hangs_or_fails_is_told_and_the_deadline_holds() {
    let hangs = "trap '' TERM; (setsid sleep 100000 &); touch cleans; while :; do sleep 0.01; done";
    for (script, said) in [
        (hangs, "did not end in time: killed after"),
        ("touch cleans; exit 4", "failed, with code 4\n"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let cleanup = program(folder.path(), "cleanup", script);
        let mut guard = Setup { cleanup: &cleanup, ..Setup::of("exit 3") }.start(folder.path());
        until(folder.path(), "cleans");
        if script == hangs {
            let lock = File::open(folder.path().join("job.lock")).unwrap();
            assert!(lock.try_lock().is_err(), "the cleanup runs, and the lock is free");
            guard.kill(1);
        }
        assert_eq!(guard.end().code(), Some(3));
        let told = text(folder.path(), "stderr");
        assert!(told.starts_with(&format!("electd: the cleanup {cleanup} {said}")), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup { cleanup: "/no/such/program", ..Setup::of("exit 3") };
    assert_eq!(setup.start(folder.path()).end().code(), Some(3));
    let told = text(folder.path(), "stderr");
    let why = "No such file or directory (os error 2)";
    assert_eq!(told, format!("electd: cannot run the cleanup /no/such/program: {why}\n"));
}

/// A guard with this limit whose cleanup has begun, and does not end by itself. It has three seconds more.
fn cleans_on(folder: &Path, limit: &str) -> Guard {
    let cleanup = program(folder, "cleanup", "touch cleans; exec sleep 100000");
    let alarms = [3600 * SECOND, 3606 * SECOND];
    let setup = Setup { cleanup: &cleanup, alarms, limit, ..Setup::of("exit 3") };
    let guard = setup.start(folder);
    until(folder, "cleans");
    guard
}

/// How many seconds a cleanup had that did not end in time, and what was said.
fn killed_after(folder: &Path) -> (f64, String) {
    let told = text(folder, "stderr");
    let after = told.split_once("did not end in time: killed after ");
    let seconds = after.and_then(|(_, after)| after.trim_end().strip_suffix('s')?.parse().ok());
    (seconds.unwrap_or_else(|| panic!("{told}")), told)
}

/// By an alarm that has gone off and tells no time any more: a frozen electd orders nothing.
#[story]
fn a_cleanup_ends_before_the_leadership_that_is_not_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = cleans_on(folder.path(), "3600000");
    guard.kill(1);
    assert_eq!(guard.end().code(), Some(3));
    let (after, told) = killed_after(folder.path());
    assert!((3.0..60.0).contains(&after), "three seconds later: {told}");
}

/// It has a group of its own, by which it is killed where nobody can look for its processes.
#[story]
fn a_cleanup_is_killed_where_its_guard_cannot_look_for_processes() {
    if !can_trace() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let hangs = "readlink /proc/$$/fd/0 >stdin; echo $ELECTD_EPOCH >epoch
        trap '' TERM; touch cleans; while :; do sleep 0.01; done";
    let cleanup = program(folder.path(), "cleanup", hangs);
    let strace = ["-e", "trace=getdents64", "-e", "inject=getdents64:error=EIO"];
    let setup = Setup { cleanup: &cleanup, strace: &strace, ..Setup::of("exit 3") };
    let mut guard = setup.start(folder.path());
    until(folder.path(), "cleans");
    guard.kill(1);
    assert_eq!(guard.end().code(), Some(3));
    assert_eq!(text(folder.path(), "stdin"), "/dev/null\n");
    assert_eq!(text(folder.path(), "epoch"), "7\n");
}

/// The alarm of TERM went off when nobody was left to get it: the cleanup needs the processor more.
#[story]
fn a_guard_that_waits_for_the_cleanup_takes_no_processor_time() {
    let folder = tempfile::tempdir().unwrap();
    let cleanup = program(folder.path(), "cleanup", "while :; do echo >>beats; sleep 0.01; done");
    let mut guard = Setup { cleanup: &cleanup, ..Setup::of("exit 3") }.start(folder.path());
    let beats = || text(folder.path(), "beats").len();
    eventually("the cleanup works", || ensure(beats() > 0, String::new));
    guard.term(1);
    let schedstat = format!("/proc/{}/schedstat", guard.pid().as_raw_nonzero());
    let times = || std::fs::read_to_string(&schedstat).unwrap();
    eventually("the guard waits", || {
        let (before, begin) = (times(), beats());
        eventually("the cleanup works on", || ensure(beats() > begin + 10, String::new));
        ensure(times() == before, || format!("{before}, {}", times()))
    });
    guard.kill(1);
    assert_eq!(guard.end().code(), Some(3));
}

/// A pipe that nobody reads, and that is full.
fn full_pipe() -> (PipeReader, OwnedFd) {
    let (reader, mut writer) = io::pipe().unwrap();
    ioctl_fionbio(&writer, true).unwrap();
    while writer.write(&[b'x'; 4096]).is_ok() {}
    ioctl_fionbio(&writer, false).unwrap();
    (reader, writer.into())
}

/// No word is worth a late KILL.
#[story]
fn a_guard_that_nobody_reads_from_does_not_wait_to_be_heard() {
    let folder = tempfile::tempdir().unwrap();
    let (_reader, stderr) = full_pipe();
    let setup = Setup { cleanup: "/bin/false", stderr: Some(&stderr), ..Setup::of("exit 3") };
    assert_eq!(setup.start(folder.path()).end().code(), Some(3));
}

/// The cleanup may rely on it that nothing begins anew what it ends.
#[story]
fn nothing_of_the_command_is_left_when_the_cleanup_begins() {
    let folder = tempfile::tempdir().unwrap();
    let look = "grep -qs '^State:.[^ZX]' /proc/$(cat left)/status && echo lives >found || echo gone >found";
    let cleanup = program(folder.path(), "cleanup", look);
    let script = "(setsid sh -c 'echo $$ >left; exec sleep 100000' &); until [ -s left ]; do sleep 0.01; done; exit 3";
    // What is killed has two seconds to be gone.
    let alarms = [3600 * SECOND, 3604 * SECOND];
    let setup = Setup { cleanup: &cleanup, alarms, ..Setup::of(script) };
    assert_eq!(setup.start(folder.path()).end().code(), Some(3));
    assert_eq!(text(folder.path(), "found"), "gone\n", "{}", text(folder.path(), "stderr"));
}

/// And half of the time after KILL, the other half of which is for the end of what is left. No alarm goes off while the
/// leadership is renewed.
#[story]
fn a_cleanup_gets_as_long_as_a_command_gets_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let mut guard = cleans_on(folder.path(), "100");
    guard.term(6 * SECOND);
    guard.kill(6 * SECOND);
    guard.term(600 * SECOND);
    guard.kill(600 * SECOND);
    assert_eq!(guard.end().code(), Some(3));
    let (after, told) = killed_after(folder.path());
    assert!((3.1..6.0).contains(&after), "it had 0.1 s and three more: {told}");
}

/// The time that a leader gives its command to stop may be far longer than a lease, which is renewed meanwhile.
#[story]
fn a_command_with_a_cleanup_may_take_longer_to_stop_than_a_lease() {
    let cluster = Cluster::prepare(1, super::crowd::short);
    let folder = cluster.file().parent().unwrap().to_path_buf();
    let cleanup = program(&folder, "cleanup", "[ -e stopped ] && echo >>cleaned");
    let (ready, stopped) = (folder.join("ready"), folder.join("stopped"));
    let (ready, stopped) = (ready.display(), stopped.display());
    let script = format!(
        "trap 'sleep 1; touch {stopped}; exit 0' TERM; touch {ready}; while :; do sleep 0.01; done"
    );
    let node = cluster.node(1);
    let options = ["--cleanup", &cleanup, "--stop-after", "60s", "--", "sh", "-c", &script];
    node.start_with(&options);
    until(&folder, "ready");
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    assert_eq!(text(&folder, "cleaned"), "\n", "{}", node.log_tail(10));
}

/// electd does in the place of a killed guard what that would have done. It learns how the cleanup ended although another
/// thread of it, which reaps orphans, may learn first that it did.
#[story]
fn a_killed_guards_cleanup_is_run_by_electd_and_its_failure_is_told() {
    let cluster = Cluster::prepare(1, super::with_majority);
    let folder = cluster.file().parent().unwrap().to_path_buf();
    let own = "$ELECTD_CLUSTER $ELECTD_NODE $ELECTD_LEADER $ELECTD_EPOCH";
    let cleanup = program(&folder, "cleanup", &format!("echo {own} >>cleaned; exit 4"));
    let node = cluster.node(1);
    let epoch = folder.join("epoch").display().to_string();
    let script = format!("echo $ELECTD_EPOCH >{epoch}; exec sleep 100000");
    node.start_with(&["--cleanup", &cleanup, "--", "sh", "-c", &script]);
    let guard = eventually("the command runs", || {
        let guard = only_child(node.pid()).ok_or("no guard")?;
        command_of(guard).ok_or("no command")?;
        ensure(text(&folder, "epoch").ends_with('\n'), || "it begins".to_owned()).map(|()| guard)
    });
    let epoch = text(&folder, "epoch");
    let _slow = Traced::thread(node, "job", "ppoll:delay_exit=100000");
    kill_process(guard, Signal::KILL).unwrap();
    eventually("it is cleaned up", || {
        let cleaned = text(&folder, "cleaned");
        let first = format!("test node-1 node-1 {epoch}");
        ensure(cleaned.starts_with(&first), || format!("{cleaned:?}, not {first:?}"))
    });
    node.until_logged(&[&format!("the cleanup {cleanup} failed: exit status: 4")]);
}

/// With `exec` too, and when the node's electd is killed.
#[story]
fn the_cleanup_of_an_exec_runs_when_the_node_is_killed() {
    let cluster = Cluster::start_with(1, super::with_majority);
    cluster.agree_on(1);
    let folder = cluster.file().parent().unwrap().to_path_buf();
    let cleanup = program(&folder, "cleanup", "echo >>cleaned");
    let ready = folder.join("ready").display().to_string();
    let script = format!("trap 'exit 0' TERM; touch {ready}; while :; do sleep 0.01; done");
    let options = ["--cleanup", &cleanup, "--", "sh", "-c", &script];
    let mut exec = super::attached::exec(&cluster, 1, &options).spawn().unwrap();
    until(&folder, "ready");
    cluster.node(1).kill_9();
    let ended =
        eventually("exec ends", || exec.try_wait().unwrap().ok_or_else(|| "it runs".to_owned()));
    assert_eq!(text(&folder, "cleaned"), "\n", "{ended:?}");
}
