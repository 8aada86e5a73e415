//! `electd exec`: runs a command while the node of this host leads.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use clap::Args;
use crossbeam::channel::{Receiver, RecvTimeoutError};
use log::warn;

use super::args::{ConfigArgs, duration};
use super::engine::NamedEngine;
use super::error::CliError;
use super::exit::Exit;
use super::job::{JobArgs, Then};
use super::lock::{self, lock_names};
use super::log::messages;
use super::period::PeriodArgs;
use super::stop::{stop_at_signals, with_code};
use super::waits::{self, Beside};
use crate::admin::client::{Recipient, Refused};
use crate::admin::control;
use crate::config::node_name;
use crate::core::locks::table::LockName;
use crate::exec::leader::Leader;
use crate::exec::period::LockAsked;
use crate::exec::plan::{ExecEnd, PeriodRuns, Plan};
use crate::exec::remote::{Remote, Unattached};
use crate::exec::runner;
use crate::exec::target::LockTarget;
use crate::exec::words::{NoLockCause, PROTOCOL};

/// How long the node may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Between two looks for a node where none runs.
const AGAIN: Duration = Duration::from_millis(500);

/// Run a command while the node of this host leads.
///
/// Up to 256 of them may run beside one node. CMD is ended before any other member may lead: with TERM, then KILL;
/// and immediately if this process or the node is killed.
///
/// With --lock it is not the leader that runs CMD, but the host that holds the lock of this name: one of those where such
/// an exec waits. Different names spread over these hosts. The end of CMD gives the lock back.
///
/// Exit codes: CMD's own, and 126, 127, 128 + signal as in a shell; 1 this user may not open the node's control socket;
/// 69 no node runs here, nor did within --wait; with --restart it is waited for; 71 an address cannot be held, or this
/// host gives no cgroup (--cgroup always); 75 the node did not come to lead, or to hold the lock, within --wait, and
/// with 0s nothing is printed, or the period has had its run (--once-per); 76 that was lost and CMD ended for it; 78 the file is of another cluster or, with --lock,
/// has "quorum": "none", or the node has another clock (time namespace).
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd exec --config cluster.json -- ./worker.sh
  electd exec --config cluster.json --wait 0s -- run-the-backup
      for cron: on the leading host alone
  electd exec --config cluster.json --restart always -- ./worker.sh
      again each time that the node leads
  electd exec --config cluster.json --lock backup -- ./backup.sh
      on one of the hosts where this waits, whoever leads
  electd exec --lock report --once-per 24h --at 03:00 -- ./report.sh
      from cron on each host: one of them runs it, once a day")]
pub struct ExecArgs {
    #[command(flatten)]
    config: ConfigArgs,

    #[command(flatten)]
    job: JobArgs,

    /// Run CMD while this host holds the lock of this name, rather than while its node leads: letters a-z, digits
    /// and . _ -, at most 63. CMD finds it in ELECTD_LOCK.
    ///
    /// Or the URL of a lock that a PostgreSQL or an etcd decides on; neither a node nor a configuration is needed then:
    /// postgres://USER@HOST/DATABASE?lock=NAME, etcd://HOST:2379,HOST:2379/NAME
    #[arg(long, value_name = "NAME|URL", add = lock_names())]
    lock: Option<String>,

    /// How long the engine of --lock URL keeps the lock for a host that it hears no more of: 2s to 1h. [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "lock")]
    ttl: Option<Duration>,

    #[command(flatten)]
    period: PeriodArgs,
}

impl ExecArgs {
    /// Runs the command.
    pub fn run(mut self) -> Result<(), CliError> {
        let lock = match self.lock.as_deref().map(lock::target).transpose()? {
            None => None,
            Some(LockTarget::Name(lock)) => Some(lock),
            Some(LockTarget::Engine(url)) => {
                self.period.refuse("with the lock of an engine")?;
                return self.run_by_engine(&url);
            }
        };
        if self.job.is_empty() {
            return Err(nothing_to_run());
        }
        let period = self.period.wish(&mut self.job)?;
        let config = self.config.load()?;
        let name = node_name(&config, self.config.node().as_deref())?;
        messages()?;
        let (stopping, signal) = stop_at_signals()?;
        self.job.check()?;
        let place = Beside { config: &config, name, lock: lock.as_ref(), period };
        let beside = |wait| self.run_beside(place, wait, &stopping);
        let end = self.job.attached(name, &stopping, beside)?;
        let locks = if end == ExecEnd::NotGained { waits::locks(place) } else { None };
        let is_amiss = locks.as_ref().is_some_and(|locks| locks.unavailable.is_some());
        let asked_once = self.job.asks_once() && !is_amiss;
        outcome(end, (name, place.lock), asked_once, signal.load(Ordering::SeqCst)).map_err(
            |error| match (locks, place.lock) {
                (Some(locks), Some(lock)) if !error.message.is_empty() => {
                    let why = locks.standing(lock.as_str());
                    CliError::new(error.exit, format!("{}: {why}", error.message))
                }
                _ => error,
            },
        )
    }

