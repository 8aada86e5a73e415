//! What ends a command whose guard is killed: two defences, each tried without the other.
//!
//! The kernel kills the command itself, and electd what that left.

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::attached::{lives, stop};
use super::lines::Lines;
use super::worker::{ASTRAY, FILE, MANNER, STUBBORN, command};
use super::{command_of, only_child, with_majority};
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
#[story]
fn electd_kills_what_the_command_of_a_killed_guard_left() {
    let (cluster, lines, guard) = leader(ASTRAY);
    let node = cluster.node(1);
    eventually("it left its parent, which has ended", || {
        let below = super::children(guard).count();
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
