//! One run of a hook: the event on its stdin and in its environment, its output to the log line by line, and the
//! end of all that it started.

use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use log::info;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::hooks::news::HookNews;
use crate::config::HooksConfig;
use crate::rank::children;

/// How many lines of one run are logged, and how many bytes of a line.
const LINES: u64 = 100;
const LINE: usize = 1000;
/// How many bytes are read in one go, and once more when the program has ended.
const PART: usize = 64 * 1024;
/// The pause between two parts of a program that prints more than is logged.
const PAUSE: Duration = Duration::from_millis(1);
/// Between two looks whether the node is stopping.
pub const LOOK: Duration = Duration::from_millis(100);

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub enum HookEnd {
    /// With exit code 0.
    Well,
    /// It failed otherwise; why, in words.
    Badly(String),
    /// It was killed after this time.
    Late(Duration),
    /// It was killed after this time, and hangs in the system.
    Hangs(Duration),
    /// It could not be run.
    NotRun(String),
}

impl HookEnd {
    /// Its name in the metrics.
    pub fn name(&self) -> &'static str {
        match self {
            HookEnd::Well => "ok",
            HookEnd::Badly(_) => "failed",
            HookEnd::Late(_) | HookEnd::Hangs(_) => "timeout",
            HookEnd::NotRun(_) => "not_run",
        }
    }
}

/// Runs the program for this. `end` tells when it has to have ended, if the node is stopping.
pub fn run(
    config: &HooksConfig,
    news: &HookNews,
    cluster: &str,
    end: &dyn Fn() -> Option<Instant>,
) -> HookEnd {
    let begin = Instant::now();
    let late = || {
        let due = begin + config.timeout;
        Instant::now() >= end().map_or(due, |end| end.min(due))
    };
    let (mut child, mut output) = loop {
        match start(config, news, cluster) {
            Ok(started) => break started,
            // The event would be lost for a lack that may be over now.
            Err(error) if children::is_passing(&error) && !late() => thread::sleep(LOOK),
            Err(error) => return HookEnd::NotRun(error.to_string()),
        }
    };
    let group = Pid::from_child(&child);
    let watched = watch(&child, &mut output, &late);
    // Before the program is reaped, since its number may be another's afterwards.
    let _ = kill_process_group(group, Signal::KILL);
    let status = children::wait(&mut child);
    output.finish();
    match (watched, status) {
        (Ok(true), Ok(status)) => ended(status),
        (Ok(false), _) => HookEnd::Late(begin.elapsed().min(config.timeout)),
        (Err(error), _) | (_, Err(error)) => HookEnd::Badly(format!("cannot be watched: {error}")),
    }
}

fn start(config: &HooksConfig, news: &HookNews, cluster: &str) -> io::Result<(Child, HookOutput)> {
    let (out, input) = io::pipe()?;
    let mut command = Command::new(&config.program);
    command
        .args(&config.arguments)
        .envs(news.environment())
        .env("ELECTD_CLUSTER", cluster)
        .envs([children::mark()])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(input.try_clone()?)
        .stderr(input);
    let mut child = children::start(&mut command)?;
    if let Some(stdin) = child.stdin.take() {
        let stdin = File::from(OwnedFd::from(stdin));
        let _ = ioctl_fionbio(&stdin, true); // it is far shorter than what a pipe takes
        let _ = (&stdin).write_all(format!("{}\n", news.json()).as_bytes()); // it may not read
    }
    ioctl_fionbio(&out, true)?;
    Ok((child, HookOutput { pipe: Some(out), line: Vec::new(), lines: 0 }))
}