    /// Runs the command by a lock that an engine decides on.
    fn run_by_engine(&mut self, url: &str) -> Result<(), CliError> {
        if self.job.is_empty() {
            return Err(nothing_to_run());
        }
        if self.job.url().is_some() {
            let what = "--url is for what a node decides on, and of the lock of an engine it knows nothing";
            return Err(CliError::new(Exit::Usage, what));
        }
        NamedEngine::new(url, self.ttl)?.run(&mut self.job)
    }

    /// Runs the command beside the node that runs now.
    fn run_beside(
        &self,
        place: Beside<'_>,
        wait: Option<Duration>,
        stopping: &Receiver<()>,
    ) -> Result<ExecEnd, CliError> {
        let node = attach(place)?;
        self.job.differs_from(&node.addresses)?;
        self.job.url().iter().for_each(|url| node.tell_url(url));
        JobArgs::end_left();
        let plan = Plan { wait, ..self.job.plan(place.config, place.name, false) };
        let plan = match place.lock {
            Some(lock) => self.of_lock(lock, place, plan),
            None => plan,
        };
        let leads = || node.leadership().is_some();
        let end = waits::say_while(place, leads, || runner::run(&node, &plan, stopping));
        if let Some(refused) = node.refused() {
            let path = control::path(&place.config.state_dir(place.name));
            return Err(unattached(place.name, &path, &refused));
        }
        if matches!(end, ExecEnd::Command(_)) && self.job.then() == Some(Then::Resign) {
            node.hand_over();
        }
        Ok(end)
    }

    /// The same plan for a command that runs by this lock. Even a lock that nobody holds comes only after a while, so `failure`
    /// is the least time to wait for it. If the command fails soon, another host is to try, unless a flag says otherwise.
    fn of_lock(&self, lock: &LockName, place: Beside<'_>, plan: Plan) -> Plan {
        let wait = plan.wait.map(|wait| wait.max(place.config.timing.failure));
        let period = place.period.map(|period| match period.retry {
            true => PeriodRuns::UntilDone,
            false => PeriodRuns::Once,
        });
        let moves = self.job.then() != Some(Then::Exit);
        Plan { lock: Some(lock.to_string()), period, wait, moves, ..plan }
    }
}

fn nothing_to_run() -> CliError {
    CliError::new(Exit::Usage, "say what to run: electd exec -- CMD, or give --address")
}

impl JobArgs {
    /// Runs the command `beside` the node, and beside the next one of this host when that has ended: with --restart for
    /// ever, and with --wait until that is over or the command has run. It is told how long it may still wait.
    fn attached(
        &self,
        name: &str,
        stopping: &Receiver<()>,
        mut beside: impl FnMut(Option<Duration>) -> Result<ExecEnd, CliError>,
    ) -> Result<ExecEnd, CliError> {
        let mut late = self.wait().map(|wait| Instant::now() + wait);
        let mut is_warned = false;
        loop {
            let left = late.map(|late| late.saturating_duration_since(Instant::now()));
            let outcome = beside(left);
            let why = match &outcome {
                Ok(ExecEnd::NodeGone { has_run }) => {
                    late = late.filter(|_| !has_run);
                    format!("{name} has ended")
                }
                Err(error) if [Exit::Unavailable, Exit::NotNow].contains(&error.exit) => {
                    error.message.clone()
                }
                _ => return outcome,
            };
            let left = left.filter(|_| late.is_some());
            if left.map_or(!self.is_restarted(), |left| left.is_zero()) {
                return outcome;
            }
            if !std::mem::replace(&mut is_warned, outcome.is_err()) {
                warn!("{why}; waiting for a node on this host");
            }
            let pause = left.map_or(AGAIN, |left| left.min(AGAIN));
            if stopping.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return Ok(ExecEnd::Stopped(None));
            }
        }
    }
}

