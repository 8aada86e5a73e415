//! Processes whose parents have ended: whichever process of electd gets them reaps them, and takes no exit code of a
//! program that another part of it waits for.

use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::process::Pid;
use serde_json::{Value, json};
use story::story;

use super::{children, command_of, only_child};
use crate::support::script::{ELECTD, in_pid_namespace};
use crate::support::{Cluster, Node, ensure, eventually, within};

/// Leaves processes behind: one that is killed with its group, and two that end by themselves.
const LEAVES: &str = "sleep 1000 & setsid sleep 0.01 & setsid -f sleep 0.02; echo >>";

/// More than a node would reap in SOON, if it reaped one after each run of its check.
const MANY: usize = 120;

/// The same of a guard.
const CROWD: usize = 300;

/// Many times what it takes.
const SOON: Duration = Duration::from_secs(20);

fn is_zombie(process: &Pid) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.contains(") Z "))
}

#[track_caller]
fn until_reaped(process: Pid) {
    eventually("all that has ended is reaped", || {
        let zombies = children(process).filter(is_zombie).count();
        ensure(zombies == 0, || format!("{zombies} zombies"))
    });
}

/// A node whose check and whose hook leave processes behind.
fn leaving(cluster: &Cluster) {
    let folder = cluster.file().parent().unwrap().display().to_string();
    let mut config: Value = cluster.config().clone();
    let leaves = |name: &str| json!(["sh", "-c", format!("{LEAVES}{folder}/{name}")]);
    config["hooks"] = json!({"on_change": leaves("hook")});
    config["members"][0]["health"] =
        json!({"command": leaves("check"), "every": "1s", "timeout": "900ms", "fall": 1});
    fs::write(cluster.file(), config.to_string()).unwrap();
}

/// Waits until this node has run its check and its hook a few times.
#[track_caller]
fn until_left(cluster: &Cluster) {
    for (name, times) in [("check", 4), ("hook", 1)] {
        eventually(&format!("{name} has run"), || {
            let ran = fs::read_to_string(cluster.file().with_file_name(name)).unwrap_or_default();
            ensure(ran.lines().count() >= times, || ran)
        });
    }
}

/// Every run of its check and its hook has its own exit code.
#[track_caller]
fn all_went_well(node: &Node) {
    let log = node.log();
    for wrong in ["unhealthy", "cannot be w", "exited with", "was killed"] {
        assert!(!log.contains(wrong), "{}", node.log_tail(20));
    }
}

#[story]
fn the_first_process_of_a_pid_namespace_reaps_what_its_programs_leave() {
    let Some(elsewhere) = in_pid_namespace() else { return };
    let cluster = Cluster::prepare(1, |_| {});
    leaving(&cluster);
    let node = cluster.node(1);
    node.runs_by(&format!("exec {elsewhere} {ELECTD} \"$@\""));
    node.start();
    cluster.agree_on(1);
    until_left(&cluster);
    until_reaped(only_child(node.pid()).unwrap());
    all_went_well(node);
}

/// A process that runs a job gets what its other programs leave behind.
#[story]
fn a_node_with_a_job_reaps_what_its_other_programs_leave() {
    let cluster = Cluster::prepare(1, |_| {});
    leaving(&cluster);
    let node = cluster.node(1);
    node.start_with(&["--", "sleep", "1000"]);
    cluster.agree_on(1);
    until_left(&cluster);
    until_reaped(node.pid());
    all_went_well(node);
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
}

#[story]
fn a_guard_reaps_what_its_command_leaves_while_the_command_runs() {
    let cluster = Cluster::prepare(1, |_| {});
    let (node, file) = (cluster.node(1), cluster.file().with_file_name("left"));
    let leave = "setsid -f sleep 0.2; ".repeat(10);
    let script = format!("{leave} echo >{}; exec sleep 1000", file.display());
    node.start_with(&["--", "sh", "-c", &script]);
    eventually("the command has left ten processes behind", || {
        ensure(file.exists(), || node.log_tail(9))
    });
    let guard = only_child(node.pid()).unwrap();
    eventually("the guard has no other child than the command", || {
        let children: Vec<Pid> = children(guard).collect();
        ensure(children.len() == 1, || format!("{children:?}"))
    });
}

