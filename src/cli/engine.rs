//! The commands that a lock of an engine is named to: `exec`, `leader` and `check` with `--lock URL`.

use std::io::{self, IsTerminal};
use std::sync::atomic::Ordering;
use std::time::Duration;

use electd_engine::{Engine, EngineError, EngineHolder, EngineUrl};
use serde_json::json;

use super::args::OutputFormat;
use super::error::CliError;
use super::exit::Exit;
use super::job::JobArgs;
use super::log::messages;
use super::print::{self, millis};
use super::stop::{stop_at_signals, with_code};
use crate::exec::deadlines::Deadlines;
use crate::exec::engine::{EngineLock, EnginePace, host};
use crate::exec::guard::GIVE_BACK;
use crate::exec::leader::Leader;
use crate::exec::plan::{ExecEnd, Plan};
use crate::exec::runner;
use crate::trace::length;

/// How long a lock is taken for, if no flag says so.
const TTL: Duration = Duration::from_secs(10);

/// The least and the most that an engine is asked for.
const TTLS: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(60 * 60));

impl From<EngineError> for CliError {
    fn from(error: EngineError) -> CliError {
        let exit = match error {
            EngineError::Usage(_) => Exit::Usage,
            EngineError::Refused(_) => Exit::Config,
            EngineError::Unreachable(_) => Exit::Unavailable,
        };
        CliError::new(exit, error)
    }
}

/// The lock of an engine, as a command line names it.
pub struct NamedEngine {
    url: EngineUrl,
    /// The URL, as it was given.
    given: String,
    pace: EnginePace,
    ttl: Duration,
}

impl NamedEngine {
    /// The lock of this URL, which is taken for this long.
    ///
    /// # Errors
    /// If either is wrong.
    pub fn new(given: &str, ttl: Option<Duration>) -> Result<NamedEngine, CliError> {
        let url: EngineUrl = given.parse().map_err(|error| {
            CliError::new(Exit::Usage, format!("--lock: {error}; see docs/engines.md"))
        })?;
        let ttl = ttl.unwrap_or(TTL);
        if ttl < TTLS.0 || ttl > TTLS.1 {
            let what = "--ttl: give 2s to 1h";
            return Err(CliError::new(Exit::Usage, what));
        }
        Ok(NamedEngine { url, given: given.to_owned(), pace: EnginePace::new(ttl), ttl })
    }

    fn open(&self) -> Result<Box<dyn Engine>, EngineError> {
        electd_engine::open(&self.url, self.ttl, self.pace.patience())
    }

    /// Runs the job of `exec` while this process holds the lock.
    ///
    /// # Errors
    /// With the exit code of the process, unless it is 0.
    pub fn run(&self, job: &mut JobArgs) -> Result<(), CliError> {
        let engine = self.open()?; // it asks nothing yet
        messages()?;
        let (stopping, signal) = stop_at_signals()?;
        job.check()?;
        JobArgs::end_left();
        let waits = !job.asks_once() && (job.wait().is_some() || job.is_restarted());
        let lock = EngineLock::start(engine, self.pace, waits)?;
        let deadlines = Deadlines::of_renewal(self.pace.renewal());
        let plan = job.plan_for((self.url.engine(), &host()), true, deadlines, false);
        let name = Some(self.url.name().to_owned());
        let plan = Plan { lock: name, engine: Some(self.given.clone()), ..plan };
        if let (Some(other), None, true) =
            (lock.other(), lock.leadership(), io::stderr().is_terminal())
        {
            print::message(&format!("electd: {}: waiting", self.held_by(&other)));
        }
        let end = runner::run(&lock, &plan, &stopping);
        let outcome = self.outcome(end, &lock, job.asks_once(), signal.load(Ordering::SeqCst));
        drop(lock); // it is given back
        outcome
    }

    fn give_back(&self, token: u64) -> Result<(), CliError> {
        let given = self.open().and_then(|mut engine| engine.give_back(token));
        given.map_err(|error| {
            let what =
                format!("{error}; the lock {} is free when its time is over", self.url.name());
            CliError::new(Exit::Unavailable, what)
        })
    }

    fn held_by(&self, holder: &EngineHolder) -> String {
        format!("{} holds the lock {}", holder.name, self.url.name())
    }

    fn outcome(
        &self,
        end: ExecEnd,
        lock: &EngineLock,
        asked_once: bool,
        signal: i32,
    ) -> Result<(), CliError> {
        let name = self.url.name();
        match end {
            ExecEnd::Command(code) => with_code(Some(code), signal),
            ExecEnd::Stopped(code) => with_code(code, signal),
            ExecEnd::NotGained if asked_once => Err(CliError::silent(Exit::NotNow)),
            ExecEnd::NotGained => match (lock.trouble(), lock.other()) {
                (Some(trouble), _) => Err(trouble.into()),
                (None, Some(other)) => {
                    let what =
                        format!("{}, and still did at the end of --wait", self.held_by(&other));
                    Err(CliError::new(Exit::NotNow, what))
                }
                (None, None) => {
                    let what = format!("the lock {name} was not gained within --wait");
                    Err(CliError::new(Exit::NotNow, what))
                }
            },
            ExecEnd::Lost => {
                let what = format!("the lock {name} was lost, and the command was ended");
                Err(CliError::new(Exit::Lost, what))
            }
            ExecEnd::NoAddress => {
                let what = format!(
                    "an address could not be held on this host: the lock {name} is given back"
                );
                Err(CliError::new(Exit::Listen, what))
            }
            ExecEnd::Failed | ExecEnd::NodeGone { .. } => {
                let what =
                    format!("this host cannot run the command: the lock {name} is given back");
                Err(CliError::new(Exit::Internal, what))
            }
        }
    }

