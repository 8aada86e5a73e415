//! The guard at work: it waits, ends the command in time, cleans up after it, and ends when nothing of it is left.
//!
//! With a cleanup the command has half of the time between TERM and KILL, so that the cleanup has the rest.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitStatus, pidfd_open};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use super::super::address::held::Held;
use super::super::alarms::Alarm;
use super::super::guarded::WaitingProcess;
use super::super::order::{BeginOrder, GuardOrder, GuardWord, Means};
use super::super::stderr::say;
use super::super::{signals, tree};
use super::ends::{Ended, Failed, GONE};
use super::running::{RunningJob, code};
use super::task::GuardTask;
use crate::calls::Named;
use crate::cgroup::{Cgroup, is_refused};
use crate::core::types::Time;
use crate::coroner::guards::{PassedCgroup, Registered};
use crate::local::{self, pair};
use crate::node::now;

/// So many children are reaped between two looks at the alarms.
const REAPED: usize = 256;

/// Between two looks at what KILL did not end, and /proc does not show.
const PAUSE: Duration = Duration::from_millis(2);

/// A guard whose node leads.
pub(super) struct Guard<'a> {
    task: GuardTask,
    epoch: u64,
    /// None once electd has ended.
    electd: Option<OwnedFd>,
    /// Until this process ends, no other process of this member starts: whatever is said on the way there.
    _lock: ManuallyDrop<File>,
    term: Alarm,
    kill: Alarm,
    /// When the addresses are to be tended, or an end is due that no shared alarm tells.
    own: Alarm,
    /// Something is to be read if a child has ended.
    children: UnixStream,
    /// The leadership is to end: KILL comes then at the latest.
    ordered: Option<Time>,
    /// None where none are asked for: the unit of a service manager may forbid even to look.
    addresses: Option<Held>,
    /// An address could not be removed: the kernel does, later.
    leaves_address: bool,
    /// After KILL, what is left of the command may keep the addresses for this long.
    grace: Duration,
    /// If there is a command, its own process, and how that ended.
    command: Option<RunningJob<'a>>,
    ended: Option<u8>,
    /// When TERM was sent.
    termed: Option<Time>,
    /// The process of the cleanup while it runs, and how it ended.
    cleanup: Option<Pid>,
    cleaned: Option<u8>,
}

