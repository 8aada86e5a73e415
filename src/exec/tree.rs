//! The processes below this one, whatever process groups and sessions they moved to.
//!
//! A process whose parent ends becomes a child of the nearest subreaper above it. So a subreaper finds all that it
//! started, directly or not, from parents to children. The kernel lists the children of each thread
//! (`/proc/PID/task/TID/children`): a walk takes as long as there are processes below this one, however many the host
//! has. Only a kernel without these lists makes us read the parent of every process of the host.
//!
//! The number of a process may be another's by the time it is signalled. So a walk opens a pidfd of each process, and
//! checks then that this is still the child that was listed.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpgid, getpid,
    pidfd_open, pidfd_send_signal, set_child_subreaper, wait, waitid, waitpid,
};
use rustix::time::Timespec;

use crate::calls::{self, Named};
use crate::cgroup::Cgroup;
use crate::rank::children;

/// The list of the children of the thread that reads it.
const LIST: &str = "/proc/thread-self/children";

/// Between two rounds of KILL, if none of the killed processes ends sooner.
const ROUND: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };

/// Makes this process the one that adopts what is orphaned below it, or ends that.
pub fn adopt_orphans(adopt: bool) -> io::Result<()> {
    set_child_subreaper(adopt.then(getpid)).named("prctl(PR_SET_CHILD_SUBREAPER)")
}

/// A process below this one.
struct Descendant {
    pid: Pid,
    process: OwnedFd,
    /// It is a child of this process.
    is_own: bool,
}

/// What a walk does after a process.
enum Next {
    /// It goes on, and below this process too.
    Below,
    /// It goes on, but not below this process.
    Beside,
    /// It ends.
    Stop,
}

/// Visits the processes below this one, parents first.
///
/// # Errors
/// When the processes cannot be listed: there may be some.
fn walk(mut visit: impl FnMut(&Descendant) -> Next) -> io::Result<()> {
    let lists = ChildLists::open()?;
    let own = getpid();
    let mut parents = VecDeque::from([own]);
    while let Some(parent) = parents.pop_front() {
        for pid in lists.children(parent, parent == own)? {
            match Descendant::find(pid, parent, parent == own)? {
                Find::Found(found) => match visit(&found) {
                    Next::Below => parents.push_back(pid),
                    Next::Beside => {}
                    Next::Stop => return Ok(()),
                },
                Find::Gone => {}
                Find::Moved => break,
            }
        }
    }
    Ok(())
}

/// The outcome of the search for a process that was listed as a child.
enum Find {
    Found(Descendant),
    /// It has ended.
    Gone,
    /// It has another parent, as its own has ended: it and its siblings are listed as children of ours by now.
    Moved,
}

impl Descendant {
    fn find(pid: Pid, parent: Pid, is_own: bool) -> io::Result<Find> {
        let process = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(process) => process,
            // The number is free, or that of a thread.
            Err(Errno::SRCH | Errno::INVAL | Errno::NOENT) => return Ok(Find::Gone),
            Err(error) => return Err(error).named("pidfd_open"),
        };
        if is_own {
            let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            let is_there = waitid(WaitId::PidFd(process.as_fd()), look).is_ok();
            return Ok(if is_there {
                Find::Found(Descendant { pid, process, is_own })
            } else {
                Find::Gone
            });
        }
        Ok(match parent_of(pid) {
            Some(now) if now == parent => Find::Found(Descendant { pid, process, is_own }),
            Some(_) => Find::Moved,
            None => Find::Gone,
        })
    }

    fn send(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.process, signal); // it may have ended
    }
}

/// Where a walk finds the children of a process.
enum ChildLists {
    /// The kernel's own.
    OfKernel,
    /// All processes of this host by their parents.
    Read(HashMap<Pid, Vec<Pid>>),
}

impl ChildLists {
    fn open() -> io::Result<ChildLists> {
        if Path::new(LIST).exists() { Ok(ChildLists::OfKernel) } else { ChildLists::read() }
    }

