//! A program, run without a shell, in a process group of its own, for a limited time. However that
//! ends, the group is ended and the program is reaped; only a KILL of electd itself leaves a program
//! that runs just then to its own devices.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::stop::{Stop, Woken};
use super::{Variables, children};

/// A program may print this much on each of its two outputs; electd reads no more.
const MOST: usize = 64 * 1024;

/// A program with all that it is given.
#[derive(Clone, Copy)]
pub struct Program<'p> {
    pub program: &'p Path,
    pub arguments: &'p [String],
    pub timeout: Duration,
}

/// As it would be typed, in backquotes.
impl fmt::Display for Program<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}", self.program.display())?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))?;
        f.write_str("`")
    }
}

/// One run of a program that has ended.
pub struct Ran {
    /// How it failed, in words; none if it exited with code 0.
    pub failure: Option<String>,
    /// Whether it came to its own end, so that what it printed is whole.
    pub is_whole: bool,
    /// Its stdout and its stderr.
    pub printed: [Vec<u8>; 2],
}

impl Program<'_> {
    /// Runs it, until its timeout or until `stop` says so.
    pub fn run(&self, variables: &Variables, stop: &Stop) -> Ran {
        let cut =
            |why: String| Ran { failure: Some(why), is_whole: false, printed: [vec![], vec![]] };
        let mut command = Command::new(self.program);
        command.args(self.arguments).process_group(0).envs([children::mark()]).envs(variables());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = match children::start(&mut command) {
            Ok(child) => child,
            Err(error) => return cut(format!("cannot be run: {error}")),
        };
        let group = Pid::from_child(&child);
        let watched = watch(&mut child, Instant::now() + self.timeout, stop);
        // Kills the group before the program is reaped, since another process may get its number
        // afterwards. This also happens after a successful run, as nothing else would end the processes
        // that it left.
        let _ = kill_process_group(group, Signal::KILL);
        let status = children::wait(&mut child);
        let (woken, printed) = match watched {
            Ok(watched) => watched,
            Err(error) => return cut(format!("cannot be watched: {error}")),
        };
        let too_much = printed.iter().any(|printed| printed.len() > MOST);
        let failure = match (woken, status) {
            (Woken::Stopped, _) => Some("was ended, as this node stops".to_owned()),
            (Woken::Late, _) => Some(format!("took longer than {:?}", self.timeout)),
            (Woken::Ready(_), _) if too_much => Some(format!("printed more than {MOST} bytes")),
            (Woken::Ready(_), Ok(status)) => {
                return Ran { failure: failure(status), is_whole: true, printed };
            }
            (Woken::Ready(_), Err(error)) => Some(format!("cannot be waited for: {error}")),
        };
        Ran { failure, is_whole: false, printed }
    }
}

/// Reads what a program prints on both its outputs, until it has ended, is late or printed too
/// much.
fn watch(child: &mut Child, deadline: Instant, stop: &Stop) -> io::Result<(Woken, [Vec<u8>; 2])> {
    let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let out = child.stdout.take().map(OwnedFd::from);
    let error = child.stderr.take().map(OwnedFd::from);
    let mut pipes = [Pipe::new(out)?, Pipe::new(error)?];
    loop {
        let open = pipes.iter().filter_map(|pipe| pipe.open.as_ref().map(AsFd::as_fd));
        let woken =
            stop.wait(&[ended.as_fd()].into_iter().chain(open).collect::<Vec<_>>(), deadline)?;
        if let Woken::Ready(_) = woken {
            // After its end too: what it printed last is still in the pipe.
            pipes.iter_mut().for_each(Pipe::read);
        }
        let too_much = pipes.iter().any(|pipe| pipe.printed.len() > MOST);
        let goes_on = matches!(&woken, Woken::Ready(ready) if !ready[0]);
        if !goes_on || too_much {
            return Ok((woken, pipes.map(|pipe| pipe.printed)));
        }
    }
}

/// One output of a program, until it is closed.
struct Pipe {
    open: Option<File>,
    printed: Vec<u8>,
}

impl Pipe {
    fn new(pipe: Option<OwnedFd>) -> io::Result<Pipe> {
        let open = pipe.map(File::from);
        open.iter().try_for_each(|pipe| ioctl_fionbio(pipe, true))?;
        Ok(Pipe { open, printed: Vec::new() })
    }

    /// Reads the available bytes, and at most one byte too many.
    fn read(&mut self) {
        let Some(pipe) = &mut self.open else { return };
        let have = self.printed.len();
        self.printed.resize(MOST + 1, 0);
        let outcome = pipe.read(&mut self.printed[have..]);
        self.printed.truncate(have + outcome.as_ref().copied().unwrap_or(0));
        let waits = |error: &io::Error| error.kind() == ErrorKind::WouldBlock;
        if !outcome.map_or_else(|error| waits(&error), |count| count > 0) {
            self.open = None;
        }
    }
}

