//! What a member learns about its own host: samples of the attribute that members are ranked by, and
//! the result of its health check, as numbers and in words.
//!
//! A sample may take long (a disk that hangs, a name that does not resolve, a slow program), so
//! the [`Sampler`] takes it on a thread of its own. So does the [`HealthChecker`] with the check.

mod address;
pub mod aside;
mod check;
pub mod children;
mod command;
mod cpu;
mod folder;
#[cfg(test)]
mod logged;
mod program;
mod running;
mod sampler;
mod stop;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::core::types::Rank;
use aside::Aside;
pub use check::{Finding, HealthCheck, HealthChecker, HealthVerdict};
pub use sampler::Sampler;
use stop::Stop;

/// How long a first sample may hold up the start of a node: what takes no time, unless the system
/// hangs, and a command that may take its time.
const FIRST: Duration = Duration::from_secs(1);
const FIRST_COMMAND: Duration = Duration::from_secs(3);

/// How long a sample may take that is no program's: one of what takes no time unless the system hangs, and a name service.
const LONGEST: Duration = Duration::from_secs(10);
const LONGEST_NAME: Duration = Duration::from_secs(60);

/// The threads that take samples and run checks, which may hang.
const SAMPLING: &str = "rank-sample";
const CHECKING: &str = "health-check";

/// The variables that tell a program which member runs it and where that one stands; asked for before each run.
pub type Variables = Arc<dyn Fn() -> Vec<(&'static str, String)> + Send + Sync>;

/// Where a member's attribute comes from. A greater value ranks higher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeSource {
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
pub type SampleResult = Result<Sample, String>;

impl AttributeSource {
    /// Takes a sample now. This may take long; a command is ended at its timeout.
    ///
    /// # Errors Says in words why there is no value.
    pub fn sample(&self, variables: &Variables) -> SampleResult {
        let (_stopper, stop) = Stop::new().map_err(|error| no_pipe(&error))?;
        self.sample_until(variables, &Arc::new(stop), &mut Aside::new(SAMPLING))
    }

    /// Takes a sample; a command is ended when `stop` says so. What hangs in the system is given up.
    fn sample_until(
        &self,
        variables: &Variables,
        stop: &Arc<Stop>,
        aside: &mut Aside<SampleResult>,
    ) -> SampleResult {
        if self.is_fixed() {
            return self.read(variables, stop);
        }
        let (source, variables, stop) = (self.clone(), variables.clone(), stop.clone());
        let sampled = aside.run(self.limit(), move || source.read(&variables, &stop));
        sampled.unwrap_or_else(|none| Err(format!("{} {none}", self.what())))
    }

    fn read(&self, variables: &Variables, stop: &Stop) -> SampleResult {
        match self {
            AttributeSource::Id => {
                Ok(Sample { value: 0, from: "all are equal, the id decides".to_owned() })
            }
            AttributeSource::Priority(value) => {
                Ok(Sample { value: *value, from: "the configuration".to_owned() })
            }
            AttributeSource::Address(address) => address::sample(address),
            AttributeSource::Cpu => cpu::sample(Path::new("/")),
            AttributeSource::Disk(path) => folder::free_bytes(path),
            AttributeSource::Files(path) => folder::count_files(path),
            AttributeSource::Command { program, arguments, timeout } => {
                command::sample(program, arguments, *timeout, variables, stop)
            }
        }
    }

    /// Whether the value is known without reading anything, and stays.
    fn is_fixed(&self) -> bool {
        matches!(self, AttributeSource::Id | AttributeSource::Priority(_))
    }

    /// Whether the value may change while the member runs.
    fn changes(&self) -> bool {
        !self.is_fixed() && !matches!(self, AttributeSource::Address(_))
    }

    /// How long a sample may take before it counts as one that hangs.
    fn limit(&self) -> Duration {
        match self {
            AttributeSource::Command { timeout, .. } => *timeout,
            AttributeSource::Address(_) => LONGEST_NAME,
            _ => LONGEST,
        }
    }

    /// What is asked for a sample, in words.
    fn what(&self) -> String {
        match self {
            AttributeSource::Id | AttributeSource::Priority(_) => "the configuration".to_owned(),
            AttributeSource::Address(address) => format!("the look-up of {address}"),
            AttributeSource::Cpu => "the look at the processor".to_owned(),
            AttributeSource::Disk(path) | AttributeSource::Files(path) => {
                format!("the look at {}", path.display())
            }
            AttributeSource::Command { program, arguments, .. } => {
                command::shown(program, arguments)
            }
        }
    }

    /// How long its first sample may hold up a start.
    fn first_within(&self) -> Duration {
        match self {
            // Its end at the timeout takes a moment more.
            AttributeSource::Command { timeout, .. } => (*timeout + FIRST).min(FIRST_COMMAND),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn command(timeout: Duration) -> AttributeSource {
        AttributeSource::Command { program: "true".into(), arguments: Vec::new(), timeout }
    }

    #[test]
    fn each_source_is_read_and_named() {
        let sample = |source: &AttributeSource| source.sample(&no_variables()).unwrap();
        let fixed = |value, from: &str| Sample { value, from: from.to_owned() };
        assert_eq!(sample(&AttributeSource::Id), fixed(0, "all are equal, the id decides"));
        assert_eq!(sample(&AttributeSource::Priority(-7)), fixed(-7, "the configuration"));
        let local = AttributeSource::Address("127.0.0.2:1".to_owned());
        assert_eq!(sample(&local), fixed(0x7f00_0002, "127.0.0.2"));
        let (here, folder) = (cpu::sample(Path::new("/")).unwrap(), tempfile::tempdir().unwrap());
        let has_clock = |sample: &Sample| sample.from.contains(" MHz ");
        assert_eq!(
            has_clock(&sample(&AttributeSource::Cpu)),
            has_clock(&here),
            "the files of this host"
        );
        let files = sample(&AttributeSource::Files(folder.path().to_owned()));
        assert_eq!(files, fixed(0, &format!("0 files in {}", folder.path().display())));
        assert!(
            sample(&AttributeSource::Disk(folder.path().to_owned()))
                .from
                .contains(" bytes are free ")
        );
        assert!(command(FIRST).sample(&no_variables()).unwrap_err().contains("no number"));
    }

    #[test]
    fn a_start_waits_for_what_is_soon_there() {
        let seconds = Duration::from_secs;
        for (source, changes, within) in [
            (AttributeSource::Id, false, 1),
            (AttributeSource::Priority(7), false, 1),
            (AttributeSource::Address(String::new()), false, 1),
            (AttributeSource::Cpu, true, 1),
            (AttributeSource::Disk(PathBuf::new()), true, 1),
            (AttributeSource::Files(PathBuf::new()), true, 1),
            (command(seconds(1)), true, 2),
            (command(seconds(60)), true, 3),
        ] {
            assert_eq!(source.changes(), changes, "{source:?}");
            assert_eq!(source.first_within(), seconds(within), "{source:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_the_greatest_there_is_and_what_cannot_be_read_is_told() {
        let most = i64::MAX - 1; // one more stands for a member that an operator chose
        assert_eq!([measured(7_u64), measured(u64::MAX), measured(i64::MAX)], [7, most, most]);
        assert_eq!(no_pipe(&io::Error::other("so")), "no pipe can be opened: so");
    }
}
