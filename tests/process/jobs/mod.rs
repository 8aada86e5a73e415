//! A command that runs on exactly one host: moved by each kind of failure, never on two hosts at one instant,
//! and with nothing of it left over.

mod worker;

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{Cluster, ensure, eventually};
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

/// One reading of the file: which node wrote when, in which epoch.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Line {
    nanos: u64,
    node: String,
    epoch: u64,
}

/// Three nodes that run a command while they lead.
struct Jobs {
    cluster: Cluster,
    file: PathBuf,
}

fn with_majority(config: &mut Value) {
    config["quorum"] = "majority".into();
    config["preempt"] = "never".into();
    config["timing"] = json!({"failure": "3s", "heartbeat": "100ms", "message": "250ms"});
}

impl Jobs {
    fn start() -> Jobs {
        let cluster = Cluster::prepare(3, with_majority);
        let file = cluster.file().with_file_name("lines");
        fs::write(&file, "").unwrap();
        let jobs = Jobs { cluster, file };
        (1..=3).for_each(|number| jobs.start_node(number));
        jobs
    }

    /// Each node runs a command of another manner.
    fn start_node(&self, number: usize) {
        let manner = [POLITE, STUBBORN, ASTRAY][number - 1];
        let command = command();
        let options = ["--stop-after", "300ms", "--"].into_iter();
        let more: Vec<&str> = options.chain(command.iter().map(String::as_str)).collect();
        let file = self.file.display().to_string();
        self.cluster.node(number).start_as(&more, &[(FILE, &file), (MANNER, manner)]);
    }

    /// All lines so far, by time.
    fn lines(&self) -> Vec<Line> {
        let text = fs::read_to_string(&self.file).unwrap();
        let line = |line: &str| {
            let mut words = line.split(' ');
            let nanos = words.next()?.parse().ok()?;
            let node = words.next()?.to_owned();
            Some(Line { nanos, node, epoch: words.next()?.parse().ok()? })
        };
        // The last line may be half written.
        let mut lines: Vec<Line> = text.lines().filter_map(line).collect();
        lines.sort();
        lines
    }

    /// The node whose command runs, once one runs that is not this run.
    fn runs_next(&self, last: Option<&Line>) -> Line {
        eventually("a command begins to run", || {
            let now = self.lines().pop().ok_or("no line yet")?;
            let same = last.is_some_and(|last| (&last.node, last.epoch) == (&now.node, now.epoch));
            ensure(!same, || format!("still {now:?}"))?;
            Ok::<_, String>(now)
        })
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
        let next = self.runs_next(Some(leader));
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
        next
    }

    /// "At no instant do two members' jobs run": who wrote once after another never writes again.
    fn assert_never_two(&self) -> usize {
        let mut runs: Vec<Line> = Vec::new();
        for line in self.lines() {
            let run = (&line.node, line.epoch);
            if runs.last().is_none_or(|last| (&last.node, last.epoch) != run) {
                let again = runs.iter().any(|other| (&other.node, other.epoch) == run);
                assert!(!again, "{line:?} wrote after {:?} had begun", runs.last());
                runs.push(line);
            }
        }
        runs.len()
    }

    /// Ends all nodes in order; nothing of any command is left then.
    fn end(self) {
        for number in 1..=3 {
            let node = self.cluster.node(number);
            node.stop_term();
            node.exit_code();
        }
        assert_eq!(processes_with(&self.file.display().to_string()), Vec::<String>::new());
    }
}

/// The one child of a process that works for a job.
fn only_child(parent: Pid) -> Option<Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.find(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let above = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        above == Some(&parent.as_raw_nonzero().to_string())
    })
    .and_then(Pid::from_raw)
}

/// The processes that have this in their environment.
fn processes_with(value: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let has = |path: &PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(value)
    };
    entries.filter(has).map(|path| path.display().to_string()).collect()
}

fn failovers(times: usize) {
    let jobs = Jobs::start();
    let mut leader = jobs.runs_next(None);
    for fault in FAULTS.into_iter().cycle().take(times) {
        leader = jobs.suffer(fault, &leader);
        jobs.assert_never_two();
    }
    assert!(jobs.assert_never_two() > times);
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
