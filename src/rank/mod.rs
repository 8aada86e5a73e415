//! What a member learns about its own host: samples of the attribute that members are ranked by, and
//! the result of its health check, as numbers and in words.
//!
//! A sample may take long (a disk that hangs, a name that does not resolve, a slow program), so
//! the [`Sampler`] takes it on a thread of its own. So does the [`Checker`] with the check.

mod address;
mod check;
pub mod children;
mod command;
mod cpu;
mod folder;
mod program;
mod running;
mod sampler;
mod stop;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::core::types::Rank;
pub use check::{Check, Checker, Finding, Verdict};
pub use sampler::Sampler;
use stop::Stop;

/// How long a first sample may hold up the start of a node: what takes no time, unless the system
/// hangs, and a command that may take its time.
const FIRST: Duration = Duration::from_secs(1);
const FIRST_COMMAND: Duration = Duration::from_secs(3);

/// The environment variable, with its value, that marks a program that electd runs for itself and that
/// is no part of the job of the leader.
pub const HELPER: (&str, &str) = ("ELECTD_HELPER", "1");

/// The variables that tell a program which member runs it and where that one stands; asked for before each run.
pub type Variables = Arc<dyn Fn() -> Vec<(&'static str, String)> + Send + Sync>;

/// Where a member's attribute comes from. A greater value ranks higher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// No attribute: all have the same, and the id decides.
    Id,
    /// The number in the configuration.
    Priority(i64),
    /// The IP address behind this host:port.
    Address(String),
    /// The number of cores times their clock in MHz.
    Cpu,
    /// The free bytes of the file system that holds this path.
    Disk(PathBuf),
    /// The number of regular files in this folder.
    Files(PathBuf),
    /// The number that a program prints.
    Command {
        /// A path, or a name that is looked for in PATH.
        program: PathBuf,
        /// Its arguments.
        arguments: Vec<String>,
        /// How long it may take.
        timeout: Duration,
    },
}

/// An attribute as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The number that members compare, one of [`Rank::VALUES`].
    pub value: i64,
    /// Its source, in words.
    pub from: String,
}

/// The number as a value of a rank: the greatest there is, if it is above that.
fn measured(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX).min(*Rank::VALUES.end())
}

/// A sample, or why there is none.
pub type Outcome = Result<Sample, String>;

impl Source {
    /// Takes a sample now. This may take long; a command is ended at its timeout.
    ///
    /// # Errors Says in words why there is no value.
    pub fn sample(&self, variables: &Variables) -> Outcome {
        let (_stopper, stop) = Stop::new().map_err(|error| no_pipe(&error))?;
        self.sample_until(variables, &stop)
    }

    /// Takes a sample; a command is ended when `stop` says so.
    fn sample_until(&self, variables: &Variables, stop: &Stop) -> Outcome {
        match self {
            Source::Id => Ok(Sample { value: 0, from: "all are equal, the id decides".to_owned() }),
            Source::Priority(value) => {
                Ok(Sample { value: *value, from: "the configuration".to_owned() })
            }
            Source::Address(address) => address::sample(address),
            Source::Cpu => cpu::sample(Path::new("/")),
            Source::Disk(path) => folder::free_bytes(path),
            Source::Files(path) => folder::count_files(path),
            Source::Command { program, arguments, timeout } => {
                command::sample(program, arguments, *timeout, variables, stop)
            }
        }
    }

    /// Whether the value is known without reading anything, and stays.
    fn is_fixed(&self) -> bool {
        matches!(self, Source::Id | Source::Priority(_))
    }

    /// Whether the value may change while the member runs.
    fn changes(&self) -> bool {
        !self.is_fixed() && !matches!(self, Source::Address(_))
    }

    /// How long its first sample may hold up a start.
    fn first_within(&self) -> Duration {
        match self {
            // Its end at the timeout takes a moment more.
            Source::Command { timeout, .. } => (*timeout + FIRST).min(FIRST_COMMAND),
            _ => FIRST,
        }
    }
}

fn no_pipe(error: &io::Error) -> String {
    format!("no pipe can be opened: {error}")
}

/// For tests: programs get no variables about the node.
#[cfg(test)]
fn no_variables() -> Variables {
    Arc::new(Vec::new)
}
