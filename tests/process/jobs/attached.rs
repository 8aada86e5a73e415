//! `electd exec`: commands beside a node that runs already.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use story::story;

use super::begins::again;
use super::lines::{Lines, Run};
use super::several::leads_on;
use super::worker::{ASTRAY, DRAWN, FILE, MANNER, MANNERS, command, parent_of};
use super::{Pairs, command_of, only_child, signal_coroner_and_kill, with_majority};
use crate::coroner::crash;
use crate::support::{Cluster, Finished, ensure, eventually, http, readable};

/// An `electd exec`; killed, and its command with it, when this is dropped.
pub struct Attached(pub Child);

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Attached {
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.0)
    }

    /// Waits until its command has written a line.
    pub fn hear(&mut self) {
        self.0.stdout.as_mut().unwrap().read_exact(&mut [0; 1]).unwrap();
    }

    /// Waits until it has written a line with these words to stderr.
    #[track_caller]
    pub fn until_told(&mut self, words: &str) {
        let mut lines = BufReader::new(self.0.stderr.as_mut().unwrap()).lines();
        let told = lines.any(|line| line.unwrap().contains(words));
        assert!(told, "it ended, and did not say {words:?}");
    }

    /// Waits until the command has printed this.
    #[track_caller]
    pub fn hears(&mut self, words: &str) {
        let stdout = self.0.stdout.as_mut().unwrap();
        let mut heard = vec![0; words.len()];
        for byte in &mut heard {
            readable("the command prints something", stdout);
            stdout.read_exact(std::slice::from_mut(byte)).unwrap();
        }
        assert_eq!(String::from_utf8_lossy(&heard), words);
    }

    pub fn code(&mut self) -> i32 {
        let status = eventually("electd exec ends", || {
            self.0.try_wait().unwrap().ok_or_else(|| "it runs".to_owned())
        });
        status.code().unwrap()
    }
}

/// `electd exec` beside this node, with these options and this command.
pub fn exec(cluster: &Cluster, number: usize, options: &[&str]) -> Command {
    exec_by(&cluster.file(), &cluster.node(number).name, options)
}

/// `electd exec` beside the node of this name in this file.
fn exec_by(file: &Path, name: &str, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.args(["exec", "--node", name, "--config"]).arg(file).args(options);
    for variable in ["ELECTD_CONFIG", "ELECTD_NODE", "RUST_LOG"] {
        command.env_remove(variable);
    }
    command.stdin(Stdio::null());
    command
}

/// The exit code and the last line on stderr.
fn outcome(output: &Output) -> (i32, String) {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code().unwrap(), text.lines().last().unwrap_or_default().to_owned())
}

fn run(cluster: &Cluster, number: usize, options: &[&str]) -> (i32, String) {
    outcome(&exec(cluster, number, options).finished())
}

/// Claim: exit-codes.
#[story]
fn every_end_has_its_code() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    assert_eq!(run(&cluster, 2, &["--", "sh", "-c", "exit 7"]).0, 7);
    assert_eq!(run(&cluster, 2, &["--", "sh", "-c", "kill -9 $$"]).0, 137);
    assert_eq!(run(&cluster, 2, &["--", "/no/such/program"]).0, 127);
    assert_eq!(run(&cluster, 2, &["--", "/dev/null"]).0, 126);
    assert_eq!(run(&cluster, 2, &[]).0, 2);
    let silent = run(&cluster, 1, &["--wait", "0s", "--", "true"]);
    assert_eq!(silent, (75, String::new()), "cron would mail it");
    let (code, told) = run(&cluster, 1, &["--wait", "1ms", "--", "true"]);
    assert_eq!(
        (code, told.as_str()),
        (75, "node-1 does not lead, and did not come to within --wait")
    );
    cluster.agree_on(2);
    assert_eq!(run(&cluster, 2, &["--then", "resign", "--", "sh", "-c", "exit 7"]).0, 7);
    cluster.agree_on(1);
    let text = std::fs::read_to_string(cluster.file()).unwrap();
    let other = cluster.file().with_file_name("other.json");
    std::fs::write(&other, text.replace("\"cluster\":\"test\"", "\"cluster\":\"other\"")).unwrap();
    let output = exec_by(&other, "node-2", &["--", "true"]).finished();
    let (code, told) = outcome(&output);
    assert!(code == 78 && told.contains("node-2 of cluster test"), "{code}: {told}");
    let node = cluster.node(2);
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    let (code, told) = run(&cluster, 2, &["--", "true"]);
    assert_eq!(code, 69, "{told}");
    assert!(told.starts_with("no node runs on this host: "), "{told}");
}

#[story]
fn a_leadership_that_ends_ends_the_command() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let wait = ["--", "sh", "-c", "echo begun; exec sleep 1000"];
    let mut lost = Attached(exec(&cluster, 2, &wait).stdout(Stdio::piped()).spawn().unwrap());
    lost.hears("begun");
    let mut told = Attached(exec(&cluster, 2, &wait).stdout(Stdio::piped()).spawn().unwrap());
    told.hears("begun");
    kill_process(told.pid(), Signal::TERM).unwrap();
    assert_eq!(told.code(), 143, "the command's own code");
    cluster.node(2).post("/resign", "").unwrap();
    assert_eq!(lost.code(), 76);
}

