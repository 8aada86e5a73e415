//! The guard that a follower keeps ready, so that its command need not wait for the start of one.

use std::fs::{self};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use story::story;

use super::attached::{lives, stop};
use super::lines::Lines;
use super::only_child;
use super::worker::{FILE, MANNER, POLITE, command};
use crate::support::script::{ELECTD, in_pid_namespace};
use crate::support::{Cluster, ensure, eventually};

fn never(config: &mut Value) {
    config["preempt"] = "never".into();
}

/// Node 2 leads and node 1 follows; each runs a command while it leads.
fn two() -> (Cluster, Lines) {
    let cluster = Cluster::prepare(2, never);
    let lines = Lines::beside(&cluster);
    start(&cluster, &lines, 2);
    cluster.agree_on(2);
    start(&cluster, &lines, 1);
    cluster.agree_on(2);
    lines.runs_next(None);
    (cluster, lines)
}

fn start(cluster: &Cluster, lines: &Lines, number: usize) {
    let command = command();
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    cluster.node(number).start_as(&more, &[(FILE, &lines.file()), (MANNER, POLITE)]);
}

/// The guard of a node, and what is to become its command.
fn ready(cluster: &Cluster, number: usize) -> (Pid, Pid) {
    ready_below(cluster.node(number).pid())
}

fn ready_below(electd: Pid) -> (Pid, Pid) {
    eventually(&format!("{electd:?} has a guard ready"), || {
        let guard = only_child(electd).ok_or("no guard")?;
        Ok((guard, only_child(guard).ok_or("it has started nothing")?))
    })
}

#[track_caller]
fn until_gone((guard, command): (Pid, Pid)) {
    eventually("the guard and what it started are gone", || {
        let left = [guard, command].map(lives);
        ensure(left == [false, false], || format!("{left:?}"))
    });
}

#[story]
fn what_waited_at_a_follower_becomes_its_command_when_it_leads() {
    let (cluster, lines) = two();
    let (guard, waiting) = ready(&cluster, 1);
    let before = lines.runs_next(None);
    cluster.node(2).kill_9();
    assert_eq!(lines.runs_next(Some(&before)).node, "node-1");
    let node = cluster.node(1);
    assert_eq!((only_child(node.pid()), only_child(guard)), (Some(guard), Some(waiting)));
    node.until_logged(&[&format!("guard {}", guard.as_raw_nonzero())]);
}

/// How often a process has gone to sleep.
fn sleeps(process: Pid) -> String {
    let path = format!("/proc/{}/status", process.as_raw_nonzero());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find(|line| line.starts_with("voluntary_ctxt_switches"));
    line.unwrap().to_owned()
}

#[story]
fn the_guard_of_a_leader_sleeps_while_the_leadership_is_renewed() {
    let (cluster, _lines) = two();
    let (guard, _) = ready(&cluster, 2);
    let renewals = || cluster.status(2).unwrap().messages["heartbeat"].sent;
    eventually("nothing wakes it", || {
        let (first, before) = (renewals(), sleeps(guard));
        eventually("the leadership is renewed", || {
            ensure(renewals() >= first + 20, || "not yet".to_owned())
        });
        let after = sleeps(guard);
        ensure(after == before, || format!("{before}, then {after}"))
    });
}

#[story]
fn it_ends_with_its_electd() {
    let (cluster, lines) = two();
    let first = ready(&cluster, 1);
    cluster.node(1).kill_9();
    until_gone(first);
    start(&cluster, &lines, 1);
    let second = ready(&cluster, 1);
    stop(second.0); // or it would end too fast to show whether electd waits
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
    assert!(![second.0, second.1].into_iter().any(lives), "electd waits for them");
}

/// In a container the first process adopts it, so that the kernel does not wake it.
#[story]
fn a_guard_that_stands_still_ends_with_its_electd_where_another_process_adopts_it() {
    let Some(elsewhere) = in_pid_namespace() else { return };
    let cluster = Cluster::prepare(2, never);
    let lines = Lines::beside(&cluster);
    start(&cluster, &lines, 2);
    cluster.agree_on(2);
    let (node, ended) = (cluster.node(1), cluster.file().with_file_name("ended"));
    let inner = format!("\"$0\" \"$@\"; echo $? >{}; exec sleep 1000", ended.display());
    node.runs_by(&format!("exec {elsewhere} sh -c '{inner}' {ELECTD} \"$@\""));
    start(&cluster, &lines, 1);
    cluster.agree_on(2);
    let electd = only_child(only_child(node.pid()).unwrap()).unwrap();
    let (guard, waiting) = ready_below(electd);
    stop(guard);
    kill_process(electd, Signal::TERM).unwrap();
    eventually("electd has ended", || {
        let code = fs::read_to_string(&ended).unwrap_or_default();
        ensure(code == "0\n", || format!("{code:?}: {}", node.log_tail(9)))
    });
    assert!(![guard, waiting].into_iter().any(lives), "electd waits for them");
    node.kill_9();
}

#[story]
fn a_follower_whose_guard_was_killed_starts_another_when_it_leads() {
    let (cluster, lines) = two();
    let (guard, waiting) = ready(&cluster, 1);
    kill_process(guard, Signal::KILL).unwrap();
    until_gone((guard, waiting));
    let before = lines.runs_next(None);
    cluster.node(2).kill_9();
    let next = lines.runs_next(Some(&before));
    assert_eq!(next.node, "node-1");

    // And what waits to become the command may be killed alone.
    start(&cluster, &lines, 2);
    let (guard, waiting) = ready(&cluster, 2);
    kill_process(waiting, Signal::KILL).unwrap();
    cluster.agree_on(1);
    cluster.node(1).kill_9();
    assert_eq!(lines.runs_next(Some(&next)).node, "node-2");
    assert_eq!(only_child(cluster.node(2).pid()), Some(guard));
}

#[story]
fn a_node_without_a_command_starts_none() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    assert_eq!([1, 2].map(|number| only_child(cluster.node(number).pid())), [None, None]);
}
