//! The guard: a process between electd and the command that electd runs while it leads. It holds the addresses, too.
//!
//! It is started as `electd guard LOCK [ADDRESS ...] -- [CMD ...]`, with a connection to electd as its
//! stdin, usually before the node leads: it starts the process that becomes the command (`guarded.rs`),
//! and waits. The first order makes it begin, and brings the alarms of TERM and KILL (`alarms.rs`);
//! without an order it ends and has done nothing. electd postpones the alarms as long as the leadership
//! is renewed, and the guard sleeps. The guard ends the command when an alarm goes off, so that it does
//! not depend on an electd that runs or answers, and when a later order says that the leadership ends.
//! It kills immediately when the connection ends, since electd has ended then. It ends with the
//! command's exit code as soon as no process of the command is left. TERM, INT, QUIT and HUP do not end
//! it: TERM may be meant for the whole unit, and the kernel sends HUP to a frozen guard whose electd
//! has died.
//!
//! The guard adds the addresses before the command begins, and removes them when no process of the
//! command is left, or when none should be left, if KILL does not end one. A guard without a command
//! removes them when KILL is due, or immediately in a clean handover, since nothing needs time to end.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitStatus, pidfd_open};
use rustix::time::Timespec;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::low_level::emulate_default_handler;

use thiserror::Error;

use super::address::held::{Held, NotHeld};
use super::address::spec::Address;
use super::alarms::Alarm;
use super::guarded::{GUARDED, Waiting, become_command};
use super::order::{Begin, Order};
use super::{lock, signals, tree};
use crate::core::types::Time;
use crate::node::now;

/// The hidden argument that makes `electd` a guard.
pub const GUARD: &str = "guard";

/// How long a killed process may take to be gone before the guard reports that and keeps trying.
const GONE: Duration = Duration::from_secs(5);

/// A guard that cannot hold its addresses ends by this signal: every exit code may be the command's.
pub const NO_ADDRESS: Signal = Signal::USR2;

/// A guard that ended its job by a deadline, without having been told to, ends itself by this signal.
/// electd cannot derive that from the clock, since it may renew the leadership at that very moment.
pub const BY_DEADLINE: Signal = Signal::USR1;

/// Between the guard's lock and addresses, and the command.
pub const SEPARATOR: &str = "--";