impl<'a> Guard<'a> {
    /// Prepares as much as possible, and waits for the order to begin; then adds the addresses and
    /// begins the command in this cgroup, of which nothing is left where the command goes on without it. None if electd
    /// ended, or no longer needs this guard.
    pub fn start(
        task: GuardTask,
        cgroup: &'a mut Option<Cgroup>,
        registered: &mut Option<Registered>,
    ) -> Result<Option<Guard<'a>>, Failed> {
        signals::survive(&[SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
        let (children, tell) = UnixStream::pair().named("socketpair")?;
        children.set_nonblocking(true).named("fcntl(O_NONBLOCK)")?;
        signal_hook::low_level::pipe::register(SIGCHLD, tell).named("sigaction")?;
        let electd = io::stdin().as_fd().try_clone_to_owned().named("dup")?;
        tree::adopt_orphans(true)?;
        let waiting = waiting(&task, cgroup)?;
        let cgroup = cgroup.as_ref();
        let Some((begin, [term, kill], equipment)) = BeginOrder::receive(&electd)? else {
            return Ok(None);
        };
        let (lock, line) = equipment.open();
        let lock = ManuallyDrop::new(lock);
        // This process may have begun late, and the leadership have been renewed meanwhile.
        if term.check_due()? {
            return Err(Failed::Late { is_left: false });
        }
        if local::has_ended(&electd, Duration::ZERO) {
            return Err(io::Error::other("electd ended before the job began").into());
        }
        *registered = line;
        let is_all = task.addresses.is_empty() && task.cleanup.as_os_str().is_empty();
        let passed = waiting.as_ref().zip(cgroup);
        let passed = passed.map(|(waiting, cgroup)| PassedCgroup {
            cgroup,
            mark: waiting.mark().as_fd(),
            is_all,
        });
        registered.iter_mut().for_each(|registered| registered.begin(passed));
        let addresses =
            if task.addresses.is_empty() { None } else { Some(Held::begin(&task.addresses)??) };
        // To add addresses may take as long as the kernel likes.
        if term.check_due()? {
            return Err(Failed::Late { is_left: !addresses.is_none_or(Held::end) });
        }
        let grace = kill.left()?.saturating_sub(term.left()?) / 2;
        let begun = waiting.map(|waiting| waiting.begin(&task.command, cgroup, &begin));
        let running = |(pid, mark)| {
            let process = pidfd_open(pid, PidfdFlags::empty()).named("pidfd_open")?;
            Ok::<_, io::Error>(RunningJob { pid, process, mark, cgroup })
        };
        let command = begun.transpose()?.map(running).transpose()?;
        Ok(Some(Guard {
            task,
            epoch: begin.epoch,
            electd: Some(electd),
            _lock: lock,
            term,
            kill,
            own: Alarm::new()?,
            children,
            ordered: None,
            addresses,
            leaves_address: false,
            grace,
            command,
            ended: None,
            termed: None,
            cleanup: None,
            cleaned: None,
        }))
    }

    /// The epoch of the leadership, or the token of the lock, that the command runs by.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Until nothing of the command is left. Tells how it ended, and whether it left nothing elsewhere, and no address.
    pub fn run(mut self) -> (Result<Ended, Failed>, bool) {
        let forced = self.serve();
        let was_ordered = self.ordered.is_some();
        let means = self.means();
        let code = self.finish();
        if let (Some(electd), Some(means)) = (&self.electd, means) {
            let _ = pair::say(electd, &GuardWord::Ended(means), &[]); // electd may have ended
        }
        let is_cleaned = self.command.is_none() || !self.has_cleanup() || self.cleaned == Some(0);
        let is_all_gone = !self.is_marked();
        let ended =
            |forced| if forced && !was_ordered { Ended::ByDeadline } else { Ended::With(code) };
        (forced.map(ended), is_all_gone && is_cleaned && !self.leaves_address)
    }

    /// Until the command has ended, or is to be killed. Tells whether it did not end by itself.
    fn serve(&mut self) -> Result<bool, Failed> {
        loop {
            self.take_orders();
            // The signals come before all that takes its time.
            let is_over = self.limit_of_command()? <= now();
            let is_idle = self.command.is_none() && self.ordered.is_some();
            if is_over || is_idle {
                return Ok(is_over);
            }
            let is_due = self.ordered.is_some() || self.term.check_due()?;
            if is_due && self.termed.is_none() && self.command.is_some() {
                self.terminate();
                continue;
            }
            let all_reaped = self.reap();
            if self.ended.is_some() {
                return Ok(self.termed.is_some());
            }
            self.addresses.as_mut().map_or(Ok(()), Held::tend)?;
            if all_reaped {
                let due = self.termed.map(|_| self.limit_of_command()).transpose()?;
                self.wait(due, true)?;
            }
        }
    }

    /// How the command ends, as its time is over or it has ended: none if it ended by itself.
    fn means(&self) -> Option<Means> {
        match (&self.command, self.ended, self.termed) {
            (None, ..) | (_, Some(_), None) => None,
            (_, Some(_), Some(_)) => Some(Means::Term),
            (_, None, _) => Some(Means::Kill),
        }
    }

    /// KILL comes then, as far as is known now.
    fn limit(&self) -> io::Result<Time> {
        let alarm = now() + self.kill.left()?;
        Ok(self.ordered.map_or(alarm, |ordered| ordered.min(alarm)))
    }

    /// The command is killed then, as far as is known now.
    fn limit_of_command(&self) -> io::Result<Time> {
        let limit = self.limit()?;
        Ok(match self.termed {
            Some(termed) if self.has_cleanup() => {
                // As long as the leadership is renewed, its alarm is no limit that comes nearer.
                let half = self.ordered.map(|ordered| termed + ordered.since(termed) / 2);
                let alarm = now() + self.kill.left()?.saturating_sub(self.grace);
                half.map_or(alarm, |half| half.min(alarm))
            }
            _ => limit,
        })
    }

    fn has_cleanup(&self) -> bool {
        !self.task.cleanup.as_os_str().is_empty()
    }

    /// Takes what electd says.
    fn take_orders(&mut self) {
        while let Some(electd) = &self.electd {
            let limit = match pair::hear(electd, Some(Duration::ZERO)) {
                Ok(Some((order, _))) => {
                    let _ = pair::say(electd, &GuardWord::Lives, &[]);
                    match order {
                        GuardOrder::End { left } => left,
                        GuardOrder::Begin(_) | GuardOrder::Answer => continue,
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Ok(None) | Err(_) => {
                    self.electd = None; // it has ended, and no other member leads before the command has, or the lease
                    let limit = if self.task.is_leased { self.task.limit } else { Duration::ZERO };
                    Some(limit.min(self.kill.left().unwrap_or_default()))
                }
            };
            // The alarm is not postponed any more.
            let kill = now() + limit.unwrap_or_else(|| self.kill.left().unwrap_or_default());
            self.ordered = Some(self.ordered.map_or(kill, |before| before.min(kill)));
        }
    }

    /// Sends TERM to all of the command, and gives up when KILL is due.
    fn terminate(&mut self) {
        self.termed = Some(now());
        let Some(command) = &self.command else { return };
        command.send(Signal::TERM);
        let enough = || self.limit_of_command().is_ok_and(|limit| limit <= now());
        if let Err(error) = tree::term_all(command.pid, enough) {
            say(&format!("TERM reached the process group of the command alone: {error}"));
        }
    }

    /// Takes note of children that have ended: the command, the cleanup, and orphans that they left. Tells whether
    /// these were all.
    fn reap(&mut self) -> bool {
        while self.children.read(&mut [0; 64]).is_ok_and(|count| count > 0) {}
        for _ in 0..REAPED {
            let Some((pid, status)) = tree::reap() else { return true };
            self.note_end(pid, status);
        }
        false
    }

    fn note_end(&mut self, pid: Pid, status: WaitStatus) {
        if self.command.as_ref().is_some_and(|command| command.pid == pid) {
            self.ended = Some(code(status));
        }
        if self.cleanup == Some(pid) {
            self.cleaned = Some(code(status));
        }
    }

    /// Kills all that is left of the command, cleans up, and removes the addresses. Tells the exit code of the command.
    fn finish(&mut self) -> u8 {
        if let Some(command) = self.command.as_ref().filter(|_| self.ended.is_none()) {
            command.send(Signal::KILL);
        }
        let left = if self.ended.is_some() && self.termed.is_none() { tree::left() } else { None };
        if self.command.is_some() && self.has_cleanup() {
            let _ = self.kill_left(self.grace); // what is left then is killed again below
            self.clean_up();
        }
        let _ = self.kill_left(self.grace);
        if let Some(left) = left {
            say(&format!(
                "the command has ended and left {left} behind: killed, as a job ends with its command; have the command \
                 stay in the foreground for as long as its work lasts"
            ));
        }
        self.release();
        if !self.is_over() {
            let left = self.kill_left(GONE);
            if !self.is_over() {
                say(&left.as_ref().map_or_else(ToString::to_string, |left| tree::undead(left)));
            }
        }
        while !self.is_over() {
            thread::sleep(PAUSE);
            let _ = self.kill_left(GONE);
        }
        if self.is_marked() {
            let _ = self.kill_left(GONE);
        }
        if let Some(RunningJob { mark, .. }) = self.command.as_ref().filter(|_| self.is_marked()) {
            say(&mark.strays());
        }
        self.ended.unwrap_or_default() // none without a command
    }

    /// Removes the addresses.
    fn release(&mut self) {
        self.leaves_address |= !self.addresses.take().is_none_or(Held::end);
    }

    /// Whether nothing is below this process, nor in the cgroup.
    fn is_over(&self) -> bool {
        tree::is_childless() && !self.cgroup().is_some_and(|it| matches!(it.end_now(), Ok(false)))
    }

    fn cgroup(&self) -> Option<&'a Cgroup> {
        self.command.as_ref()?.cgroup
    }

    /// Kills all that is left, for at most this time. Tells what is left then.
    fn kill_left(&mut self, timeout: Duration) -> io::Result<Vec<Pid>> {
        let (begin, mut ended) = (Instant::now(), Vec::new());
        let note = |pid, status| ended.push((pid, status));
        let left = tree::end_all(self.cgroup(), timeout, |_| false, note);
        ended.into_iter().for_each(|(pid, status)| self.note_end(pid, status));
        while !self.reap() {}
        // Nothing is below this process any more.
        if self.is_marked()
            && tree::is_childless()
            && let Some(command) = &self.command
        {
            command.mark.kill_holders(timeout.saturating_sub(begin.elapsed()));
        }
        left.map(Option::unwrap_or_default)
    }

    /// Whether a process of the command may be left, wherever it is.
    fn is_marked(&self) -> bool {
        self.command.as_ref().is_some_and(|command| command.mark.is_held())
    }

    /// Until electd says something, a child ends, the addresses are to be tended, TERM or KILL is due, or it is this
    /// time.
    fn wait(&self, due: Option<Time>, awaits_kill: bool) -> io::Result<()> {
        let tend = self.addresses.as_ref().map(Held::due);
        let due = tend.into_iter().chain(due).min();
        if let Some(due) = due {
            self.own.set(due)?;
        }
        // An alarm that has gone off ends each wait at once, until it is no news any more.
        let is_to_term = self.command.is_some() && self.termed.is_none() && self.ended.is_none();
        let term = is_to_term.then_some(&self.term);
        let kill = awaits_kill.then_some(&self.kill);
        let alarms = [kill, term, due.map(|_| &self.own)].into_iter().flatten();
        let mut fds = vec![PollFd::new(&self.children, PollFlags::IN)];
        fds.extend(self.electd.iter().map(|electd| PollFd::new(electd, PollFlags::IN)));
        fds.extend(alarms.map(|alarm| PollFd::new(alarm, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error).named("poll"),
        }
    }
}

/// What becomes the command, in this cgroup, or without one if the host refuses that and the command does not need it.
fn waiting(task: &GuardTask, cgroup: &mut Option<Cgroup>) -> io::Result<Option<WaitingProcess>> {
    if task.command.is_empty() {
        return Ok(None);
    }
    let started = WaitingProcess::start(&task.command, cgroup.as_ref());
    let started = started.or_else(|error| {
        if !is_refused(&error) {
            return Err(error);
        }
        task.go_without(error)?;
        *cgroup = None;
        WaitingProcess::start(&task.command, None)
    });
    started.map(Some)
}

mod cleaning;
#[cfg(test)]
mod tests;
