//! A guard ([`super::guard`]) that was started and waits for the order to begin.
//!
//! A follower keeps one, so that the command of the next leader need not wait for the start of two
//! processes. The guard has no lock and no address, and the process that becomes the command has not
//! begun: when electd dies, both end.

use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossbeam::channel::{Receiver, Sender, bounded};
use log::warn;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{fcntl_dupfd_cloexec, retry_on_intr};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::termios::tcgetpgrp;

use super::alarms::{Alarm, Alarms};
use super::equipment::Equipment;
use super::guard::GUARD;
use super::guard::task::GuardTask;
use super::order::BeginOrder;
use super::plan::{CgroupUse, Plan};
use crate::calls::{Named, PROCESS, THREAD};
use crate::cgroup::{MadeCgroup, VARIABLE};
use crate::local::pair;
use crate::node::leadership::Leadership;
use crate::rank::children;

/// How long a guard that is no longer needed may take to end by itself.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The least descriptor of a line to a guard: above those of the connections to the node and to the members. Linux lets
/// go of a killed process's descriptors from the highest number down. So a guard learns first that its electd died: it
/// begins no command for which nothing waits, and ends one that runs before another member hears that it may lead.
const LINE: i32 = 1010;

/// A guard that has begun nothing yet.
pub struct Ready {
    /// The number of its process.
    pub guard: Pid,
    /// Its process, which may end at any time and leave its number to another.
    pub process: Arc<OwnedFd>,
    /// On this electd tells it to begin, and to end.
    pub line: OwnedFd,
    /// By these it acts once it has begun.
    pub alarms: Arc<Alarms>,
    /// That it is late, and how it ended.
    pub news: Receiver<GuardNews>,
    /// The cgroup in which a process waits to become the command.
    pub cgroup: Option<MadeCgroup>,
}

/// News of a guard.
pub enum GuardNews {
    /// It should have acted.
    Late,
    /// It has ended, in this way.
    Ended(io::Result<ExitStatus>),
}

impl Ready {
    /// Starts one.
    pub fn start(plan: &Plan) -> io::Result<Ready> {
        let cgroup = match plan.cgroup {
            CgroupUse::Never => None,
            _ if plan.command.is_empty() => None,
            CgroupUse::Auto => MadeCgroup::make().inspect_err(|refused| warn!("{refused}")).ok(),
            CgroupUse::Always => Some(MadeCgroup::make()?),
        };
        let alarms = Arc::new(Alarms::new(plan.deadlines)?);
        let (started, news) = watch(&alarms)?; // before there is a process that nobody would wait for
        let (line, far) = pair::new()?;
        let mut command = children::this_program()?;
        command
            .arg(GUARD)
            .args(GuardTask::of(plan).arguments())
            .env_remove(children::HELPER) // the job of an electd that a hook started is no helper
            .process_group(0)
            .stdin(Stdio::from(far));
        plan.surround(&mut command);
        match &cgroup {
            Some(made) => command.env(VARIABLE, &made.path),
            None => command.env_remove(VARIABLE), // that of an electd which runs this one
        };
        let mut child = children::start(&mut command).named(PROCESS)?;
        // A process that may not have so many descriptors keeps the low one, and its guard learns a bit later.
        let line = fcntl_dupfd_cloexec(&line, LINE).unwrap_or(line);
        let guard = Pid::from_child(&child);
        let process = match pidfd_open(guard, PidfdFlags::empty()).named("pidfd_open") {
            Ok(process) => Arc::new(process),
            Err(error) => {
                let _ = child.kill(); // it has begun nothing
                let _ = children::wait(&mut child);
                return Err(error);
            }
        };
        let _ = started.send((child, process.clone())); // the thread waits for it
        Ok(Ready { guard, line, news, process, alarms, cgroup })
    }

    /// Whether it still runs; another process may have killed it.
    pub fn is_there(&self) -> bool {
        self.news.is_empty()
    }

    /// Orders it to begin, as the node leads; the caller has set its alarms.
    ///
    /// # Errors
    /// If the guard was killed.
    pub fn begin(self, leadership: &Leadership, equipment: &Equipment) -> io::Result<Ready> {
        leadership.tell(&self.alarms);
        let begin = BeginOrder { epoch: leadership.epoch(), group: group_with_terminal() };
        match begin.send(&self.line, &self.alarms, equipment) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                Err(io::Error::other("its guard was killed before it began"))
            }
            sent => sent.map(|()| self),
        }
    }

    /// It is not needed: waits until it is gone.
    pub fn dismiss(self) {
        drop(self.line);
        if self.news.recv_timeout(TIMEOUT).is_err() {
            let _ = pidfd_send_signal(&self.process, Signal::KILL); // it stands still, and has begun nothing
            let _ = self.news.recv_timeout(TIMEOUT);
        }
    }
}

/// The process group of this process, if that may read from the terminal which is its stdin.
fn group_with_terminal() -> Option<i32> {
    // A group outside the PID namespace of this process has no number here.
    let own = Pid::from_raw(nix::unistd::getpgrp().as_raw())?;
    let is_foreground = tcgetpgrp(io::stdin()).is_ok_and(|foreground| foreground == own);
    is_foreground.then_some(own.as_raw_nonzero().get())
}

/// Waits for the guard, once it was started, and for the alarm that it is late, in a thread of its own.
#[allow(clippy::type_complexity, reason = "a process and its number, and what is found of it")]
fn watch(alarms: &Arc<Alarms>) -> io::Result<(Sender<(Child, Arc<OwnedFd>)>, Receiver<GuardNews>)> {
    let (start, started) = bounded::<(Child, Arc<OwnedFd>)>(1);
    let (news, heard) = bounded(2); // that it is late once, and that it has ended
    let alarms = Arc::clone(alarms);
    let builder = thread::Builder::new().name("job-guard".to_owned()).stack_size(128 * 1024);
    let started_one = builder.spawn(move || {
        let Ok((mut guard, process)) = started.recv() else { return };
        while !has_ended(&process, &alarms.late, &news) {}
        let _ = news.send(GuardNews::Ended(children::wait(&mut guard))); // the runner outlives its jobs
    });
    started_one.named(THREAD)?;
    Ok((start, heard))
}

/// Waits for either. Returns whether the guard has ended; the other end of the channel hears that it is
/// late.
fn has_ended(process: &OwnedFd, late: &Alarm, news: &Sender<GuardNews>) -> bool {
    let mut fds = [PollFd::new(process, PollFlags::IN), PollFd::new(late, PollFlags::IN)];
    if retry_on_intr(|| poll(&mut fds, None)).is_err() {
        return true; // no memory: to be waited for without the alarm
    }
    let [ended, is_late] = fds.map(|fd| !fd.revents().is_empty());
    if is_late {
        late.disarm();
        if news.is_empty() {
            let _ = news.send(GuardNews::Late); // the receiver is gone if the guard is no longer needed
        }
    }
    ended
}

#[cfg(test)]
pub(super) mod tests;
