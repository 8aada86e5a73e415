//! A coroner that was killed or stands still costs time, and nothing else.

use rustix::process::{Signal, kill_process};
use story::story;

use super::{Job, Manner, coroner, quick, said, until_gone};
use crate::support::{Cluster, DEADLINE, ensure, eventually};

#[track_caller]
fn until_missed(cluster: &Cluster, number: usize) {
    eventually("the node tells that it has no coroner", || {
        let problems = cluster.status(number)?.problems;
        let told = problems.iter().any(|problem| problem.kind == "coroner");
        ensure(told, || format!("{problems:?}"))
    });
}

#[story]
fn a_killed_coroner_is_a_problem_and_the_lease_ends_as_ever() {
    let cluster = Cluster::start_with(3, quick);
    let (leader, _) = cluster.agree();
    let node = cluster.node(leader);
    assert!(cluster.status(leader).unwrap().problems.is_empty());
    let coroner = coroner(node);
    kill_process(coroner, Signal::KILL).unwrap();
    until_missed(&cluster, leader);
    until_gone(coroner);
    cluster.agree_on(leader);
    node.kill_9();
    assert!(said(node).is_err(), "nobody answers");
    cluster.agree();
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
}

/// It cannot know of the job, so it is ended before that begins.
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
    until_gone(coroner);
    until_missed(&cluster, 1);
}

/// A process that is frozen lives: its coroner accepts nobody.
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
        assert!(!log.contains("its host certifies that"), "{log}");
    }
}

/// Signals that may be meant for the node, its group or its unit.
#[story]
fn no_signal_but_kill_ends_a_coroner_before_its_node() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let node = cluster.node(1);
    let coroner = coroner(node);
    for signal in [Signal::INT, Signal::QUIT, Signal::HUP, Signal::USR1, Signal::USR2] {
        kill_process(coroner, signal).unwrap();
    }
    node.kill_9();
    assert!(super::is_certificate(&said(node).unwrap()));
}
