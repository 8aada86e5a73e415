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
use super::log::messages;
use super::stop::stop_at_signals;
use super::waits;
use crate::admin::client::{Recipient, Refused};
use crate::admin::control;
use crate::config::{Config, node_name};
use crate::exec::leader::Leader;
use crate::exec::plan::{ExecEnd, Plan};
use crate::exec::remote::{Remote, Unattached};
use crate::exec::runner;
use crate::exec::target::LockTarget;
use crate::exec::words::PROTOCOL;
use crate::limits::quote;

/// How long the node may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Between two looks for a node where none runs.
const AGAIN: Duration = Duration::from_millis(500);

/// Run a command while the node of this host leads.
///
/// Up to 64 of them may run beside one node. CMD is ended before any other member may lead: with TERM, then KILL;
/// and immediately if this process or the node is killed.
///
/// Exit codes: CMD's own, and 126, 127, 128 + signal as in a shell; 1 this user may not open the node's control socket;
/// 69 no node runs here, nor did within --wait; with --restart it is waited for; 71 an address cannot be held, or this
/// host gives no cgroup (--cgroup always); 75 the node did not come to lead within --wait, and with 0s nothing is
/// printed; 76 the leadership was lost and CMD ended for it; 78 the file is of another cluster, or the node has another
/// clock (time namespace).
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd exec --config cluster.json -- ./worker.sh
  electd exec --config cluster.json --wait 0s -- run-the-backup
      for cron: on the leading host alone
  electd exec --config cluster.json --restart always -- ./worker.sh
      again each time that the node leads")]
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
    #[arg(long, value_name = "NAME|URL")]
    lock: Option<String>,

    /// How long the engine of --lock URL keeps the lock for a host that it hears no more of: 2s to 1h. [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "lock")]
    ttl: Option<Duration>,
}

impl ExecArgs {
    /// Runs the command.
    pub fn run(mut self) -> Result<(), CliError> {
        match self.lock.as_deref().map(lock_target).transpose()? {
            None => {}
            Some(LockTarget::Name(_)) => {
                return Err(CliError::new(Exit::Usage, "this electd has no locks yet"));
            }
            Some(LockTarget::Engine(url)) => return self.run_by_engine(&url),
        }
        if self.job.is_empty() {
            return Err(nothing_to_run());
        }
        let config = self.config.load()?;
        let name = node_name(&config, self.config.node().as_deref())?;
        messages()?;
        let (stopping, signal) = stop_at_signals()?;
        self.job.check()?;
        let beside = |wait| self.run_beside(&config, name, wait, &stopping);
        let end = self.job.attached(name, &stopping, beside)?;
        outcome(end, name, self.job.asks_once(), signal.load(Ordering::SeqCst))
    }

    /// Runs the command by a lock that an engine decides on.
    fn run_by_engine(&mut self, url: &str) -> Result<(), CliError> {
        if self.job.is_empty() {
            return Err(nothing_to_run());
        }
        NamedEngine::new(url, self.ttl)?.run(&mut self.job)
    }

    /// Runs the command beside the node that runs now.
    fn run_beside(
        &self,
        config: &Config,
        name: &str,
        wait: Option<Duration>,
        stopping: &Receiver<()>,
    ) -> Result<ExecEnd, CliError> {
        let node = attach(config, name)?;
        self.job.differs_from(&node.addresses)?;
        JobArgs::end_left();
        let plan = Plan { wait, ..self.job.plan(config, name, false) };
        let leads = || node.leadership().is_some();
        let end = waits::say_while((config, name), leads, || runner::run(&node, &plan, stopping));
        if matches!(end, ExecEnd::Command(_)) && self.job.then() == Some(Then::Resign) {
            node.hand_over();
        }
        Ok(end)
    }
}

fn nothing_to_run() -> CliError {
    CliError::new(Exit::Usage, "say what to run: electd exec -- CMD, or give --address")
}

