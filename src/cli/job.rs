//! The part of `electd run` that runs a command while the node leads.

use std::ffi::OsString;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use clap::{Args, ValueEnum};
use crossbeam::channel::{Sender, bounded};

use super::args::duration;
use super::error::CliError;
use super::exit::Exit;
use crate::config::Config;
use crate::exec::deadlines::Deadlines;
use crate::exec::lock;
use crate::exec::runner::{self, End, Plan, Restart};
use crate::node::NodeHandle;

/// What to run while this node leads.
#[derive(Args, Debug)]
pub struct JobArgs {
    /// Exit with 75 if this node has not come to lead within this time, such as 30s.
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "command")]
    wait: Option<Duration>,

    /// How long CMD may take to end after TERM, when the leadership ends in order; then KILL.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", requires = "command")]
    stop_after: Duration,

    /// Whether CMD is started again when it ends by itself, after 1 s at first and 1 min at most.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, requires = "command")]
    restart: RestartArg,

    /// The program to run while this node leads, and its arguments. When CMD ends by itself, the node
    /// hands over and ends with CMD's exit code.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<OsString>,
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

/// Waits until nothing runs any more of what an earlier process of this member ran.
pub fn await_last(config: &Config, name: &str) -> Result<(), CliError> {
    let patience = config.timing.failure + Duration::from_secs(5);
    match lock::await_free(&config.state_dir(name), patience) {
        Ok(true) => Ok(()),
        Ok(false) => {
            let what = format!(
                "the command that {name} ran while it led has not ended within {patience:?}: end what holds {}",
                lock::path(&config.state_dir(name)).display()
            );
            Err(CliError::new(Exit::DataDir, what))
        }
        Err(error) => {
            let file = lock::path(&config.state_dir(name));
            Err(CliError::new(Exit::DataDir, format!("cannot use {}: {error}", file.display())))
        }
    }
}

/// The thread that runs the command while the node leads.
pub struct Job {
    stopping: Sender<()>,
    thread: JoinHandle<End>,
}

impl JobArgs {
    /// Starts to wait for the leadership, if there is anything to run. Calls `over` when nothing is left to
    /// be run.
    pub fn start(
        &self,
        config: &Config,
        name: &str,
        node: NodeHandle,
        over: impl FnOnce() + Send + 'static,
    ) -> Result<Option<Job>, CliError> {
        if self.command.is_empty() {
            return Ok(None);
        }
        let plan = Plan {
            command: self.command.clone(),
            wait: self.wait,
            stop_after: self.stop_after,
            restart: match self.restart {
                RestartArg::Never => Restart::Never,
                RestartArg::OnFailure => Restart::OnFailure,
                RestartArg::Always => Restart::Always,
            },
            deadlines: Deadlines::of(config),
            lock: lock::path(&config.state_dir(name)),
            cluster: config.cluster.clone(),
            node: name.to_owned(),
        };
        let (stopping, stopped) = bounded(0);
        let builder = thread::Builder::new().name("job".to_owned());
        let work = move || {
            let end = runner::run(&node, &plan, &stopped);
            over();
            end
        };
        let thread = builder.spawn(work).map_err(|error| {
            CliError::new(Exit::Internal, format!("cannot start the thread of the job: {error}"))
        })?;
        Ok(Some(Job { stopping, thread }))
    }
}

impl Job {
    /// After the node has stopped: waits until nothing of the command is left.
    ///
    /// # Errors
    /// With what electd exits with, if the command said so or was never run.
    pub fn finish(self) -> Result<(), CliError> {
        drop(self.stopping);
        match self.thread.join() {
            Ok(End::Stopped | End::Command(0)) => Ok(()),
            Ok(End::Command(code)) => Err(CliError::silent(Exit::Command(code))),
            Ok(End::NotGained) => {
                Err(CliError::new(Exit::NotGained, "this node did not come to lead within --wait"))
            }
            Err(_) => Err(CliError::new(Exit::Internal, "the thread of the job panicked")),
        }
    }
}