/// Why a guard gave up.
#[derive(Debug, Error)]
enum Failed {
    #[error("{0}")]
    Address(#[from] NotHeld),
    #[error("the guard of the job failed: {0}")]
    Guard(#[from] io::Error),
    #[error("the leadership ended before the job began")]
    Late,
}

/// How a job ended.
enum Ended {
    /// With this code of the command.
    With(u8),
    /// By TERM or KILL, as the leadership was not renewed in time.
    ByDeadline,
}

impl From<Errno> for Failed {
    fn from(error: Errno) -> Failed {
        Failed::Guard(error.into())
    }
}

/// Runs this process as a guard, or as what becomes a command, if it was started as one.
#[must_use]
pub fn if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next()?;
    if word == GUARD {
        Some(guard(arguments.collect()))
    } else if word == GUARDED {
        Some(become_command(arguments.collect()))
    } else {
        None
    }
}

fn guard(arguments: Vec<OsString>) -> ExitCode {
    match try_guard(arguments) {
        Ok(Ended::With(code)) => ExitCode::from(code),
        Ok(Ended::ByDeadline) => end_by(BY_DEADLINE),
        Err(error) => {
            eprintln!("electd: {error}");
            tree::kill_all(GONE, |_| false, |_, _| ());
            match error {
                Failed::Address(_) => end_by(NO_ADDRESS),
                Failed::Late => end_by(BY_DEADLINE),
                Failed::Guard(_) => ExitCode::from(70),
            }
        }
    }
}

/// Ends this process.
fn end_by(signal: Signal) -> ExitCode {
    let _ = emulate_default_handler(signal.as_raw());
    ExitCode::from(70) // not reached
}

fn try_guard(mut arguments: Vec<OsString>) -> Result<Ended, Failed> {
    let end = arguments.iter().position(|argument| argument == SEPARATOR);
    let command = arguments.split_off(end.map_or(arguments.len(), |end| end + 1));
    let mut arguments = arguments.into_iter();
    let lock = PathBuf::from(arguments.next().unwrap_or_default());
    let addresses = arguments.filter(|argument| argument != SEPARATOR).map(|argument| {
        let text = argument.to_string_lossy();
        text.parse().map_err(|error| io::Error::other(format!("{text}: {error}")))
    });
    let addresses = addresses.collect::<Result<Vec<Address>, _>>()?;
    match Guard::start(&lock, &addresses, &command)? {
        Some(guard) => guard.run(),
        None => Ok(Ended::With(0)),
    }
}

/// The guard at work.
struct Guard {
    electd: UnixStream,
    /// Until this process ends, no other process of this member starts.
    _lock: File,
    term: Alarm,
    kill: Alarm,
    /// When the addresses are to be tended, or KILL comes as electd told.
    own: Alarm,
    /// The leadership is to end: KILL comes then at the latest.
    ordered: Option<Time>,
    /// None where none are asked for: the unit of a service manager may forbid even to look.
    addresses: Option<Held>,
    /// After KILL, what is left of the command may keep the addresses for this long.
    grace: Duration,
    /// The command's own process, if there is a command, and how it ended.
    command: Option<Pid>,
    ended: Option<u8>,
    termed: bool,
}

impl Guard {
    /// Prepares as much as possible, and waits for the order to begin; then adds the addresses and
    /// begins the command. None if electd ended, or no longer needs this guard.
    fn start(
        lock: &Path,
        addresses: &[Address],
        command: &[OsString],
    ) -> Result<Option<Guard>, Failed> {
        // CHLD wakes it to reap what the command left behind.
        signals::survive(&[SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
        let electd = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        tree::adopt_orphans(true)?;
        let waiting = if command.is_empty() { None } else { Some(Waiting::start(command)?) };
        let Some((begin, [term, kill])) = Begin::receive(&electd)? else {
            if let Some(waiting) = waiting {
                waiting.dismiss();
            }
            return Ok(None);
        };
        let lock = lock::take(lock)?;
        electd.set_nonblocking(true)?;
        // This process may have begun late, and the leadership have been renewed meanwhile.
        if term.is_due()? {
            return Err(Failed::Late);
        }
        // A process that finds the lock free after the death of electd relies on it that no command
        // begins.
        if is_closed(&electd)? {
            return Err(io::Error::other("electd ended before the job began").into());
        }
        let addresses = if addresses.is_empty() { None } else { Some(Held::begin(addresses)??) };
        let grace = kill.left()?.saturating_sub(term.left()?) / 2;
        let command = waiting.map(|waiting| waiting.begin(command, &begin)).transpose()?;
        Ok(Some(Guard {
            electd,
            _lock: lock,
            term,
            kill,
            own: Alarm::new()?,
            ordered: None,
            addresses,
            grace,
            command,
            ended: None,
            termed: false,
        }))
    }

    /// Until nothing of the command is left. Tells how it ended.
    fn run(mut self) -> Result<Ended, Failed> {
        let watch = self.command.map(|pid| pidfd_open(pid, PidfdFlags::empty())).transpose()?;
        loop {
            let electd_lives = self.take_orders();
            self.reap();
            let told = self.ordered.is_some_and(|kill| kill <= now());
            let is_over = told || self.kill.is_due()?;
            let is_idle = self.command.is_none() && self.ordered.is_some();
            if self.ended.is_some() || !electd_lives || is_over || is_idle {
                let forced = self.termed || (is_over && self.ended.is_none());
                let code = self.kill();
                let by_deadline = forced && self.ordered.is_none();
                return Ok(if by_deadline { Ended::ByDeadline } else { Ended::With(code) });
            }
            let is_due = self.ordered.is_some() || self.term.is_due()?;
            if self.command.is_some() && is_due && !self.termed {
                self.termed = true;
                tree::signal(&tree::descendants(), Signal::TERM);
            }
            if let Some(Err(error)) = self.addresses.as_mut().map(Held::tend) {
                self.kill();
                return Err(error.into());
            }
            self.wait(watch.as_ref())?;
        }
    }

    /// Takes what electd says. Tells whether it still lives.
    fn take_orders(&mut self) -> bool {
        loop {
            let mut bytes = [0; Order::LENGTH];
            match self.electd.read(&mut bytes) {
                Ok(Order::LENGTH) => {
                    let _ = self.electd.write(&[0]); // the answer
                    if let Order::End { kill } = Order::read(&bytes) {
                        self.ordered = Some(self.ordered.map_or(kill, |before| before.min(kill)));
                    }
                }
                Ok(_) => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return error.kind() == ErrorKind::WouldBlock,
            }
        }
    }

    /// Takes note of all children that have ended: the command, and orphans that it left.
    fn reap(&mut self) {
        while let Some((pid, status)) = tree::reap() {
            if Some(pid) == self.command {
                self.ended = Some(code(status));
            }
        }
    }

    /// Kills all that is left, and removes the addresses. Tells the exit code of the command.
    fn kill(&mut self) -> u8 {
        let mut left = self.try_kill(self.grace);
        self.addresses = None;
        let mut told = false;
        loop {
            if left.is_empty() {
                let none = if self.command.is_some() { 128 + 9 } else { 0 };
                return self.ended.unwrap_or(none);
            }
            left = self.try_kill(GONE);
            if !told && !left.is_empty() {
                eprintln!("electd: {}", tree::undead(&left));
                told = true;
            }
        }
    }

    /// Kills all that is left, for at most this time. Returns what is left then.
    fn try_kill(&mut self, patience: Duration) -> Vec<Pid> {
        let (command, mut ended) = (self.command, self.ended);
        let left = tree::kill_all(
            patience,
            |_| false,
            |pid, status| {
                if Some(pid) == command {
                    ended = Some(code(status));
                }
            },
        );
        self.ended = ended;
        self.reap();
        left
    }

    /// Until electd says something, the command ends, the addresses are to be tended, or TERM or KILL is due.
    fn wait(&self, watch: Option<&OwnedFd>) -> io::Result<()> {
        let tend = self.addresses.as_ref().map(Held::due);
        let due = self.ordered.into_iter().chain(tend).min();
        if let Some(due) = due {
            self.own.set(due)?;
        }
        let term = (!self.termed && self.command.is_some()).then_some(&self.term);
        let alarms = [Some(&self.kill), term, due.map(|_| &self.own)].into_iter().flatten();
        let mut fds = vec![PollFd::new(&self.electd, PollFlags::IN)];
        fds.extend(alarms.map(|alarm| PollFd::new(alarm, PollFlags::IN)));
        fds.extend(watch.map(|watch| PollFd::new(watch, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether the other end of this connection is closed.
fn is_closed(electd: &UnixStream) -> io::Result<bool> {
    let mut fds = [PollFd::new(electd, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(fds[0].revents().contains(PollFlags::HUP))
}

/// The exit code as a shell tells it.
fn code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
