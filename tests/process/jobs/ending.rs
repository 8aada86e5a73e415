//! A node that ends, and what waits for it meanwhile: nothing of it is left without an answer.

use std::process::Stdio;
use std::time::{Duration, Instant};

use electd::core::settings::AlgorithmKind;
use rustix::process::{Signal, kill_process};
use story::story;

use super::attached::{Attached, exec};
use super::lines::Lines;
use super::worker::{FILE, MANNER, POLITE, command};
use crate::support::undead::Undead;
use crate::support::{Cluster, Node, eventually, for_each_algorithm};

/// A command that ends at TERM is gone long before that, and then nothing holds a node up.
const SOON: Duration = Duration::from_secs(4);

/// Ends a node by TERM, and says how long that took.
fn stop(node: &Node) -> Duration {
    let begin = Instant::now();
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    begin.elapsed()
}

for_each_algorithm! {
    a_command_that_waits_to_run_again_holds_no_node_up,
    the_last_node_with_a_command_ends_as_soon_as_that_has,
}

fn a_command_that_waits_to_run_again_holds_no_node_up(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    cluster.agree_on(3);
    let mut exec =
        exec(&cluster, 3, &["--restart", "always", "--", "sh", "-c", "echo; exec sleep 1000"]);
    let mut exec = Attached(exec.stdout(Stdio::piped()).spawn().unwrap());
    exec.hear();
    let took = stop(cluster.node(3));
    assert!(took < SOON, "{took:?}");
}

fn the_last_node_with_a_command_ends_as_soon_as_that_has(algorithm: AlgorithmKind) {
    let cluster = Cluster::prepare(3, |config| config["algorithm"] = algorithm.name().into());
    let lines = Lines::beside(&cluster);
    let (command, file) = (command(), lines.file());
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    cluster.node(3).start_as(&more, &[(FILE, &file), (MANNER, POLITE)]);
    lines.runs_next(None);
    let took = stop(cluster.node(3));
    assert!(took < SOON, "{took:?}");
    lines.assert_nobody_writes();
}

#[story]
fn exec_waits_for_a_node_as_long_as_for_its_leadership() {
    let cluster = Cluster::prepare(1, |_| {});
    let run = |options: &[&str]| exec(&cluster, 1, options).output().unwrap().status.code();
    assert_eq!(run(&["--", "true"]), Some(69));
    assert_eq!(run(&["--wait", "0s", "--", "true"]), Some(69));
    assert_eq!(run(&["--wait", "100ms", "--", "true"]), Some(69));
    let wait = ["--wait", "1000s", "--", "sh", "-c", "exit 7"];
    let mut waits = Attached(exec(&cluster, 1, &wait).stderr(Stdio::piped()).spawn().unwrap());
    waits.until_told("waiting for a node on this host");
    cluster.node(1).start();
    assert_eq!(waits.code(), 7);
    cluster.node(1).kill_9();

    let wait = ["--wait", "1000s", "--", "true"];
    let mut stopped = Attached(exec(&cluster, 1, &wait).stderr(Stdio::piped()).spawn().unwrap());
    stopped.until_told("waiting for a node on this host");
    kill_process(stopped.pid(), Signal::TERM).unwrap();
    assert_eq!(stopped.code(), 143);
}

#[story]
fn exec_that_waits_to_lead_outlives_a_restart_of_its_node() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let wait = ["--wait", "1000s", "--", "sh", "-c", "exit 7"];
    let mut exec = Attached(exec(&cluster, 1, &wait).stderr(Stdio::piped()).spawn().unwrap());
    eventually("it is attached", || {
        let lock = cluster.node(1).state().join("exec-1.lock");
        lock.exists().then_some(()).ok_or_else(|| "no lock".to_owned())
    });
    cluster.node(1).restart();
    exec.until_told("waiting for a node on this host");
    cluster.agree_on(2);
    cluster.node(2).kill_9();
    assert_eq!(exec.code(), 7);
}

#[story]
fn exec_with_a_restart_runs_its_command_beside_each_next_node() {
    let cluster = Cluster::start(1);
    let lines = Lines::beside(&cluster);
    cluster.agree_on(1);
    let command = command();
    let options = ["--restart", "on-failure", "--"].into_iter();
    let all: Vec<&str> = options.chain(command.iter().map(String::as_str)).collect();
    let mut exec = exec(&cluster, 1, &all);
    exec.env(FILE, lines.file()).env(MANNER, POLITE).stdout(Stdio::null());
    let mut exec = Attached(exec.spawn().unwrap());
    let mut before = lines.runs_next(None);
    for kill in [true, false] {
        if kill {
            cluster.node(1).kill_9();
        } else {
            stop(cluster.node(1));
        }
        cluster.node(1).start();
        before = lines.runs_next(Some(&before));
        lines.assert_never_two();
    }
    kill_process(exec.pid(), Signal::TERM).unwrap();
    exec.code();
    lines.assert_nobody_writes();
}

/// Whoever looks at the guard with a debugger keeps it from its parent.
#[story]
fn a_guard_that_does_not_go_away_does_not_hold_up_the_end_of_its_node() {
    let cluster = Cluster::prepare(1, |_| {});
    let pid = cluster.file().with_file_name("pid");
    let script = format!("echo $PPID >{}; exec sleep 10000", pid.display());
    let node = cluster.node(1);
    node.start_as(&["--stop-after", "100ms", "--", "sh", "-c", &script], &[]);
    let undead = Undead::of(&pid);
    node.stop_term();
    assert_eq!(node.exit_code(), 70);
    node.until_logged(&["the job has not ended in time"]);
    drop(undead);
    node.start_as(&["--", "sh", "-c", "exit 7"], &[]);
    assert_eq!(node.exit_code(), 7);
}
