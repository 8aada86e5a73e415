//! A process of a command that KILL does not end, as one that waits for a disk, and whose guard was killed.

use std::fs;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::attached::{Attached, exec};
use super::failing::failures;
use super::with_majority;
use crate::support::undead::Undead;
use crate::support::{Cluster, eventually};

/// The guard would wait for it, and the node waits in the place of the guard: until it has ended, or the lease has.
#[story]
fn a_process_that_outlives_kill_and_its_guard_keeps_the_leadership_from_being_released() {
    for is_attached in [false, true] {
        let cluster = Cluster::prepare(3, with_majority);
        let [pid, guard] = ["pid", "guard"].map(|name| cluster.file().with_file_name(name));
        let script = format!(
            "echo $PPID >{}; echo $$ >{}; exec sleep 10000",
            guard.display(),
            pid.display()
        );
        let job = ["--stop-after", "1000s", "--restart", "always", "--", "sh", "-c", &script];
        let mine: &[&str] = if is_attached { &[] } else { &job };
        (1..=3).for_each(|number| cluster.node(number).start_as(mine, &[]));
        let (leader, epoch) = cluster.agree();
        let attached = is_attached
            .then(|| exec(&cluster, leader, &job).stderr(Stdio::null()).spawn().map(Attached));
        let undead = Undead::of(&pid);
        let guard = fs::read_to_string(&guard).unwrap().trim().parse().unwrap();
        kill_process(Pid::from_raw(guard).unwrap(), Signal::KILL).unwrap();
        eventually("the node is to lead only if no other can", || failures(&cluster, leader));
        assert_eq!(cluster.agree(), (leader, epoch), "something of its command is left");
        drop(undead);
        eventually("another one leads", || {
            let (next, later) = cluster.agree();
            let led = format!("node {next} in epoch {later}");
            (next != leader && later > epoch).then_some(()).ok_or(led)
        });
        drop(attached);
    }
}
