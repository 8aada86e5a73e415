//! The number that a program prints: run without a shell, in a process group of its own, for a
//! limited time. However that ends, the group is ended and the program is reaped; only a KILL of
//! electd itself leaves a program that runs just then to its own devices.

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
use super::{HELPER, Outcome, Sample};

/// A program may print so much on each of its two outputs; nobody reads more.
const MOST: usize = 64 * 1024;
/// The longest piece of what it printed that is told, in characters.
const TOLD: usize = 200;

/// Runs a program and reads the number on the first line that it prints.
pub fn sample(program: &Path, arguments: &[String], timeout: Duration, stop: &Stop) -> Outcome {
    let name = [program.display().to_string()].into_iter().chain(arguments.iter().cloned());
    let name = format!("`{}`", name.collect::<Vec<_>>().join(" "));
    let mut command = Command::new(program);
    command.args(arguments).process_group(0).env(HELPER.0, HELPER.1);
    let told = |why: String| format!("{name} {why}");
    let printed = run(&mut command, timeout, stop).map_err(told)?;
    let value = number(&printed).map_err(told)?;
    Ok(Sample { value, from: format!("{value}, printed by {name}") })
}

/// What a program that ended well printed; otherwise, in words, how it ended.
fn run(command: &mut Command, timeout: Duration, stop: &Stop) -> Result<Vec<u8>, String> {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|error| format!("cannot be run: {error}"))?;
    let group = Pid::from_child(&child);
    let watched = watch(&mut child, Instant::now() + timeout, stop);
    // Before the program is reaped, since its number may be another's afterwards. The group is
    // ended also after a program that went well: what it left running is in nobody's care.
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait();
    let [out, error] = match watched {
        Ok((Woken::Ready(_), printed)) => printed,
        Ok((Woken::Stopped, _)) => return Err("was ended, as this node stops".to_owned()),
        Ok((Woken::Late, _)) => return Err(format!("took longer than {timeout:?}")),
        Err(error) => return Err(format!("cannot be watched: {error}")),
    };
    if out.len().max(error.len()) > MOST {
        return Err(format!("printed more than {MOST} bytes"));
    }
    match status {
        Ok(status) if status.success() => Ok(out),
        Ok(status) => Err(failure(status, &error)),
        Err(error) => Err(format!("cannot be waited for: {error}")),
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

    /// Reads what is there, and no more than a byte too much.
    fn read(&mut self) {
        let Some(pipe) = &mut self.open else { return };
        let have = self.printed.len();
        self.printed.resize(MOST + 1, 0);
        let outcome = pipe.read(&mut self.printed[have..]);
        self.printed.truncate(have + outcome.as_ref().copied().unwrap_or(0));
        let waits = |kind| matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted);
        if !outcome.map_or_else(|error| waits(error.kind()), |count| count > 0) {
            self.open = None;
        }
    }
}

/// How a program failed, and the first that it said about it.
fn failure(status: ExitStatus, error: &[u8]) -> String {
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => format!("ended: {status}"),
    };
    match first_line(error) {
        line if line.is_empty() => how,
        line => format!("{how}: {}", quote(&line)),
    }
}

fn number(printed: &[u8]) -> Result<i64, String> {
    let line = first_line(printed);
    let number = line.parse().ok().filter(|number| *number != i64::MIN);
    number.ok_or_else(|| match line.as_str() {
        "" => "printed no number on its first line".to_owned(),
        line => format!("printed \"{}\", which is no whole number of 64 bits", quote(line)),
    })
}

fn first_line(printed: &[u8]) -> String {
    let line = printed.split(|byte| *byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line).trim().to_owned()
}

