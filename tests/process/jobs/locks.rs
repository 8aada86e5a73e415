//! `electd exec --lock`: commands beside the nodes, each on the one host that holds the lock of its name.

use std::cell::RefCell;
use std::process::{Command, Output, Stdio};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use story::story;

use super::attached::{Attached, exec};
use super::lines::{Lines, Run};
use super::worker::{FILE, MANNER, POLITE, command};
use super::{only_child, signal_coroner_and_kill, with_majority};
use crate::support::{Cluster, Finished, ensure, eventually};

mod changes;
mod views;

const NAMES: [&str; 3] = ["backup", "vip-7", "vip-8"];

/// Nodes, and beside each a command for each of the locks.
struct Locks {
    cluster: Cluster,
    lines: [Lines; 3],
    /// Of each node.
    execs: Vec<RefCell<Vec<Attached>>>,
}

impl Locks {
    fn start() -> Locks {
        let locks = Locks::of(Cluster::start_with(3, with_majority));
        (1..=3).for_each(|number| locks.attach(number));
        locks
    }

    /// Without commands yet.
    fn of(cluster: Cluster) -> Locks {
        let lines = NAMES.map(|name| Lines::named(&cluster, name));
        let execs = cluster.nodes().iter().map(|_| RefCell::default()).collect();
        Locks { cluster, lines, execs }
    }

    /// Starts the commands beside this node, in place of those that ran there before.
    fn attach(&self, number: usize) {
        let command = command();
        let begin = |(at, name): (usize, &&str)| {
            let options = ["--lock", name, "--restart", "always", "--stop-after", "300ms", "--"];
            let all: Vec<&str> =
                options.into_iter().chain(command.iter().map(String::as_str)).collect();
            let mut exec = exec(&self.cluster, number, &all);
            exec.env(FILE, self.lines[at].file()).env(MANNER, POLITE).stdout(Stdio::null());
            Attached(exec.spawn().unwrap())
        };
        let execs = NAMES.iter().enumerate().map(begin).collect();
        self.execs[number - 1].replace(execs);
    }

    /// The runs that are there, once each lock has one on a host other than this one.
    fn run(&self, gone: Option<usize>) -> [Run; 3] {
        let gone = gone.map(|number| self.cluster.node(number).name.as_str());
        std::array::from_fn(|at| {
            eventually("a command begins to run", || {
                let run = self.lines[at].is_next(None)?;
                ensure(Some(run.node.as_str()) != gone, || format!("still {run:?}"))?;
                Ok(run)
            })
        })
    }

    /// Ends all that belongs to a host, at once as far as a test can.
    fn kill_host(&self, number: usize) {
        let execs = self.execs[number - 1].take();
        for exec in execs.iter().map(Attached::pid) {
            let guard = only_child(exec);
            for process in guard.into_iter().chain([exec]) {
                let _ = kill_process(process, Signal::KILL); // it may have no guard
            }
        }
        signal_coroner_and_kill(self.cluster.node(number), Signal::KILL);
    }

    /// The commands of this host alone run elsewhere now, under later tokens.
    fn assert_moved_from(&self, number: usize, before: &[Run; 3], after: &[Run; 3]) {
        for (before, after) in before.iter().zip(after) {
            let was_there = before.node == self.cluster.node(number).name;
            assert_eq!(before != after, was_there, "{before:?} and {after:?}");
            assert!(before.epoch <= after.epoch, "{before:?} and {after:?}");
        }
    }

    fn number(&self, run: &Run) -> usize {
        self.cluster.nodes().iter().position(|node| node.name == run.node).unwrap() + 1
    }
}

