//! A node in a container: the first process of its PID namespace, whose end ends all others there.

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::{Job, Manner, SOON, number, slow, until_replaced};
use crate::jobs::only_child;
use crate::support::script::{ELECTD, in_pid_namespace};
use crate::support::{Cluster, DEADLINE, Node, ensure, eventually};

/// Has each node run in a PID namespace of its own; false where this process may make none.
fn contain(cluster: &Cluster) -> bool {
    let Some(elsewhere) = in_pid_namespace() else { return false };
    let lines = format!("exec {elsewhere} {ELECTD} \"$@\"");
    cluster.nodes().iter().for_each(|node| node.runs_by(&lines));
    true
}

/// The first process of the namespace of this node, and the node below it.
#[track_caller]
fn first_and_node(node: &Node) -> (Pid, Pid) {
    eventually("the node runs below the first process", || {
        let first = only_child(node.pid()).ok_or("no first process")?;
        Ok((first, only_child(first).ok_or("no node")?))
    })
}

#[story]
fn a_killed_node_is_certified_before_its_container_ends() {
    let cluster = Cluster::prepare(3, slow);
    if !contain(&cluster) {
        return;
    }
    cluster.nodes().iter().for_each(Node::start);
    let (leader, _) = cluster.agree();
    let (_, node) = first_and_node(cluster.node(leader));
    kill_process(node, Signal::KILL).unwrap();
    until_replaced(&cluster, leader);
    assert_eq!(cluster.node(leader).exit_code(), 128 + 9);
    cluster.agree();
}

#[story]
fn a_job_in_a_container_has_ended_before_the_next_begins() {
    let cluster = Cluster::prepare(3, slow);
    if !contain(&cluster) {
        return;
    }
    let job = Job::of(&cluster);
    let command = job.command(Manner::Obeys);
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    cluster.nodes().iter().for_each(|node| node.start_with(&more));
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    cluster.agree_on(leader);
    let (_, node) = first_and_node(cluster.node(leader));
    kill_process(node, Signal::KILL).unwrap();
    job.until_begun(2, SOON);
    assert_eq!(cluster.node(leader).exit_code(), 128 + 9);
}

#[story]
fn each_signal_that_ends_a_node_ends_its_container_with_0() {
    let cluster = Cluster::prepare(1, super::quick);
    if !contain(&cluster) {
        return;
    }
    let node = cluster.node(1);
    for signal in [Signal::TERM, Signal::INT, Signal::QUIT] {
        node.start();
        cluster.agree_on(1);
        let (first, _) = first_and_node(node);
        kill_process(first, Signal::HUP).unwrap();
        node.until_logged(&["the configuration was read again"]);
        let flights = node.state().join("flight");
        let count = || std::fs::read_dir(&flights).map_or(0, Iterator::count);
        let before = count();
        kill_process(first, Signal::USR1).unwrap();
        eventually("it leaves a recording", || {
            ensure(count() > before, || format!("{before} in {}", flights.display()))
        });
        kill_process(first, signal).unwrap();
        assert_eq!(node.exit_code(), 0);
    }
    // A node that ends by itself ends its container with its own code.
    std::fs::write(node.state().join("state.json"), "of no electd").unwrap();
    node.start();
    assert_eq!(node.exit_code(), 65, "{}", node.log_tail(5));
}
