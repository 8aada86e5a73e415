//! A host with so many processes that a look at all of them takes longer than what is left of a lease, and a command with
//! so many below it. `make test-crowd` runs these tests alone: others would fail beside them. `FREEZES`, `IDLE` and
//! `MEMBERS` say how many.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use story::story;

use super::lines::{Lines, Run};
use super::with_majority;
use super::worker::{CROWD, FILE, MANNER, MEMBERS, command, full};
use crate::support::{Cluster, ensure, eventually};

/// Processes that do nothing; gone when this is dropped.
struct Idle(Vec<Child>);

impl Idle {
    fn start(count: usize) -> Idle {
        const EACH: usize = 1000;
        let script = "i=0; while [ $i -lt $0 ]; do sleep 100000 & i=$((i+1)); done; echo; wait";
        let parents = (0..count.div_ceil(EACH)).map(|number| {
            let mut parent = Command::new("sh");
            parent.args(["-c", script, &EACH.min(count - number * EACH).to_string()]);
            parent.stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn().unwrap()
        });
        let mut idle = Idle(parents.collect());
        for parent in &mut idle.0 {
            use std::io::Read;
            parent.stdout.as_mut().unwrap().read_exact(&mut [0; 1]).unwrap();
        }
        idle
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        for parent in &mut self.0 {
            let _ = kill_process_group(Pid::from_child(parent), Signal::KILL);
            let _ = parent.wait();
        }
    }
}

/// The lease of the default timings.
pub fn short(config: &mut Value) {
    config["quorum"] = "majority".into();
    config["preempt"] = "never".into();
    config["timing"] = json!({"failure": "400ms", "heartbeat": "40ms", "message": "20ms"});
}

/// Freezes the leader's electd so many times; each has a command with so many processes, and the host so many idle ones.
fn freezes(change: fn(&mut Value), times: usize, idle: usize, members: usize) {
    let cluster = Cluster::prepare(3, change);
    let lines = Lines::beside(&cluster);
    let (command, members, file) = (command(), members.to_string(), lines.file());
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    for node in cluster.nodes() {
        node.start_as(&more, &[(FILE, &file), (MANNER, CROWD), (MEMBERS, &members)]);
    }
    cluster.agree();
    let _idle = Idle::start(idle);
    let is_full = |run: &Run| {
        let path = full(&file, &run.node, run.epoch);
        ensure(std::path::Path::new(&path).exists(), || format!("{run:?} starts processes"))
    };
    let mut last = eventually("all processes are there", || {
        let run = lines.is_next(None)?;
        is_full(&run).map(|()| run)
    });
    for number in 1..=times {
        let node = cluster.nodes().iter().find(|node| node.name == last.node).unwrap();
        node.freeze();
        let begin = Instant::now();
        lines.runs_next(Some(&last));
        println!("freeze {number}: the next command runs after {:?}", begin.elapsed());
        node.thaw();
        last = eventually("all processes are there", || {
            let run = lines.is_next(Some(&last))?;
            is_full(&run).map(|()| run)
        });
        println!("{}", lines.gaps());
    }
    lines.assert_never_two();
    for node in cluster.nodes() {
        node.stop_term();
        node.exit_code();
    }
    lines.assert_nobody_writes();
}

fn from_environment(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

/// Claim: job-ends.
#[story]
#[ignore = "long"]
fn a_frozen_leaders_job_ends_in_time_on_a_crowded_host() {
    freezes(short, from_environment("FREEZES", 5), from_environment("IDLE", 15_000), 0);
}

#[story]
#[ignore = "long"]
fn a_frozen_leaders_job_with_a_large_family_ends_in_time() {
    // To start and to end so many takes both cores for long.
    freezes(with_majority, from_environment("FREEZES", 5), 0, from_environment("MEMBERS", 6000));
}