/// The locks of the others stay where they are, and their commands get no signal.
///
/// Claim: one-holder.
#[story]
fn the_commands_of_a_host_that_dies_run_on_the_others_and_no_other_command_is_ended() {
    let locks = Locks::start();
    let mut runs = locks.run(None);
    for round in 0..4 {
        let number = locks.number(&runs[round % 3]);
        if round % 2 == 0 {
            locks.kill_host(number);
        } else {
            locks.cluster.node(number).kill_9();
        }
        let next = locks.run(Some(number));
        locks.assert_moved_from(number, &runs, &next);
        locks.lines.iter().for_each(|lines| _ = lines.assert_never_two());
        locks.cluster.node(number).start();
        locks.attach(number);
        locks.cluster.agree();
        runs = locks.run(None);
    }
    drop(locks.execs);
    locks.lines.iter().for_each(Lines::assert_nobody_writes);
}

/// A command that says by which lock it runs, and runs on until the test lets it end.
fn waiting(cluster: &Cluster, number: usize, name: &str) -> Attached {
    let gate = cluster.file().with_file_name(format!("gate-{number}"));
    let script = format!(
        "echo \"$ELECTD_LOCK $ELECTD_NODE <$ELECTD_LEADER>\"; until [ -e {0} ]; do sleep 0.02; done; rm {0}",
        gate.display()
    );
    let mut exec = exec(cluster, number, &["--lock", name, "--", "sh", "-c", &script]);
    Attached(exec.stdout(Stdio::piped()).spawn().unwrap())
}

fn open(cluster: &Cluster, number: usize) {
    std::fs::write(cluster.file().with_file_name(format!("gate-{number}")), "").unwrap();
}

/// What `electd` prints with these arguments for this cluster, and its exit code.
pub fn electd(cluster: &Cluster, args: &[&str]) -> (i32, String, String) {
    let mut electd = Command::new(env!("CARGO_BIN_EXE_electd"));
    electd.args(args).arg("--config").arg(cluster.file());
    ["ELECTD_CONFIG", "ELECTD_NODE", "ELECTD_ADMIN"].iter().for_each(|name| {
        electd.env_remove(name);
    });
    let Output { status, stdout, stderr } = electd.finished();
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    (status.code().unwrap(), stdout, stderr.trim_end().to_owned())
}

/// What a node shows of a lock.
pub fn shown(cluster: &Cluster, number: usize, name: &str) -> Value {
    let answer = cluster.node(number).get(&format!("/locks/{name}")).unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
    answer.json()["locks"][0].clone()
}

#[track_caller]
fn until_wanted(cluster: &Cluster, name: &str, count: usize) {
    eventually("the leader knows the candidates", || {
        let (code, printed, told) = electd(cluster, &["lock", "show", name, "--output", "json"]);
        let known: Value = serde_json::from_str(&printed).map_err(|_| told.clone())?;
        let candidates = known["locks"][0]["candidates"].as_array().map(Vec::len);
        ensure(candidates == Some(count), || format!("{code} {printed} {told}"))
    });
}

/// Claim: one-holder.
#[story]
fn the_end_of_a_command_gives_its_lock_to_the_next_host_that_waits() {
    let cluster = Cluster::start_with(2, with_majority);
    cluster.agree();
    let mut first = waiting(&cluster, 1, "backup");
    first.hears("backup node-1 <>\n");
    let token = shown(&cluster, 1, "backup")["token"].as_u64().unwrap();
    // Only one of two commands on one host runs, and a third waits on the other host.
    let mut beside = exec(&cluster, 1, &["--lock", "backup", "--wait", "1s", "--", "true"]);
    let late = beside.finished();
    let told = String::from_utf8_lossy(&late.stderr).into_owned();
    assert_eq!(late.status.code(), Some(75), "{told}");
    let words =
        "node-1 does not hold the lock backup, and did not come to within --wait: node-1 holds it";
    assert!(told.trim_end().ends_with(words), "{told}");
    let mut second = waiting(&cluster, 2, "backup");
    until_wanted(&cluster, "backup", 2);
    let own = |number| cluster.node(number).get("/locks/backup/leader").unwrap().code;
    assert_eq!([own(1), own(2)], [200, 503]);
    assert_eq!(
        electd(&cluster, &["leader", "--lock", "backup", "--check", "--node", "node-1"]).0,
        0
    );
    assert_eq!(
        electd(&cluster, &["leader", "--lock", "backup", "--check", "--node", "node-2"]).0,
        1
    );
    open(&cluster, 1);
    assert_eq!(first.code(), 0);
    second.hears("backup node-2 <>\n");
    let (code, printed, told) =
        electd(&cluster, &["leader", "--lock", "backup", "--output", "json"]);
    let known: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &known["holder"]), (0, &json!("node-2")), "{told}");
    assert!(known["token"].as_u64().unwrap() > token, "{known}");
    open(&cluster, 2);
    assert_eq!(second.code(), 0);
    eventually("nobody holds it", || {
        let (code, printed, told) = electd(&cluster, &["leader", "--lock", "backup"]);
        ensure((code, printed.as_str()) == (1, ""), || format!("{code} {printed} {told}"))
    });
}

