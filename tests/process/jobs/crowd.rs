//! A host with so many processes that a look at all of them takes longer than what is left of a lease, and a command with
//! so many below it.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use story::story;

use super::guard::Setup;
use super::lines::{Lines, Run};
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
fn short(config: &mut Value) {
    config["quorum"] = "majority".into();
    config["preempt"] = "never".into();
    config["timing"] = json!({"failure": "400ms", "heartbeat": "40ms", "message": "20ms"});
}

/// Freezes the leader's electd so many times; each has a command with so many processes, and the host so many idle ones.
fn freezes(times: usize, idle: usize, members: usize) {
    let cluster = Cluster::prepare(3, short);
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

/// `FREEZES=20 IDLE=15000 cargo test --release --test process jobs::crowd -- --ignored host`
#[story]
#[ignore = "long"]
fn a_frozen_leaders_job_ends_in_time_on_a_crowded_host() {
    freezes(from_environment("FREEZES", 5), from_environment("IDLE", 15_000), 0);
}

/// `FREEZES=20 MEMBERS=6000 cargo test --release --test process jobs::crowd -- --ignored family`
#[story]
#[ignore = "long"]
fn a_frozen_leaders_job_with_a_large_family_ends_in_time() {
    freezes(from_environment("FREEZES", 5), 0, from_environment("MEMBERS", 6000));
}

/// Of the guard alone: `cargo test --release --test process jobs::crowd -- --ignored --nocapture measured`
#[story]
#[ignore = "tool"]
fn the_time_from_an_alarm_to_its_effect_is_measured() {
    let (idle, members) = (from_environment("IDLE", 15_000), from_environment("MEMBERS", 6000));
    for (what, idle, before) in [
        ("processes on the host", idle, String::new()),
        (
            "children in its group",
            0,
            format!("i=0; while [ $i -lt {members} ]; do sleep 100000 & i=$((i+1)); done;"),
        ),
        (
            "children in groups of their own",
            0,
            format!("set -m; i=0; while [ $i -lt {members} ]; do sleep 100000 & i=$((i+1)); done;"),
        ),
    ] {
        let _idle = Idle::start(idle);
        for kind in ["TERM", "KILL"] {
            let folder = tempfile::tempdir().unwrap();
            // A child that left the group and ignores TERM but for a note of it, and the command, which does the same.
            let astray =
                "trap 'date +%s%N >>astray' TERM; touch ready; while :; do sleep 0.002; done";
            std::fs::write(folder.path().join("script"), astray).unwrap();
            let script = format!(
                "{before} setsid sh script & trap 'date +%s%N >>own' TERM; while :; do sleep 0.002; done"
            );
            let mut guard = Setup::of(&script).start(folder.path());
            eventually("it is ready", || {
                ensure(folder.path().join("ready").exists(), || "not yet".to_owned())
            });
            std::thread::sleep(Duration::from_secs(1));
            let begin = std::time::SystemTime::now();
            let since = |text: String| {
                let at: u128 = text.trim().parse().unwrap();
                let begin = begin.duration_since(std::time::UNIX_EPOCH).unwrap();
                Duration::from_nanos(u64::try_from(at.saturating_sub(begin.as_nanos())).unwrap())
            };
            if kind == "TERM" {
                guard.term(1);
                for name in ["own", "astray"] {
                    let at = eventually("it got TERM", || {
                        let text = std::fs::read_to_string(folder.path().join(name));
                        text.map_err(|error| error.to_string()).and_then(|text| {
                            ensure(text.ends_with('\n'), || text.clone()).map(|()| text)
                        })
                    });
                    println!("{what}: {name} got TERM after {:?}", since(at));
                }
            }
            let begin = Instant::now();
            guard.kill(1);
            guard.end();
            println!("{what}: all is gone {:?} after KILL", begin.elapsed());
        }
    }
}
