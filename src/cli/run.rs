//! `electd run`: a node in the foreground.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use log::{error, info, warn};
use rustix::fs::OFlags;
use rustix::process::{Pid, Resource, getrlimit};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1};
use signal_hook::iterator::{Signals, SignalsInfo};

use super::args::ConfigArgs;
use super::error::{CliError, SIGNALS};
use super::exit::Exit;
use super::first;
use super::job::{self, JobArgs, JobThread};
use super::keeper::RecordingKeeper;
use super::log::{Journal, LogArgs};
use super::print::counted;
use super::reload::Reloader;
use super::supervisor::Supervised;
use super::token;
use crate::admin::control::{self, ControlSocket};
use crate::admin::{self, ControlServer, Server, Token, group};
use crate::config::{Config, node_name};
use crate::core::types::Task;
use crate::exec::attach::Attached;
use crate::exec::hooks::Hooks;
use crate::exec::{orphans, parent, signals};
use crate::limits::MORE_FILES;
use crate::net;
use crate::node::{Attended, Node, Start, StartError};
use crate::store::{Store, StoreError, StoreTrouble};

/// Run a node, and a command or an address while it leads.
///
/// It stays in the foreground. It logs to stderr, one line for each change; repeated lines are counted, and the count is
/// logged once a minute. Under systemd the lines have priorities. RUST_LOG=debug logs more, and all repetitions. HUP makes
/// it read its file again, as `electd reload` does. USR1 makes it write a recording to the folder `flight` of its state, as a
/// panic does (`electd replay`). TERM, INT and QUIT make it hand over if it leads, and end with 0; HUP, INT and QUIT
/// stay ignored if they were when it started. A member that is removed from the cluster ends with 77.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd run --config cluster.json --node node-1
  ELECTD_CONFIG=cluster.json ELECTD_NODE=node-1 electd run
  electd run --config cluster.json --node node-1 --task work.json
  electd run --config cluster.json --node node-1 -- my-service --port 80
  electd run --config cluster.json --node node-1 --address 10.0.0.9/24%eth0")]
pub struct RunArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// A document of any kind, at most 64 KiB, that this node hands to all members when it leads. For the algorithm
    /// "halting" only; without it, the last one that this node was handed.
    #[arg(long, value_name = "FILE")]
    task: Option<PathBuf>,

    /// With "majority", at the first start of a cluster: vote although this member has not met all other voters. Give
    /// it to more than half of them, and never to one that lost its state. It is refused if the state says that the
    /// cluster has begun.
    #[arg(long)]
    bootstrap: bool,

    /// The process that started this one, if the node is to end with it.
    #[arg(long, value_name = "PID", hide = true)]
    parent: Option<i32>,

    #[command(flatten)]
    log: LogArgs,

    #[command(flatten)]
    job: JobArgs,
}

impl RunArgs {
    /// Runs the command.
    pub fn run(mut self) -> Result<(), CliError> {
        if first::is_first() {
            return first::attend(self.config.load().ok().map(|config| config.timing));
        }
        if let Some(parent) = self.parent {
            let tied = parent::end_with(Pid::from_raw(parent));
            tied.map_err(CliError::internal("end with the process of --parent"))?;
        }
        let signals = EndingSignals::hear()?;
        let config = self.config.load().map_err(|errors| {
            if errors.is_unread() { CliError::new(Exit::Unread, errors) } else { errors.into() }
        })?;
        let name = node_name(&config, self.config.node().as_deref())?;
        let journal = self.log.start(&config.cluster, name)?;
        fail_stop(journal.clone(), signals.1.clone());
        let outcome = serve(&config, name, &mut self, signals);
        journal.finish();
        outcome
    }
}

/// How long the name service has to answer, so that a signal is not kept waiting.
const NAMES: Duration = Duration::from_millis(500);

/// The pause between two questions to it.
const PAUSE: Duration = Duration::from_millis(200);

/// The files that a node opens, sockets included: its own, and those for each member.
const FILES: (u64, u64) = (32, 4);

/// Whether this process may open the files that a node needs. Without them it would take its peers for silent, and its
/// disk for broken.
fn check_open_files(config: &Config) -> Result<(), CliError> {
    let needs = FILES.0 + FILES.1 * config.members.len() as u64;
    match getrlimit(Resource::Nofile).current {
        Some(limit) if limit < needs => Err(CliError::new(
            Exit::Config,
            format_args!(
                "this process may open {limit} files, and a node of {} needs {needs}: {MORE_FILES}",
                counted(config.members.len(), "member")
            ),
        )),
        _ => Ok(()),
    }
}

