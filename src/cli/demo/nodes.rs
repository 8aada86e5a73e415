//! The processes of a demo: one for each node.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::Sender;
use rustix::process::{Pid, Signal, getpid, kill_process};

use super::news::{self, DemoNews};
use crate::cli::error::CliError;
use crate::cli::exit::Exit;
use crate::rank::children;

/// How long a node may take to end in order before it is killed.
const GRACE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(5);
/// The end of a log that is read.
const TAIL: u64 = 4096;

/// The state of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It runs.
    Runs,
    /// It was stopped by a signal, and can be continued.
    Frozen,
    /// It was told to end, and will be started again; at this time it is killed.
    Restarts(Instant),
    /// It has ended in this way.
    Ended(String),
}

/// How the nodes are started.
pub struct Recipe {
    /// Their configuration.
    pub file: PathBuf,
    /// The folder of their logs.
    pub logs: PathBuf,
    /// The command to run while they lead; empty if there is none.
    pub job: Vec<OsString>,
    /// Where the lines of the job are told.
    pub news: Sender<DemoNews>,
}

/// A node. Dropping it kills the process.
pub struct DemoNode {
    name: String,
    child: Child,
    condition: Condition,
}

impl DemoNode {
    /// Starts the node of this name.
    pub fn start(name: &str, recipe: &Recipe) -> Result<DemoNode, CliError> {
        let failed = |error: io::Error| {
            CliError::new(Exit::Internal, format_args!("cannot start {name}: {error}"))
        };
        let log = OpenOptions::new().create(true).append(true).open(log(name, recipe));
        let mut command = children::this_program().map_err(failed)?;
        command.args(["run", "--parent", &getpid().as_raw_nonzero().to_string(), "--node", name]);
        command.arg("--config").arg(&recipe.file).stdin(Stdio::null()).stdout(Stdio::null());
        // In a group of its own: the signals of the terminal are for the demo.
        command.stderr(log.map_err(failed)?).process_group(0);
        if !recipe.job.is_empty() {
            command.arg("--").args(&recipe.job).stdout(Stdio::piped());
        }
        let mut child = command.spawn().map_err(failed)?;
        if let Some(stdout) = child.stdout.take() {
            news::read_job(name, stdout, recipe.news.clone())?;
        }
        Ok(DemoNode { name: name.to_owned(), child, condition: Condition::Runs })
    }

    /// The state of its process.
    pub fn condition(&self) -> &Condition {
        &self.condition
    }

    /// Kills it; what there is to say comes when it has ended.
    pub fn kill(&mut self) -> Option<String> {
        let _ = self.child.kill(); // it may have ended
        matches!(self.condition, Condition::Ended(_)).then(|| self.why_down())
    }

    /// Freezes it, or thaws it. Returns what it did.
    pub fn freeze_or_thaw(&mut self) -> Option<String> {
        let name = &self.name;
        let (next, signal, words) = match self.condition {
            Condition::Runs => (Condition::Frozen, Signal::STOP, "frozen; f thaws it"),
            Condition::Frozen => (Condition::Runs, Signal::CONT, "thawed"),
            Condition::Restarts(_) => return None,
            Condition::Ended(_) => return Some(self.why_down()),
        };
        let words = format!("{name} is {words}");
        self.condition = next;
        self.signal(signal);
        Some(words)
    }

    fn why_down(&self) -> String {
        format!("{} does not run: r starts it", self.name)
    }

    /// Has it end in order, to be started again; one that has ended is started immediately.
    pub fn restart(&mut self, recipe: &Recipe) -> Result<Option<String>, CliError> {
        if matches!(self.condition, Condition::Ended(_)) {
            return self.start_again(recipe).map(Some);
        }
        self.condition = Condition::Restarts(self.end_in_order());
        Ok(Some(format!("{} is told to end (TERM), and starts again then", self.name)))
    }

    fn start_again(&mut self, recipe: &Recipe) -> Result<String, CliError> {
        *self = DemoNode::start(&self.name, recipe)?;
        Ok(format!("{} starts again", self.name))
    }

    /// Looks whether it has ended. Returns what there is to say then.
    pub fn look(&mut self, recipe: &Recipe) -> Result<Option<String>, CliError> {
        if matches!(self.condition, Condition::Ended(_)) {
            return Ok(None);
        }
        let ended = self.child.try_wait().ok().flatten();
        match (ended, &self.condition) {
            (Some(_), Condition::Restarts(_)) => self.start_again(recipe).map(Some),
            (Some(status), _) => {
                let words = how(status, &log(&self.name, recipe));
                self.condition = Condition::Ended(words.clone());
                Ok(Some(format!("{} {words}", self.name)))
            }
            (None, Condition::Restarts(due)) if *due <= Instant::now() => {
                self.kill();
                Ok(None)
            }
            (None, _) => Ok(None),
        }
    }

