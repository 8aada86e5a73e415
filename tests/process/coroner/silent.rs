//! A coroner that was killed or stands still costs time, and nothing else.

use std::fs;
use std::time::Instant;

use electd::node::status::Problem;
use rustix::process::{Signal, kill_process};
use story::story;

use super::{Job, Manner, coroner, end_of_lease, quick, said, until_gone, until_replaced};
use crate::jobs::{coroner_of, no_coroner_is_left};
use crate::support::{Cluster, DEADLINE, ensure, eventually};

/// Waits until a node tells that its crash will cost the lease, and why.
#[track_caller]
fn until_missed(cluster: &Cluster, number: usize, why: &str) {
    let words = format!(
        "{why}), so that the others would have to wait for the silence of \
         this node, and for its lease"
    );
    eventually("the node tells that it has no coroner", || {
        let problems = cluster.status(number)?.problems;
        let told = |problem: &Problem| problem.kind == "coroner" && problem.text.contains(&words);
        ensure(problems.iter().any(told), || format!("{problems:?}"))
    });
    cluster.node(number).until_logged(&["WARN", "coroner: ", &words]);
}

#[story]
fn a_coroner_that_is_killed_with_its_node_says_nothing_and_the_lease_ends_as_ever() {
    let cluster = Cluster::start_with(3, quick);
    let (leader, _) = cluster.agree();
    let node = cluster.node(leader);
    assert!(cluster.status(leader).unwrap().problems.is_empty());
    let coroner = coroner(node);
    node.freeze(); // or another one takes its place
    kill_process(coroner, Signal::KILL).unwrap();
    node.kill_9();
    assert!(said(node).is_err(), "nobody answers");
    until_gone(coroner);
    cluster.agree();
}

/// As where a filter of system calls or a limit of processes forbids it.
#[story]
fn a_node_that_may_not_start_its_coroner_says_so_and_its_crash_costs_the_lease() {
    let cluster = Cluster::prepare(3, quick);
    let forbidden = "--seccomp-bpf -P /proc/self/exe -e trace=execve -e inject=execve:error=EPERM";
    for node in cluster.nodes() {
        if node.trace_from_the_start(forbidden).is_none() {
            return;
        }
        node.start();
    }
    let (leader, _) = cluster.agree();
    let node = cluster.node(leader);
    assert_eq!(coroner_of(node.pid()), None);
    for number in 1..=3 {
        let remedy = "have the filter of system calls allow it: the seccomp profile of the container, or SystemCallFilter= of the unit";
        until_missed(
            &cluster,
            number,
            &format!("(starting a process: Operation not permitted (os error 1); {remedy}"),
        );
    }
    let end = end_of_lease(&cluster, leader);
    node.kill_9();
    until_replaced(&cluster, leader);
    assert!(Instant::now() >= end, "{:?} before the end of the lease", end - Instant::now());
    cluster.agree();
}

#[story]
fn a_coroner_that_cannot_begin_is_missed_and_ends() {
    let cluster = Cluster::prepare(1, quick);
    let node = cluster.node(1);
    fs::create_dir_all(node.state().join("coroner.new")).unwrap(); // where it is to listen
    node.start();
    until_missed(&cluster, 1, "(unlink coroner.new: Is a directory (os error 21)");
    no_coroner_is_left(node);
    cluster.agree_on(1);
    fs::remove_dir(node.state().join("coroner.new")).unwrap();
    eventually("another one has begun", || {
        let problems = cluster.status(1)?.problems;
        ensure(problems.is_empty() && coroner_of(node.pid()).is_some(), || format!("{problems:?}"))
    });
    node.kill_9();
    assert!(super::is_certificate(&said(node).unwrap()));
}

#[story]
fn a_coroner_that_stands_still_says_nothing_and_holds_no_restart_up() {
    let cluster = Cluster::start_with(3, quick);
    let (leader, _) = cluster.agree();
    let node = cluster.node(leader);
    let coroner = coroner(node);
    kill_process(coroner, Signal::STOP).unwrap();
    node.kill_9();
    cluster.agree();
    node.start();
    cluster.agree();
    until_gone(coroner);
    node.until_logged(&["the coroner of the last process of this member stood still: killed it"]);
    node.until_logged(&["the coroner of the last process of this member left nothing: "]);
}

/// It finds what was said about the job when it goes on.
#[story]
fn a_coroner_that_stands_still_keeps_no_job_from_its_begin() {
    let cluster = Cluster::prepare(1, quick);
    let (job, node) = (Job::of(&cluster), cluster.node(1));
    let command = job.command(Manner::Obeys);
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    node.start_with(&more);
    let status = eventually("the node is up", || cluster.status(1));
    assert_ne!(status.state, "leading", "it waits for others first");
    let coroner = coroner(node);
    kill_process(coroner, Signal::STOP).unwrap();
    job.until_begun(1, DEADLINE);
    let child = job.child();
    let number = coroner.as_raw_nonzero();
    let remedy =
        format!("have the process {number} go on (kill -CONT {number}), or restart this node");
    until_missed(&cluster, 1, "(it is stopped");
    node.until_logged(&["WARN", "coroner: ", &remedy]);
    node.kill_9();
    kill_process(coroner, Signal::CONT).unwrap();
    until_gone(child);
    eventually("it certifies the death", || said(node).map_err(|error| format!("{error:?}")));
}

/// A process that is frozen lives: its coroner accepts nobody.
/// Claim: certificate.
#[story]
fn a_frozen_node_is_not_certified() {
    let cluster = Cluster::start_with(3, quick);
    let (leader, _) = cluster.agree();
    let node = cluster.node(leader);
    node.freeze();
    cluster.agree();
    node.thaw();
    cluster.agree();
    for number in 1..=3 {
        let log = cluster.node(number).log();
        assert!(!log.contains("its host certifies its death"), "{log}");
    }
}

/// Signals that may be meant for the node, its group or its unit.
#[story]
fn no_signal_but_kill_ends_a_coroner_before_its_node() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let node = cluster.node(1);
    let coroner = coroner(node);
    let [alarm, user] = [Signal::ALARM, Signal::USR1];
    for signal in [Signal::INT, Signal::QUIT, Signal::HUP, alarm, user, Signal::USR2] {
        kill_process(coroner, signal).unwrap();
    }
    node.kill_9();
    assert!(super::is_certificate(&said(node).unwrap()));
}
