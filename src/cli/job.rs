//! The part of `electd run` that runs a command while the node leads.

use std::ffi::OsString;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use crossbeam::channel::{Receiver, RecvTimeoutError, Sender, bounded};
use log::{debug, warn};

use super::args::duration;
use super::error::CliError;
use super::exit::Exit;
use crate::cgroup::left;
use crate::config::Config;
use crate::core::settings::Quorum;
use crate::exec::address::check::{self, AddressRefusal};
use crate::exec::address::spec::Address;
use crate::exec::deadlines::Deadlines;
use crate::exec::leader::OwnNode;
use crate::exec::lock;
use crate::exec::needs;
use crate::exec::plan::{CgroupUse, ExecEnd, Plan, Restart};
use crate::exec::runner;
use crate::limits::{URL_RULE, is_url};
use crate::node::{Attendance, NodeHandle};

/// The command to run, and the addresses to hold, while this node leads.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("job").args(["command", "address"]).multiple(true))]
pub struct JobArgs {
    /// Exit with 75 if the node has not come to lead within this time, such as 30s; 0s: unless it leads now.
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "job")]
    wait: Option<Duration>,

    /// How long CMD may take to end after TERM, when the node hands over or stops; then KILL.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", requires = "job")]
    stop_after: Duration,

    /// A program that is run whenever CMD has ended, also after kill -9 of electd: it ends what CMD began elsewhere,
    /// such as a container. It is killed if it does not end in time.
    #[arg(long, value_name = "PROG", requires = "command")]
    cleanup: Option<PathBuf>,

    /// Whether CMD has a cgroup (version 2) of its own, by which the kernel ends all that CMD started, wherever that
    /// went. CMD finds its path in ELECTD_CGROUP.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, requires = "command")]
    cgroup: CgroupUse,

    /// Whether CMD is started again when it ends by itself, after 1 s at first and 1 min at most.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, requires = "job")]
    restart: RestartArg,

    /// As --retry has it.
    #[arg(skip)]
    retries: bool,

    /// What follows when CMD ends by itself: the node hands over, or keeps leading. Without it: resign with run, exit
    /// with exec.
    #[arg(long, value_name = "WHAT", value_enum, requires = "job")]
    then: Option<Then>,

    /// Add this address, such as 10.0.0.9/24%eth0, to its interface while the node leads, announce it, and remove it
    /// before any other member leads; while CMD runs, if there is one. May be given several times; needs
    /// CAP_NET_ADMIN and CAP_NET_RAW.
    #[arg(long, value_name = "CIDR%IFACE")]
    address: Vec<Address>,

    /// Where what runs here is reached, such as http://10.0.7.1:8080/, at most 256 bytes: nodes redirect to it whoever asks
    /// them for `/leader?redirect`, or for `/locks/NAME/leader?redirect` with exec --lock.
    #[arg(long, value_name = "URL", value_parser = url)]
    url: Option<String>,

    /// The program to run while the node leads, and its arguments. electd ends with CMD's exit code.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// A URL that clients may be sent to.
fn url(text: &str) -> Result<String, String> {
    if is_url(text) { Ok(text.to_owned()) } else { Err(URL_RULE.to_owned()) }
}

/// What follows after a command has ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Then {
    /// The node hands over.
    Resign,
    /// It keeps leading.
    Exit,
}

/// When a command is started again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum RestartArg {
    /// It is not.
    #[default]
    Never,
    /// If its exit code is not 0.
    OnFailure,
    /// Always.
    Always,
}

/// Waits until nothing runs any more of the job of an earlier process of this member.
pub fn await_last(config: &Config, name: &str) -> Result<(), CliError> {
    let timeout = config.timing.failure + Duration::from_secs(5);
    match lock::await_free(&config.state_dir(name), timeout) {
        Ok(None) => Ok(()),
        Ok(Some(held)) => {
            let what = format!(
                "the command that {name} ran while it led has not ended within {timeout:?}: end what holds {}",
                held.display()
            );
            Err(CliError::new(Exit::DataDir, what))
        }
        Err(error) => {
            let file = lock::path(&config.state_dir(name));
            Err(CliError::new(
                Exit::DataDir,
                format!(
                    "cannot use {}: {error}; give a data_dir that is a folder, and in which this user may write",
                    file.display()
                ),
            ))
        }
    }
}

