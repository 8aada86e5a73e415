//! Which process is whose: the guard and the coroner of a node, the command of a guard, the first of a namespace.

use std::fs;
use std::process::{Child, Command};

use rustix::process::Pid;

use super::worker::{GRANDCHILD, MANNER};
use crate::support::script::in_pid_namespace;
use crate::support::{Node, ensure, eventually};

/// A coroner works in the folder of the node that it attends.
#[track_caller]
pub fn no_coroner_is_left(node: &Node) {
    let state = node.state().canonicalize().unwrap();
    eventually("no coroner of the node is left", || {
        let works_there = |pid: &Pid| {
            let folder = fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero()));
            folder.is_ok_and(|folder| folder == state)
        };
        let left: Vec<Pid> =
            processes().filter(|pid| works_there(pid) && is_electd(*pid, b"coroner")).collect();
        ensure(left.is_empty(), || format!("{left:?}"))
    });
}

/// The command of a guard, once that has begun: until then its child only waits to become the command.
pub fn command_of(guard: Pid) -> Option<Pid> {
    children(guard).find(|child| is_command(*child))
}

/// Whether this process is a command by now, and nothing that one left behind.
fn is_command(process: Pid) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", process.as_raw_nonzero()));
    let environment = environment.unwrap_or_default();
    let has = |word: &str| {
        environment.split(|byte| *byte == 0).any(|entry| entry.starts_with(word.as_bytes()))
    };
    has("ELECTD_EPOCH=") && !has(&format!("{MANNER}={GRANDCHILD}"))
}

/// The one child of a process that works for a job.
pub fn only_child(parent: Pid) -> Option<Pid> {
    children(parent).next()
}

/// Another PID namespace, whose processes are killed when this is dropped.
pub struct Elsewhere {
    unshare: Child,
    /// Its first process, which those come to that lose their parent there.
    pub first: Pid,
}

impl Elsewhere {
    /// None, with a line that says so, where this process may make none.
    pub fn make() -> Option<Elsewhere> {
        let begins = format!("exec {} sleep 1000", in_pid_namespace()?);
        let unshare = Command::new("sh").args(["-c", &begins]).spawn().unwrap();
        let first = eventually("the namespace has its first process", || {
            only_child(Pid::from_child(&unshare)).ok_or("none".to_owned())
        });
        Some(Elsewhere { unshare, first })
    }
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

/// The guard of electd, where a hook may run beside it.
pub fn guard_of(electd: Pid) -> Option<Pid> {
    children(electd).find(|child| is_electd(*child, b"guard"))
}

/// The children of a process, but for its coroner.
pub fn children(parent: Pid) -> impl Iterator<Item = Pid> {
    all_children(parent).filter(|child| !is_electd(*child, b"coroner"))
}

/// Whether this process is an electd of this kind.
fn is_electd(process: Pid, kind: &[u8]) -> bool {
    let line = fs::read(format!("/proc/{}/cmdline", process.as_raw_nonzero())).unwrap_or_default();
    line.split(|byte| *byte == 0).nth(1) == Some(kind)
}

/// The coroner of a node.
pub fn coroner_of(node: Pid) -> Option<Pid> {
    all_children(node).find(|child| is_electd(*child, b"coroner"))
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
}

fn all_children(parent: Pid) -> impl Iterator<Item = Pid> {
    let is_child = move |pid: &Pid| {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        let stat = stat.unwrap_or_default();
        let above = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
        above == Some(&parent.as_raw_nonzero().to_string())
    };
    processes().filter(is_child)
}
