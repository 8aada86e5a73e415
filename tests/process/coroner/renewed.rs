//! A coroner that has ended is replaced while its node lives, once nothing is left of any job.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::{Job, Manner, SOON, coroner, is_certificate, quick, said, until_gone};
use crate::jobs::attached::{Attached, exec};
use crate::jobs::{coroner_of, only_child};
use crate::support::{Cluster, DEADLINE, ensure, within};

/// Waits until this single node has another coroner than this one, and no problem.
#[track_caller]
fn until_renewed(cluster: &Cluster, last: Pid) {
    until_gone(last);
    within(SOON, "another coroner attends the node", || {
        let now = coroner_of(cluster.node(1).pid()).ok_or("it has none")?;
        ensure(now != last, || "it is the last one".to_owned())?;
        let problems = cluster.status(1)?.problems;
        let is_none = !problems.iter().any(|problem| problem.kind == "coroner");
        ensure(is_none, || format!("{problems:?}"))
    });
}

/// The crash of this single node, which runs no job any more or one that ends, is certified.
#[track_caller]
fn is_certified(cluster: &Cluster) {
    let node = cluster.node(1);
    node.kill_9();
    assert!(is_certificate(&said(node).unwrap()), "its death is not certified");
}

/// Claim: crash.
#[story]
fn a_killed_coroner_is_replaced_and_the_next_one_certifies() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let first = coroner(cluster.node(1));
    kill_process(first, Signal::KILL).unwrap();
    until_renewed(&cluster, first);
    is_certified(&cluster);
}

/// A command that is started again whenever it has ended, and the options before it. Without a cgroup nobody ends it once
/// its guard was killed, so its coroner certifies nothing more.
fn again(job: &Job) -> Vec<String> {
    let command = job.command(Manner::Ignores);
    ["--cgroup", "never", "--restart", "always", "--"]
        .map(str::to_owned)
        .into_iter()
        .chain(command)
        .collect()
}

/// What the guard left was killed: nothing is left, and the next guard has a coroner again.
#[story]
fn after_a_killed_guard_the_next_job_is_certified_again() {
    let cluster = Cluster::prepare(1, quick);
    let (job, node) = (Job::of(&cluster), cluster.node(1));
    let more = again(&job);
    node.start_with(&more.iter().map(String::as_str).collect::<Vec<_>>());
    job.until_begun(1, DEADLINE);
    let (first, guard) = (coroner(node), only_child(node.pid()).unwrap());
    kill_process(guard, Signal::KILL).unwrap();
    job.until_begun(2, DEADLINE);
    until_renewed(&cluster, first);
    is_certified(&cluster);
}

#[story]
fn after_a_killed_guard_of_an_exec_the_next_job_is_certified_again() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let job = Job::of(&cluster);
    let more = again(&job);
    let mut command = exec(&cluster, 1, &more.iter().map(String::as_str).collect::<Vec<_>>());
    let exec = Attached(command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    job.until_begun(1, DEADLINE);
    let (first, guard) = (coroner(cluster.node(1)), only_child(exec.pid()).unwrap());
    kill_process(guard, Signal::KILL).unwrap();
    job.until_begun(2, DEADLINE);
    until_renewed(&cluster, first);
    is_certified(&cluster);
}

/// Its guard has ended the job, and told the coroner so.
#[story]
fn a_killed_exec_costs_no_certificate() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let job = Job::of(&cluster);
    let command = job.command(Manner::Ignores);
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    let mut command = exec(&cluster, 1, &more);
    let exec = Attached(command.stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap());
    job.until_begun(1, DEADLINE);
    let (first, child) = (coroner(cluster.node(1)), job.child());
    kill_process(exec.pid(), Signal::KILL).unwrap();
    until_gone(child);
    within(DEADLINE, "the node has taken note of the end of the job", || {
        let lock = cluster.node(1).state().join("exec-1.lock");
        ensure(!lock.exists(), || "the lock is there".to_owned())
    });
    assert_eq!(coroner(cluster.node(1)), first);
    assert!(cluster.status(1).unwrap().problems.is_empty());
    is_certified(&cluster);
}
