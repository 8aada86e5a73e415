//! A host: a node and what is beside it, in a namespace of their own.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::UdpSocket;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use electd::core::random::Random;
use lossy::{Disk, Hang};
use rustix::process::{Pid, Signal, kill_process};

use crate::config;
use crate::events::now;
use crate::holder;
use crate::job;
use crate::names::{self, Names};
use crate::network::{inside, processes};
use crate::plan::Plan;
use crate::process::{End, Process, commands, guards};
use crate::programs;

/// Without a node, or when its leadership ends, `exec` ends with these codes.
const ENDS_OF_EXEC: &[End] = &[69, 76];

/// A node that begins ends with this code where it cannot write its state.
const CANNOT_WRITE: End = 73;

/// `exec` ends with this code where its command cannot begin, as its lock cannot be written.
const CANNOT_BEGIN: End = 70;

/// How long a node may take until it has its state and its address: a coroner may have that.
const BEGINS: Duration = Duration::from_secs(5);

/// What the leader's host holds in some rounds.
const ADDRESS: &str = "10.0.0.99";

/// Begins a program with an own folder in place of a node's state folder, in which the control socket is the node's.
const APART: &str = "until [ -d $1 ]; do sleep 0.01; done; mkdir -p $2; mount --bind $1 $2; mount -t tmpfs tmpfs $1; ln -s $2/control.sock $1/control.sock; \
                     shift 2; exec \"$@\"";

/// Processes that are stopped by SIGSTOP.
struct Frozen {
    pids: Vec<Pid>,
    until: Instant,
    /// Since when the whole host stands still.
    whole: Option<u64>,
}

pub struct Host {
    pub name: String,
    /// Its namespace.
    pub home: String,
    pub folder: PathBuf,
    pub node: Process,
    /// Those of the leadership, and then those of locks.
    pub execs: Vec<Process>,
    /// The program that embeds a member and holds names, if there are locks; and the name of that member.
    pub program: Option<(Process, String)>,
    frozen: Option<Frozen>,
    /// Until when its state folder cannot be written, if it cannot be now.
    read_only: Option<Instant>,
    /// The disk that has its state folder, which loses what was not synced; and until when it hangs, if it does.
    disk: Option<Disk>,
    hangs: Option<Instant>,
    /// When the whole host was frozen.
    pub excepted: Vec<(u64, u64)>,
}

impl Host {
    pub fn new(number: usize, home: String, folder: &Path, plan: &Plan) -> Host {
        let name = format!("node-{number}");
        let exec = |slot| Process::new(format!("exec {slot} of {name}"), ENDS_OF_EXEC);
        Host {
            home,
            folder: folder.to_owned(),
            node: Process::new(name.clone(), &[]),
            execs: (1..=plan.execs + plan.lock_execs()).map(exec).collect(),
            program: plan.majority.then(|| {
                let own = config::program(number);
                (Process::new(format!("program of {name}"), &[]), own)
            }),
            disk: plan.lossy.then(|| mount_disk(&folder.join("data").join(&name))).flatten(),
            name,
            frozen: None,
            read_only: None,
            hangs: None,
            excepted: Vec::new(),
        }
    }

    pub fn state(&self) -> PathBuf {
        self.folder.join("data").join(&self.name)
    }

    /// Starts what is due.
    pub fn start(&mut self, plan: &Plan, random: &mut Random, ledger: &Path, names: &Names) {
        self.start_program(names);
        if self.node.is_due() {
            let mut command = self.electd(&["run", "--log-format", "json"], ledger);
            if plan.address {
                command.args(["--address", &format!("{ADDRESS}/24%cable")]);
            }
            if plan.runs {
                self.add_job(&mut command, plan, random, 0);
            }
            let home = self.home.clone();
            self.node.start(command, |command| inside(&home, || command.spawn()));
            if self.may_not_write() {
                self.node.expect(CANNOT_WRITE);
            }
        }
        for at in 0..self.execs.len() {
            if self.execs[at].is_due() {
                let lock = (at + 1).checked_sub(plan.execs).filter(|number| *number > 0);
                let mut command = match lock {
                    Some(number) => {
                        let ledger = names.ledgers[number - 1].path();
                        self.electd(&["exec", "--lock", &names::of_exec(number)], ledger)
                    }
                    None => self.electd_in(plan.apart, &["exec"], ledger),
                };
                if plan.restarts {
                    command.args(["--restart", "always"]);
                }
                let slot = if lock.is_some() { names::SLOT } else { at + 1 };
                self.add_job(&mut command, plan, random, slot);
                let home = self.home.clone();
                self.execs[at].start(command, |command| inside(&home, || command.spawn()));
                if self.may_not_write() {
                    self.execs[at].expect(CANNOT_BEGIN);
                }
            }
        }
    }