/// That the node of this name does not have what the command runs by.
fn lacks(name: &str, lock: Option<&LockName>) -> String {
    match lock {
        Some(lock) => format!("{name} does not hold the lock {lock}"),
        None => format!("{name} does not lead"),
    }
}

/// How this process ends when its work has ended so, beside the node of this name. It may have been for a node that
/// leads at once, and for this signal.
fn outcome(
    end: ExecEnd,
    (name, lock): (&str, Option<&LockName>),
    asked_once: bool,
    signal: i32,
) -> Result<(), CliError> {
    match end {
        ExecEnd::Command(code) => with_code(Some(code), signal),
        ExecEnd::Stopped(code) => with_code(code, signal),
        // Cron starts it on every host and mails what it prints: that most of them do not lead is no news.
        ExecEnd::NotGained if asked_once => Err(CliError::silent(Exit::NotNow)),
        ExecEnd::NotGained => {
            let what = format!("{}, and did not come to within --wait", lacks(name, lock));
            Err(CliError::new(Exit::NotNow, what))
        }
        ExecEnd::Lost => {
            let what = format!("{} any more, and the command was ended", lacks(name, lock));
            Err(CliError::new(Exit::Lost, what))
        }
        ExecEnd::NoAddress => {
            let what =
                format!("an address could not be held on this host, and {name} was to hand over");
            Err(CliError::new(Exit::Listen, what))
        }
        ExecEnd::Failed => {
            let what = format!("this host cannot run the command, and {name} was to hand over");
            Err(CliError::new(Exit::Internal, what))
        }
        ExecEnd::NodeGone { .. } => {
            Err(CliError::new(Exit::Unavailable, format!("{name} has ended")))
        }
    }
}

/// Attaches this process to the node of this host.
fn attach(Beside { config, name, lock, period }: Beside<'_>) -> Result<Remote, CliError> {
    let state = config.state_dir(name);
    let path = control::path(&state);
    let member = config.member(name);
    let id = member.map(|member| member.id.0.to_string()).unwrap_or_default();
    let address = control::address(&state);
    let to = Recipient { address: &address, cluster: &config.cluster, id: &id };
    let (stream, first) = to.upgrade(PROTOCOL, ANSWER)?;
    let by = lock.map(|name| LockAsked { name, period });
    Remote::start(stream, first, &state, by).map_err(|error| unattached(name, &path, &error))
}

impl From<Refused> for CliError {
    fn from(refused: Refused) -> CliError {
        let exit = match refused {
            Refused::Mismatch(_) => Exit::Config,
            Refused::Forbidden(_) => Exit::No,
            Refused::NoAnswer(_) => Exit::Unavailable,
        };
        CliError::new(exit, refused)
    }
}

/// That the node of this name, with its socket at this path, and this process do not come together.
fn unattached(name: &str, path: &Path, error: &Unattached) -> CliError {
    let exit = match error {
        Unattached::Clock { .. } => Exit::Config,
        Unattached::NotWanted { cause: NoLockCause::Name, .. } => Exit::Usage,
        Unattached::NotWanted {
            cause: NoLockCause::QuorumNone | NoLockCause::NotAllowed | NoLockCause::Differs,
            ..
        } => Exit::Config,
        Unattached::NotWanted { cause: NoLockCause::HasRun, .. } => Exit::NotNow,
        Unattached::NotWanted { cause: NoLockCause::Other, .. } | Unattached::Io(_) => {
            Exit::Unavailable
        }
        Unattached::NoLocks | Unattached::NoPeriods => Exit::NotNow,
    };
    let what = match error {
        Unattached::NotWanted { cause: NoLockCause::HasRun, why } => why.clone(),
        Unattached::NotWanted { .. } | Unattached::NoLocks | Unattached::NoPeriods => {
            format!("{name} does not want the lock: {error}")
        }
        _ => format!("{name} does not run commands of others at {}: {error}", path.display()),
    };
    CliError::new(exit, what)
}

#[cfg(test)]
mod tests;
