//! One thread of a node, held as a debugger holds it, while the others run.

use std::path::PathBuf;
use std::thread;

use nix::sys::ptrace::{self, Options};
use nix::unistd::Pid;

use super::Node;

/// The thread runs on once this is dropped.
pub struct Held {
    thread: Pid,
    /// Its folder in /proc.
    folder: PathBuf,
}

impl Held {
    /// Holds it now.
    pub fn hold(node: &Node, thread: &str) -> Held {
        let (pid, number) = (node.pid().as_raw_nonzero(), node.thread(thread));
        let thread = Pid::from_raw(i32::try_from(number).unwrap());
        ptrace::seize(thread, Options::empty()).unwrap();
        ptrace::interrupt(thread).unwrap();
        Held { thread, folder: format!("/proc/{pid}/task/{number}").into() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = ptrace::interrupt(self.thread); // it may have ended
        while ptrace::detach(self.thread, None).is_err() && self.folder.exists() {
            thread::yield_now(); // only a thread that has stopped can be let go
        }
    }
}