    /// Tells it to end, and returns when it has taken too long.
    fn end_in_order(&mut self) -> Instant {
        self.signal(Signal::TERM);
        self.signal(Signal::CONT); // it may be frozen
        Instant::now() + GRACE
    }

    fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    fn signal(&mut self, signal: Signal) {
        // Once it was waited for, its number may be another's.
        if self.runs() {
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }
}

impl Drop for DemoNode {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Ends all nodes in order, at the same time, and kills those that take too long.
pub fn end(mut nodes: Vec<DemoNode>) {
    let deadline = nodes.iter_mut().map(DemoNode::end_in_order).max();
    while nodes.iter_mut().any(DemoNode::runs) && deadline.is_some_and(|it| Instant::now() < it) {
        thread::sleep(PAUSE);
    }
}

fn log(name: &str, recipe: &Recipe) -> PathBuf {
    recipe.logs.join(format!("{name}.log"))
}

/// How a node ended, and its last words if it ended by itself.
fn how(status: ExitStatus, log: &Path) -> String {
    match (status.code(), status.signal()) {
        (_, Some(9)) => "was killed; r starts it again".to_owned(),
        (Some(0), _) => "has ended; r starts it again".to_owned(),
        (Some(code), _) => format!("has ended with {code}: {}", last_line(log)),
        _ => format!("has ended: {status}"),
    }
}

fn last_line(log: &Path) -> String {
    let read = || {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).lines().last().unwrap_or_default().to_owned())
    };
    read().unwrap_or_else(|error: io::Error| format!("its log cannot be read: {error}"))
}