/// The kernel tells of the first and of no other, if they end before that is taken note of.
#[story]
fn a_node_reaps_all_that_have_ended_at_once() {
    let cluster = Cluster::prepare(1, |_| {});
    let (node, folder) = (cluster.node(1), cluster.file().parent().unwrap().to_owned());
    let gate = folder.join("gate");
    assert!(Command::new("mkfifo").arg(&gate).status().unwrap().success());
    // Its parent has to end when a job makes the node the one that gets them.
    // A check that is cut off for its time leaves the rest to the next one.
    let leave = "cd DIR; [ -e runs ] && [ ! -e left ] && \
                 for _ in $(seq MANY); do setsid -f sh -c 'read _ <gate'; done && touch left; true";
    let leave = leave.replace("MANY", &MANY.to_string());
    let leave = leave.replace("DIR", &folder.display().to_string());
    let mut config: Value = cluster.config().clone();
    config["health"] = json!({"command": ["sh", "-c", leave], "every": "1s", "timeout": "900ms"});
    fs::write(cluster.file(), config.to_string()).unwrap();
    let script = format!("touch {}; exec sleep 1000", folder.join("runs").display());
    node.start_with(&["--", "sh", "-c", &script]);
    let below = |fits: fn(&Pid) -> bool| children(node.pid()).filter(fits).count();
    eventually("the node has got them", || {
        let count = below(|_| true);
        ensure(count > MANY, || format!("{count} children"))
    });
    node.freeze();
    eventually("they have ended", || {
        // Each that waits by now reads the end of it.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        drop(File::options().write(true).custom_flags(flags).open(&gate));
        let (count, ended) = (below(|_| true), below(is_zombie));
        ensure(count <= ended + 2, || format!("{ended} of {count}"))
    });
    node.thaw();
    within(SOON, "all of them are reaped", || {
        let count = below(is_zombie);
        ensure(count < MANY / 2, || format!("{count} zombies"))
    });
}

/// A process that has ended, and that its parent did not wait for, is nothing that is left. There are more of them than a
/// guard reaps before it looks at its alarms.
#[story]
fn what_a_command_leaves_running_is_named_and_killed() {
    for running in 0..=2 {
        let cluster = Cluster::prepare(1, |_| {});
        let (node, folder) = (cluster.node(1), cluster.file().parent().unwrap().to_owned());
        let [gate, end] = ["gate", "end"].map(|name| folder.join(name));
        assert!(Command::new("mkfifo").args([&gate, &end]).status().unwrap().success());
        let left = "sleep 1000 & ".repeat(running);
        let script = format!(
            "cd {}; {left} for _ in $(seq {CROWD}); do read _ <gate & done; exec cat end",
            folder.display()
        );
        node.start_with(&["--", "sh", "-c", &script]);
        let open = |fifo: &Path| {
            // It fails while nobody reads.
            let _ = File::options()
                .write(true)
                .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
                .open(fifo);
        };
        eventually("a crowd has ended that nobody waits for", || {
            open(&gate);
            let command = only_child(node.pid()).and_then(command_of).ok_or("no command")?;
            let ended = children(command).filter(is_zombie).count();
            ensure(ended == CROWD, || format!("{ended} of {CROWD}"))
        });
        eventually("the node ends with its command", || {
            open(&end);
            node.ended().ok_or_else(|| node.log_tail(20))
        });
        let log = node.log();
        let told = log.lines().find(|line| line.contains("the command has ended and left"));
        assert_eq!(told.is_some(), running > 0, "{log}");
        let is_named = |told: &str| {
            told.contains(" behind: killed") && told.contains(" and others") == (running > 1)
        };
        assert!(told.is_none_or(is_named), "{log}");
    }
}
