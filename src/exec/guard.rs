//! The guard: a process between electd and the command that electd runs while it leads. It holds the addresses, too.
//!
//! It is started as `electd guard LOCK [ADDRESS ...] -- [CMD ...]`, with a pipe from electd as its stdin. Each frame on the pipe says
//! when to send TERM and when to send KILL; a later frame replaces the earlier one. The guard acts by its own
//! timer, so that it needs electd neither to run nor to answer; and it kills at once when the pipe ends, since
//! electd has ended then. It ends with the command's exit code as soon as nothing of the command is left. TERM, INT,
//! QUIT and HUP do not end it: TERM may be meant for the whole unit, and the kernel sends HUP to a frozen guard whose
//! electd has died.
//!
//! The addresses are there before the command begins, and go when nothing of it is left; or when it should have been
//! gone, if KILL does not end it. A guard without a command removes them when KILL is due, or at once when the
//! leadership is to end in order: there is nothing that needs time to end.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitStatus, getpid, getppid, kill_process, pidfd_open,
    set_parent_process_death_signal,
};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use thiserror::Error;

use super::address::held::{Held, NotHeld};
use super::address::spec::Address;
use super::{lock, tree};
use crate::node::now;

/// The hidden word that makes `electd` a guard, and the one that makes it what becomes the command.
pub const GUARD: &str = "guard";
const GUARDED: &str = "guarded";

/// The longest that a killed process may take to be gone before the guard says so and goes on trying.
const GONE: Duration = Duration::from_secs(5);

/// A guard that cannot hold its addresses ends by this signal: every exit code may be the command's.
pub const NO_ADDRESS: Signal = Signal::USR2;

/// A guard that ended its job by a deadline, though nobody had told it to end the job, ends by this signal. electd
/// cannot know it from the clock: it may renew the leadership at the very moment.
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

/// When a job is to be ended, in nanoseconds of CLOCK_BOOTTIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// TERM is sent then, once; 0 when the leadership is lost or to end in order.
    pub term: u64,
    /// KILL is sent then, to all that is left.
    pub kill: u64,
}

impl Frame {
    /// Its length on the pipe.
    pub const LENGTH: usize = 16;

    /// How it is written on the pipe: both numbers, little-endian.
    #[must_use]
    pub fn bytes(self) -> [u8; Frame::LENGTH] {
        let mut bytes = [0; Frame::LENGTH];
        bytes[..8].copy_from_slice(&self.term.to_le_bytes());
        bytes[8..].copy_from_slice(&self.kill.to_le_bytes());
        bytes
    }

