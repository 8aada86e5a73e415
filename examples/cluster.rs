//! Starts all nodes of a config on this machine and shows who leads, until Ctrl-C. This is what
//! `make run-cluster` runs. Given an algorithm too, it runs a copy of the config with that one,
//! whose state is apart.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, bounded};
use electd::admin::client::Client;
use electd::cli::print::table;
use electd::config::{self, Config, MemberConfig};
use electd::core::settings::AlgorithmKind;
use electd::node::status::Status;
use serde_json::Value;

/// How often the table is drawn.
const REFRESH: Duration = Duration::from_millis(200);

/// How long a node may take to stop before it is killed.
const GRACE: Duration = Duration::from_secs(3);

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let mut arguments = std::env::args_os().skip(1);
    let mut path = arguments.next().map_or_else(|| "conf/cluster.json".into(), PathBuf::from);
    let mut config = config::load(&path).map_err(|errors| errors.to_string())?;
    if let Some(algorithm) = arguments.next() {
        path = derive(&config, &path, &algorithm.to_string_lossy())?;
        config = config::load(&path).map_err(|errors| errors.to_string())?;
    }
    let ended = endings()?;
    let mut cluster = Cluster::start(&config, &path)?;
    let mut screen = Screen::new();
    while ended.recv_timeout(REFRESH).is_err() {
        screen.show(&cluster.picture()).map_err(|error| error.to_string())?;
    }
    println!("\nending all nodes ...");
    cluster.stop();
    Ok(())
}

/// Writes the config with another algorithm, and a data folder of its own, into that folder.
fn derive(config: &Config, path: &Path, algorithm: &str) -> Result<PathBuf, String> {
    if !AlgorithmKind::ALL.iter().any(|kind| kind.name() == algorithm) {
        let names = AlgorithmKind::ALL.map(AlgorithmKind::name).join(", ");
        return Err(format!("there is no algorithm \"{algorithm}\"; there are {names}"));
    }
    let failed = |what: &str, error: &dyn std::fmt::Display| format!("cannot {what}: {error}");
    let absolute = |path: &Path| {
        std::path::absolute(path).map_err(|error| failed("find the folder of the config", &error))
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed("read the config", &error))?;
    let mut document: Value =
        serde_json::from_str(&text).map_err(|error| failed("read the config", &error))?;
    make_absolute(&mut document, absolute(path)?.parent().unwrap_or(Path::new("/")));
    let folder = absolute(&config.data_dir)?.join(algorithm);
    document["algorithm"] = algorithm.into();
    document["data_dir"] = folder.display().to_string().into();
    let copy = folder.join("cluster.json");
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&copy, format!("{document:#}\n")))
        .map_err(|error| failed(&format!("write {}", copy.display()), &error))?;
    Ok(from_here(copy))
}

/// The shortest way to type a path in this folder.
fn from_here(path: PathBuf) -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(&here).map(Path::to_path_buf).unwrap_or(path)
}

/// Paths that are relative to the file would start elsewhere in a copy of it.
fn make_absolute(value: &mut Value, folder: &Path) {
    let join = |path: &mut Value| {
        if let Some(text) = path.as_str() {
            *path = folder.join(text).display().to_string().into();
        }
    };
    match value {
        Value::Object(entries) => entries.iter_mut().for_each(|(key, value)| match key.as_str() {
            "path" | "admin_token_file" => join(value),
            "command" => value
                .get_mut(0)
                .filter(|program| program.as_str().is_some_and(|name| name.contains('/')))
                .into_iter()
                .for_each(join),
            _ => make_absolute(value, folder),
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| make_absolute(item, folder)),
        _ => {}
    }
}

/// Reports that Ctrl-C was pressed or TERM came.
fn endings() -> Result<Receiver<()>, String> {
    let (end, ended) = bounded(1);
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGTERM])
        .map_err(|error| error.to_string())?;
    let interrupted = signals.handle();
    ctrlc::set_handler(move || interrupted.close()).map_err(|error| error.to_string())?;
    std::thread::spawn(move || {
        let _ = signals.forever().next();
        let _ = end.send(());
    });
    Ok(ended)
}

/// The status of every node; all are asked at the same time.
fn statuses(client: &Client, admins: &[&str]) -> Vec<Option<Status>> {
    thread::scope(|scope| {
        let ask = |admin| scope.spawn(move || client.status(admin).ok());
        let asked: Vec<_> = admins.iter().map(|admin| ask(*admin)).collect();
        asked.into_iter().map(|asked| asked.join().ok().flatten()).collect()
    })
}

/// The nodes of one config, each a process. Dropping this ends them.
struct Cluster<'a> {
    config: &'a Config,
    path: &'a Path,
    electd: PathBuf,
    nodes: Vec<(&'a MemberConfig, Child)>,
    client: Client,
}

