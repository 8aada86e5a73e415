//! The thread "health", which runs a member's health check, and counts how often in a row it failed or passed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::aside::Aside;
use super::program::{Program, Ran};
use super::running::ProbeThread;
use super::stop::{Stop, Woken};
use super::{CHECKING, Variables, no_pipe};
use crate::limits::shown;

/// The longest piece of the last line that is reported, in characters.
const SHOWN: usize = 200;

/// A member's health check: a program that exits with 0 where the member is fit to lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthCheck {
    /// A path, or a name that is looked for in PATH.
    pub program: PathBuf,
    /// Its arguments; no shell reads them.
    pub arguments: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// The time from the begin of one run to that of the next.
    pub every: Duration,
    /// So many failures in a row make a healthy member unhealthy.
    pub fall: u32,
    /// So many passes in a row make an unhealthy member healthy.
    pub rise: u32,
}

/// One run of the check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The last line that it printed, cut, and without control characters; empty where it printed nothing.
    pub output: String,
    /// How it failed, in words, with its last line; none if it passed.
    pub failure: Option<String>,
}

/// The meaning of a run's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthVerdict {
    /// Whether the member is healthy.
    pub healthy: bool,
    /// Whether that was otherwise, or not known, before this run.
    pub is_new: bool,
}

impl HealthCheck {
    /// Runs it once, now. This takes as long as its timeout at most.
    ///
    /// # Errors Says in words why it cannot be run at all, for lack of files.
    pub fn run(&self, variables: &Variables) -> Result<Finding, String> {
        let (_stopper, stop) = Stop::new().map_err(|error| no_pipe(&error))?;
        Ok(self.run_until(variables, &Arc::new(stop), &mut Aside::new(CHECKING)))
    }

    /// Runs it until `stop` says that it is to end. A check that hangs in the system has failed.
    fn run_until(
        &self,
        variables: &Variables,
        stop: &Arc<Stop>,
        aside: &mut Aside<Finding>,
    ) -> Finding {
        let (check, variables, stop) = (self.clone(), variables.clone(), stop.clone());
        let found = aside.run(self.timeout, move || check.find(&variables, &stop));
        found.unwrap_or_else(|none| {
            let HealthCheck { program, arguments, timeout, .. } = self;
            let program = Program { program, arguments, timeout: *timeout };
            Finding { output: String::new(), failure: Some(format!("{program} {none}")) }
        })
    }

    fn find(&self, variables: &Variables, stop: &Stop) -> Finding {
        let HealthCheck { program, arguments, timeout, .. } = self;
        let program = Program { program, arguments, timeout: *timeout };
        let ran = program.run(variables, stop);
        let output = said(&ran);
        let failure = ran.failure.map(|how| match output.as_str() {
            "" => format!("{program} {how}"),
            line => format!("{program} {how}: {line}"),
        });
        Finding { output, failure }
    }
}

/// The last line of a program: where it complains, if it failed and did so.
fn said(ran: &Ran) -> String {
    let [out, error] = &ran.printed;
    let lines = if ran.failure.is_some() { [error, out] } else { [out, error] };
    lines
        .into_iter()
        .map(|printed| last_line(printed))
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}

fn last_line(printed: &[u8]) -> String {
    let mut lines = printed.rsplit(|byte| *byte == b'\n');
    let last = lines.find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    shown(String::from_utf8_lossy(last).trim(), SHOWN)
}

/// Counts failures and passes.
struct Judge {
    fall: u32,
    rise: u32,
    /// None before the first run.
    healthy: Option<bool>,
    /// How many runs in a row spoke against that.
    against: u32,
}

impl Judge {
    /// One that has seen nothing yet.
    fn of(check: &HealthCheck) -> Judge {
        Judge { fall: check.fall, rise: check.rise, healthy: None, against: 0 }
    }

    /// The first run alone decides; after it, only several equal results in a row do.
    fn take(&mut self, passed: bool) -> HealthVerdict {
        let Some(healthy) = self.healthy else {
            self.healthy = Some(passed);
            return HealthVerdict { healthy: passed, is_new: true };
        };
        self.against = if passed == healthy { 0 } else { self.against + 1 };
        let needed = if healthy { self.fall } else { self.rise };
        let is_new = self.against >= needed;
        if is_new {
            self.healthy = Some(passed);
            self.against = 0;
        }
        HealthVerdict { healthy: healthy != is_new, is_new }
    }
}