    /// From the parent of every process of this host, those included that ended and were not reaped.
    fn read() -> io::Result<ChildLists> {
        let mut lists: HashMap<Pid, Vec<Pid>> = HashMap::new();
        for pid in numbers("/proc")? {
            if let Some(parent) = parent_of(pid) {
                lists.entry(parent).or_default().push(pid);
            }
        }
        Ok(ChildLists::Read(lists))
    }

    /// The children of a process, those included that ended and were not reaped.
    fn children(&self, of: Pid, is_own: bool) -> io::Result<Vec<Pid>> {
        let listed = match self {
            ChildLists::OfKernel => listed(of),
            ChildLists::Read(lists) => Ok(lists.get(&of).cloned().unwrap_or_default()),
        };
        match listed {
            // It has ended, or may hide what is below it until it ends.
            Err(error) if !is_own && is_hidden(&error) => Ok(Vec::new()),
            listed => listed,
        }
    }
}

fn is_hidden(error: &io::Error) -> bool {
    calls::errno(error) == Some(Errno::SRCH.raw_os_error())
        || matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied)
}

/// The children of all threads of a process.
fn listed(of: Pid) -> io::Result<Vec<Pid>> {
    let threads = format!("/proc/{}/task", of.as_raw_nonzero());
    let mut children = Vec::new();
    for thread in numbers(&threads)? {
        let list = fs::read_to_string(format!("{threads}/{}/children", thread.as_raw_nonzero()));
        match list {
            Ok(list) => children.extend(list.split_ascii_whitespace().filter_map(number)),
            // The thread has ended, and its children are another's.
            Err(error) if is_hidden(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(children)
}

/// The entries of a folder that are numbers of processes or threads.
pub(super) fn numbers(folder: &str) -> io::Result<Vec<Pid>> {
    let unread = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot look for processes in {folder}: {error}"))
    };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        found.extend(entry.map_err(unread)?.file_name().to_str().and_then(number));
    }
    Ok(found)
}

fn number(word: &str) -> Option<Pid> {
    word.parse().ok().and_then(Pid::from_raw)
}

/// The parent of a process, if it is there.
fn parent_of(pid: Pid) -> Option<Pid> {
    let (_, rest) = stat(pid)?;
    number(rest.split(' ').nth(1)?)
}

/// The number and, in a bracket that stays open, the name of a process; and the fields behind them: its state, its parent and more. None if it is gone.
fn stat(pid: Pid) -> Option<(String, String)> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name is in brackets, and may hold any byte.
    let (name, rest) = stat.rsplit_once(") ")?;
    Some((name.to_owned(), rest.to_owned()))
}

/// How long it takes to find all processes below this one, with as few of them as there are now.
///
/// # Errors
/// When they cannot be listed.
pub fn cost_of_a_walk() -> io::Result<Duration> {
    let begin = Instant::now();
    walk(|_| Next::Below)?;
    Ok(begin.elapsed())
}

/// Sends TERM to everything below this process, until it is enough. The members of this process group have got it
/// already: for some programs a second one means to end without order.
pub fn term_all(but: Pid, enough: impl Fn() -> bool) -> io::Result<()> {
    walk(|found| {
        if enough() {
            return Next::Stop;
        }
        if getpgid(Some(found.pid)) != Ok(but) {
            found.send(Signal::TERM);
        }
        Next::Below
    })
}

/// Whether a process is a helper of this one, such as the program that its rank comes from, and no part of a job.
pub fn is_helper(pid: Pid) -> bool {
    let environment = fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()));
    let (name, value) = children::mark();
    let entry = format!("{name}={value}");
    environment.is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == entry.as_bytes()))
}

/// Kills everything below this process but those that are spared, and what is below them, until nothing is left or
/// the time is over. Tells what is left.
///
/// # Errors
/// When the processes cannot be listed until the time is over: some may be left.
pub fn kill_all(
    timeout: Duration,
    spare: impl Fn(Pid) -> bool,
    mut ended: impl FnMut(Pid, WaitStatus),
) -> io::Result<Vec<Pid>> {
    let begin = Instant::now();
    let is_over = || begin.elapsed() > timeout;
    loop {
        let round = kill_once(&is_over, &spare, &mut ended);
        if is_over() || round.as_ref().is_ok_and(|(left, _)| left.is_empty()) {
            return round.map(|(left, _)| left);
        }
        // What is killed needs the processor more than this process does.
        let first = round.ok().and_then(|(_, first)| first);
        let mut fds: Vec<_> = first.iter().map(|first| PollFd::new(first, PollFlags::IN)).collect();
        let _ = poll(&mut fds, Some(&ROUND));
    }
}