impl<'a> Cluster<'a> {
    fn start(config: &'a Config, path: &'a Path) -> Result<Cluster<'a>, String> {
        let electd = executable()?;
        std::fs::create_dir_all(&config.data_dir)
            .map_err(|error| format!("cannot create {}: {error}", config.data_dir.display()))?;
        let client = Client::new(None);
        let mut cluster = Cluster { config, path, electd, nodes: Vec::new(), client };
        for member in &config.members {
            let child = cluster
                .start_node(member)
                .map_err(|error| format!("cannot start {}: {error}", member.name))?;
            cluster.nodes.push((member, child));
        }
        Ok(cluster)
    }

    fn start_node(&self, member: &MemberConfig) -> io::Result<Child> {
        Command::new(&self.electd)
            .args(["run", "--node", &member.name, "--config"])
            .arg(self.path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(log(&self.config.data_dir, member))?)
            .spawn()
    }

    /// The leader, its epoch, and commands to try.
    fn picture(&mut self) -> String {
        let admins = self.config.members.iter().map(|member| member.admin.as_deref());
        let admins = admins.map(|admin| admin.unwrap_or_default()).collect::<Vec<_>>();
        let statuses = statuses(&self.client, &admins);
        let data = &self.config.data_dir;
        let rows = self.nodes.iter_mut().zip(&statuses).map(|((member, child), status)| {
            let mut row = row(member, status.as_ref());
            row[PROCESS] = match child.try_wait() {
                Ok(None) => child.id().to_string(),
                Ok(Some(end)) => {
                    if end.code().is_some_and(|code| code != 0) {
                        row[WHY] = last_words(&log(data, member)); // the node ended by itself
                    }
                    end.to_string()
                }
                Err(error) => error.to_string(),
            };
            row
        });
        let mut picture = table(&["NODE", "PROCESS", "STATE", "LEADER", "EPOCH", "WHY"], rows);
        let advice = self.advice(statuses.iter().flatten());
        let _ = write!(picture, "\n{advice}");
        picture
    }

    fn advice<'s>(&mut self, mut statuses: impl Iterator<Item = &'s Status>) -> String {
        let leader = statuses.find_map(|status| status.leader.clone());
        // A node that was started elsewhere has a process number that we do not know.
        let process = leader.and_then(|leader| {
            let mut nodes = self.nodes.iter_mut();
            let (_, child) = nodes.find(|(member, _)| member.name == leader.name)?;
            matches!(child.try_wait(), Ok(None)).then(|| child.id())
        });
        let (electd, config) = (self.electd.display(), self.path.display());
        let kill = process.map_or_else(String::new, |id| format!("  kill -9 {id}\n"));
        format!(
            "Try in another terminal:\n{kill}  {electd} watch --config {config}\n  \
             {electd} resign --config {config}\nand start a killed node again:\n  \
             make run-node NODE=NAME CONFIG={config}\n\
             Logs and state are in {}. Ctrl-C ends all.\n",
            self.config.data_dir.display()
        )
    }

    /// Asks all nodes to end, all at the same time, and waits for them.
    fn stop(&mut self) {
        for (_, child) in &mut self.nodes {
            if matches!(child.try_wait(), Ok(None)) {
                let id = rustix::process::Pid::from_child(child);
                let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
            }
        }
        let deadline = Instant::now() + GRACE;
        for (_, child) in &mut self.nodes {
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = child.kill();
            let _ = child.wait();
        }
        self.nodes.clear();
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The places of two columns.
const PROCESS: usize = 1;
const WHY: usize = 5;

fn row(member: &MemberConfig, status: Option<&Status>) -> Vec<String> {
    let text = |of: fn(&Status) -> String| status.map_or_else(|| "-".to_owned(), of);
    vec![
        member.name.clone(),
        String::new(),
        text(|status| match &status.halting {
            Some(halting) => format!("{}, {}", status.state, halting.status),
            None => status.state.clone(),
        }),
        text(|status| status.leader.as_ref().map_or("none".into(), |leader| leader.name.clone())),
        text(|status| status.epoch.to_string()),
        text(|status| status.changes.last().map_or(String::new(), |change| change.reason.clone())),
    ]
}

fn log(data: &Path, member: &MemberConfig) -> PathBuf {
    data.join(format!("{}.log", member.name))
}

/// Why a node ended: the last line of its log.
fn last_words(log: &Path) -> String {
    let log = std::fs::read_to_string(log).unwrap_or_default();
    log.lines().last().unwrap_or("see its log").to_owned()
}

/// The program `electd`, which was built beside this one.
fn executable() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let electd = own.ancestors().nth(2).unwrap_or(Path::new(".")).join("electd");
    if electd.exists() {
        Ok(from_here(electd))
    } else {
        Err(format!("{} is missing: run make build first", electd.display()))
    }
}

/// Draws in place on a terminal; elsewhere it prints what changed.
struct Screen {
    terminal: bool,
    last: String,
}

impl Screen {
    fn new() -> Screen {
        Screen { terminal: io::stdout().is_terminal(), last: String::new() }
    }

    fn show(&mut self, picture: &str) -> io::Result<()> {
        if picture == self.last {
            return Ok(());
        }
        let mut out = io::stdout().lock();
        if self.terminal && !self.last.is_empty() {
            write!(out, "\x1b[{}A\x1b[J", self.last.lines().count())?; // up, and clear below
        }
        write!(out, "{picture}")?;
        picture.clone_into(&mut self.last);
        out.flush()
    }
}