/// Makes the folder of the logs.
pub fn make_folder(folder: &Path) -> Result<(), CliError> {
    fs::create_dir_all(folder).map_err(|error| {
        let what = format_args!("cannot create {}: {error}", folder.display()).to_string();
        CliError::new(Exit::DataDir, what)
    })
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A node whose process is this script.
    pub fn stand_in(name: &str, script: &str) -> DemoNode {
        let mut command = std::process::Command::new("sh");
        let child = command.args(["-c", script]).process_group(0).spawn().unwrap();
        DemoNode { name: name.to_owned(), child, condition: Condition::Runs }
    }

    /// How nodes are started anew, with their logs in this folder. Here they end at once, as the program is that of
    /// the tests.
    pub fn recipe(folder: &Path) -> Recipe {
        let (file, logs) = (folder.join("cluster.json"), folder.to_owned());
        Recipe { file, logs, job: Vec::new(), news: crossbeam::channel::bounded(1).0 }
    }

    /// What there is to say as soon as there is something.
    pub fn until_said(mut look: impl FnMut() -> Option<String>) -> String {
        let begun = Instant::now();
        loop {
            if let Some(said) = look() {
                return said;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "nothing is said");
            thread::sleep(PAUSE);
        }
    }

    #[test]
    fn each_key_does_what_the_state_of_the_process_allows() {
        let folder = tempfile::tempdir().unwrap();
        let (mut node, recipe) = (stand_in("a", "exec sleep 999"), recipe(folder.path()));
        assert_eq!(node.freeze_or_thaw().as_deref(), Some("a is frozen; f thaws it"));
        assert_eq!(*node.condition(), Condition::Frozen);
        assert_eq!(node.freeze_or_thaw().as_deref(), Some("a is thawed"));
        assert_eq!(*node.condition(), Condition::Runs);
        assert_eq!(node.look(&recipe), Ok(None));
        assert_eq!(node.kill(), None, "it is told when it has ended");
        let said = until_said(|| node.look(&recipe).unwrap());
        assert_eq!(said, "a was killed; r starts it again");
        assert_eq!(*node.condition(), Condition::Ended("was killed; r starts it again".to_owned()));
        assert_eq!(node.look(&recipe), Ok(None), "that is told once");
        let down = Some("a does not run: r starts it".to_owned());
        assert_eq!((node.kill(), node.freeze_or_thaw()), (down.clone(), down));
        assert_eq!(node.restart(&recipe), Ok(Some("a starts again".to_owned())));
        assert_eq!(*node.condition(), Condition::Runs);
        assert!(folder.path().join("a.log").exists());
    }

    /// Here the program is that of the tests, which takes no such options.
    #[test]
    fn what_a_node_says_is_added_to_its_log_and_where_it_has_none_it_does_not_start() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.log");
        fs::write(&log, "an earlier start\n").unwrap();
        let mut node = DemoNode::start("a", &recipe(folder.path())).unwrap();
        let said = until_said(|| node.look(&recipe(folder.path())).unwrap());
        let text = fs::read_to_string(&log).unwrap();
        let last = text.strip_prefix("an earlier start\n").and_then(|new| new.lines().last());
        let last = last.expect("it says why it ends");
        assert!(said.starts_with("a has ended with ") && said.ends_with(last), "{said}: {text}");
        let nowhere = recipe(&folder.path().join("none"));
        let error = DemoNode::start("a", &nowhere).err().expect("it has no log");
        let words = "cannot start a: No such file or directory (os error 2)";
        assert_eq!((error.exit, error.message.as_str()), (Exit::Internal, words));
    }

    #[test]
    fn a_node_that_is_dropped_has_ended() {
        let node = stand_in("a", "trap '' TERM; exec sleep 999");
        let process = Pid::from_child(&node.child);
        drop(node);
        assert!(rustix::process::test_kill_process(process).is_err(), "it is not even a zombie");
    }

    #[test]
    fn the_folder_of_the_logs_is_made_with_those_above_it() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        assert_eq!((make_folder(&deep), make_folder(&deep)), (Ok(()), Ok(())));
        fs::write(deep.join("file"), "").unwrap();
        let error = make_folder(&deep.join("file/c")).unwrap_err();
        let words = format!(
            "cannot create {}: Not a directory (os error 20)",
            deep.join("file/c").display()
        );
        assert_eq!((error.exit, error.message), (Exit::DataDir, words));
    }

    #[test]
    fn a_node_that_restarts_is_told_to_end_and_is_killed_if_it_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let recipe = recipe(folder.path());
        let mut node = stand_in("a", "exec sleep 999");
        let told = "a is told to end (TERM), and starts again then".to_owned();
        let (before, grace) = (Instant::now(), Duration::from_secs(5));
        assert_eq!(node.restart(&recipe), Ok(Some(told)));
        let Condition::Restarts(due) = *node.condition() else { panic!("{:?}", node.condition()) };
        assert!(due >= before + grace && due <= Instant::now() + grace, "then it is killed");
        assert_eq!(node.freeze_or_thaw(), None);
        assert_eq!(until_said(|| node.look(&recipe).unwrap()), "a starts again");
        let [go, lives] = ["go", "lives"].map(|name| folder.path().join(name));
        let script = format!(
            "trap '' TERM; until [ -e {} ]; do sleep 0.01; done; touch {}; exec sleep 999",
            go.display(),
            lives.display()
        );
        let mut stubborn = stand_in("b", &script);
        stubborn.condition = Condition::Restarts(Instant::now() + grace * 1000);
        assert_eq!(stubborn.look(&recipe), Ok(None));
        fs::write(&go, "").unwrap();
        until_said(|| lives.exists().then(String::new)); // it is not killed before its time
        stubborn.condition = Condition::Restarts(Instant::now());
        assert_eq!(until_said(|| stubborn.look(&recipe).unwrap()), "b starts again");
    }

    #[test]
    fn nodes_end_in_order_and_a_frozen_one_too_however_long_their_jobs_take() {
        let folder = tempfile::tempdir().unwrap();
        let mut nodes = Vec::new();
        for name in ["a", "b"] {
            let path = folder.path().join(name).display().to_string();
            let script = format!(
                "trap 'sleep 0.2; touch {path}.ended; exit' TERM; touch {path}.ready; while :; do sleep 0.01; done"
            );
            nodes.push(stand_in(name, &script));
            let is_ready = || Path::new(&format!("{path}.ready")).exists().then(String::new);
            until_said(is_ready);
        }
        nodes[1].freeze_or_thaw();
        let begun = Instant::now();
        end(nodes);
        assert!(begun.elapsed() < GRACE, "it waits for none that has ended");
        for name in ["a.ended", "b.ended"] {
            assert!(folder.path().join(name).exists(), "{name}");
        }
    }

    #[test]
    fn how_a_node_ended_is_told_with_its_last_words_if_that_was_its_own_will() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.log");
        fs::write(&log, format!("{}\nthe port is in use\n", "ä".repeat(5000))).unwrap();
        for (status, words) in [
            (0, "has ended; r starts it again"),
            (9, "was killed; r starts it again"),
            (71 << 8, "has ended with 71: the port is in use"),
            (6, "has ended: signal: 6 (SIGABRT)"),
        ] {
            assert_eq!(how(ExitStatus::from_raw(status), &log), words);
        }
        for (text, last) in [(String::new(), String::new()), ("x".repeat(5000), "x".repeat(4096))] {
            fs::write(&log, text).unwrap();
            let words = format!("has ended with 71: {last}");
            assert_eq!(how(ExitStatus::from_raw(71 << 8), &log), words);
        }
        let unread = "has ended with 71: its log cannot be read: Is a directory (os error 21)";
        assert_eq!(how(ExitStatus::from_raw(71 << 8), folder.path()), unread);
    }
}
