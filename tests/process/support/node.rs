//! One `electd` process, from its start to its certain end.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::Read;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use electd::admin::control;
use electd::node::status::Status;
use rustix::process::{Pid, Signal, kill_process};

use super::eventually;
use super::http::{self, Answer};
use super::network::inside;

/// How long a coroner may take to end that is asked for what it has.
const BURIAL: Duration = Duration::from_millis(500);

/// The state of a process, as far as the test itself decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    Runs,
    Frozen,
    Down,
}

/// A node process; killed when this is dropped.
pub struct Node {
    pub name: String,
    /// Where other members dial it.
    pub address: SocketAddr,
    /// Its HTTP address.
    pub admin: SocketAddr,
    /// The network namespace that it lives in, where that is not the test's own.
    pub home: Option<String>,
    /// Whether its HTTP address speaks TLS.
    pub serves_https: bool,
    /// The program that it runs, where that is not the build under test.
    pub build: RefCell<Option<PathBuf>>,
    /// The most descriptors that it may have, where that is not the usual number.
    pub descriptors: Cell<Option<usize>>,
    config: PathBuf,
    log: PathBuf,
    child: RefCell<Option<Child>>,
    condition: Cell<Condition>,
}

impl Node {
    /// A node that has not been started yet. Its log is appended to this file.
    pub fn new(
        name: &str,
        (address, admin): (SocketAddr, SocketAddr),
        config: &Path,
        log: &Path,
    ) -> Node {
        Node {
            name: name.to_owned(),
            address,
            admin,
            home: None,
            serves_https: false,
            build: RefCell::new(None),
            descriptors: Cell::new(None),
            config: config.to_path_buf(),
            log: log.to_path_buf(),
            child: RefCell::new(None),
            condition: Cell::new(Condition::Down),
        }
    }

    /// Starts the process; it need not stay.
    pub fn start(&self) {
        self.start_with(&[]);
    }

    /// Starts the process with more arguments.
    pub fn start_with(&self, more: &[&str]) {
        self.spawn(more, &[]);
    }

    /// Starts the process with more variables in its environment.
    pub fn start_in(&self, environment: &[(&str, &str)]) {
        self.spawn(&[], environment);
    }

    /// Starts the process with more arguments and more variables.
    pub fn start_as(&self, more: &[&str], environment: &[(&str, &str)]) {
        self.spawn(more, environment);
    }

    /// The number of its process.
    pub fn pid(&self) -> Pid {
        Pid::from_child(self.child.borrow().as_ref().unwrap())
    }

    fn spawn(&self, more: &[&str], environment: &[(&str, &str)]) {
        assert_eq!(self.condition.get(), Condition::Down, "{} runs already", self.name);
        let log = File::options().create(true).append(true).open(&self.log).unwrap();
        let mut command = self.program();
        command
            .args(["run", "--node", &self.name, "--config"])
            .arg(&self.config)
            .args(more)
            .env_remove("RUST_LOG")
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        let child = self.at_home(|| command.spawn());
        self.child.replace(Some(child.unwrap()));
        self.condition.set(Condition::Runs);
    }