/// The handle of the thread.
#[derive(Debug)]
pub struct HealthChecker(ProbeThread);

impl HealthChecker {
    /// Runs the check from now on. The finding of each run goes to `deliver`, which tells whether anybody still wants
    /// that.
    ///
    /// # Errors
    /// When the system has no thread or no file left.
    pub fn start(
        check: HealthCheck,
        variables: Variables,
        deliver: impl Fn(HealthVerdict, Finding) -> bool + Send + 'static,
    ) -> io::Result<HealthChecker> {
        let running = ProbeThread::start("health", move |stop| {
            go_on(&check, Judge::of(&check), &variables, &Arc::new(stop), deliver);
        })?;
        Ok(HealthChecker(running))
    }

    /// Ends the thread, and a check that runs.
    pub fn stop(self) {
        self.0.stop();
    }
}

fn go_on(
    check: &HealthCheck,
    mut judge: Judge,
    variables: &Variables,
    stop: &Arc<Stop>,
    deliver: impl Fn(HealthVerdict, Finding) -> bool,
) {
    let mut aside = Aside::new(CHECKING);
    let waits_until = |due| matches!(stop.wait(&[], due), Ok(Woken::Late));
    loop {
        let next = Instant::now() + check.every;
        let finding = check.run_until(variables, stop, &mut aside);
        if !waits_until(Instant::now()) {
            return; // stopped meanwhile, which may have spoilt it
        }
        let verdict = judge.take(finding.failure.is_none());
        if !deliver(verdict, finding) || !waits_until(next) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use crossbeam::channel;

    use super::*;
    use crate::rank::no_variables;
    use crate::rank::running::GRACE;

    /// Far longer than any program here takes; only a failing test waits for it.
    const TIMEOUT: Duration = Duration::from_secs(20);

    fn check(script: &str) -> HealthCheck {
        HealthCheck {
            program: "sh".into(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            timeout: TIMEOUT,
            every: Duration::from_millis(1),
            fall: 3,
            rise: 2,
        }
    }

    fn run(check: &HealthCheck) -> Finding {
        check.run(&no_variables()).unwrap()
    }

    #[track_caller]
    fn fails(script: &str, output: &str, how: &str) {
        let Finding { output: said, failure } = run(&check(script));
        assert_eq!(said, output);
        assert_eq!(failure, Some(format!("`sh -c {script}` {how}")));
    }

    /// The verdict after each of these runs, `.` for a pass and `x` for a failure.
    fn healthy_after(runs: &str) -> String {
        let mut judge = Judge::of(&check("")); // 3 failures, or 2 passes
        let word = |verdict: HealthVerdict| match (verdict.healthy, verdict.is_new) {
            (true, true) => 'H',
            (true, false) => 'h',
            (false, true) => 'U',
            (false, false) => 'u',
        };
        runs.chars().map(|run| word(judge.take(run == '.'))).collect()
    }

    #[test]
    fn the_first_run_decides_and_after_it_only_several_in_a_row() {
        assert_eq!(healthy_after(".xx.xxx"), "HhhhhhU");
        assert_eq!(healthy_after("x.x..xx"), "UuuuHhh");
        assert_eq!(healthy_after("xxxx.."), "UuuuuH");
        assert_eq!(healthy_after(".xxx"), "HhhU");
        assert_eq!(healthy_after("x.."), "UuH");
    }

    #[test]
    fn exit_0_passes_and_the_last_line_is_told() {
        let passed = |output: &str| Finding { output: output.to_owned(), failure: None };
        assert_eq!(run(&check("true")), passed(""));
        assert_eq!(run(&check("echo one; echo two; echo; echo warning >&2")), passed("two"));
        assert_eq!(run(&check("echo warning >&2")), passed("warning"));
    }

    #[test]
    fn every_failure_is_told_in_words() {
        fails("exit 3", "", "exited with code 3");
        fails("echo 7; echo no disk >&2; exit 3", "no disk", "exited with code 3: no disk");
        fails("echo 7; exit 3", "7", "exited with code 3: 7");
        fails("kill -KILL $$", "", "was ended by signal 9");
        fails("yes", "y", "printed more than 65536 bytes: y");
        fails("echo one; echo two; echo ' ' >&2; exit 1", "two", "exited with code 1: two");
        assert_eq!(run(&check("head -c 65536 /dev/zero")).failure, None, "so much it may print");
        let missing = HealthCheck { program: "/no/such/check".into(), ..check("") };
        let missing = run(&missing).failure.unwrap();
        assert!(
            missing.starts_with("`/no/such/check -c ` cannot be run: No such file"),
            "{missing}"
        );
        let late = HealthCheck { timeout: Duration::from_millis(50), ..check("exec sleep 1000") };
        assert_eq!(run(&late).failure.unwrap(), "`sh -c exec sleep 1000` took longer than 50ms");
    }

    #[test]
    fn the_last_line_is_cut_and_has_no_control_characters() {
        let output = run(&check("printf '\\033[31mred\\a\\n'")).output;
        assert!(output.contains("red") && !output.contains(char::is_control), "{output}");
        let output = run(&check("head -c 5000 /dev/zero | tr '\\0' x")).output;
        assert_eq!(output, format!("{}...", "x".repeat(200)));
        let whole = run(&check("head -c 200 /dev/zero | tr '\\0' x")).output;
        assert_eq!(whole, "x".repeat(200));
    }

    #[test]
    fn it_is_run_no_more_often_than_it_is_to_be() {
        let (sender, findings) = channel::bounded(0);
        let deliver = move |verdict, _| sender.send(verdict).is_ok();
        let (every, begun) = (Duration::from_millis(50), Instant::now());
        let checker =
            HealthChecker::start(HealthCheck { every, ..check("") }, no_variables(), deliver)
                .unwrap();
        (0..3).for_each(|_| assert!(findings.recv_timeout(TIMEOUT).is_ok()));
        assert!(begun.elapsed() >= every * 2, "{:?}", begun.elapsed());
        drop(findings);
        checker.stop();
    }

    #[test]
    fn it_is_run_no_more_once_nobody_wants_that() {
        let (sender, findings) = channel::bounded(1);
        let deliver = move |verdict, finding: Finding| {
            assert_eq!(std::thread::current().name(), Some("health"));
            sender.send((verdict, finding.failure)).unwrap();
            false
        };
        let checker = HealthChecker::start(check("true"), no_variables(), deliver).unwrap();
        let verdict = HealthVerdict { healthy: true, is_new: true };
        assert_eq!(findings.recv_timeout(TIMEOUT), Ok((verdict, None)));
        assert_eq!(findings.recv_timeout(TIMEOUT), Err(channel::RecvTimeoutError::Disconnected));
        checker.stop();
    }

    #[test]
    fn it_is_run_again_and_again_and_a_stop_does_not_wait_for_it() {
        let (sender, findings) = channel::bounded(0);
        let deliver = move |verdict, _| sender.send(verdict).is_ok();
        let checker = HealthChecker::start(check("exit 1"), no_variables(), deliver).unwrap();
        for is_new in [true, false, false] {
            let expected = HealthVerdict { healthy: false, is_new };
            assert_eq!(findings.recv_timeout(TIMEOUT), Ok(expected));
        }
        drop(findings);
        checker.stop();

        let hangs = HealthCheck { timeout: TIMEOUT * 100, ..check("exec sleep 1000") };
        let (sender, findings) = channel::bounded(1);
        let deliver = move |verdict, _| sender.send(verdict).is_ok();
        let checker = HealthChecker::start(hangs, no_variables(), deliver).unwrap();
        let begun = Instant::now();
        checker.stop();
        assert!(begun.elapsed() < GRACE, "{:?}", begun.elapsed());
        let spoilt = findings.recv_timeout(TIMEOUT);
        assert_eq!(spoilt, Err(channel::RecvTimeoutError::Disconnected), "the stop has spoilt it");

        // Nothing of it is left when the stop returns.
        let (sender, findings) = channel::bounded::<HealthVerdict>(0);
        let rare = HealthCheck { every: TIMEOUT * 100, ..check("true") };
        let deliver =
            move |verdict, _| sender.try_send(verdict).is_err_and(|error| error.is_full());
        let checker = HealthChecker::start(rare, no_variables(), deliver).unwrap();
        checker.stop();
        assert_eq!(findings.try_recv(), Err(channel::TryRecvError::Disconnected));
    }
}