/// The lock that this text names. clap would print a bad name as it is.
fn lock_target(text: &str) -> Result<LockTarget, CliError> {
    text.parse().map_err(|why| {
        let what = format!("--lock: \"{}\" is no name of a lock: {why}", quote(text));
        CliError::new(Exit::Usage, what)
    })
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
                Err(error) if error.exit == Exit::Unavailable => error.message.clone(),
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

/// How this process ends when its work has ended so, beside the node of this name. It may have been for a node that
/// leads at once, and for this signal.
fn outcome(end: ExecEnd, name: &str, asked_once: bool, signal: i32) -> Result<(), CliError> {
    match end {
        ExecEnd::Command(0) | ExecEnd::Stopped(Some(0)) => Ok(()),
        ExecEnd::Command(code) | ExecEnd::Stopped(Some(code)) => {
            Err(CliError::silent(Exit::Command(code)))
        }
        ExecEnd::Stopped(None) => {
            let number = u8::try_from(signal).unwrap_or(0);
            Err(CliError::silent(Exit::Command(128 + number)))
        }
        // Cron starts it on every host and mails what it prints: that most of them do not lead is no news.
        ExecEnd::NotGained if asked_once => Err(CliError::silent(Exit::NotNow)),
        ExecEnd::NotGained => {
            let what = format!("{name} does not lead, and did not come to within --wait");
            Err(CliError::new(Exit::NotNow, what))
        }
        ExecEnd::Lost => {
            let what = format!("{name} does not lead any more, and the command was ended");
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
fn attach(config: &Config, name: &str) -> Result<Remote, CliError> {
    let state = config.state_dir(name);
    let path = control::path(&state);
    let member = config.member(name);
    let id = member.map(|member| member.id.0.to_string()).unwrap_or_default();
    let address = control::address(&state);
    let to = Recipient { address: &address, cluster: &config.cluster, id: &id };
    let (stream, first) = to.upgrade(PROTOCOL, ANSWER)?;
    Remote::start(stream, first, &state).map_err(|error| unattached(name, &path, &error))
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
        Unattached::Io(_) => Exit::Unavailable,
    };
    let what = format!("{name} does not run commands of others at {}: {error}", path.display());
    CliError::new(exit, what)
}

#[cfg(test)]
mod tests {
    use crossbeam::channel::bounded;
    use signal_hook::consts::{SIGHUP, SIGTERM};

    use super::*;
    use crate::node::logged::logged;

    #[test]
    fn each_end_has_its_code_and_its_words() {
        let told = |end, asked_once, signal| {
            outcome(end, "a", asked_once, signal).map_err(|error| (error.exit, error.message))
        };
        let silent = |exit| Err((exit, String::new()));
        let said = |exit, words: &str| Err((exit, words.to_owned()));
        let late = "a does not lead, and did not come to within --wait";
        let lost = "a does not lead any more, and the command was ended";
        let address = "an address could not be held on this host, and a was to hand over";
        let failed = "this host cannot run the command, and a was to hand over";
        for (end, asked_once, signal, expected) in [
            (ExecEnd::Command(0), false, 0, Ok(())),
            (ExecEnd::Command(7), false, 0, silent(Exit::Command(7))),
            (ExecEnd::Stopped(Some(0)), false, SIGTERM, Ok(())),
            (ExecEnd::Stopped(Some(7)), false, SIGTERM, silent(Exit::Command(7))),
            (ExecEnd::Stopped(None), false, SIGTERM, silent(Exit::Command(143))),
            (ExecEnd::Stopped(None), false, SIGHUP, silent(Exit::Command(129))),
            (ExecEnd::NotGained, true, 0, silent(Exit::NotNow)),
            (ExecEnd::NotGained, false, 0, said(Exit::NotNow, late)),
            (ExecEnd::Lost, true, 0, said(Exit::Lost, lost)),
            (ExecEnd::NoAddress, true, 0, said(Exit::Listen, address)),
            (ExecEnd::Failed, true, 0, said(Exit::Internal, failed)),
            (ExecEnd::NodeGone { has_run: true }, true, 0, said(Exit::Unavailable, "a has ended")),
        ] {
            assert_eq!(told(end, asked_once, signal), expected, "{end:?}");
        }
    }

    #[test]
    fn each_reason_not_to_come_to_a_node_has_its_code_and_its_words() {
        let refused = |refused: fn(String) -> Refused| CliError::from(refused("so".to_owned()));
        let mismatch = refused(Refused::Mismatch);
        assert_eq!(mismatch, CliError::new(Exit::Config, "so"));
        assert_eq!(refused(Refused::Forbidden), CliError::new(Exit::No, "so"));
        assert_eq!(refused(Refused::NoAnswer), CliError::new(Exit::Unavailable, "so"));
        let clock = Unattached::Clock { own: "1".to_owned(), node: "2".to_owned() };
        let ended = Unattached::Io(std::io::Error::other("it has ended"));
        for (error, exit) in [(clock, Exit::Config), (ended, Exit::Unavailable)] {
            let told = unattached("a", Path::new("/data/a/control.sock"), &error);
            let words =
                format!("a does not run commands of others at /data/a/control.sock: {error}");
            assert_eq!(told, CliError::new(exit, words));
        }
    }

    fn exec(flags: &[&str]) -> ExecArgs {
        #[derive(clap::Parser)]
        struct Flags {
            #[command(flatten)]
            exec: ExecArgs,
        }
        <Flags as clap::Parser>::parse_from([&["x"], flags].concat()).exec
    }

    /// What each run beside a node comes to, how often it is tried, and whether each time has a limit.
    #[test]
    fn a_command_is_tried_beside_the_next_node_until_it_has_run_or_for_ever() {
        let none = || Err(CliError::new(Exit::Unavailable, "no node runs"));
        let gone = |has_run| Ok(ExecEnd::NodeGone { has_run });
        let other = || Err(CliError::new(Exit::No, "another's"));
        let done = || Ok(ExecEnd::Command(0));
        let [wait, now, restart] =
            [&["--wait", "1h"][..], &["--wait", "0s"], &["--restart", "always"]];
        let both = [wait, restart].concat();
        let now_both = [now, restart].concat();
        for (flags, outcomes, limits) in [
            (&[][..], vec![none()], "-"),
            (&[], vec![gone(false)], "-"),
            (&[], vec![done()], "-"),
            (now, vec![none()], "0"),
            (now, vec![gone(false)], "0"),
            (wait, vec![none(), gone(false), other()], "+++"),
            (wait, vec![none(), done()], "++"),
            (wait, vec![none(), gone(true)], "++"),
            (restart, vec![none(), gone(false), gone(true), none(), done()], "-----"),
            (&both, vec![none(), gone(true), none(), done()], "++--"),
            (&now_both, vec![none()], "0"),
            (&now_both, vec![gone(true), none(), done()], "0--"),
        ] {
            let (wakes, stopping) = bounded(outcomes.len());
            outcomes.iter().for_each(|_| wakes.send(()).unwrap()); // no pause is long
            let (last, mut told) = (outcomes.last().cloned(), String::new());
            let mut outcomes = outcomes.into_iter();
            let end =
                exec(&[flags, &["--", "true"]].concat()).job.attached("a", &stopping, |left| {
                    told.push(left.map_or('-', |left| if left.is_zero() { '0' } else { '+' }));
                    outcomes.next().expect("it goes on for too long")
                });
            assert_eq!((Some(end), told.as_str()), (last, limits), "{flags:?}");
        }
    }

    /// Not at each look.
    #[test]
    fn a_command_that_waits_for_a_node_says_so() {
        let none = || Err(CliError::new(Exit::Unavailable, "no node runs"));
        let gone = || Ok(ExecEnd::NodeGone { has_run: true });
        let outcomes = [none(), none(), gone(), gone(), none(), none(), Ok(ExecEnd::Lost)];
        let (wakes, stopping) = bounded(outcomes.len());
        outcomes.iter().for_each(|_| wakes.send(()).unwrap());
        let (exec, mut outcomes) =
            (exec(&["--restart", "always", "--", "true"]), outcomes.into_iter());
        let told = logged(|| {
            let end = exec.job.attached("a", &stopping, |_| outcomes.next().unwrap());
            assert_eq!(end, Ok(ExecEnd::Lost));
        });
        let lines = ["no node runs", "a has ended", "no node runs"];
        let waits = |why| format!("WARN : {why}; waiting for a node on this host");
        assert_eq!(told, lines.map(waits));
    }

    #[test]
    fn a_command_that_waits_for_a_node_ends_with_a_signal() {
        let (sender, stopping) = bounded(0);
        let mut sender = Some(sender);
        let end = exec(&["--restart", "always", "--", "true"]).job.attached("a", &stopping, |_| {
            assert!(sender.take().is_some(), "once");
            Ok(ExecEnd::NodeGone { has_run: false })
        });
        assert_eq!(end, Ok(ExecEnd::Stopped(None)));
    }

    #[test]
    fn a_command_line_with_nothing_to_run_is_wrong() {
        let error = exec(&[]).run().unwrap_err();
        let words = "say what to run: electd exec -- CMD, or give --address";
        assert_eq!(error, CliError::new(Exit::Usage, words));
    }
}
