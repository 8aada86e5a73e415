//! Signals that end a process of electd, and its exit code: while a command runs, and while none does. And the end of the
//! node.

use std::fs::{self, File};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::attached::{Attached, exec};
use crate::support::{Cluster, ensure, eventually, within};

const SOON: Duration = Duration::from_secs(20);

const SIGNALS: [Signal; 4] = [Signal::TERM, Signal::INT, Signal::QUIT, Signal::HUP];

/// The exit code of a process that ends soon.
#[track_caller]
fn code(child: &mut Child, what: &str) -> Option<i32> {
    let ended = within(SOON, what, || child.try_wait().unwrap().ok_or_else(|| "it runs".into()));
    ended.code()
}

#[track_caller]
fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// How many lines this file beside the cluster's has.
fn lines(cluster: &Cluster, name: &str) -> usize {
    let text = fs::read_to_string(cluster.file().with_file_name(name)).unwrap_or_default();
    text.lines().count()
}

#[track_caller]
fn until_lines(cluster: &Cluster, name: &str, count: usize) {
    eventually(&format!("{name} has {count} lines"), || {
        let found = lines(cluster, name);
        ensure(found == count, || found.to_string())
    });
}

/// Claim: exit-codes.
#[story]
fn each_signal_ends_exec_with_its_number_or_with_the_commands_code() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let file = cluster.file().with_file_name("began");
    let script =
        format!("trap 'exit 7' TERM; echo >>{}; while :; do sleep 0.05; done", file.display());
    for (round, number) in (1..).zip(SIGNALS) {
        let mut runs = exec(&cluster, 2, &["--", "sh", "-c", &script]).spawn().unwrap();
        until_lines(&cluster, "began", round);
        let mut waits = exec(&cluster, 1, &["--", "sh", "-c", &script]);
        let mut waits = waits.stderr(Stdio::null()).spawn().unwrap();
        eventually("it is attached", || {
            let lock = cluster.node(1).state().join("exec-1.lock");
            ensure(lock.exists(), || lock.display().to_string())
        });
        signal(&runs, number);
        assert_eq!(code(&mut runs, "exec ends"), Some(7), "{number:?}: TERM reached the command");
        signal(&waits, number);
        assert_eq!(code(&mut waits, "exec ends"), Some(128 + number.as_raw()), "{number:?}");
        eventually("its place is free", || {
            let lock = cluster.node(1).state().join("exec-1.lock");
            ensure(!lock.exists(), || lock.display().to_string())
        });
    }
    assert_eq!(lines(&cluster, "began"), SIGNALS.len(), "none ran where the node does not lead");
}

/// Claim: exit-codes.
#[story]
fn each_signal_but_hup_ends_a_node_with_0() {
    let signals = SIGNALS.into_iter().filter(|number| *number != Signal::HUP);
    // All at once: a node waits for others before it leads.
    let each: Vec<_> = signals.map(|number| (number, Cluster::start(1))).collect();
    for (number, cluster) in each {
        cluster.agree_on(1);
        let node = cluster.node(1);
        node.hang_up();
        node.until_logged(&["the configuration was read again"]);
        kill_process(node.pid(), number).unwrap();
        let ended = || node.ended().ok_or_else(|| node.log_tail(3));
        assert_eq!(within(SOON, "the node ends", ended), 0, "{number:?}");
        node.until_logged(&["stopping"]);
    }
}

/// "69: the node has ended and CMD did not run"; and if CMD ran, the leadership was lost.
#[story]
fn exec_ends_with_its_node() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let mut waits = exec(&cluster, 1, &["--", "true"]);
    let mut waits = waits.stderr(Stdio::null()).spawn().unwrap();
    let mut runs = exec(&cluster, 2, &["--", "sleep", "1000"]);
    let mut runs = runs.stderr(Stdio::null()).spawn().unwrap();
    for number in [1, 2] {
        eventually("it is attached", || {
            let lock = cluster.node(number).state().join("exec-1.lock");
            ensure(lock.exists(), || lock.display().to_string())
        });
    }
    eventually("the command runs", || {
        let page = cluster.node(2).metrics()?;
        ensure(page.contains("\nelectd_exec_running 1\n"), || page)
    });
    cluster.node(1).kill_9();
    assert_eq!(code(&mut waits, "exec ends with its node"), Some(69));
    cluster.node(2).kill_9();
    assert_eq!(code(&mut runs, "exec ends with its node"), Some(76));
}

/// `--wait` is for the first leadership: a command that has run once waits for the next one for as long as it takes.
#[story]
fn once_it_has_run_a_command_waits_for_the_next_leadership_without_an_end() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let file = cluster.file().with_file_name("began");
    let script = format!("echo >>{}; exec sleep 1000", file.display());
    let options = ["--wait", "3s", "--restart", "always", "--", "sh", "-c", &script];
    let mut again = exec(&cluster, 2, &options).spawn().unwrap();
    until_lines(&cluster, "began", 1);
    cluster.node(2).post("/resign", "").unwrap();
    cluster.agree_on(1);
    // Another one that begins to wait now, and gives up, says that the time is over.
    let mut late = exec(&cluster, 2, &["--wait", "4s", "--", "true"]);
    let mut late = late.stderr(Stdio::null()).spawn().unwrap();
    assert_eq!(code(&mut late, "it gives up"), Some(75));
    assert_eq!(again.try_wait().unwrap(), None, "it waits on");
    cluster.node(2).post("/undrain", "").unwrap();
    until_lines(&cluster, "began", 2);
    signal(&again, Signal::TERM);
    assert_eq!(code(&mut again, "exec ends"), Some(143));
}

/// The time to wait is that for the first leadership.
#[story]
fn an_exec_that_restarts_its_command_waits_for_the_next_node_without_an_end() {
    const WAIT: Duration = Duration::from_secs(5);
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let options =
        ["--wait", "5s", "--restart", "always", "--", "sh", "-c", "echo begun; exec sleep 1000"];
    let since = Instant::now();
    let mut exec = Attached(exec(&cluster, 1, &options).stdout(Stdio::piped()).spawn().unwrap());
    exec.hears("begun\n");
    eventually("that time is over", || ensure(since.elapsed() > WAIT, || "it is not".to_owned()));
    cluster.node(1).restart();
    exec.hears("begun\n");
}

/// A node that led at once would tell the others that its last process leads no more, while the job of that still runs.
#[story]
fn a_node_starts_when_the_job_of_its_last_process_has_ended() {
    let cluster = Cluster::prepare(1, |_| {});
    let node = cluster.node(1);
    fs::create_dir_all(node.state()).unwrap();
    let job = File::create(node.state().join("job.lock")).unwrap();
    job.lock().unwrap();
    let begun = Instant::now();
    node.start();
    assert_eq!(node.exit_code(), 73);
    let longest = cluster.timing().failure + Duration::from_secs(5);
    assert!(begun.elapsed() >= longest, "it gave up after {:?}", begun.elapsed());
    let said =
        format!("that node-1 ran while it led has not ended within {longest:?}: end what holds ");
    assert!(node.log().contains(&said), "{}", node.log());
    assert!(!node.state().join("state.json").exists(), "it has started");
    node.start();
    drop(job);
    cluster.agree_on(1);
}
