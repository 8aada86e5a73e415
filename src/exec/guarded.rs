//! The process that becomes the command: the guard starts it before the node leads, and tells it when
//! to begin.
//!
//! It is started as `electd guarded GUARD CMD ...` with a pipe from the guard as its stdin, binds
//! itself to the guard by a parent-death signal, and waits. The order to begin carries what only a
//! leader knows: the epoch, and the process group whose terminal the command may read. Then this
//! process only has to become the command.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, PipeWriter};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::{Pid, getpid, setpgid};

use super::mark::{InheritedEnd, Mark};
use super::order::BeginOrder;
use super::parent;
use crate::calls::{Named, PROCESS};
use crate::cgroup::{Cgroup, VARIABLE, refused};
use crate::local::lines;
use crate::rank::children;

/// The hidden argument that makes `electd` the process that becomes the command.
pub const GUARDED: &str = "guarded";

/// The terminal of the process that asks.
const TERMINAL: &str = "/dev/tty";

/// A process that waits to become the command. It ends when this is dropped.
pub struct WaitingProcess {
    pid: Pid,
    pipe: PipeWriter,
    mark: Mark,
    /// For the one that takes its place if it is killed: the coroner knows of one mark alone.
    given: InheritedEnd,
}

impl WaitingProcess {
    /// Starts it, in this cgroup; it begins nothing yet.
    ///
    /// # Errors
    /// If the host starts no process, or refuses the cgroup.
    pub fn start(command: &[OsString], cgroup: Option<&Cgroup>) -> io::Result<WaitingProcess> {
        let (mark, given) = Mark::new()?;
        let (pid, pipe) = start(command, cgroup)?;
        given.give(false)?;
        Ok(WaitingProcess { pid, pipe, mark, given })
    }

    /// What it has inherited, and the command will have.
    pub fn mark(&self) -> &Mark {
        &self.mark
    }

    /// Has it become the command, whose processes have the mark. Another takes its place if it was killed while it waited.
    pub fn begin(
        mut self,
        command: &[OsString],
        cgroup: Option<&Cgroup>,
        begin: &BeginOrder,
    ) -> io::Result<(Pid, Mark)> {
        if lines::write(&self.pipe, begin).is_err() {
            self.given.give(true)?;
            (self.pid, self.pipe) = start(command, cgroup)?;
            lines::write(&self.pipe, begin)?;
        }
        Ok((self.pid, self.mark))
    }
}

/// A process that waits for a word by this pipe, in this cgroup.
fn start(command: &[OsString], cgroup: Option<&Cgroup>) -> io::Result<(Pid, PipeWriter)> {
    let (reader, pipe) = io::pipe().named("pipe")?;
    // std has no way to set the parent-death signal: a second process of this binary does, and execs.
    let mut waits = children::this_program()?;
    waits
        .args([GUARDED, &getpid().as_raw_nonzero().to_string()])
        .args(command)
        .process_group(0)
        .stdin(Stdio::from(reader));
    if cgroup.is_none() {
        waits.env_remove(VARIABLE); // this process was given one that was refused
    }
    let pid = Pid::from_child(&waits.spawn().named(PROCESS)?);
    if let Some(cgroup) = cgroup {
        cgroup.enter(pid).map_err(refused)?; // before it can begin anything
    }
    Ok((pid, pipe))
}

/// Waits for the order to begin, and becomes the command: the kernel kills it if the guard dies.
pub fn become_command(mut arguments: Vec<OsString>) -> ExitCode {
    let command = arguments.split_off(1.min(arguments.len()));
    let guard =
        arguments.first().and_then(|word| word.to_str()?.parse().ok()).and_then(Pid::from_raw);
    let [program, rest @ ..] = &command[..] else { return ExitCode::from(70) };
    if parent::end_with(guard).is_err() {
        return ExitCode::from(70);
    }
    let Ok(Some(begin)) = lines::read::<BeginOrder>(&mut io::stdin().lock()) else {
        return ExitCode::from(70); // the guard has ended, or no longer needs it
    };
    let stdin = begin
        .group
        .and_then(Pid::from_raw)
        .and_then(terminal_of)
        .map_or_else(Stdio::null, Stdio::from);
    let error = Command::new(program)
        .args(rest)
        .env("ELECTD_EPOCH", begin.epoch.to_string())
        .stdin(stdin)
        .exec();
    eprintln!("electd: cannot run \"{}\": {error}", program.display());
    ExitCode::from(if error.kind() == ErrorKind::NotFound { 127 } else { 126 })
}

/// The terminal that this group has in the foreground, whose member this process becomes: any other group that read from
/// it would be stopped.
fn terminal_of(group: Pid) -> Option<File> {
    let terminal = File::options().read(true).write(true).open(TERMINAL).ok()?;
    setpgid(None, Some(group)).ok()?;
    Some(terminal)
}