    /// Whether what begins now may find that its state cannot be written: a sync that is to fail may be its first one.
    fn may_not_write(&self) -> bool {
        self.read_only.is_some() || self.disk.as_ref().is_some_and(Disk::fails_to_sync)
    }

    fn start_program(&mut self, names: &Names) {
        let (home, log) = (self.home.clone(), self.log());
        let file = self.folder.join("cluster.json");
        let Some((process, own)) = self.program.as_mut().filter(|(process, _)| process.is_due())
        else {
            return;
        };
        let mut command = Command::new(programs::own());
        command.args([holder::MODE.as_ref(), file.as_os_str(), own.as_ref()]);
        command.env(holder::CLAIMS, names.claims());
        into_log(&mut command, &log);
        process.start(command, |command| inside(&home, || command.spawn()));
    }

    fn add_job(&self, command: &mut Command, plan: &Plan, random: &mut Random, slot: usize) {
        let stop_after = format!("{}ms", plan.stop_after.as_millis());
        command.args(["--stop-after", &stop_after, "--"]).arg(programs::own());
        command.args(job::draw(random, slot));
    }

    /// A command of electd about this node, whose output goes to the log of this host.
    pub fn electd(&self, words: &[&str], ledger: &Path) -> Command {
        self.electd_in(false, words, ledger)
    }

    /// The same, in a mount namespace of its own if `apart`.
    fn electd_in(&self, apart: bool, words: &[&str], ledger: &Path) -> Command {
        let mut command = if apart {
            let mut command = Command::new("unshare");
            command.args(["--mount", "sh", "-ec", APART, "sh"]).args([self.state(), self.outer()]);
            command.arg(programs::electd());
            command
        } else {
            Command::new(programs::electd())
        };
        command.args(words).arg("--config").arg(self.folder.join("cluster.json"));
        command.args(["--node", &self.name]).env(job::LEDGER, ledger);
        for variable in ["ELECTD_CONFIG", "ELECTD_NODE", "ELECTD_ADMIN", "RUST_LOG"] {
            command.env_remove(variable);
        }
        into_log(&mut command, &self.log());
        command
    }

    /// Where the real state folder is mounted for what lives in another mount namespace.
    fn outer(&self) -> PathBuf {
        self.folder.join(format!("outer-{}", self.name))
    }

    /// Nothing can be written to the state folder for a while: a file system that cannot be written covers it.
    pub fn make_read_only(&mut self, time: Duration) {
        if self.read_only.is_none() {
            let state = self.state();
            // Made read-only elsewhere: here somebody may open a file to write it just now, and then the kernel refuses it.
            let aside = self.folder.join("read-only");
            fs::create_dir_all(&aside).expect("a folder can be made");
            mount(&["--bind".as_ref(), state.as_ref(), aside.as_ref()]);
            mount(&["-o".as_ref(), "remount,ro,bind".as_ref(), aside.as_ref()]);
            mount(&["--move".as_ref(), aside.as_ref(), state.as_ref()]);
        }
        self.execs.iter_mut().for_each(|exec| exec.expect(CANNOT_BEGIN));
        self.read_only = Some(Instant::now() + time);
        if self.node.is_younger_than(BEGINS) {
            self.node.expect(CANNOT_WRITE);
        }
    }

    /// Lets it be written again, if the time is over or `anyway`.
    pub fn make_writable(&mut self, anyway: bool) {
        if self.read_only.take_if(|until| anyway || *until <= Instant::now()).is_some() {
            said(Command::new("umount").arg("--lazy").arg(self.state()));
        }
    }

    /// Its disk writes nothing for a while, and then goes on with all that waits. None if it is a usual one.
    pub fn hang_disk(&mut self, time: Duration) -> Option<()> {
        self.disk.as_ref()?.hang(Some(Hang::Writes));
        self.hangs = Some(Instant::now() + time);
        Some(())
    }

    /// Its disk goes on, if the time is over or `anyway`.
    pub fn go_on(&mut self, anyway: bool) {
        if self.hangs.take_if(|until| anyway || *until <= Instant::now()).is_some() {
            self.disk.iter().for_each(|disk| disk.hang(None));
        }
    }

    /// The next sync fails, and what it was to write is lost. None if its disk is a usual one.
    pub fn fail_sync(&mut self) -> Option<()> {
        self.disk.as_ref()?.fail_next_sync();
        self.execs.iter_mut().for_each(|exec| exec.expect(CANNOT_BEGIN));
        self.node.expect(CANNOT_WRITE);
        Some(())
    }

