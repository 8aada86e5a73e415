//! A command that runs on exactly one host: moved by each kind of failure, never on two hosts at one instant,
//! and with nothing of it left over.

mod attached;
mod guard;
mod lines;
mod worker;

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::Cluster;
use lines::{Line, Lines};
use worker::{ASTRAY, FILE, MANNER, POLITE, STUBBORN, command};

/// What happens to the leader.
const FAULTS: [Fault; 6] = [
    Fault::Resign,
    Fault::KillElectd,
    Fault::KillCommand,
    Fault::Freeze,
    Fault::Term,
    Fault::KillGuard,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KillElectd,
    KillGuard,
    KillCommand,
    Freeze,
    Resign,
    Term,
}

/// Three nodes that run a command while they lead.
struct Jobs {
    cluster: Cluster,
    lines: Lines,
}

fn with_majority(config: &mut Value) {
    config["quorum"] = "majority".into();
    config["preempt"] = "never".into();
    config["timing"] = json!({"failure": "3s", "heartbeat": "100ms", "message": "250ms"});
}

impl Jobs {
    fn start() -> Jobs {
        let cluster = Cluster::prepare(3, with_majority);
        let lines = Lines::beside(&cluster);
        let jobs = Jobs { cluster, lines };
        (1..=3).for_each(|number| jobs.start_node(number));
        jobs
    }

    /// Each node runs a command of another manner.
    fn start_node(&self, number: usize) {
        let manner = [POLITE, STUBBORN, ASTRAY][number - 1];
        let command = command();
        let options = ["--stop-after", "300ms", "--"].into_iter();
        let more: Vec<&str> = options.chain(command.iter().map(String::as_str)).collect();
        let file = self.lines.file();
        self.cluster.node(number).start_as(&more, &[(FILE, &file), (MANNER, manner)]);
    }

    fn number(&self, name: &str) -> usize {
        self.cluster.nodes().iter().position(|node| node.name == name).unwrap() + 1
    }

    /// Does this to the leader, and waits until a command runs anew and all nodes are up.
    fn suffer(&self, fault: Fault, leader: &Line) -> Line {
        let number = self.number(&leader.node);
        let node = self.cluster.node(number);
        let mut resigns = false;
        match fault {
            Fault::KillElectd => node.kill_9(),
            Fault::KillCommand => {
                let guard = only_child(node.pid());
                // It may have ended for its leadership's sake, at the very moment.
                if let Some(command) = guard.and_then(only_child) {
                    let _ = kill_process(command, Signal::KILL);
                }
            }
            Fault::KillGuard => {
                if let Some(guard) = only_child(node.pid()) {
                    let _ = kill_process(guard, Signal::KILL);
                }
                resigns = true;
            }
            Fault::Freeze => node.freeze(),
            Fault::Resign => {
                let _ = node.post("/resign", "");
                resigns = true;
            }
            Fault::Term => node.stop_term(),
        }
        let next = self.lines.runs_next(Some(leader));
        match fault {
            Fault::KillElectd => self.start_node(number),
            Fault::Freeze => node.thaw(),
            Fault::Term => {
                assert_eq!(node.exit_code(), 0);
                self.start_node(number);
            }
            Fault::KillCommand => {
                assert_eq!(node.exit_code(), 137, "{}", node.log_tail(10));
                self.start_node(number);
            }
            // Who resigned does not lead for a while; a restart ends that.
            _ if resigns && next.node != leader.node => {
                node.kill_9();
                self.start_node(number);
            }
            _ => {}
        }
        // A leader hands over only to members that it has met.
        self.cluster.agree();
        self.lines.runs_next(Some(leader))
    }

    /// Ends all nodes in order; nothing of any command is left then.
    fn end(self) {
        for number in 1..=3 {
            let node = self.cluster.node(number);
            node.stop_term();
            node.exit_code();
        }
        self.lines.assert_nobody_writes();
    }
}

/// The one child of a process that works for a job.
pub fn only_child(parent: Pid) -> Option<Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.find(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let above = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        above == Some(&parent.as_raw_nonzero().to_string())
    })
    .and_then(Pid::from_raw)
}

fn failovers(times: usize) {
    let jobs = Jobs::start();
    let mut leader = jobs.lines.runs_next(None);
    for fault in FAULTS.into_iter().cycle().take(times) {
        leader = jobs.suffer(fault, &leader);
        jobs.lines.assert_never_two();
    }
    assert!(jobs.lines.assert_never_two() > times);
    jobs.end();
}

#[test]
fn a_job_moves_with_the_leadership_and_never_runs_on_two_hosts() {
    failovers(12);
}

/// `FAILOVERS=1000 cargo test --release --test process jobs:: -- --ignored for_long`
#[test]
#[ignore = "long"]
fn a_job_moves_with_the_leadership_for_long() {
    failovers(std::env::var("FAILOVERS").map_or(60, |times| times.parse().unwrap()));
}
