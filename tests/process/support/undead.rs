//! A program that KILL does not end, as its parent sees it: like one that waits for a file system which does not
//! answer.

use std::fs;
use std::path::Path;
use std::thread::{self, JoinHandle};

use crossbeam::channel::{Sender, bounded};
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;

use super::eventually;

/// The kernel keeps a process that was killed from its parent until who traces it has taken note. It ends once this is
/// dropped.
pub struct Undead {
    hold: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Undead {
    /// Makes the process one whose number is in this file, as soon as there is one that runs.
    #[track_caller]
    pub fn of(file: &Path) -> Undead {
        eventually("a program can be held", || {
            let pid = fs::read_to_string(file).map_err(|error| error.to_string())?;
            let number = pid.trim().parse().map_err(|_| pid.clone())?;
            Undead::make(number).ok_or(pid)
        })
    }

    /// Makes this process one; none if it has ended.
    pub fn make(pid: i32) -> Option<Undead> {
        Undead::make_by(pid, Options::empty())
    }

    /// The same, and nothing of it is let go when it is killed, as of one that waits for a disk: neither its files nor
    /// its place in a cgroup.
    pub fn whole(pid: i32) -> Option<Undead> {
        Undead::make_by(pid, Options::PTRACE_O_TRACEEXIT)
    }

    fn make_by(pid: i32, options: Options) -> Option<Undead> {
        let (hold, held) = bounded::<()>(0);
        let (tell, made) = bounded(1);
        let pid = Pid::from_raw(pid);
        // The thread that traces a process has to be the one that lets it go.
        let thread = thread::spawn(move || {
            let is_made = ptrace::seize(pid, options).is_ok();
            tell.send(is_made).unwrap();
            if is_made {
                let _ = held.recv();
                let _ = ptrace::interrupt(pid); // it may have been killed
                let _ = waitpid(pid, None);
                let _ = ptrace::detach(pid, None);
            }
        });
        let undead = Undead { hold: Some(hold), thread: Some(thread) };
        made.recv().is_ok_and(|is_made| is_made).then_some(undead)
    }
}

impl Drop for Undead {
    fn drop(&mut self) {
        drop(self.hold.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