/// Three nodes, and beside each a command that runs while the node leads.
pub struct Beside {
    cluster: Cluster,
    pub lines: Lines,
    attached: [RefCell<Option<Attached>>; 3],
    /// What becomes of the command line of an exec, whose node has its state in this folder.
    by: fn(&Command, &Path) -> Command,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    KillExec,
    KillGuard,
    KillElectd,
    BreakMemory,
    Abort,
    /// electd is killed after its coroner was, or while that stands still.
    KillBoth,
    FreezeCoroner,
    /// Both at one instant: nobody tells the guard to end but the kernel.
    KillExecAndElectd,
    FreezeExec,
    Freeze,
    Resign,
}

impl Beside {
    fn start() -> Beside {
        Beside::start_by(again)
    }

    pub fn start_by(by: fn(&Command, &Path) -> Command) -> Beside {
        let cluster = Cluster::start_with(3, with_majority);
        let lines = Lines::beside(&cluster);
        let beside = Beside { cluster, lines, attached: Default::default(), by };
        beside.cluster.agree();
        (1..=3).for_each(|number| beside.attach(number));
        beside
    }

    fn attach(&self, number: usize) {
        let command = command();
        let options = ["--stop-after", "300ms", "--restart", "always", "--"].into_iter();
        let all: Vec<&str> = options.chain(command.iter().map(String::as_str)).collect();
        let mut command = exec(&self.cluster, number, &all);
        command.env(FILE, self.lines.file()).env(MANNER, DRAWN);
        let mut command = (self.by)(&command, &self.cluster.node(number).state());
        let exec = Attached(command.stdout(Stdio::null()).spawn().unwrap());
        self.attached[number - 1].replace(Some(exec));
    }

    /// Does this to the leader, and waits until a new command runs.
    pub fn suffer(&self, fault: Fault, before: &Run) -> Run {
        let node = self.cluster.nodes().iter().position(|node| node.name == before.node).unwrap();
        let (number, node) = (node + 1, &self.cluster.nodes()[node]);
        let exec = self.attached[number - 1].borrow().as_ref().unwrap().pid();
        let signal = |signal| kill_process(exec, signal).unwrap();
        match fault {
            // Its command is dead before the node lets anybody else lead.
            Fault::KillExec => {
                signal(Signal::KILL);
                let _ = node.post("/resign", "");
            }
            Fault::KillGuard => {
                if let Some(guard) = only_child(exec) {
                    let _ = kill_process(guard, Signal::KILL);
                }
            }
            Fault::KillElectd => node.kill_9(),
            Fault::BreakMemory => crash(node, Signal::SEGV),
            Fault::Abort => crash(node, Signal::ABORT),
            Fault::KillBoth => signal_coroner_and_kill(node, Signal::KILL),
            Fault::FreezeCoroner => signal_coroner_and_kill(node, Signal::STOP),
            Fault::KillExecAndElectd => {
                signal(Signal::KILL);
                node.kill_9();
            }
            Fault::FreezeExec => {
                signal(Signal::STOP);
                let _ = node.post("/resign", "");
            }
            Fault::Freeze => node.freeze(),
            Fault::Resign => _ = node.post("/resign", ""),
        }
        self.lines.runs_next(Some(before));
        match fault {
            Fault::FreezeExec => signal(Signal::CONT),
            Fault::Freeze => node.thaw(),
            _ => {}
        }
        // A member that resigned does not lead for a while; a restart ends that.
        if node.runs() {
            node.kill_9();
        }
        node.start();
        eventually("the node serves its control socket", || node.post("/reload", ""));
        self.attach(number);
        // A leader hands over only to members that it has met.
        self.cluster.agree();
        self.lines.runs_next(Some(before))
    }
}

/// Claim: one-job.
#[story]
#[ignore = "long"]
fn attached_commands_move_with_the_leadership_and_never_run_on_two_hosts() {
    let beside = Beside::start();
    let mut before = beside.lines.runs_next(None);
    let faults = [
        Fault::KillExec,
        Fault::Resign,
        Fault::KillElectd,
        Fault::FreezeExec,
        Fault::Freeze,
        Fault::KillGuard,
        Fault::KillBoth,
        Fault::BreakMemory,
        Fault::KillExecAndElectd,
        Fault::FreezeCoroner,
        Fault::Abort,
    ];
    let rounds = faults.into_iter().cycle().take(faults.len() * MANNERS.len());
    let (mut pairs, mut coming) = (Pairs::new(), faults.into_iter().cycle().skip(1));
    for fault in rounds {
        pairs.met(fault, beside.lines.manner(&before));
        beside.lines.draw(pairs.rarest(coming.next().unwrap()));
        before = beside.suffer(fault, &before);
        beside.lines.assert_never_two();
    }
    println!("{:?}", pairs.0);
    assert!(beside.lines.assert_never_two() > faults.len() * MANNERS.len());
    let Beside { lines, attached, cluster, .. } = beside;
    for exec in &attached {
        // A killed node leaves the lock of its last exec to the next one.
        let exec = exec.borrow().as_ref().unwrap().pid();
        eventually("exec is attached", || only_child(exec).ok_or_else(|| "no guard".to_owned()));
    }
    drop(attached);
    lines.assert_nobody_writes();
    for node in cluster.nodes() {
        let left = std::fs::read_dir(node.state()).unwrap().flatten();
        let left: Vec<_> = left.filter(|file| file.path().extension().is_some()).collect();
        eventually("the locks of dead commands are gone", || {
            let held = left.iter().filter(|file| file.file_name() != "job.lock");
            let held = held.filter(|file| file.path().extension().is_some_and(|end| end == "lock"));
            let held: Vec<_> = held.filter(|file| file.path().exists()).collect();
            ensure(held.is_empty(), || format!("{held:?}"))
        });
    }
}

