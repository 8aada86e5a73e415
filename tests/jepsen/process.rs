//! One process that is to run: it is started again when it ends, as a service manager does, and ends only as expected.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Before a process that ended by itself is started again.
const AGAIN: Duration = Duration::from_millis(300);

/// The exit code, or the signal as a negative number.
pub type End = i32;

pub const KILLED: End = -9;

pub struct Process {
    pub title: String,
    child: Option<Child>,
    /// When it is to be started, while it is down.
    due: Instant,
    /// How it may end: since the start of this program, and since its own start.
    always: &'static [End],
    expected: BTreeSet<End>,
    started: Instant,
    /// It was told to end, and has to by then.
    until: Option<Instant>,
}

/// Until it has begun to listen to signals, one ends it, with nothing begun.
const DEAF: Duration = Duration::from_secs(1);

impl Process {
    pub fn new(title: String, always: &'static [End]) -> Process {
        let (now, expected) = (Instant::now(), BTreeSet::new());
        Process { title, child: None, due: now, always, expected, started: now, until: None }
    }

    /// The number of the process, while it runs.
    pub fn pid(&self) -> Option<Pid> {
        self.child.as_ref().map(Pid::from_child)
    }

    pub fn is_due(&self) -> bool {
        self.child.is_none() && self.due <= Instant::now()
    }

    pub fn start(
        &mut self,
        mut command: Command,
        spawn: impl FnOnce(&mut Command) -> std::io::Result<Child>,
    ) {
        let child = spawn(&mut command).unwrap_or_else(|error| panic!("{}: {error}", self.title));
        (self.child, self.started) = (Some(child), Instant::now());
        self.expected = self.always.iter().copied().collect();
        self.until = None;
    }

    /// It is not started before then.
    pub fn stay_down(&mut self, time: Duration) {
        self.due = Instant::now() + time;
    }

    pub fn expect(&mut self, end: End) {
        self.expected.insert(end);
    }

    pub fn kill(&mut self, down: Duration) {
        self.expect(KILLED);
        self.signal(Signal::KILL);
        self.stay_down(down);
    }

    /// Tells it to end within a time.
    pub fn stop(&mut self, signal: Signal, timeout: Duration) {
        if self.pid().is_some() {
            if self.is_younger_than(DEAF) {
                self.expect(-signal.as_raw());
            }
            self.signal(signal);
            self.until = Some(Instant::now() + timeout);
        }
    }

    pub fn is_younger_than(&self, age: Duration) -> bool {
        self.started.elapsed() < age
    }

    pub fn is_stopping(&self) -> bool {
        self.until.is_some()
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            kill_process(pid, signal).expect("it was not waited for");
        }
    }

    /// How it has ended, if it has since the last look. An error if it should not have, or should have long ago.
    pub fn ended(&mut self) -> Result<Option<End>, String> {
        let Some(child) = &mut self.child else { return Ok(None) };
        let Some(status) = child.try_wait().expect("it is a child") else {
            if self.until.take_if(|until| *until < Instant::now()).is_some() {
                return Err(format!("{} was told to end, and runs on", self.title));
            }
            return Ok(None);
        };
        self.child = None;
        self.due = self.due.max(Instant::now() + AGAIN);
        let end = end(status);
        if self.expected.contains(&end) {
            return Ok(Some(end));
        }
        Err(format!("{} ended with {end}, and may with {:?}", self.title, self.expected))
    }
}

fn end(status: ExitStatus) -> End {
    status.code().or(status.signal().map(|signal| -signal)).expect("it has ended")
}

/// The children of a process, each with its arguments.
fn children(parent: Pid) -> Vec<(Pid, Vec<String>)> {
    let parent = parent.as_raw_nonzero();
    let tasks = fs::read_dir(format!("/proc/{parent}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let text = lists.collect::<Vec<_>>().join(" ");
    let pids = text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?));
    let with_words = |pid: Pid| {
        let line = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok()?;
        let words = line.split(|byte| *byte == 0);
        Some((pid, words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()))
    };
    pids.filter_map(with_words).collect()
}

/// The guards below a node or an `exec`, which may only wait for a leadership.
pub fn guards(of: Pid) -> impl Iterator<Item = Pid> {
    let is_guard = |words: &[String]| words.get(1).is_some_and(|word| word == "guard");
    children(of).into_iter().filter(move |(_, words)| is_guard(words)).map(|(pid, _)| pid)
}

/// The commands that run below a guard.
pub fn commands(guard: Pid) -> impl Iterator<Item = Pid> {
    let is_job = |words: &[String]| words.get(1).is_some_and(|word| word == crate::job::MODE);
    children(guard).into_iter().filter(move |(_, words)| is_job(words)).map(|(pid, _)| pid)
}
