//! What ends a command whose guard is killed: two defences, each tried without the other.
//!
//! The kernel kills the command itself, and electd what that left.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use story::story;

use super::attached::{lives, stop};
use super::lines::Lines;
use super::worker::{ASTRAY, FILE, MANNER, STUBBORN, command};
use super::{children, command_of, guard_of, only_child, with_majority};
use crate::support::{Cluster, ensure, eventually};

/// A node that leads, with a command of this manner that runs, and its guard.
fn leader(manner: &str) -> (Cluster, Lines, Pid) {
    let cluster = Cluster::prepare(1, with_majority);
    let lines = Lines::beside(&cluster);
    let command = command();
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    let node = cluster.node(1);
    node.start_as(&more, &[(FILE, &lines.file()), (MANNER, manner)]);
    lines.runs_next(None);
    let guard = only_child(node.pid()).unwrap();
    (cluster, lines, guard)
}

/// electd is frozen, so that it cannot do so.
#[story]
fn the_kernel_kills_the_command_of_a_killed_guard() {
    let (cluster, _lines, guard) = leader(STUBBORN);
    let command = command_of(guard).unwrap();
    stop(cluster.node(1).pid());
    kill_process(guard, Signal::KILL).unwrap();
    eventually("the command is gone", || ensure(!lives(command), || "it runs".to_owned()));
    cluster.node(1).thaw();
}

/// The kernel does nothing about what left the command.
/// Claim: job-ends.
#[story]
fn electd_kills_what_the_command_of_a_killed_guard_left() {
    let (cluster, lines, guard) = leader(ASTRAY);
    let node = cluster.node(1);
    eventually("it left its parent, which has ended", || {
        let below = children(guard).count();
        ensure(below == 2, || format!("{below} below the guard"))
    });
    let epoch = cluster.agree_on(1);
    kill_process(guard, Signal::KILL).unwrap();
    eventually("the guard's death is told", || {
        let log = node.log();
        ensure(log.contains("the guard of the job was killed"), || node.log_tail(10))
    });
    let left = lines.processes_of(epoch);
    assert!(left.is_empty(), "{left:?}");
}

/// Its hook is no part of the job, and below electd as well.
#[story]
fn electd_spares_its_own_programs_when_it_kills_what_a_killed_guard_left() {
    let cluster = Cluster::prepare(1, with_majority);
    let [runs, go, ended] = ["runs", "go", "ended"].map(|name| cluster.file().with_file_name(name));
    let script = format!(
        "[ -e {0} ] && exit; touch {0}; until [ -e {1} ]; do sleep 0.01; done; touch {2}",
        runs.display(),
        go.display(),
        ended.display()
    );
    let mut config = cluster.config().clone();
    config["hooks"] = json!({"on_change": ["sh", "-c", script], "timeout": "100s"});
    fs::write(cluster.file(), config.to_string()).unwrap();
    let node = cluster.node(1);
    node.start_with(&["--", "sleep", "1000"]);
    let guard = eventually("the command and the hook run", || {
        ensure(runs.exists(), || node.log_tail(9))?;
        let guard = guard_of(node.pid()).filter(|guard| command_of(*guard).is_some());
        guard.ok_or("no command".to_owned())
    });
    kill_process(guard, Signal::KILL).unwrap();
    node.until_logged(&["the guard of the job was killed"]);
    fs::write(go, "").unwrap();
    eventually("the hook comes to its end", || ensure(ended.exists(), || node.log_tail(9)));
}
