//! The processes below this one, whatever process groups and sessions they moved to.
//!
//! A process whose parent ends becomes a child of the nearest subreaper above it. So a subreaper finds all that
//! it started, directly or not, by following parents.

use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper, wait, waitpid,
};

use crate::rank::HELPER;

/// Makes this process the one that adopts what is orphaned below it, or ends that.
pub fn adopt_orphans(adopt: bool) -> io::Result<()> {
    Ok(set_child_subreaper(adopt.then(getpid))?)
}

/// All processes below this one.
pub fn descendants() -> Vec<Pid> {
    let parents: Vec<(Pid, Pid)> = processes();
    let mut found = Vec::new();
    let mut new = vec![getpid()];
    while let Some(parent) = new.pop() {
        for (child, _) in parents.iter().filter(|(_, above)| *above == parent) {
            if !found.contains(child) {
                found.push(*child);
                new.push(*child);
            }
        }
    }
    found
}

/// Every process of this machine with its parent, those included that ended and were not reaped.
fn processes() -> Vec<(Pid, Pid)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pid =
        |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok().and_then(Pid::from_raw);
    let known = |pid: Pid| {
        let (_, rest) = stat(pid)?;
        let parent = rest.split(' ').nth(1)?.parse().ok().and_then(Pid::from_raw)?;
        Some((pid, parent))
    };
    entries.flatten().filter_map(pid).filter_map(known).collect()
}

/// The number and, in a bracket that stays open, the name of a process; and the fields behind them: its state, its parent and more. None if it is gone.
fn stat(pid: Pid) -> Option<(String, String)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name is in brackets, and may hold any byte.
    let (name, rest) = stat.rsplit_once(") ")?;
    Some((name.to_owned(), rest.to_owned()))
}

/// Sends a signal to all of these.
pub fn signal(all: &[Pid], signal: Signal) {
    for pid in all {
        let _ = kill_process(*pid, signal); // it may have ended
    }
}

/// Whether a process is a helper of electd, such as the program that its rank comes from, and no part of a job.
pub fn is_helper(pid: Pid) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    let (name, value) = HELPER;
    let entry = format!("{name}={value}");
    environment.is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == entry.as_bytes()))
}

/// Kills everything below this process but those that are spared, until nothing is left or the time is over. Tells
/// what is left. The next round finds what was forked meanwhile.
pub fn kill_all(
    patience: Duration,
    spare: impl Fn(Pid) -> bool,
    mut ended: impl FnMut(Pid, WaitStatus),
) -> Vec<Pid> {
    let begin = Instant::now();
    loop {
        let left: Vec<Pid> = descendants().into_iter().filter(|pid| !spare(*pid)).collect();
        signal(&left, Signal::KILL);
        for pid in &left {
            if let Ok(Some((pid, status))) = waitpid(Some(*pid), WaitOptions::NOHANG) {
                ended(pid, status);
            }
        }
        if left.is_empty() || begin.elapsed() > patience {
            return left;
        }
        thread::yield_now();
    }
}

/// A sentence on processes that KILL did not end: each with its name, its state and what it waits for in the kernel.
pub fn undead(left: &[Pid]) -> String {
    let each: Vec<String> = left.iter().map(|pid| describe(*pid)).collect();
    format!("KILL did not end these processes of the job yet: {}", each.join(", "))
}

fn describe(pid: Pid) -> String {
    let number = pid.as_raw_nonzero();
    let Some((name, rest)) = stat(pid) else { return format!("{number} (gone)") };
    let state = rest.split(' ').next().unwrap_or("?");
    let waits = fs::read_to_string(format!("/proc/{number}/wchan")).unwrap_or_default();
    format!("{name}, state {state}, in {})", if waits.is_empty() { "?" } else { &waits })
}

/// Takes note of a child that has ended, whichever it is. None if none has, or there are none.
pub fn reap() -> Option<(Pid, WaitStatus)> {
    match wait(WaitOptions::NOHANG) {
        Ok(ended) => ended,
        Err(Errno::INTR) => reap(),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_is_told_with_its_name_and_state() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let words = undead(&[pid]);
        assert!(words.contains(&format!(": {} (", pid.as_raw_nonzero())), "{words}");
        assert!(words.contains(", state "), "{words}");
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(undead(&[pid]).ends_with("(gone)"));
    }

    #[test]
    fn a_helper_is_known_by_its_environment() {
        for helps in [true, false] {
            let mut command = Command::new("sh");
            command.args(["-c", "echo; read _"]).env_remove(HELPER.0); // until its stdin is closed
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            if helps {
                command.env(HELPER.0, HELPER.1);
            }
            let mut child = command.spawn().unwrap();
            // A moment before it runs, its environment is empty.
            child.stdout.as_mut().unwrap().read_exact(&mut [0; 1]).unwrap();
            assert_eq!(is_helper(Pid::from_child(&child)), helps);
            drop(child.stdin.take());
            child.wait().unwrap();
        }
    }
}