/// The thread that runs the command while the node leads.
pub struct JobThread {
    stopping: Sender<()>,
    /// How it ended; nothing if its thread panicked.
    ended: Receiver<ExecEnd>,
}

/// How long the job may take to be gone after KILL, which came before the node stopped.
const GONE: Duration = Duration::from_secs(5);

impl JobArgs {
    /// Whether there is nothing to run and no address to hold.
    pub fn is_empty(&self) -> bool {
        self.command.is_empty() && self.address.is_empty()
    }

    /// Whether this host can run the command and hold the addresses. Decides whether the command has a cgroup.
    ///
    /// # Errors
    /// With the reason why not.
    pub fn check(&mut self) -> Result<(), CliError> {
        if !self.is_empty() {
            needs::look().map_err(|unmet| CliError::new(Exit::Config, unmet))?;
        }
        if !self.command.is_empty() {
            self.check_cgroup()?;
        }
        if let Some(why) = self.command.first().and_then(needs::why_no_program) {
            warn!("{why}: it is tried when this node leads");
        }
        check::check(&self.address).map_err(|refused| {
            let exit = match refused {
                AddressRefusal::Twice(_) => Exit::Usage,
                _ => Exit::Listen,
            };
            CliError::new(exit, refused)
        })
    }

    /// Ends what a crash left in cgroups of jobs. The coroner of a node that died may have yet to do that, and the next
    /// node of its member ends a coroner that does not: so there is a look before that node starts, and one after.
    pub fn end_left() {
        for folder in left::end(GONE) {
            let shown = folder.display();
            warn!(
                "KILL does not end what a crash left of a job: {shown}/cgroup.procs has the processes"
            );
        }
    }

    /// Tries whether this host gives a cgroup to the command.
    fn check_cgroup(&mut self) -> Result<(), CliError> {
        JobArgs::end_left();
        if self.cgroup == CgroupUse::Never {
            return Ok(());
        }
        match needs::try_cgroup() {
            Ok(()) => {}
            Err(refused) if self.cgroup == CgroupUse::Always => {
                return Err(CliError::new(Exit::Listen, refused));
            }
            Err(refused) => {
                debug!("{refused}");
                self.cgroup = CgroupUse::Never;
            }
        }
        Ok(())
    }

    /// The addresses to hold.
    pub fn addresses(&self) -> &[Address] {
        &self.address
    }

    /// Checks that the node of this host holds none of these addresses.
    ///
    /// # Errors
    /// With the first address that it holds.
    pub fn differs_from(&self, of_node: &[Address]) -> Result<(), CliError> {
        check::differ(&self.address, of_node)
            .map_err(|refused| CliError::new(Exit::Listen, refused))
    }

    /// Where what runs here is reached.
    pub fn url(&self) -> Option<&str> {
        self.url.as_deref()
    }

    /// How long the first leadership is waited for.
    pub fn wait(&self) -> Option<Duration> {
        self.wait
    }

    /// Whether the command is started again after it has ended.
    pub fn is_restarted(&self) -> bool {
        self.restart != RestartArg::Never
    }

    /// Whether it is only if its exit code is not 0.
    pub fn is_restarted_on_failure(&self) -> bool {
        self.restart == RestartArg::OnFailure
    }

    /// The command is started again at least if its exit code is not 0, but no node is waited for.
    pub fn restart_on_failure(&mut self) {
        self.retries = true;
    }

    /// Whether it runs only if the node leads at once.
    pub fn asks_once(&self) -> bool {
        self.wait == Some(Duration::ZERO)
    }

    /// What follows after the command has ended by itself, if a flag says so.
    pub fn then(&self) -> Option<Then> {
        self.then
    }

    /// The plan of the job. If it `returns`, it starts again after it was ended with a leadership, even if it is not
    /// started again when it ends by itself.
    pub fn plan(&self, config: &Config, name: &str, returns: bool) -> Plan {
        let is_leased = config.quorum == Quorum::Majority;
        self.plan_for((&config.cluster, name), is_leased, Deadlines::of(config), returns)
    }

