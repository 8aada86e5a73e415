//! Clients that are slow on purpose, and how a test waits for a server or for a program: until what it expects is so, and
//! never without an end.

use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Far longer than anything here takes, even on a busy machine.
pub const TIMEOUT: Duration = Duration::from_secs(60);

/// How a hostile client spends its time between two attacks.
pub fn pace(milliseconds: u64) {
    thread::sleep(Duration::from_millis(milliseconds));
}

/// Waits until this is so.
#[track_caller]
pub fn until(what: &str, is_so: impl FnMut() -> bool) {
    within(TIMEOUT, what, is_so);
}

/// Waits until this is so, for this long at most.
#[track_caller]
pub fn within(bound: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < bound, "not so in {bound:?}: {what}");
        pace(20);
    }
}

/// Runs a command to its end. One that does not end is killed, and the test fails.
#[track_caller]
pub fn run_within(bound: Duration, mut command: Command) -> Output {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let (pid, (sender, ended)) = (Pid::from_child(&child), channel());
    let reader = thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
    let output = ended.recv_timeout(bound);
    if output.is_err() {
        let _ = kill_process(pid, Signal::KILL);
    }
    let _ = reader.join();
    output.unwrap_or_else(|_| panic!("{command:?} has not ended in {bound:?}"))
}

/// A process, which is killed when its test is over.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The end of a process that ends by itself.
#[track_caller]
pub fn end_of(child: &mut Child) -> ExitStatus {
    let mut status = None;
    until("the process ends", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    status.unwrap()
}