/// It ends the command first.
///
/// Claim: one-holder.
#[story]
fn an_operator_moves_a_lock_and_its_command_ends_before_the_next_begins() {
    let cluster = Cluster::start_with(2, with_majority);
    cluster.agree();
    let mut first = waiting(&cluster, 1, "vip-7");
    first.hears("vip-7 node-1 <>\n");
    let mut second = waiting(&cluster, 2, "vip-7");
    until_wanted(&cluster, "vip-7", 2);
    let (code, printed, told) = electd(&cluster, &["lock", "move", "vip-7", "--to", "node-2"]);
    assert_eq!(code, 0, "{printed}{told}");
    assert_eq!(first.code(), 76, "it was lost");
    second.hears("vip-7 node-2 <>\n");
    let (code, listed, _) = electd(&cluster, &["lock", "list"]);
    assert!(code == 0 && listed.ends_with("\n1 lock held: 1 by node-2\n"), "{code}: {listed}");
    let status = electd(&cluster, &["status"]).1;
    assert!(status.contains("\n1 lock held: 1 by node-2"), "{status}");
    let (code, _, told) = electd(&cluster, &["lock", "move", "vip-7", "--to", "node-9"]);
    assert!(code == 1 && told.contains("no member is named \"node-9\""), "{code}: {told}");
    let (code, _, told) = electd(&cluster, &["lock", "forget", "vip-7"]);
    assert!(code == 1 && told == "node-2 holds the lock vip-7", "{code}: {told}");
    // Alone it gets the lock again, with a greater token.
    let token = shown(&cluster, 2, "vip-7")["token"].clone();
    assert_eq!(electd(&cluster, &["lock", "release", "vip-7"]).0, 0);
    assert_eq!(second.code(), 76);
    let mut third = waiting(&cluster, 2, "vip-7");
    third.hears("vip-7 node-2 <>\n");
    assert!(shown(&cluster, 2, "vip-7")["token"].as_u64() > token.as_u64());
}

/// A cluster without a majority has no locks.
#[story]
fn a_command_with_a_lock_that_cannot_be_had_says_why() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let run = |options: &[&str]| {
        let output = exec(&cluster, 1, &[options, &["--", "true"]].concat()).finished();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).trim_end().to_owned())
    };
    let (code, told) = run(&["--lock", "backup"]);
    assert_eq!(code, Some(78), "{told}");
    assert!(told.ends_with("locks need `\"quorum\": \"majority\"`"), "{told}");
    for name in ["", "..", "A", "a/b", "names", "a\u{1b}[2J", &"a".repeat(10_000)] {
        let (code, told) = run(&["--lock", name]);
        assert!(code == Some(2) && !told.contains('\u{1b}'), "{code:?}: {told}");
        assert!(told.len() < 300 && told.contains("is no name of a lock"), "{told}");
    }
    let (code, told) = run(&["--lock", "none://h/backup"]);
    assert_eq!(code, Some(2), "{told}");
    let locks = cluster.node(1).get("/locks").unwrap().json();
    assert_eq!(locks["unavailable"]["cause"], "quorum_none");
    let (code, _, told) = electd(&cluster, &["lock", "release", "backup"]);
    assert!(code == 1 && told.contains("majority"), "{code}: {told}");
}
