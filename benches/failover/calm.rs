//! The resources of an idle node: processor, memory, threads, from /proc.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;

/// After this time a new cluster is idle.
const SETTLING: Duration = Duration::from_secs(1);

/// The use of one process.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// User and system time, as a share of one core.
    pub cpu: f64,
    pub resident_kb: u64,
    /// The part of it that is not the program's file, shared by all nodes.
    pub anonymous_kb: u64,
    pub threads: usize,
}

/// Of each node, while nothing happens for this long. In order of the members: the leader last.
pub fn usage(cluster: &Cluster, time: Duration) -> Vec<Usage> {
    thread::sleep(SETTLING);
    let before = cluster.pids().map(run_times).collect::<Vec<_>>();
    let start = Instant::now();
    thread::sleep(time);
    let elapsed = start.elapsed();
    let used = cluster.pids().zip(before).map(|(pid, before)| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
        let after = run_times(pid);
        let ran = after.iter().map(|(task, ran)| ran - before.get(task).unwrap_or(&0));
        Usage {
            cpu: Duration::from_nanos(ran.sum()).as_secs_f64() / elapsed.as_secs_f64(),
            resident_kb: number(&status, "VmRSS:"),
            anonymous_kb: number(&status, "RssAnon:"),
            threads: after.len(),
        }
    });
    used.collect()
}

/// How many threads a process has.
pub fn threads(pid: u32) -> usize {
    run_times(pid).len()
}

/// The time on a processor of each thread, in nanoseconds; the ticks of /proc/PID/stat are too
/// coarse for an idle node.
fn run_times(pid: u32) -> BTreeMap<PathBuf, u64> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives");
    let tasks = tasks.map(|task| task.expect("it can be read").path());
    let time = |task: PathBuf| {
        let line = fs::read_to_string(task.join("schedstat")).ok()?; // or it has just ended
        Some((task, line.split(' ').next()?.parse().ok()?))
    };
    tasks.filter_map(time).collect()
}

fn number(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("it is there");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("it is a number")
}