#[story]
fn an_order_that_ends_a_leadership_is_answered_when_the_command_has_ended() {
    let cluster = Cluster::start(3);
    cluster.agree_on(3);
    let file = cluster.file().with_file_name("ended");
    let script = format!(
        "trap 'sleep 1; echo ended >{}; exit' TERM; echo; while :; do sleep 0.05; done",
        file.display()
    );
    let begin = || {
        let mut exec = exec(&cluster, 3, &["--", "sh", "-c", &script]);
        let mut exec = Attached(exec.stdout(Stdio::piped()).spawn().unwrap());
        exec.hears("\n");
        exec
    };
    let mut first = begin();
    let answer = cluster.node(1).post("/resign", "").unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ended\n");
    assert_eq!(first.code(), 76);
    cluster.agree_on(2);
    cluster.node(3).restart();
    cluster.agree_on(3);
    std::fs::remove_file(&file).unwrap();
    let mut drained = begin();
    let answer = cluster.node(3).post("/drain", "").unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ended\n");
    assert_eq!(drained.code(), 76);
    cluster.agree_on(2);
    assert_eq!(cluster.node(3).post("/undrain", "").unwrap().code, 200);
    cluster.agree_on(3);
    std::fs::remove_file(&file).unwrap();
    let mut second = begin();
    let answer = cluster.node(1).delete("/members/node-3").unwrap();
    assert_eq!(answer.code, 200, "{answer:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "ended\n");
    assert_eq!(second.code(), 76);
}

/// A killed exec tells no node that its command has ended: the lock of its guard does.
#[story]
fn a_dead_execs_command_is_awaited() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let node = cluster.node(2);
    let exec = exec(&cluster, 2, &["--stop-after", "1000s", "--", "sleep", "1000"]);
    let parent = Attached(parent_of(&exec).stdout(Stdio::null()).spawn().unwrap());
    let (exec, guard, command) = eventually("the command begins", || {
        let exec = only_child(parent.pid()).ok_or("no exec")?;
        let guard = only_child(exec).ok_or("no guard")?;
        Ok((exec, guard, command_of(guard).ok_or("no command")?))
    });
    stop(guard);
    kill_process(exec, Signal::KILL).unwrap();
    let state = node.state();
    let answer = std::thread::scope(|scope| {
        let asked = scope.spawn(|| http::tell(&state, "POST", "/resign", "").unwrap());
        eventually("the node waits for the guard", || {
            let waits = node.log().contains("electd exec ended while its command ran");
            ensure(waits && !asked.is_finished(), || node.log_tail(10))
        });
        // A process that takes the place of this node waits for that lock, too.
        assert!(state.join("exec-1.lock").exists(), "the lock is gone before its guard");
        leads_on(&cluster, 2, 20);
        assert!(!asked.is_finished(), "the leadership has ended before the command");
        kill_process(guard, Signal::CONT).unwrap();
        asked.join().unwrap()
    });
    assert_eq!(answer.code, 200, "{answer:?}");
    assert!(!lives(command), "the command outlived the leadership");
    cluster.agree_on(1);
}

/// The kernel sends HUP, and CONT, to a frozen process whose parent dies.
#[story]
fn a_frozen_guard_outlives_its_exec_and_ends_the_command() {
    let cluster = Cluster::start_with(1, with_majority);
    let lines = Lines::beside(&cluster);
    cluster.agree_on(1);
    let command = command();
    let all: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    let mut exec = exec(&cluster, 1, &all);
    exec.env(FILE, lines.file()).env(MANNER, ASTRAY).stdout(Stdio::null());
    let exec = Attached(exec.spawn().unwrap());
    lines.runs_next(None);
    let guard = only_child(exec.pid()).unwrap();
    stop(guard);
    drop(exec);
    lines.assert_nobody_writes();
}

/// Stops this process, and waits until it is stopped.
pub fn stop(process: Pid) {
    kill_process(process, Signal::STOP).unwrap();
    let stat = format!("/proc/{}/stat", process.as_raw_nonzero());
    eventually("it stands still", || {
        let stat = std::fs::read_to_string(&stat).unwrap();
        ensure(stat.contains(") T "), || stat)
    });
}

/// Whether this process is there, and no zombie.
pub fn lives(process: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}
