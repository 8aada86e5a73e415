//! The guard of a job alone: the test is its electd, and gives it its alarms and its orders.

use std::fs::{self, File};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use electd::local::pair;
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use serde_json::{Value, json};

use super::attached::stop;
use crate::support::{ensure, eventually, readable};

/// In nanoseconds: longer than a test waits, so that no alarm does what the guard is to do by itself.
pub const LONG: u64 = 3_600_000_000_000;

/// A guard of a command for the shell, and what electd has of it.
pub struct Guard {
    pub process: Child,
    electd: Option<OwnedFd>,
    pub alarms: [OwnedFd; 2],
    /// What it gets beside them with the order to begin, until then.
    given: Vec<OwnedFd>,
}

/// A command for the shell, and how its guard is started.
pub struct Setup<'a> {
    /// Empty for none.
    pub script: &'a str,
    /// The alarms of TERM and KILL go off after this many nanoseconds.
    pub alarms: [u64; 2],
    pub cleanup: &'a str,
    /// The longest time from TERM to KILL once electd is killed, and for the cleanup, in milliseconds.
    pub limit: &'a str,
    pub is_leased: bool,
    /// Its line to the coroner.
    pub line: Option<&'a OwnedFd>,
    /// The addresses that it holds.
    pub addresses: &'a [&'a str],
    /// What strace does with the calls of the guard alone.
    pub strace: &'a [&'a str],
    /// What it prints to, where that is no file.
    pub stderr: Option<&'a OwnedFd>,
    /// The path of the cgroup of its command, and whether that does not run without one.
    pub cgroup: Option<&'a str>,
    pub needs_cgroup: bool,
}

impl Setup<'_> {
    pub fn of(script: &str) -> Setup<'_> {
        let (alarms, cleanup, limit, line) = ([LONG, LONG], "", "10000", None);
        let (addresses, strace, stderr, cgroup): (&[_], &[_], _, _) = (&[], &[], None, None);
        let (is_leased, needs_cgroup) = (true, true);
        Setup {
            script,
            alarms,
            cleanup,
            limit,
            is_leased,
            line,
            addresses,
            strace,
            stderr,
            cgroup,
            needs_cgroup,
        }
    }

    pub fn start(&self, folder: &Path) -> Guard {
        self.start_with(folder, self.alarms.map(alarm))
    }

    /// The order to begin is there from the start.
    pub fn start_with(&self, folder: &Path, alarms: [OwnedFd; 2]) -> Guard {
        let (electd, far) = pair::new().unwrap();
        let given = self.given(folder);
        begin(&electd, &alarms, &given);
        drop(given);
        let process = self.spawn(folder, far);
        Guard { process, electd: Some(electd), alarms, given: Vec::new() }
    }

    /// The order to begin has yet to come.
    pub fn start_early(&self, folder: &Path) -> Guard {
        let (electd, far) = pair::new().unwrap();
        let process = self.spawn(folder, far);
        let given = self.given(folder);
        Guard { process, electd: Some(electd), alarms: self.alarms.map(alarm), given }
    }

    /// What its electd gives it beside the alarms: the locked file, and its line to the coroner.
    fn given(&self, folder: &Path) -> Vec<OwnedFd> {
        let lock = File::create(folder.join("job.lock")).unwrap();
        lock.lock().unwrap();
        let line = self.line.map(|line| line.try_clone().unwrap());
        [OwnedFd::from(lock)].into_iter().chain(line).collect()
    }

    fn spawn(&self, folder: &Path, far: OwnedFd) -> Child {
        let electd_program = env!("CARGO_BIN_EXE_electd");
        let mut command =
            Command::new(if self.strace.is_empty() { electd_program } else { "strace" });
        if !self.strace.is_empty() {
            command.arg("-o").arg(folder.join("calls")).args(self.strace).arg(electd_program);
        }
        let kind = if self.is_leased { "leased" } else { "unleased" };
        let cgroup = if self.needs_cgroup { "needed" } else { "wanted" };
        command.args(["guard", "node-1", kind, self.limit, self.cleanup, cgroup, ""]);
        command.args(self.addresses);
        command.arg("--").current_dir(folder);
        if !self.script.is_empty() {
            command.args(["sh", "-c", self.script]);
        }
        command.stdin(Stdio::from(far));
        command.envs(self.cgroup.map(|path| ("ELECTD_CGROUP", path)));
        let file = || OwnedFd::from(File::create(folder.join("stderr")).unwrap());
        let out = self.stderr.map_or_else(file, |stderr| stderr.try_clone().unwrap());
        command.stderr(out).process_group(0).spawn().unwrap()
    }
}

