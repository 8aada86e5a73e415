//! Jobs that fail soon after their start: the host does not take them again and again, and the last that may lead does.

use std::fs::{self, File};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use story::story;

use super::attached::{Attached, exec};
use crate::support::traced::Traced;
use crate::support::{Cluster, done, electd, ensure, eventually};

pub const FAILS: [&str; 4] = ["--", "sh", "-c", "exit 3"];
pub const RUNS: [&str; 3] = ["--", "sleep", "100000"];

fn with_majority(config: &mut Value) {
    config["quorum"] = "majority".into();
}

/// Three nodes, of which the third has these options and a command that fails.
pub fn third_fails(options: &[&str]) -> Cluster {
    let cluster = Cluster::prepare(3, with_majority);
    cluster.nodes()[..2].iter().for_each(|node| node.start_as(&RUNS, &[]));
    cluster.node(3).start_as(&[options, &FAILS].concat(), &[]);
    cluster
}

/// The failures that a node has counted, while it stands back because of them.
pub fn failures(cluster: &Cluster, number: usize) -> Result<u32, String> {
    let status = cluster.status(number)?;
    let shown = status.problems.iter().any(|problem| problem.kind == "job");
    let failure = status.failure.filter(|_| shown);
    failure.map(|failure| failure.count).ok_or_else(|| format!("{:?}", status.problems))
}

/// How often a node has started its job.
fn starts(cluster: &Cluster, number: usize) -> usize {
    cluster.node(number).log().matches(": runs sh in epoch").count()
}

#[story]
fn a_host_on_which_the_job_fails_does_not_take_it_again_after_a_restart() {
    let cluster = third_fails(&[]);
    assert_eq!(cluster.node(3).exit_code(), 3);
    cluster.agree_on(2);
    for _ in 0..3 {
        cluster.node(3).start();
        cluster.agree_on(2);
        assert_eq!(eventually("it is shown", || failures(&cluster, 3)), 1);
        cluster.node(3).restart(); // it forgets nothing if it is killed either
        cluster.agree_on(2);
        cluster.node(3).stop_term();
        assert_eq!(cluster.node(3).exit_code(), 0);
    }
    assert_eq!(cluster.node(3).log().matches("-> leading").count(), 1);
    cluster.node(3).start_as(&FAILS, &[]);
    cluster.agree_on(2);
    let shown = electd(&cluster, &["status"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("problem: node-3: job: the job failed here (code 3"), "{shown}");
    done(&electd(&cluster, &["undrain", "--node", "node-3"]));
    assert_eq!(cluster.node(3).exit_code(), 3, "it leads, and the job fails again");
    cluster.agree_on(2);
}

/// Claim: job-runs.
#[story]
fn a_job_that_fails_again_after_a_restart_here_moves_to_another_host() {
    let cluster = third_fails(&["--restart", "on-failure"]);
    cluster.agree_on(2);
    assert_eq!(eventually("it is shown", || failures(&cluster, 3)), 1);
    assert!(starts(&cluster, 3) >= 2, "{}", cluster.node(3).log());
}

/// Claim: job-runs.
#[story]
fn the_last_that_may_lead_leads_though_its_job_fails() {
    let cluster = Cluster::prepare(1, with_majority);
    cluster.node(1).start_as(&[&["--restart", "on-failure"], &FAILS[..]].concat(), &[]);
    cluster.agree_on(1);
    eventually("the job is started again", || {
        ensure(starts(&cluster, 1) >= 3, || cluster.node(1).log_tail(5))
    });
    cluster.agree_on(1);
    let output = exec(&cluster, 1, &["--then", "resign", "--", "true"]).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.contains("the node leads on: "), "{told}");
    cluster.node(1).kill_9();
    cluster.node(1).start();
    cluster.agree_on(1);
}

#[story]
fn a_host_that_stands_back_leads_when_no_other_can() {
    let cluster = third_fails(&[]);
    assert_eq!(cluster.node(3).exit_code(), 3);
    cluster.agree_on(2);
    cluster.node(3).start_as(&RUNS, &[]);
    cluster.agree_on(2);
    done(&electd(&cluster, &["drain", "--node", "node-1"]));
    eventually("node-2 hears of it", || {
        ensure(!cluster.status(2)?.members[0].eligible, || "not yet".to_owned())
    });
    cluster.node(2).kill_9();
    cluster.agree_on(3);
}

#[story]
fn an_attached_command_moves_the_leadership_only_if_it_is_to() {
    let cluster = Cluster::start_with(3, with_majority);
    let epoch = cluster.agree_on(3);
    let run = |options: &[&str]| exec(&cluster, 3, &[options, &FAILS].concat()).output().unwrap();
    assert_eq!(run(&[]).status.code(), Some(3));
    assert_eq!((cluster.agree_on(3), cluster.status(3).unwrap().failure), (epoch, None));
    assert_eq!(run(&["--then", "resign"]).status.code(), Some(3));
    let next = cluster.agree_on(2);
    assert_eq!(next, epoch + 1, "the next leader does not hand over in its place");
    assert_eq!(eventually("it is shown", || failures(&cluster, 3)), 1);
    cluster.node(3).restart();
    assert_eq!(cluster.agree_on(2), next);
}

/// As where the host has no process left for a moment. The command was killed, so that it is to be started again.
#[story]
fn a_job_for_which_there_is_no_process_begins_as_soon_as_there_is_one() {
    for by_exec in [false, true] {
        let cluster = Cluster::prepare(1, |_| {});
        let pids = cluster.file().with_file_name("pids");
        let script = format!("echo $$ >>{}; exec sleep 100000", pids.display());
        let options = ["--restart", "always", "--", "sh", "-c", &script];
        let log = cluster.file().with_file_name("exec.log");
        let mut beside = None;
        if by_exec {
            cluster.node(1).start();
            let stderr = File::create(&log).unwrap();
            beside = Some(Attached(exec(&cluster, 1, &options).stderr(stderr).spawn().unwrap()));
        } else {
            cluster.node(1).start_as(&options, &[]);
        }
        let runs = |count: usize| {
            eventually(&format!("it runs for the {count}. time"), || {
                let all = fs::read_to_string(&pids).unwrap_or_default();
                let last = all.lines().nth(count - 1).and_then(|pid| pid.parse().ok());
                last.and_then(Pid::from_raw).ok_or(all.clone())
            })
        };
        let first = runs(1);
        let electd = beside.as_ref().map_or_else(|| cluster.node(1).pid(), Attached::pid);
        let lack = "clone,clone3,fork,vfork:error=EAGAIN";
        let Some(traced) = Traced::all_of(electd, lack) else { return };
        kill_process(first, Signal::KILL).unwrap();
        eventually("it cannot be begun", || {
            let told = fs::read_to_string(&log).unwrap_or_default() + &cluster.node(1).log();
            ensure(told.contains("the job cannot be run"), || told)
        });
        drop(traced);
        runs(2);
    }
}
