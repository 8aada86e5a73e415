//! The number that a program prints.

use std::path::Path;
use std::time::Duration;

use super::program::Program;
use super::stop::Stop;
use super::{Sample, SampleResult, Variables};
use crate::core::types::Rank;

/// The longest piece of its output that is reported, in characters.
const SHOWN: usize = 200;

/// Runs a program and reads the number on the first line that it prints.
pub fn sample(
    program: &Path,
    arguments: &[String],
    timeout: Duration,
    variables: &Variables,
    stop: &Stop,
) -> SampleResult {
    let program = Program { program, arguments, timeout };
    let ran = program.run(variables, stop);
    let [out, error] = &ran.printed;
    let read = match &ran.failure {
        None => number(out),
        Some(how) => match first_line(error) {
            line if ran.is_whole && !line.is_empty() => Err(format!("{how}: {}", quote(&line))),
            _ => Err(how.clone()),
        },
    };
    let value = read.map_err(|why| format!("{program} {why}"))?;
    Ok(Sample { value, from: format!("{value}, printed by {program}") })
}

/// The program as it would be typed.
pub fn shown(program: &Path, arguments: &[String]) -> String {
    Program { program, arguments, timeout: Duration::ZERO }.to_string()
}

fn number(printed: &[u8]) -> Result<i64, String> {
    let line = first_line(printed);
    let number = line.parse().ok().filter(|number| Rank::VALUES.contains(number));
    number.ok_or_else(|| match line.as_str() {
        "" => "printed no number on its first line".to_owned(),
        line => format!(
            "printed \"{}\", which is no whole number from {} to {}",
            quote(line),
            Rank::VALUES.start(),
            Rank::VALUES.end()
        ),
    })
}

fn first_line(printed: &[u8]) -> String {
    let line = printed.split(|byte| *byte == b'\n').next().unwrap_or_default();
    String::from_utf8_lossy(line).trim().to_owned()
}

/// A piece of what a stranger printed, safe to show in a terminal and on one line.
fn quote(line: &str) -> String {
    let shown: String = line.chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if line.chars().nth(SHOWN).is_some() { shown + "..." } else { shown }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Instant;

    use rustix::process::{Pid, test_kill_process};

    use super::*;
    use crate::rank::no_variables;

    /// Far longer than any program here takes; only a failing test waits for it.
    const TIMEOUT: Duration = Duration::from_secs(20);

    fn run(program: &str, arguments: &[&str], timeout: Duration, stop: &Stop) -> SampleResult {
        let arguments: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        sample(Path::new(program), &arguments, timeout, &no_variables(), stop)
    }

    fn shell(script: &str, timeout: Duration) -> SampleResult {
        let (_stopper, stop) = Stop::new().unwrap();
        run("sh", &["-c", script], timeout, &stop)
    }

    #[track_caller]
    fn fails(script: &str, expected: &str) {
        let error = shell(script, TIMEOUT).unwrap_err();
        assert_eq!(error, format!("`sh -c {script}` {expected}"));
    }

    #[test]
    fn the_first_line_is_the_number() {
        for (script, value) in [
            ("echo 42", 42),
            ("echo ' -7 '; echo and more", -7),
            ("printf 9223372036854775806", i64::MAX - 1),
            ("echo warning >&2; echo 1; exit 0", 1),
            ("cat; echo 2", 2), // its stdin is empty, whatever electd's is
        ] {
            assert_eq!(shell(script, TIMEOUT).unwrap().value, value, "{script}");
        }
        assert_eq!(shell("echo 1", TIMEOUT).unwrap().from, "1, printed by `sh -c echo 1`");
    }

    #[test]
    fn no_shell_reads_the_arguments() {
        let (_stopper, stop) = Stop::new().unwrap();
        let error = run("echo", &["$((1+1))"], TIMEOUT, &stop).unwrap_err();
        assert!(error.contains("printed \"$((1+1))\""), "{error}");
    }

    #[test]
    fn every_failure_is_told_in_words() {
        fails("exit 3", "exited with code 3");
        fails("echo 1; echo no disk >&2; echo so >&2; exit 3", "exited with code 3: no disk");
        fails("echo 1; printf '\\n so\\n' >&2; exit 3", "exited with code 3");
        fails("printf '\\033[1m' >&2; exit 3", "exited with code 3: \\u{1b}[1m");
        fails("kill -TERM $$", "was ended by signal 15");
        fails("true", "printed no number on its first line");
        fails("echo; echo 5", "printed no number on its first line");
        for (printed, shown) in [
            ("1.5", "1.5"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775807", "9223372036854775807"), // stands for a member that an operator chose
            ("\\033[31m", "\\u{1b}[31m"),
        ] {
            let range = "from -9223372036854775807 to 9223372036854775806";
            let expected = format!("printed \"{shown}\", which is no whole number {range}");
            fails(&format!("printf -- '{printed}'"), &expected);
        }
        fails("yes", "printed more than 65536 bytes");
        fails("echo so far >&2; yes", "printed more than 65536 bytes");
        let limit = Duration::from_millis(200);
        let late = shell("echo so far >&2; exec sleep 1000", limit).unwrap_err();
        assert!(late.ends_with("took longer than 200ms"), "what it said is not whole: {late}");
        let (_stopper, stop) = Stop::new().unwrap();
        let error = run("/no/such/program", &[], TIMEOUT, &stop).unwrap_err();
        assert!(error.starts_with("`/no/such/program` cannot be run: No such file"), "{error}");
    }

    #[test]
    fn what_is_quoted_is_cut() {
        let whole = "x".repeat(200);
        assert_eq!(quote(&whole), whole);
        assert_eq!(quote(&format!("{whole}y")), format!("{whole}..."));
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
        let deadline = Instant::now() + TIMEOUT;
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

    /// Nearly twice its time is too much, and more than half of it is not.
    #[test]
    fn a_program_gets_its_time_and_no_more() {
        let limit = Duration::from_secs(2);
        let error = shell("sleep 3.7; echo 5", limit).unwrap_err();
        assert!(error.ends_with("took longer than 2s"), "{error}");
        assert_eq!(shell("sleep 2.5; echo 5", limit * 2).unwrap().value, 5);
    }

    #[test]
    fn what_a_program_leaves_running_neither_holds_it_up_nor_stays() {
        let (folder, script) = family("echo 5");
        assert_eq!(shell(&script, TIMEOUT).unwrap().value, 5);
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
        let error = run("sh", &["-c", &script], TIMEOUT, &stop).unwrap_err();
        waiter.join().unwrap();
        assert!(error.ends_with("was ended, as this node stops"), "{error}");
        is_gone(&folder);
    }
}