/// Runs the node until a signal ends it.
fn serve(
    config: &Config,
    name: &str,
    run: &mut RunArgs,
    mut signals: EndingSignals,
) -> Result<(), CliError> {
    check_open_files(config)?;
    // Before the node starts: so no signal is lost, and a port in use leaves no trace.
    signals.watch()?;
    let token = Token::new(token::of_node(config)?);
    let group = find_group(config)?;
    let task = run.task.as_deref().map(read_task).transpose()?;
    let start = Start { task, bootstrap: run.bootstrap };
    if !await_names(config, name, &mut signals) {
        return Ok(());
    }
    let admin = listen(config, name).map_err(|error| held(config, name).unwrap_or(error))?;
    job::await_last(config, name)?;
    run.job.check()?;
    let node = Node::start_attended(config, name, start, Attended::Yes)?;
    signals.1.attend(node.handle(), config.state_dir(name));
    let control = listen_for_control(config, name, group)?; // the node's lock says that no other process does
    let shared = token.clone();
    let security = Some(node.certificates().security()).filter(|_| config.admin_tls);
    let security = security.unwrap_or_default();
    let names = config.admin_hosts();
    let server =
        admin.map(|socket| Server::start_secured(socket, node.handle(), shared, security, names));
    let server = server.transpose();
    let _server = server.map_err(CliError::internal("start the threads of HTTP"))?; // it serves until this returns
    let state = config.state_dir(name);
    let attendance = node.attendance();
    let held = run.job.addresses();
    let attached = Attached::new(node.handle(), state, group, held, attendance.clone());
    let others = attached.clone();
    let control = ControlServer::start(control, node.handle(), move |stream| others.take(stream));
    let _control =
        control.map_err(CliError::internal("start the threads of the control socket"))?; // as the one above
    let supervised = Supervised::start(node.handle());
    let hooks = config.member(name).and_then(|own| own.hooks.clone());
    let hooks = Hooks::start(&node.handle(), &config.cluster, hooks);
    let hooks = hooks.map_err(CliError::internal("start the thread of the hooks"))?;
    let reloader = Reloader::new(run.config.clone(), name, &node, hooks.handle(), token);
    let asked = reloader.clone();
    node.on_reload(move || asked.reload());
    let removal = signals.0.handle();
    node.on_removal(move || removal.close());
    let _shown = run.job.url().map(|url| node.handle().reached_at(None, url.to_owned()));
    let over = signals.0.handle();
    let job = run.job.start(config, name, (node.handle(), attendance), move || over.close())?;
    signals.wait(|| match reloader.reload() {
        Ok(outcome) => info!(event = "reload"; "the configuration was read again: {outcome}"),
        Err(problems) => error!(event = "reload"; "the configuration was not taken, and nothing changed: {problems}"),
    });
    let removed = node.is_removed();
    let why = if removed { "removed from the cluster, so this node ends" } else { "stopping" };
    // It stops after the job has ended, if it hands over.
    node.stop_meanwhile(|| {
        info!(event = "stopping"; "{why}");
        supervised.into_iter().for_each(Supervised::stop);
    });
    let job = job.map_or(Ok(()), JobThread::finish);
    attached.stop();
    hooks.stop();
    if removed {
        let what = format!("{name} was removed from cluster \"{}\"", config.cluster);
        return Err(CliError::new(Exit::Removed, what));
    }
    job
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> CliError {
        let exit = match &error {
            StartError::Tls(file) if file.is_unread => Exit::Unread,
            StartError::NoMember(_) | StartError::Tls(_) => Exit::Config,
            StartError::NoTask(_)
            | StartError::TaskTooLong(_)
            | StartError::NoVote
            | StartError::Bootstrapped { .. } => Exit::Usage,
            StartError::Store(store) if store.trouble() == StoreTrouble::State => Exit::State,
            StartError::Store(_) => Exit::DataDir,
            StartError::Listen { .. } | StartError::Hidden { .. } => Exit::Listen,
            StartError::Removed { .. } => Exit::Removed,
            StartError::Thread(_) | StartError::Lock { .. } => Exit::Internal,
        };
        CliError::new(exit, error)
    }
}

/// Waits until the own addresses of this member resolve, as those of peers are waited for: a host may start this node
/// before its network. False if a signal ends the node meanwhile.
fn await_names(config: &Config, name: &str, signals: &mut EndingSignals) -> bool {
    let Some(own) = config.member(name) else { return true }; // the start says so
    let mut places = vec![own.listen.as_str()];
    places.extend(own.admin_listen.as_deref());
    for place in places {
        let unresolved = || net::look_up(&[place], NAMES).remove(0);
        let Some(error) = unresolved() else { continue };
        warn!(event = "unresolved"; "{place}, an address of {name}, does not resolve here: {error}; {name} starts when it does");
        while unresolved().is_some() {
            if signals.have_ended() {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
    }
    true
}

/// Binds the address of HTTP, if this member serves it.
fn listen(config: &Config, name: &str) -> Result<Option<TcpListener>, CliError> {
    let Some(address) = config.member(name).and_then(|member| member.admin_listen.as_ref()) else {
        return Ok(None);
    };
    admin::listen(address).map(Some).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AddrInUse => "end it, or give another port",
            _ => "start it on the host that has this address, or give the member an admin_listen",
        };
        let what =
            format!("cannot listen on {address}, the admin address of {name}: {error}; {remedy}");
        CliError::new(Exit::Listen, what)
    })
}