/// One round: the next one finds what was forked meanwhile, and what lost its parent by this one. Tells what is left,
/// and has the first of that to be waited for.
fn kill_once(
    is_over: &impl Fn() -> bool,
    spare: &impl Fn(Pid) -> bool,
    ended: &mut impl FnMut(Pid, WaitStatus),
) -> io::Result<(Vec<Pid>, Option<OwnedFd>)> {
    let (mut left, mut first) = (Vec::new(), None);
    walk(|found| {
        if spare(found.pid) {
            return Next::Beside;
        }
        if found.is_own
            && let Ok(Some((pid, status))) = waitpid(Some(found.pid), WaitOptions::NOHANG)
        {
            ended(pid, status);
            return Next::Beside;
        }
        found.send(Signal::KILL);
        if left.is_empty() {
            first = found.process.try_clone().ok();
        }
        left.push(found.pid);
        if is_over() { Next::Stop } else { Next::Below }
    })?;
    Ok((left, first))
}

/// Kills all in this cgroup of a job, and then as [`kill_all`], for at most this time in all. Returns what is left, or none
/// if nothing is. Where a cgroup has ended all, there is nothing to look for.
pub fn end_all(
    cgroup: Option<&Cgroup>,
    timeout: Duration,
    is_spared: impl Fn(Pid) -> bool,
    note_end: impl FnMut(Pid, WaitStatus),
) -> io::Result<Option<Vec<Pid>>> {
    let begin = Instant::now();
    let cgroup = cgroup.filter(|cgroup| matches!(cgroup.end(timeout), Ok(false)));
    let mut left = kill_all(timeout.saturating_sub(begin.elapsed()), is_spared, note_end)?;
    let in_cgroup = cgroup.map_or_else(Vec::new, Cgroup::processes);
    let is_gone = cgroup.is_none() && left.is_empty();
    left.extend(in_cgroup.into_iter().filter(|pid| !left.contains(pid)).collect::<Vec<_>>());
    Ok((!is_gone).then_some(left))
}

/// A sentence on processes that KILL did not end: each of the first with its name, its state and what it waits for in the
/// kernel.
pub fn undead(left: &[Pid]) -> String {
    const SHOWN: usize = 8;
    let each: Vec<String> = left.iter().take(SHOWN).map(|pid| describe(*pid)).collect();
    let more = left.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    format!("KILL did not end these processes of the job yet: {}{more}", each.join(", "))
}

fn describe(pid: Pid) -> String {
    let number = pid.as_raw_nonzero();
    let Some((name, rest)) = stat(pid) else { return format!("{number} (gone)") };
    let state = rest.split(' ').next().unwrap_or("?");
    let waits = fs::read_to_string(format!("/proc/{number}/wchan")).unwrap_or_default();
    format!("{name}, state {state}, in {})", if waits.is_empty() { "?" } else { &waits })
}

/// The running children of this process, in words: the first of them, and whether there are others. None without any, or
/// where they cannot be listed.
pub fn left() -> Option<String> {
    let children = ChildLists::open().and_then(|lists| lists.children(getpid(), true)).ok()?;
    let is_running = |(_, rest): &(String, String)| !rest.starts_with('Z');
    let mut running = children.into_iter().filter_map(stat).filter(is_running);
    let (first, _) = running.next()?;
    Some(format!("{first}){}", if running.next().is_some() { " and others" } else { "" }))
}

/// Takes note of a child that has ended, whichever it is. None if none has, or there are none.
pub fn reap() -> Option<(Pid, WaitStatus)> {
    match wait(WaitOptions::NOHANG) {
        Ok(ended) => ended,
        Err(Errno::INTR) => reap(),
        Err(_) => None,
    }
}

/// Whether this process has no child, by the word of the kernel: then nothing is below a subreaper.
pub fn is_childless() -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, look), Err(Errno::CHILD))
}

#[cfg(test)]
mod tests;