/// How a program failed, if it did.
fn failure(status: ExitStatus) -> Option<String> {
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(code), _) => Some(format!("exited with code {code}")),
        (None, Some(signal)) => Some(format!("was ended by signal {signal}")),
        (None, None) => Some(format!("ended: {status}")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::Arc;

    use super::*;

    /// A run of a shell, with this much time, of a node that has these variables.
    fn run(script: &str, timeout: Duration, variables: &[(&'static str, &str)]) -> Ran {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let variables: Vec<_> =
            variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let (_stopper, stop) = Stop::new().unwrap();
        let program = Program { program: Path::new("sh"), arguments: &arguments, timeout };
        let variables: Variables = Arc::new(move || variables.clone());
        program.run(&variables, &stop)
    }

    /// Far longer than any program here takes; only a failing test waits for it.
    const TIMEOUT: Duration = Duration::from_secs(20);

    #[test]
    fn a_program_is_told_who_runs_it_and_both_its_outputs_are_kept() {
        let script =
            "echo $ELECTD_HELPER $ELECTD_NODE $ELECTD_STATE; readlink /proc/self/fd/0 >&2; exit 7";
        let ran = run(script, TIMEOUT, &[("ELECTD_NODE", "a"), ("ELECTD_STATE", "leader")]);
        assert_eq!(ran.failure.as_deref(), Some("exited with code 7"));
        assert!(ran.is_whole);
        let told = format!("{} a leader\n", children::mark().1);
        assert_eq!(ran.printed, [told.into_bytes(), b"/dev/null\n".to_vec()]);
    }

    #[test]
    fn each_output_may_be_so_long_and_one_that_is_cut_is_not_whole() {
        for (script, failure) in [
            ("head -c 65536 /dev/zero; head -c 65536 /dev/zero >&2", None),
            ("head -c 65537 /dev/zero", Some("printed more than 65536 bytes")),
            ("head -c 65537 /dev/zero >&2", Some("printed more than 65536 bytes")),
        ] {
            let ran = run(script, TIMEOUT, &[]);
            assert_eq!(
                (ran.failure.as_deref(), ran.is_whole),
                (failure, failure.is_none()),
                "{script}"
            );
        }
        let late = run("exec sleep 1000", Duration::from_millis(20), &[]);
        assert_eq!(
            (late.failure.as_deref(), late.is_whole),
            (Some("took longer than 20ms"), false)
        );
    }

    #[test]
    fn a_program_that_cannot_be_run_has_printed_nothing() {
        let (_stopper, stop) = Stop::new().unwrap();
        let program = Program { program: Path::new("/no/such"), arguments: &[], timeout: TIMEOUT };
        let ran = program.run(&crate::rank::no_variables(), &stop);
        assert_eq!(
            ran.failure.as_deref(),
            Some("cannot be run: No such file or directory (os error 2)")
        );
        assert_eq!((ran.is_whole, ran.printed), (false, [vec![], vec![]]));
    }

    #[test]
    fn an_end_that_is_no_success_is_told_in_words() {
        let told = |status| failure(ExitStatus::from_raw(status));
        assert_eq!(told(0), None);
        assert_eq!(told(3 << 8).as_deref(), Some("exited with code 3"));
        assert_eq!(told(15).as_deref(), Some("was ended by signal 15"));
        assert!(told(0x137f).is_some_and(|told| told.starts_with("ended: ")), "{:?}", told(0x137f));
    }

    #[test]
    fn a_program_is_shown_as_it_would_be_typed() {
        let arguments = ["-c".to_owned(), "a b".to_owned()];
        let (program, timeout) = (Path::new("./sh"), Duration::ZERO);
        assert_eq!(
            Program { program, arguments: &arguments, timeout }.to_string(),
            "`./sh -c a b`"
        );
        assert_eq!(Program { program, arguments: &[], timeout }.to_string(), "`./sh`");
    }

    /// Nothing more comes from it: a wait for it would end at once, again and again.
    #[test]
    fn an_output_is_read_until_it_is_closed_and_then_left_alone() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut pipe = Pipe::new(Some(reader.into())).unwrap();
        pipe.read();
        assert!(pipe.open.is_some() && pipe.printed.is_empty(), "it has yet to say something");
        writer.write_all(b"so").unwrap();
        pipe.read();
        assert!(pipe.open.is_some());
        drop(writer);
        // A process that another test just forks has a copy, until it becomes its program.
        let begun = Instant::now();
        while pipe.open.is_some() && begun.elapsed() < Duration::from_secs(20) {
            pipe.read();
        }
        assert!(pipe.open.is_none());
        pipe.read();
        assert_eq!(pipe.printed, b"so");
    }
}
