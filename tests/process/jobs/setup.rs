//! The guard of a job alone: the test is its electd, and gives it its alarms and its orders.

use std::fs::{self, File};
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use rustix::process::Pid;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use crate::support::{ensure, eventually, readable};

/// In nanoseconds: longer than a test waits, so that no alarm does what the guard is to do by itself.
pub const LONG: u64 = 3_600_000_000_000;

/// A guard of a command for the shell, and what electd has of it.
pub struct Guard {
    pub process: Child,
    electd: Option<UnixStream>,
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
    /// The path of the cgroup of its command.
    pub cgroup: Option<&'a str>,
}

impl Setup<'_> {
    pub fn of(script: &str) -> Setup<'_> {
        let (alarms, cleanup, limit, line) = ([LONG, LONG], "", "10000", None);
        let (is_leased, addresses, strace, stderr, cgroup) = (true, &[], &[], None, None);
        Setup { script, alarms, cleanup, limit, is_leased, line, addresses, strace, stderr, cgroup }
    }

    pub fn start(&self, folder: &Path) -> Guard {
        self.start_with(folder, self.alarms.map(alarm))
    }

    /// The order to begin is there from the start.
    pub fn start_with(&self, folder: &Path, alarms: [OwnedFd; 2]) -> Guard {
        let (electd, far) = UnixStream::pair().unwrap();
        let given = self.given(folder);
        begin(&electd, &alarms, &given);
        drop(given);
        let process = self.spawn(folder, far);
        Guard { process, electd: Some(electd), alarms, given: Vec::new() }
    }

    /// The order to begin has yet to come.
    pub fn start_early(&self, folder: &Path) -> Guard {
        let (electd, far) = UnixStream::pair().unwrap();
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

    fn spawn(&self, folder: &Path, far: UnixStream) -> Child {
        let electd_program = env!("CARGO_BIN_EXE_electd");
        let mut command =
            Command::new(if self.strace.is_empty() { electd_program } else { "strace" });
        if !self.strace.is_empty() {
            command.arg("-o").arg(folder.join("calls")).args(self.strace).arg(electd_program);
        }
        let kind = if self.is_leased { "leased" } else { "unleased" };
        command.args(["guard", "node-1", kind, self.limit, self.cleanup]);
        command.args(self.addresses);
        command.arg("--").current_dir(folder);
        if !self.script.is_empty() {
            command.args(["sh", "-c", self.script]);
        }
        command.stdin(Stdio::from(OwnedFd::from(far)));
        command.envs(self.cgroup.map(|path| ("ELECTD_CGROUP", path)));
        let file = || OwnedFd::from(File::create(folder.join("stderr")).unwrap());
        let out = self.stderr.map_or_else(file, |stderr| stderr.try_clone().unwrap());
        command.stderr(out).process_group(0).spawn().unwrap()
    }
}

/// Orders a guard to begin.
fn begin(electd: &UnixStream, alarms: &[OwnedFd; 2], given: &[OwnedFd]) {
    let begin = [7, 0].map(u64::to_le_bytes).concat(); // epoch 7, no terminal
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    let given: Vec<_> = alarms.iter().chain(given).map(AsFd::as_fd).collect();
    assert!(beside.push(SendAncillaryMessage::ScmRights(&given)));
    sendmsg(electd, &[IoSlice::new(&begin)], &mut beside, SendFlags::empty()).unwrap();
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

    /// What it has said to its electd since the last look, without its answers. It has ended.
    pub fn reason(&self) -> String {
        let mut said = Vec::new();
        self.electd.as_ref().unwrap().read_to_end(&mut said).unwrap();
        said.retain(|byte| *byte > 2); // without its answers and its last word
        String::from_utf8(said).unwrap()
    }

    /// electd is killed: its end of the connection is closed.
    pub fn orphan(&mut self) {
        self.electd = None;
    }

    /// What electd says: to answer, or to kill all after this many nanoseconds. All of it is there at once.
    pub fn told(&self, orders: &[Option<u64>]) {
        let words = orders.iter().flat_map(|kill| [u64::from(kill.is_some()), kill.unwrap_or(0)]);
        let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
        self.electd.as_ref().unwrap().write_all(&bytes).unwrap();
    }

    /// Waits until it has answered so many orders.
    #[track_caller]
    pub fn answers(&self, count: usize) {
        let mut electd = self.electd.as_ref().unwrap();
        for _ in 0..count {
            readable("the guard answers", electd);
            let mut answer = [1];
            electd.read_exact(&mut answer).unwrap();
            assert_eq!(answer, [0]);
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