/// Orders a guard to begin, in epoch 7 and without a terminal.
fn begin(electd: &OwnedFd, alarms: &[OwnedFd; 2], given: &[OwnedFd]) {
    let given: Vec<_> = alarms.iter().chain(given).map(AsFd::as_fd).collect();
    pair::say(electd, &json!({"Begin": {"epoch": 7, "group": null}}), &given).unwrap();
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.process.kill(); // only a failed test leaves one
        let _ = self.process.wait();
    }
}

/// Sets an alarm to go off after this many nanoseconds.
pub fn set(alarm: &OwnedFd, nanos: u64) {
    let it_value =
        Timespec { tv_sec: (nanos / 1_000_000_000) as _, tv_nsec: (nanos % 1_000_000_000) as _ };
    let it_interval = Timespec { tv_sec: 0, tv_nsec: 0 };
    timerfd_settime(alarm, TimerfdTimerFlags::empty(), &Itimerspec { it_interval, it_value })
        .unwrap();
}

pub fn alarm(nanos: u64) -> OwnedFd {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK; // what another test starts has none
    let alarm = timerfd_create(TimerfdClockId::Boottime, flags).unwrap();
    set(&alarm, nanos);
    alarm
}

impl Guard {
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    pub fn end(&mut self) -> ExitStatus {
        eventually("the guard ends", || {
            self.process.try_wait().unwrap().ok_or_else(|| "it runs".to_owned())
        })
    }

    /// Its node leads.
    pub fn begin(&mut self) {
        begin(self.electd.as_ref().unwrap(), &self.alarms, &self.given);
        self.given.clear();
    }

    /// Why it failed, as it has told its electd. It has ended.
    pub fn reason(&self) -> String {
        let mut words = std::iter::from_fn(|| self.word());
        words.find_map(|word| word["Failed"].as_str().map(str::to_owned)).expect("a reason")
    }

    /// The next word to its electd; none at its end.
    fn word(&self) -> Option<Value> {
        pair::hear(self.electd.as_ref().unwrap(), None).unwrap().map(|(word, _)| word)
    }

    /// electd is killed: its end of the connection is closed.
    pub fn orphan(&mut self) {
        self.electd = None;
    }

    /// What electd says: to answer, or to kill all after this many nanoseconds; by the alarm alone after the greatest
    /// number of them. All of it is there at once.
    pub fn told(&self, orders: &[Option<u64>]) {
        let is_one = orders.len() == 1;
        if !is_one {
            stop(self.pid()); // or it would hear the first before there is another
        }
        for kill in orders {
            let order = match *kill {
                None => json!("Answer"),
                Some(u64::MAX) => json!({"End": {"left": null}}),
                Some(kill) => json!({"End": {"left": Duration::from_nanos(kill)}}),
            };
            let electd = self.electd.as_ref().unwrap();
            pair::say(electd, &order, &[]).unwrap();
        }
        if !is_one {
            kill_process(self.pid(), Signal::CONT).unwrap();
        }
    }

    /// Waits until it has answered so many orders.
    #[track_caller]
    pub fn answers(&self, count: usize) {
        for _ in 0..count {
            readable("the guard answers", self.electd.as_ref().unwrap());
            assert_eq!(self.word(), Some(json!("Lives")));
        }
    }

    pub fn term(&self, nanos: u64) {
        set(&self.alarms[0], nanos);
    }

    pub fn kill(&self, nanos: u64) {
        set(&self.alarms[1], nanos);
    }
}

/// Waits until this file of the folder is there.
pub fn until(folder: &Path, file: &str) {
    eventually(&format!("{file} is there"), || {
        ensure(folder.join(file).exists(), || {
            fs::read_to_string(folder.join("stderr")).unwrap_or_default()
        })
    });
}

pub fn text(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap_or_default()
}

/// Whether this process can be traced. It says so if not.
pub fn can_trace() -> bool {
    let can = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    if !can {
        println!("skipped: there is no strace");
    }
    can
}

/// What the guard said, without what the shell of its command did.
pub fn said(folder: &Path) -> String {
    let told = text(folder, "stderr");
    told.split_inclusive('\n').filter(|line| line.starts_with("electd: ")).collect()
}