/// The group whose users may use the control socket, which has to exist on this host.
pub(super) fn find_group(config: &Config) -> Result<Option<u32>, CliError> {
    let group = config.control_group.as_deref().map(group::id);
    group.transpose().map_err(|error| CliError::new(Exit::Config, error))
}

/// Makes the control socket of this member.
fn listen_for_control(
    config: &Config,
    name: &str,
    group: Option<u32>,
) -> Result<ControlSocket, CliError> {
    let state = config.state_dir(name);
    ControlSocket::listen(&state, group).map_err(|error| no_control(&state, error))
}

/// The control socket in this folder cannot be made. Where nothing can be written, that is why, and the socket is only
/// the first to notice: a disk may fail between the opening of the state and this.
fn no_control(state: &Path, source: io::Error) -> CliError {
    use ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    if matches!(source.kind(), ReadOnlyFilesystem | StorageFull | QuotaExceeded) {
        return StartError::from(StoreError::Folder { dir: state.to_owned(), source }).into();
    }
    let what = format!("cannot listen on {}: {source}", control::path(state).display());
    CliError::new(Exit::Listen, what)
}

/// An error if another process runs this node, which says more than that its port is in use.
fn held(config: &Config, name: &str) -> Option<CliError> {
    let error = Store::held(&config.state_dir(name))?;
    Some(CliError::from(StartError::from(error)))
}

/// Reads the file of `--task`, and not much more than may be handed out. A pipe or a device may never end, or never
/// begin, while this process can be ended by KILL alone.
fn read_task(path: &Path) -> Result<Vec<u8>, CliError> {
    let read = || {
        let mut task = Vec::new();
        let mut options = OpenOptions::new();
        // To open a pipe would wait for a writer.
        let options = options.read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed());
        let file = options.open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is no regular file; write the task to one"));
        }
        file.take(Task::LONGEST as u64 + 1).read_to_end(&mut task)?;
        Ok(task)
    };
    let task = read().map_err(|error: io::Error| {
        CliError::new(Exit::Usage, format!("cannot read --task {}: {error}", path.display()))
    })?;
    if task.len() > Task::LONGEST {
        let (shown, most) = (path.display(), Task::LONGEST);
        let what = format!("--task {shown} is longer than {most} bytes: hand out where it is kept");
        return Err(CliError::new(Exit::Usage, what));
    }
    Ok(task)
}

/// The signals that end a node, HUP and USR1, and who writes recordings: TERM, QUIT and HUP by one crate, INT by the other, which would take HUP too
/// if it took TERM.
struct EndingSignals(SignalsInfo, RecordingKeeper);

impl EndingSignals {
    /// From now on none is lost that does not end this process.
    fn hear() -> Result<EndingSignals, CliError> {
        let heard = [signals::heeded(&[SIGHUP, SIGUSR1]), vec![orphans::SIGNAL]].concat();
        let signals = Signals::new(heard).map_err(CliError::internal(SIGNALS))?;
        orphans::adopt();
        Ok(EndingSignals(signals, RecordingKeeper::default()))
    }

    /// From now on no signal ends this process. Until then, what hangs, such as a file, can be interrupted.
    fn watch(&mut self) -> Result<(), CliError> {
        if signals::heeded(&[SIGHUP]).is_empty() {
            info!(event = "signals"; "HUP is ignored, as this process was started so: use electd reload");
        }
        let handle = self.0.handle();
        let [term, quit] = [&[SIGTERM][..], &signals::heeded(&[SIGQUIT])];
        for signal in term.iter().chain(quit) {
            handle.add_signal(*signal).map_err(CliError::internal(SIGNALS))?;
        }
        if signals::heeded(&[SIGINT]).is_empty() {
            return Ok(());
        }
        ctrlc::set_handler(move || handle.close()).map_err(|error| {
            CliError::new(Exit::Internal, format_args!("cannot {SIGNALS}: {error}"))
        })
    }

    /// Whether a signal has ended the node.
    fn have_ended(&mut self) -> bool {
        self.0.pending().any(|signal| ![SIGHUP, SIGUSR1].contains(&signal))
            || self.0.handle().is_closed()
    }

    /// Waits for a signal that ends the node; calls this for each HUP until then, and leaves a recording for each USR1.
    fn wait(&mut self, on_hup: impl Fn()) {
        // Without a signal, INT ended them.
        for signal in self.0.forever() {
            match signal {
                SIGHUP => on_hup(),
                SIGUSR1 => drop(self.1.keep("signal")), // nobody waits for it
                orphans::SIGNAL => orphans::reap(),
                _ => return,
            }
        }
    }
}

/// A process that is not whole must not take part: any panic ends it.
fn fail_stop(journal: Journal, keeper: RecordingKeeper) {
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let name = thread.name().unwrap_or("without a name");
        error!("the thread {name} {panic}\nso this node ends: please report this");
        let trace = Backtrace::capture();
        if trace.status() == BacktraceStatus::Captured {
            error!("{trace}");
        }
        keeper.keep_last("panic");
        journal.finish();
        std::process::exit(Exit::Internal.code().into());
    }));
}

#[cfg(test)]
mod tests;
