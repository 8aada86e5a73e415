//! What an idle node uses: processor, memory, threads, from /proc.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::cluster::Cluster;

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
    let before = cluster.pids().map(run_time).collect::<Vec<_>>();
    let start = Instant::now();
    thread::sleep(time);
    let elapsed = start.elapsed();
    let used = cluster.pids().zip(before).map(|(pid, before)| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it lives");
        Usage {
            cpu: (run_time(pid) - before).as_secs_f64() / elapsed.as_secs_f64(),
            resident_kb: number(&status, "VmRSS:"),
            anonymous_kb: number(&status, "RssAnon:"),
            threads: tasks(pid).count(),
        }
    });
    used.collect()
}

/// The time on a processor of all threads that live, to the nanosecond; the ticks of
/// /proc/PID/stat are too coarse for an idle node.
fn run_time(pid: u32) -> Duration {
    let times = tasks(pid).map(|task| {
        let line = fs::read_to_string(task.join("schedstat")).expect("its thread lives");
        line.split(' ').next().and_then(|nanos| nanos.parse::<u64>().ok()).expect("it starts so")
    });
    Duration::from_nanos(times.sum())
}

fn tasks(pid: u32) -> impl Iterator<Item = std::path::PathBuf> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it lives");
    tasks.map(|task| task.expect("it can be read").path())
}

fn number(status: &str, key: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(key)).expect("it is there");
    line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("it is a number")
}
