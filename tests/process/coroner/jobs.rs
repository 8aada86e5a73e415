//! No certificate comes before the end of the job, whatever started it and however it ends.

use std::process::Stdio;

use rustix::process::{Signal, kill_process};
use story::story;

use super::{Job, Manner, SOON, coroner, number, quick, slow, until_gone, until_gone_soon};
use crate::jobs::attached::{Attached, exec};
use crate::jobs::only_child;
use crate::support::{Cluster, DEADLINE};

fn start_all(cluster: &Cluster, job: &Job, manner: Manner) {
    let command = job.command(manner);
    let options = ["--then", "exit", "--"].into_iter();
    let more: Vec<&str> = options.chain(command.iter().map(String::as_str)).collect();
    cluster.nodes().iter().for_each(|node| node.start_with(&more));
}

/// Claim: crash.
#[story]
fn the_job_of_a_killed_leader_moves_before_its_lease_ends() {
    let cluster = Cluster::prepare(3, slow);
    let job = Job::of(&cluster);
    start_all(&cluster, &job, Manner::Obeys);
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    cluster.agree_on(leader);
    cluster.node(leader).kill_9();
    let next = job.until_begun(2, SOON);
    assert_ne!(next, cluster.node(leader).name);
}

/// Claim: certificate.
#[story]
fn a_job_that_ignores_term_has_ended_before_the_next_begins() {
    let cluster = Cluster::prepare(3, quick);
    let job = Job::of(&cluster);
    start_all(&cluster, &job, Manner::Ignores);
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    cluster.agree_on(leader);
    let child = job.child();
    cluster.node(leader).kill_9();
    job.until_begun(2, DEADLINE);
    until_gone(child);
}

/// A process of `exec` beside each node, with these options, that starts the job again whenever that has ended.
pub(super) fn attached(
    cluster: &Cluster,
    options: &[&str],
    job: &Job,
    manner: Manner,
) -> Vec<Attached> {
    let command = job.command(manner);
    let all = ["--restart", "always"].iter().chain(options).chain(&["--"]).copied();
    let more: Vec<&str> = all.chain(command.iter().map(String::as_str)).collect();
    let start = |number| {
        let mut command = exec(cluster, number, &more);
        Attached(command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    };
    (1..=cluster.nodes().len()).map(start).collect()
}

#[story]
fn an_attached_job_of_a_killed_leader_moves_before_its_lease_ends() {
    let cluster = Cluster::start_with(3, slow);
    cluster.agree();
    let job = Job::of(&cluster);
    let _attached = attached(&cluster, &[], &job, Manner::Obeys);
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    cluster.node(leader).kill_9();
    let next = job.until_begun(2, SOON);
    assert_ne!(next, cluster.node(leader).name);
}

#[story]
fn an_attached_job_that_ignores_term_has_ended_before_the_next_begins() {
    let cluster = Cluster::start_with(3, quick);
    cluster.agree();
    let job = Job::of(&cluster);
    let _attached = attached(&cluster, &[], &job, Manner::Ignores);
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    cluster.node(leader).kill_9();
    job.until_begun(2, DEADLINE);
}

/// A guard that was killed leaves no word, so nobody knows what is left of its job if that has no cgroup.
/// Claim: certificate.
#[story]
fn after_a_killed_guard_nothing_is_certified() {
    let cluster = Cluster::prepare(1, quick);
    let job = Job::of(&cluster);
    let command = job.command(Manner::Ignores);
    let more: Vec<&str> =
        ["--cgroup", "never", "--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    cluster.node(1).start_with(&more);
    job.until_begun(1, DEADLINE);
    let (node, child) = (cluster.node(1), job.child());
    let (coroner, guard) = (coroner(node), only_child(node.pid()).unwrap());
    node.freeze(); // or it would end what the guard leaves
    kill_process(guard, Signal::KILL).unwrap();
    node.kill_9();
    until_gone_soon(coroner); // in silence
    assert!(super::said(node).is_err(), "nobody answers");
    kill_process(child, Signal::KILL).expect("it lives on");
}