    /// Removes the sockets in the state folder, as a cleaner of old files does. Not while the disk hangs: we would wait for
    /// what we alone can end.
    pub fn remove_sockets(&self) -> usize {
        if self.hangs.is_some() {
            return 0;
        }
        let entries = fs::read_dir(self.state()).into_iter().flatten().flatten();
        let sockets = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket()));
        sockets.filter(|entry| fs::remove_file(entry.path()).is_ok()).count()
    }

    pub fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    pub fn all(&mut self) -> impl Iterator<Item = &mut Process> {
        let program = self.program.as_mut().map(|(process, _)| process);
        std::iter::once(&mut self.node).chain(&mut self.execs).chain(program)
    }

    /// Whether its node runs, and nothing of the host is frozen.
    pub fn is_well(&self) -> bool {
        self.node.pid().is_some() && !self.node.is_stopping() && self.frozen.is_none()
    }

    /// The guards of the node and of each `exec`, with a number: 0 is the node's.
    pub fn guards(&self) -> Vec<(usize, Pid)> {
        let parents = std::iter::once(&self.node).chain(&self.execs).enumerate();
        let of = |(at, parent): (usize, &Process)| {
            let guards = parent.pid().into_iter().flat_map(guards);
            guards.map(|guard| (at, guard)).collect::<Vec<_>>()
        };
        parents.flat_map(of).collect()
    }

    /// The commands that run, with the number of their job.
    pub fn commands(&self) -> Vec<(usize, Pid)> {
        let below = |(at, guard)| commands(guard).map(move |pid| (at, pid)).collect::<Vec<_>>();
        self.guards().into_iter().flat_map(below).collect()
    }

    pub fn has_address(&self) -> bool {
        inside(&self.home, || UdpSocket::bind((ADDRESS, 0)).is_ok())
    }

    pub fn processes(&self) -> Vec<Pid> {
        processes(&self.home)
    }

    pub fn freeze(&mut self, pids: Vec<Pid>, time: Duration) {
        signal(&pids, Signal::STOP);
        self.frozen = Some(Frozen { pids, until: Instant::now() + time, whole: None });
    }

    /// Freezes all its processes.
    pub fn freeze_whole(&mut self, time: Duration) {
        let begin = now();
        let pids = self.stop_all();
        self.frozen = Some(Frozen { pids, until: Instant::now() + time, whole: Some(begin) });
    }

    /// Stops all its processes, those too that others start meanwhile.
    fn stop_all(&self) -> Vec<Pid> {
        let mut stopped = Vec::new();
        loop {
            let all = self.processes();
            signal(&all, Signal::STOP);
            if all == stopped {
                return all;
            }
            stopped = all;
        }
    }

    /// The power of this host fails: nothing that runs there does anything more. Of what its disk has not synced this seed
    /// says what is left.
    pub fn power_off(&mut self, down: Duration, seed: u64) {
        let pids = self.stop_all();
        for process in self.all().filter(|process| process.pid().is_some()) {
            process.kill(down);
        }
        signal(&pids, Signal::KILL);
        self.thaw(true);
        self.go_on(true); // a disk without power waits for nothing
        self.disk.iter().for_each(|disk| disk.power_failure(seed));
    }

    /// Lets go on what is frozen, if its time is over or `anyway`.
    pub fn thaw(&mut self, anyway: bool) {
        let over = |frozen: &mut Frozen| anyway || frozen.until <= Instant::now();
        if let Some(frozen) = self.frozen.take_if(over) {
            signal(&frozen.pids, Signal::CONT);
            self.excepted.extend(frozen.whole.map(|begin| (begin, now())));
        }
    }
}

/// Mounts a disk at this folder. None where this process may not; then the state is on a usual one.
fn mount_disk(state: &Path) -> Option<Disk> {
    fs::create_dir_all(state).expect("a folder can be made");
    Disk::mount(state).ok()
}

/// Its output goes there.
fn into_log(command: &mut Command, log: &Path) {
    let log = File::options().create(true).append(true).open(log);
    let log = log.expect("a log can be written");
    let same = log.try_clone().expect("it is open");
    command.stdin(Stdio::null()).stdout(same).stderr(log);
}

fn mount(words: &[&OsStr]) {
    said(Command::new("mount").args(words));
}

fn said(command: &mut Command) {
    let output = command.output().expect("the program is there");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Signals processes, which may have ended.
pub fn signal(pids: &[Pid], signal: Signal) {
    for pid in pids {
        let _ = kill_process(*pid, signal);
    }
}