/// A piece of what a stranger printed, safe to show in a terminal and on one line.
fn quote(line: &str) -> String {
    let shown: String = line.chars().take(TOLD).flat_map(char::escape_debug).collect();
    if line.chars().nth(TOLD).is_some() { shown + "..." } else { shown }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::process::test_kill_process;

    use super::*;

    /// Far longer than any program here takes; only a failing test waits for it.
    const PATIENCE: Duration = Duration::from_secs(20);

    fn shell(script: &str, timeout: Duration) -> Outcome {
        let (_stopper, stop) = Stop::new().unwrap();
        let arguments = ["-c".to_owned(), script.to_owned()];
        sample(Path::new("sh"), &arguments, timeout, &stop)
    }

    #[track_caller]
    fn fails(script: &str, expected: &str) {
        let error = shell(script, PATIENCE).unwrap_err();
        assert_eq!(error, format!("`sh -c {script}` {expected}"));
    }

    #[test]
    fn the_first_line_is_the_number() {
        for (script, value) in [
            ("echo 42", 42),
            ("echo ' -7 '; echo and more", -7),
            ("printf 9223372036854775807", i64::MAX),
            ("echo warning >&2; echo 1; exit 0", 1),
        ] {
            assert_eq!(shell(script, PATIENCE).unwrap().value, value, "{script}");
        }
        assert_eq!(shell("echo 1", PATIENCE).unwrap().from, "1, printed by `sh -c echo 1`");
    }

    #[test]
    fn no_shell_reads_the_arguments() {
        let (_stopper, stop) = Stop::new().unwrap();
        let error =
            sample(Path::new("echo"), &["$((1+1))".to_owned()], PATIENCE, &stop).unwrap_err();
        assert!(error.contains("printed \"$((1+1))\""), "{error}");
    }

    #[test]
    fn every_failure_is_told_in_words() {
        fails("exit 3", "exited with code 3");
        fails("echo 1; echo no disk >&2; exit 3", "exited with code 3: no disk");
        fails("kill -TERM $$", "was ended by signal 15");
        fails("true", "printed no number on its first line");
        fails("echo; echo 5", "printed no number on its first line");
        fails("echo 1.5", "printed \"1.5\", which is no whole number of 64 bits");
        fails(
            "echo -9223372036854775808",
            "printed \"-9223372036854775808\", which is no whole number of 64 bits",
        );
        fails("printf '\\033[31m'", "printed \"\\u{1b}[31m\", which is no whole number of 64 bits");
        fails("yes", "printed more than 65536 bytes");
        let (_stopper, stop) = Stop::new().unwrap();
        let error = sample(Path::new("/no/such/program"), &[], PATIENCE, &stop).unwrap_err();
        assert!(error.starts_with("`/no/such/program` cannot be run: No such file"), "{error}");
    }

    /// Whether a process is there, be it as a zombie.
    fn is_there(pid: &str) -> bool {
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        test_kill_process(pid).is_ok()
    }

    /// A script that notes its own number and that of a child of its own, and the folder of both.
    fn family(then: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().display();
        let script = format!("sleep 1000 & echo $! >{path}/child; echo $$ >{path}/own; {then}");
        (folder, script)
    }

    #[track_caller]
    fn is_gone(folder: &tempfile::TempDir) {
        let pid = |name| fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(!is_there(&pid("own")), "the program was reaped");
        // The child's end is with init, which may take its time to reap it.
        let stat = || fs::read_to_string(format!("/proc/{}/stat", pid("child").trim()));
        let deadline = Instant::now() + PATIENCE;
        while stat().is_ok_and(|stat| !stat.contains(") Z ")) {
            assert!(Instant::now() < deadline, "its child lives on");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_program_that_is_late_is_ended_with_all_that_it_started() {
        let (folder, script) = family("wait");
        // Long enough for a shell to note two numbers, on a busy machine too.
        let limit = Duration::from_secs(2);
        let error = shell(&script, limit).unwrap_err();
        assert!(error.ends_with("took longer than 2s"), "{error}");
        is_gone(&folder);
    }

    #[test]
    fn what_a_program_leaves_running_neither_holds_it_up_nor_stays() {
        let (folder, script) = family("echo 5");
        assert_eq!(shell(&script, PATIENCE).unwrap().value, 5);
        is_gone(&folder);
    }

    #[test]
    fn a_stop_ends_a_program() {
        let (folder, script) = family("wait");
        let (stopper, stop) = Stop::new().unwrap();
        let own = folder.path().join("own");
        let waiter = std::thread::spawn(move || {
            while fs::read_to_string(&own).map_or(true, |pid| !pid.ends_with('\n')) {
                std::thread::yield_now();
            }
            drop(stopper);
        });
        let arguments = ["-c".to_owned(), script];
        let error = sample(Path::new("sh"), &arguments, PATIENCE, &stop).unwrap_err();
        waiter.join().unwrap();
        assert!(error.ends_with("was ended, as this node stops"), "{error}");
        is_gone(&folder);
    }
}