    /// Prints who holds the lock; or nothing, and ends with 0 if a process of this host does.
    ///
    /// # Errors
    /// If nobody does, or the engine cannot be asked.
    pub fn leader(&self, checks: bool, output: OutputFormat) -> Result<(), CliError> {
        let holder = self.open()?.watch()?;
        let own = format!("{} pid ", host());
        let is_own = holder.as_ref().is_some_and(|holder| holder.name.starts_with(&own));
        match (&holder, output) {
            (_, OutputFormat::Json) if checks => print::json(&json!({ "leads": is_own }))?,
            (_, OutputFormat::Json) => print::json(&self.object(holder.as_ref()))?,
            (_, OutputFormat::Table) if checks => {}
            (Some(holder), OutputFormat::Table) => {
                print::result(&format!("{}  token {}\n", holder.name, holder.token))?;
            }
            (None, OutputFormat::Table) => {
                print::message(&format!("nobody holds the lock {}", self.url.name()));
            }
        }
        let is_yes = if checks { is_own } else { holder.is_some() };
        if is_yes { Ok(()) } else { Err(CliError::silent(Exit::No)) }
    }

    fn object(&self, holder: Option<&EngineHolder>) -> serde_json::Value {
        json!({
            "lock": self.url.name(),
            "engine": self.url.engine(),
            "holder": holder.map(|holder| &holder.name),
            "token": holder.map(|holder| holder.token),
            "left_ms": holder.and_then(|holder| holder.left).map(millis),
        })
    }

    /// Prints what the engine has of the lock, and when what is done with it.
    ///
    /// # Errors
    /// If the engine cannot be used.
    pub fn check(&self, output: OutputFormat) -> Result<(), CliError> {
        let mut engine = self.open()?;
        let mut told = engine.describe()?;
        let holder = engine.watch()?;
        let renewal = self.pace.renewal();
        let Deadlines { term, kill } = Deadlines::of_renewal(renewal);
        if let OutputFormat::Json = output {
            let mut object = self.object(holder.as_ref());
            object["term_after_ms"] = json!(millis(renewal - term));
            object["kill_after_ms"] = json!(millis(renewal - kill));
            object["takeover_ms"] = json!(millis(self.ttl));
            return print::json(&object);
        }
        told.push(holder.map_or_else(
            || format!("nobody holds the lock {}", self.url.name()),
            |holder| format!("{}, token {}", self.held_by(&holder), holder.token),
        ));
        told.push(format!(
            "a holder without answers sends CMD TERM after {} and KILL after {}; another may run CMD after {}",
            length(renewal - term),
            length(renewal - kill),
            length(self.ttl),
        ));
        print::result(&format!("{}\n", told.join("\n")))
    }
}

/// Gives a lock back if this process was started for that, by a guard whose electd has ended.
pub fn if_asked() -> Option<Result<(), CliError>> {
    let mut words = std::env::args_os().skip(1);
    words.next().filter(|word| word == GIVE_BACK)?;
    let [url, token] = [words.next()?, words.next()?].map(|word| word.into_string().ok());
    let (url, token) = (url?, token?.parse().ok()?);
    Some(NamedEngine::new(&url, None).and_then(|engine| engine.give_back(token)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_for_two_seconds_at_least_and_an_hour_at_most() {
        let named = |ttl| NamedEngine::new("etcd://h/a", ttl).map(|named| named.ttl);
        let seconds = Duration::from_secs;
        assert_eq!(named(None), Ok(seconds(10)));
        for ttl in [2, 3600] {
            assert_eq!(named(Some(seconds(ttl))), Ok(seconds(ttl)));
        }
        for ttl in [1, 3601] {
            let told = named(Some(seconds(ttl))).unwrap_err();
            assert_eq!(told, CliError::new(Exit::Usage, "--ttl: give 2s to 1h"));
        }
    }

    #[test]
    fn each_reason_of_an_engine_has_its_code() {
        let error = |make: fn(String) -> EngineError| CliError::from(make("so".to_owned()));
        assert_eq!(error(EngineError::Usage), CliError::new(Exit::Usage, "so"));
        assert_eq!(error(EngineError::Refused), CliError::new(Exit::Config, "so"));
        assert_eq!(error(EngineError::Unreachable), CliError::new(Exit::Unavailable, "so"));
    }
}