/// Logs what the program prints until it has ended; false if it is late.
fn watch(child: &Child, output: &mut HookOutput, late: &dyn Fn() -> bool) -> io::Result<bool> {
    let ended = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let look = Timespec { tv_sec: 0, tv_nsec: LOOK.subsec_nanos().into() };
    loop {
        let mut fds = vec![PollFd::new(&ended, PollFlags::IN)];
        fds.extend(output.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        match poll(&mut fds, Some(&look)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [has_ended, has_printed] =
            [0, 1].map(|at| fds.get(at).is_some_and(|fd: &PollFd<'_>| !fd.revents().is_empty()));
        if has_printed {
            output.read();
        }
        if has_ended {
            return Ok(true);
        }
        if late() {
            return Ok(false);
        }
    }
}

fn ended(status: ExitStatus) -> HookEnd {
    match (status.code(), status.signal()) {
        (Some(0), _) => HookEnd::Well,
        (Some(code), _) => HookEnd::Badly(format!("exited with code {code}")),
        (None, signal) => HookEnd::Badly(format!("was ended by signal {}", signal.unwrap_or(0))),
    }
}

/// The output of a program, on its way to the log.
struct HookOutput {
    pipe: Option<PipeReader>,
    /// The begin of a line.
    line: Vec<u8>,
    /// How many lines there were.
    lines: u64,
}

impl HookOutput {
    /// Reads what is there, up to a limit.
    fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut part = vec![0; PART];
        match pipe.read(&mut part) {
            Ok(0) => self.pipe = None,
            Ok(count) => part[..count].iter().for_each(|byte| self.take(*byte)),
            Err(error) if is_soon(error.kind()) => {}
            Err(_) => self.pipe = None,
        }
        if self.lines > LINES {
            thread::sleep(PAUSE);
        }
    }

    fn take(&mut self, byte: u8) {
        if byte == b'\n' || self.line.len() == LINE {
            self.log();
        }
        if byte != b'\n' {
            self.line.push(byte);
        }
    }

    fn log(&mut self) {
        self.lines += 1;
        let line = std::mem::take(&mut self.line);
        if self.lines <= LINES {
            let line: String =
                String::from_utf8_lossy(&line).chars().flat_map(char::escape_debug).collect();
            // Numbers may be all that a program prints: only the same line again is counted.
            info!(event = "hook", same = line; "hook: {line}");
        }
    }

    /// Logs the rest, and how much was left out.
    fn finish(&mut self) {
        self.read();
        if !self.line.is_empty() {
            self.log();
        }
        if let Some(more) = self.lines.checked_sub(LINES).filter(|more| *more > 0) {
            info!(event = "hook"; "hook: {more} more lines were left out");
        }
    }
}

fn is_soon(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
pub(super) mod tests {
    use rustix::process::kill_process;

    use super::*;
    use crate::node::events::tests::event;
    use crate::node::events::{Event, EventKind};
    use crate::node::logged::{logged, whole};
    use crate::testing::within::within;

    #[test]
    fn a_run_that_went_badly_is_told_with_its_code_or_its_signal() {
        let told = |status| ended(ExitStatus::from_raw(status));
        assert_eq!(told(0), HookEnd::Well);
        assert_eq!(told(3 << 8), HookEnd::Badly("exited with code 3".to_owned()));
        assert_eq!(told(9), HookEnd::Badly("was ended by signal 9".to_owned()));
        for (ended, name) in [
            (HookEnd::Well, "ok"),
            (HookEnd::Badly(String::new()), "failed"),
            (HookEnd::Late(LONG), "timeout"),
            (HookEnd::Hangs(LONG), "timeout"),
            (HookEnd::NotRun(String::new()), "not_run"),
        ] {
            assert_eq!(ended.name(), name, "in the metrics");
        }
    }

    /// Far longer than any program here takes.
    const LONG: Duration = Duration::from_secs(1000);

    pub fn hook(script: &str) -> HooksConfig {
        let arguments = vec!["-c".to_owned(), script.to_owned()];
        HooksConfig { program: "sh".into(), arguments, timeout: LONG }
    }

    fn news(event: Event) -> HookNews {
        HookNews::OfNode(event.into())
    }

    /// How this script ended, and what was logged of it.
    fn ran(script: &str) -> (HookEnd, Vec<String>) {
        let mut ended = None;
        let lines = logged(|| ended = Some(ran_silently(script)));
        (ended.unwrap(), lines)
    }

    fn ran_silently(script: &str) -> HookEnd {
        run(&hook(script), &news(event("so")), "hc", &|| None)
    }

    #[test]
    fn a_hook_learns_the_event_from_its_environment_and_its_stdin() {
        let told = Event {
            event: EventKind::MemberDown,
            leader: Some("b".to_owned()),
            member: Some("c".to_owned()),
            ..event("so")
        };
        let script = "echo $ELECTD_EVENT $ELECTD_CLUSTER $ELECTD_NODE $ELECTD_LEADER $ELECTD_EPOCH $ELECTD_MEMBER \
                      $ELECTD_HELPER; exec cat";
        let mut ended = None;
        let lines =
            logged(|| ended = Some(run(&hook(script), &news(told.clone()), "hc", &|| None)));
        let json = serde_json::json!(told).to_string().escape_debug().to_string();
        assert_eq!(ended, Some(HookEnd::Well));
        assert_eq!(
            lines,
            [
                format!("hook: member_down hc a b 7 c {}", children::mark().1),
                format!("hook: {json}")
            ]
            .map(info)
        );
        let (ended, lines) = ran("echo \"<$ELECTD_LEADER><$ELECTD_MEMBER>\"; read event; exit 3");
        assert_eq!(ended, HookEnd::Badly("exited with code 3".to_owned()));
        assert_eq!(lines, [info("hook: <><>".to_owned())], "there is no leader, and no member");
    }

    fn info(line: String) -> String {
        format!("INFO hook: {line}")
    }

    #[test]
    fn what_a_hook_prints_is_logged_line_by_line_up_to_a_limit() {
        let told = whole(|| _ = ran_silently("echo one; echo two; seq 99"));
        let fields = |at: usize| told[at][1].as_str();
        assert_eq!([fields(0), fields(1)], ["event=hook same=one", "event=hook same=two"]);
        assert_eq!((told.len(), fields(100)), (101, "event=hook"), "the rest is no line of it");
        let (ended, lines) = ran("echo one; echo two >&2; printf 'a\\tb\\nlast'");
        assert_eq!(ended, HookEnd::Well);
        assert_eq!(
            lines,
            ["hook: one", "hook: two", "hook: a\\tb", "hook: last"]
                .map(|line| info(line.to_owned()))
        );
        let (_, all) = ran("seq 100");
        assert_eq!((all.len(), all.last()), (100, Some(&info("hook: 100".to_owned()))));
        let (_, cut) = ran("seq 103");
        assert_eq!((cut.len(), &cut[99]), (101, &info("hook: 100".to_owned())));
        assert_eq!(cut[100], info("hook: 3 more lines were left out".to_owned()));
        let (_, long) = ran("head -c 1500 /dev/zero | tr '\\0' x");
        assert_eq!(long, [1000, 500].map(|count| info(format!("hook: {}", "x".repeat(count)))));
        let (_, exact) = ran("printf '%01000d\\nnext\\n\\n' 0");
        let lines = ["0".repeat(1000), "next".to_owned(), String::new()];
        assert_eq!(exact, lines.map(|line| info(format!("hook: {line}"))));
    }

    #[test]
    fn a_hook_that_cannot_be_run_or_takes_too_long_is_told_so() {
        let missing = HooksConfig { program: "/there/is/none".into(), ..hook("") };
        let why = "No such file or directory (os error 2)";
        assert_eq!(
            run(&missing, &news(event("")), "hc", &|| None),
            HookEnd::NotRun(why.to_owned())
        );
        let limit = Duration::from_millis(50);
        let late = HooksConfig { timeout: limit, ..hook("sleep 1000") };
        assert_eq!(run(&late, &news(event("")), "hc", &|| None), HookEnd::Late(limit));
        let begun = Instant::now();
        let later = || Some(begun + Duration::from_secs(20));
        assert_eq!(
            run(&late, &news(event("")), "hc", &later),
            HookEnd::Late(limit),
            "which comes first"
        );
        let stops = Instant::now();
        let ended = run(&hook("sleep 1000"), &news(event("")), "hc", &|| Some(stops));
        assert!(
            matches!(ended, HookEnd::Late(after) if after < LONG),
            "the node is stopping: {ended:?}"
        );
    }

    /// A pipe takes 64 KiB: one that prints more would wait for its reader.
    #[test]
    fn a_hook_that_prints_much_is_read_to_its_end() {
        let much = HooksConfig {
            timeout: Duration::from_secs(20),
            ..hook("head -c 300000 /dev/zero | tr '\\0' '\\n'")
        };
        let mut ended = None;
        let lines = logged(|| ended = Some(run(&much, &news(event("")), "hc", &|| None)));
        assert_eq!(ended, Some(HookEnd::Well));
        assert_eq!(lines.len(), 101);
        assert_eq!(lines[100], info("hook: 299900 more lines were left out".to_owned()));
    }

    /// Whoever leaves the process group of a hook keeps its output open.
    #[test]
    fn what_a_hook_has_started_elsewhere_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join("left");
        let shown = left.display();
        let script = format!(
            "setsid sh -c 'echo $$ >{shown}; exec sleep 60' & until [ -s {shown} ]; do sleep 0.01; done"
        );
        let begun = Instant::now();
        let ended = ran(&script).0;
        let pid = std::fs::read_to_string(&left).unwrap().trim().parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        assert_eq!(ended, HookEnd::Well);
        assert!(begun.elapsed() < Duration::from_secs(50), "it was waited for");
    }

    #[test]
    fn what_a_hook_leaves_behind_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join("left");
        let script = format!("sleep 1000 & echo $! >{}", left.display());
        assert_eq!(ran(&script).0, HookEnd::Well);
        let pid = std::fs::read_to_string(left).unwrap();
        let stat = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        within(Duration::from_secs(20), "it has ended", || {
            stat().map_or(true, |stat| stat.contains(") Z "))
        });
    }
}