    /// The command line of its process, with at most this many descriptors.
    fn program(&self) -> Command {
        let build = self.build.borrow().clone();
        let electd = build.unwrap_or_else(|| env!("CARGO_BIN_EXE_electd").into());
        let Some(most) = self.descriptors.get() else { return Command::new(electd) };
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {most} && exec \"$0\" \"$@\"")]).arg(electd);
        shell
    }

    /// SIGKILL: the process is gone when this returns.
    pub fn kill_9(&self) {
        self.condition.set(Condition::Down);
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Waits for the end of the process, which a signal of the test ends.
    pub fn reap(&self) {
        self.condition.set(Condition::Down);
        self.child.take().unwrap().wait().unwrap();
    }

    /// Ends the coroner of the process that was killed, as the next process of this member does: the port is free then.
    /// One whose node lives, as another process uses this state, does not answer.
    pub fn bury(&self) {
        if let Ok(mut coroner) = control::dial(&self.state().join("coroner.sock"), Duration::ZERO) {
            coroner.set_read_timeout(Some(BURIAL)).unwrap();
            let _ = coroner.read_to_end(&mut Vec::new());
        }
    }

    /// SIGTERM. The process ends in its own time: [`Node::exit_code`].
    pub fn stop_term(&self) {
        self.signal(Signal::TERM);
        self.condition.set(Condition::Down);
    }

    /// SIGQUIT. The process ends in its own time.
    pub fn quit(&self) {
        self.signal(Signal::QUIT);
        self.condition.set(Condition::Down);
    }

    /// SIGHUP.
    pub fn hang_up(&self) {
        self.signal(Signal::HUP);
    }

    /// SIGUSR1.
    pub fn leave_recording(&self) {
        self.signal(Signal::USR1);
    }

    /// SIGSTOP.
    pub fn freeze(&self) {
        self.signal(Signal::STOP);
        self.condition.set(Condition::Frozen);
    }

    /// SIGCONT.
    pub fn thaw(&self) {
        self.signal(Signal::CONT);
        self.condition.set(Condition::Runs);
    }

    /// SIGKILL, and a new start with the same data.
    pub fn restart(&self) {
        self.kill_9();
        self.start();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(self.child.borrow().as_ref().unwrap()), signal).unwrap();
    }

    /// Waits for the process to end by itself, and returns its exit code.
    #[track_caller]
    pub fn exit_code(&self) -> i32 {
        let status = eventually(&format!("the process of {} ends", self.name), || {
            let mut child = self.child.borrow_mut();
            let ended = child.as_mut().unwrap().try_wait().unwrap();
            ended.ok_or_else(|| self.log_tail(20))
        });
        self.child.take();
        self.condition.set(Condition::Down);
        status.code().unwrap_or_else(|| panic!("{} was ended by a signal: {status}", self.name))
    }

    /// The exit code of its process, if that has ended by itself.
    pub fn ended(&self) -> Option<i32> {
        let ended = self.child.borrow_mut().as_mut()?.try_wait().unwrap();
        ended.map(|_| self.exit_code())
    }

    pub fn runs(&self) -> bool {
        self.condition.get() == Condition::Runs
    }

    pub fn condition(&self) -> Condition {
        self.condition.get()
    }

    /// GET; an error in words if there is no answer. Uses the control socket of a node that serves
    /// HTTPS.
    pub fn get(&self, path: &str) -> Result<Answer, String> {
        if self.serves_https { self.tell("GET", path, "") } else { self.ask("GET", path, "") }
    }

    /// The metrics, without the labels `cluster` and `node`, which all of them have.
    pub fn metrics(&self) -> Result<String, String> {
        let body = self.get("/metrics")?.body;
        let (Some(start), Some(end)) = (body.find("{cluster=\""), body.find(&self.node_label()))
        else {
            return Err(format!("no labels in\n{body}"));
        };
        let labels = &body[start + 1..end + self.node_label().len()];
        Ok(body.replace(&format!("{{{labels}}}"), "").replace(&format!("{labels},"), ""))
    }

    fn node_label(&self) -> String {
        format!("node=\"{}\"", self.name)
    }

    /// POST through the control socket; an error in words if there is no answer.
    pub fn post(&self, path: &str, body: &str) -> Result<Answer, String> {
        self.tell("POST", path, body)
    }

    /// DELETE through the control socket; an error in words if there is no answer.
    pub fn delete(&self, path: &str) -> Result<Answer, String> {
        self.tell("DELETE", path, "")
    }

    fn tell(&self, method: &str, path: &str, body: &str) -> Result<Answer, String> {
        http::tell(&self.state(), method, path, body)
            .map_err(|error| format!("{} does not answer {method} {path}: {error}", self.name))
    }

    /// The folder with its file.
    pub fn folder(&self) -> &Path {
        self.config.parent().unwrap()
    }

    /// The folder with its state.
    pub fn state(&self) -> PathBuf {
        self.config.with_file_name("data").join(&self.name)
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Result<Answer, String> {
        let admin = self.admin;
        self.at_home(|| http::ask(admin, method, path, body))
            .map_err(|error| format!("{} does not answer {method} {path}: {error}", self.name))
    }

    /// Does something where this node lives.
    pub fn at_home<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.home {
            Some(home) => inside(home, work),
            None => work(),
        }
    }

    /// GET /status.
    pub fn status(&self) -> Result<Status, String> {
        let answer = self.get("/status")?;
        serde_json::from_str(&answer.body).map_err(|error| format!("{error}: {answer:?}"))
    }

    /// All that it has logged, over all its lives.
    pub fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it has logged a line with all of these words, and returns the line. A line may come later than what
    /// it tells of.
    #[track_caller]
    pub fn until_logged(&self, words: &[&str]) -> String {
        eventually(&format!("{} logs {words:?}", self.name), || {
            let log = self.log();
            let line = log.lines().find(|line| words.iter().all(|word| line.contains(word)));
            line.map(str::to_owned).ok_or_else(|| self.log_tail(20))
        })
    }

    /// The end of its log.
    pub fn log_tail(&self, lines: usize) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().rev().take(lines).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    /// Its threads: their numbers and names.
    fn tasks(&self) -> impl Iterator<Item = (u32, String)> {
        let pid = self.child.borrow().as_ref().unwrap().id();
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
        tasks.filter_map(|task| {
            let number = task.file_name().to_str()?.parse().ok()?;
            let name = fs::read_to_string(task.path().join("comm")).ok()?; // it may have ended
            Some((number, name.trim().to_owned()))
        })
    }

    /// The names of its threads that begin so, sorted.
    pub fn threads(&self, prefix: &str) -> Vec<String> {
        let names = self.tasks().map(|(_, name)| name);
        let mut found: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
        found.sort();
        found
    }

    /// The number of its thread with this name.
    pub fn thread(&self, name: &str) -> u32 {
        let found = self.tasks().find(|(_, found)| found == name);
        found.unwrap_or_else(|| panic!("{} has no thread {name}", self.name)).0
    }

    /// A figure of /proc/PID/status, such as Threads, or VmRSS in kB.
    #[track_caller]
    pub fn figure(&self, key: &str) -> u64 {
        let pid = self.child.borrow().as_ref().unwrap().id();
        let figures = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = figures.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok())
            .unwrap_or_else(|| panic!("no {key} in {figures}"))
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.kill_9();
        self.bury();
    }
}