    fn read(bytes: [u8; Frame::LENGTH]) -> Frame {
        let [term, kill] = [&bytes[..8], &bytes[8..]]
            .map(|part| part.iter().rev().fold(0, |number, byte| (number << 8) | u64::from(*byte)));
        Frame { term, kill }
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
    let _ = kill_process(getpid(), signal);
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
    Guard::start(&lock, &addresses, &command)?.run()
}

/// Becomes the command: the kernel kills it if the guard dies from now on.
fn become_command(mut arguments: Vec<OsString>) -> ExitCode {
    let command = arguments.split_off(1.min(arguments.len()));
    let guard =
        arguments.first().and_then(|word| word.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let [program, rest @ ..] = &command[..] else { return ExitCode::from(70) };
    let bound = set_parent_process_death_signal(Some(Signal::KILL));
    // It may have died before that was so.
    if bound.is_err() || guard.is_none() || getppid() != guard {
        return ExitCode::from(70);
    }
    let error = Command::new(program).args(rest).exec();
    eprintln!("electd: cannot run \"{}\": {error}", program.display());
    ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
}

/// The guard at work.
struct Guard {
    pipe: File,
    /// Until this process ends, no other process of this member starts.
    _lock: File,
    timer: OwnedFd,
    frame: Frame,
    /// None where none are asked for: the unit of a service manager may forbid even to look.
    addresses: Option<Held>,
    /// From KILL on, what is left of the command may keep the addresses so long.
    grace: Duration,
    /// The command's own process, if there is a command, and how it ended.
    command: Option<Pid>,
    ended: Option<u8>,
    termed: bool,
}

impl Guard {
    /// Takes the first frame, adds the addresses and starts the command.
    fn start(lock: &Path, addresses: &[Address], command: &[OsString]) -> Result<Guard, Failed> {
        let lock = lock::take(lock)?;
        // By handlers, not by SIG_IGN: the command would inherit that.
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::default())?;
        }
        let mut pipe = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let mut first = [0; Frame::LENGTH];
        pipe.read_exact(&mut first)?;
        ioctl_fionbio(&pipe, true)?;
        tree::adopt_orphans(true)?;
        let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC)?;
        // This process may have begun late, and the leadership have been renewed meanwhile.
        let frame = read_frames(&mut pipe, Frame::read(first)).0;
        if frame.term <= now().0 {
            return Err(Failed::Late);
        }
        // Whoever finds the lock free after the death of electd relies on it that no command begins.
        if is_closed(&pipe)? {
            return Err(io::Error::other("electd ended before the job began").into());
        }
        let addresses = if addresses.is_empty() { None } else { Some(Held::begin(addresses)??) };
        let grace = Duration::from_nanos(frame.kill.saturating_sub(frame.term) / 2);
        let command = if command.is_empty() { None } else { Some(begin(command)?) };
        Ok(Guard {
            pipe,
            _lock: lock,
            timer,
            frame,
            addresses,
            grace,
            command,
            ended: None,
            termed: false,
        })
    }

    /// Until nothing of the command is left. Tells how it ended.
    fn run(mut self) -> Result<Ended, Failed> {
        let watch = self.command.map(|pid| pidfd_open(pid, PidfdFlags::empty())).transpose()?;
        loop {
            let electd_lives = self.take_frames();
            self.reap();
            let is_over = now().0 >= self.frame.kill;
            let is_idle = self.command.is_none() && self.frame.term == 0;
            if self.ended.is_some() || !electd_lives || is_over || is_idle {
                let forced = self.termed || (is_over && self.ended.is_none());
                let code = self.kill();
                let by_deadline = forced && self.frame.term != 0;
                return Ok(if by_deadline { Ended::ByDeadline } else { Ended::With(code) });
            }
            if self.command.is_some() && now().0 >= self.frame.term && !self.termed {
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

    /// Takes what electd wrote. Tells whether it still can write.
    fn take_frames(&mut self) -> bool {
        let (frame, electd_lives) = read_frames(&mut self.pipe, self.frame);
        self.frame = frame;
        electd_lives
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
                eprintln!("electd: KILL did not end these processes of the job yet: {left:?}");
                told = true;
            }
        }
    }

    /// Kills all that is left, for so long. Tells what is left then.
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

    /// Until electd writes, the command ends, the addresses are to be tended, or TERM or KILL is due.
    fn wait(&self, watch: Option<&OwnedFd>) -> io::Result<()> {
        let termed = self.termed || self.command.is_none();
        let due = if termed { self.frame.kill } else { self.frame.term.min(self.frame.kill) };
        let due = self.addresses.as_ref().map_or(due, |held| due.min(held.due().0));
        let spec = Itimerspec { it_interval: timespec(0), it_value: timespec(due.max(1)) };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec)?;
        let mut fds =
            vec![PollFd::new(&self.pipe, PollFlags::IN), PollFd::new(&self.timer, PollFlags::IN)];
        fds.extend(watch.map(|watch| PollFd::new(watch, PollFlags::IN)));
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// The last frame that electd wrote, or else this one, and whether electd still can write.
fn read_frames(pipe: &mut File, mut frame: Frame) -> (Frame, bool) {
    loop {
        let mut bytes = [0; Frame::LENGTH];
        match pipe.read(&mut bytes) {
            Ok(Frame::LENGTH) => frame = Frame::read(bytes),
            Ok(_) => return (frame, false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (frame, error.kind() == ErrorKind::WouldBlock),
        }
    }
}

/// Starts the command.
fn begin(command: &[OsString]) -> io::Result<Pid> {
    // std has no way to set the parent-death signal: a second process of this binary does, and execs.
    let child = Command::new("/proc/self/exe")
        .args([GUARDED, &getpid().as_raw_nonzero().to_string()])
        .args(command)
        .process_group(0)
        .stdin(Stdio::null())
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// Whether nobody can write on this pipe any more.
fn is_closed(pipe: &File) -> io::Result<bool> {
    let mut fds = [PollFd::new(pipe, PollFlags::empty())];
    poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 }))?;
    Ok(fds[0].revents().contains(PollFlags::HUP))
}

/// The exit code as a shell tells it.
fn code(status: WaitStatus) -> u8 {
    let code = status.exit_status().or(status.terminating_signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

fn timespec(nanos: u64) -> Timespec {
    let seconds = i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX);
    Timespec { tv_sec: seconds, tv_nsec: i64::try_from(nanos % 1_000_000_000).unwrap_or(0) as _ }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let frame = Frame { term: 1, kill: u64::MAX - 7 };
        assert_eq!(Frame::read(frame.bytes()), frame);
    }
}