    /// The same beside anything that leads for as long as is told: in a cluster of this name, as a member of this name.
    pub fn plan_for(
        &self,
        (cluster, name): (&str, &str),
        is_leased: bool,
        deadlines: Deadlines,
        returns: bool,
    ) -> Plan {
        // `run` hands over by default, and `exec` does not.
        let default = if returns { Then::Resign } else { Then::Exit };
        let restart = match self.restart {
            RestartArg::Never if self.retries => Restart::OnFailure,
            RestartArg::Never => Restart::Never,
            RestartArg::OnFailure => Restart::OnFailure,
            RestartArg::Always => Restart::Always,
        };
        Plan {
            command: self.command.clone(),
            addresses: self.address.clone(),
            wait: self.wait,
            stop_after: self.stop_after,
            cleanup: self.cleanup.clone(),
            cgroup: self.cgroup,
            is_leased,
            restart,
            moves: self.then.unwrap_or(default) == Then::Resign,
            returns: returns || restart != Restart::Never,
            deadlines,
            lock: None,
            engine: None,
            period: None,
            cluster: cluster.to_owned(),
            node: name.to_owned(),
        }
    }

    /// Starts to wait for the leadership, if there is anything to run. Calls `over` when nothing is left to run.
    pub fn start(
        &self,
        config: &Config,
        name: &str,
        (node, attendance): (NodeHandle, Attendance),
        over: impl FnOnce() + Send + 'static,
    ) -> Result<Option<JobThread>, CliError> {
        if self.is_empty() {
            return Ok(None);
        }
        JobArgs::end_left();
        let plan = self.plan(config, name, true);
        let node = OwnNode::new(node, attendance, &config.state_dir(name));
        let then = self.then;
        let (stopping, stopped) = bounded(0);
        let (tell, ended) = bounded(1);
        let builder = thread::Builder::new().name("job".to_owned());
        let work = move || {
            let end = runner::run(&node, &plan, &stopped);
            if ends_node(end, then) {
                over();
            }
            let _ = tell.send(end); // nobody may wait for it any more
        };
        builder.spawn(work).map_err(|error| {
            CliError::new(Exit::Internal, format!("cannot start the thread of the job: {error}"))
        })?;
        Ok(Some(JobThread { stopping, ended }))
    }
}

/// Whether the node of `run` ends with its job. If a flag says so, it leads on when its command has ended by itself.
fn ends_node(end: ExecEnd, then: Option<Then>) -> bool {
    !(then == Some(Then::Exit) && matches!(end, ExecEnd::Command(_)))
}

impl JobThread {
    /// After the node has stopped: waits until nothing of the command is left, but not for what KILL does not end. The
    /// next start waits for that, by the lock of its guard.
    ///
    /// # Errors
    /// The exit code of electd, if the command ended with one or was never run.
    pub fn finish(self) -> Result<(), CliError> {
        drop(self.stopping);
        match self.ended.recv_timeout(GONE) {
            Ok(
                ExecEnd::Stopped(_)
                | ExecEnd::Lost
                | ExecEnd::NoAddress
                | ExecEnd::Failed
                | ExecEnd::NodeGone { .. }
                | ExecEnd::Command(0),
            ) => Ok(()),
            Ok(ExecEnd::Command(code)) => Err(CliError::silent(Exit::Command(code))),
            Ok(ExecEnd::NotGained) => {
                Err(CliError::new(Exit::NotNow, "this node did not come to lead within --wait"))
            }
            Err(RecvTimeoutError::Disconnected) => {
                Err(CliError::new(Exit::Internal, "the thread of the job panicked"))
            }
            Err(RecvTimeoutError::Timeout) => {
                let what = "the job has not ended in time, after KILL: its guard hangs, or what that waits for; the next \
                            start of this node waits for its lock";
                Err(CliError::new(Exit::Internal, what))
            }
        }
    }
}

#[cfg(test)]
mod tests;
