//! Arguments that several commands share, to be flattened into theirs.

use std::env::VarError;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use electd_facts::hint::{ClusterFlags, USUAL_FILE};

use super::error::CliError;
use super::exit::Exit;
use crate::config::timing::with_unit;
use crate::config::{self, Config, ConfigErrors};

/// The variables of the environment that are read as text.
const READ: [&str; 4] = ["ELECTD_NODE", "ELECTD_ADMIN", "ELECTD_LOG_FORMAT", "RUST_LOG"];

/// The arguments for the cluster, and for a member of it.
// The environment is read by hand: clap does not distinguish it from a flag, which overrides all of it.
#[derive(Args, Clone, Debug)]
pub struct ConfigArgs {
    /// The configuration file, the same on every host. [env: ELECTD_CONFIG=] [default:
    /// /etc/electd/cluster.json]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The member, by its name in the file. Without it: the file's `node`, then the member named
    /// like this host. [env: ELECTD_NODE=]
    #[arg(long, value_name = "NAME", add = member_names())]
    node: Option<String>,
}

impl ConfigArgs {
    /// Reads and validates the file.
    ///
    /// # Errors
    /// With all problems of the file.
    pub fn load(&self) -> Result<Config, ConfigErrors> {
        config::load(&file(self.config.clone()))
    }

    /// The member that the flag or the environment names.
    pub fn node(&self) -> Option<String> {
        self.node.clone().or_else(|| variable("ELECTD_NODE"))
    }

    /// The flags of this command line that name the cluster, for the commands that sentences name.
    pub fn flags(&self) -> ClusterFlags {
        let file = file(self.config.clone());
        ClusterFlags::of_command(Some(&*file).filter(|file| *file != Path::new(USUAL_FILE)))
    }

    /// Whether a flag names the cluster, or the flag or the environment names the member.
    pub fn says_whom(&self) -> bool {
        self.config.is_some() || self.node().is_some()
    }
}

/// The configuration file: the one that a flag names, or the environment, or the default.
pub fn file(flag: Option<PathBuf>) -> PathBuf {
    let named = std::env::var_os("ELECTD_CONFIG").filter(|path| !path.is_empty());
    flag.or_else(|| named.map(PathBuf::from)).unwrap_or_else(|| USUAL_FILE.into())
}

/// Completes the name of a member in a shell.
pub fn member_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let members = typed_config().into_iter().flat_map(|config| config.members);
        members.map(|member| CompletionCandidate::new(member.name)).collect()
    })
}

/// The configuration that the command line names which is being typed, if it is one.
pub fn typed_config() -> Option<Config> {
    config::load(&file(typed(std::env::args_os()))).ok()
}

/// The file that follows --config on a command line that is being typed. To bash a `=` is a word.
fn typed(mut words: impl Iterator<Item = OsString>) -> Option<PathBuf> {
    let flag = words.find(|word| word.to_string_lossy().starts_with("--config"))?;
    match flag.to_string_lossy().strip_prefix("--config=") {
        Some(path) => Some(path.into()),
        None => words.find(|word| word != "=").map(PathBuf::from),
    }
}

/// A time with its unit, as in the configuration.
///
/// # Errors
/// In words.
pub fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("\"{text}\" is no time: give a number and a unit, such as 500ms or 10s");
    let length = with_unit(text).ok_or_else(wrong)?;
    Duration::try_from(length).map_err(|_| wrong()) // it may be negative
}

/// How long to wait for somebody.
///
/// # Errors
/// In words.
pub fn time_to_wait(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => {
            Err(format!("\"{text}\" leaves no time for an answer: give more, such as 500ms"))
        }
        time => Ok(time),
    }
}

/// A variable of the environment; an empty one counts as none.
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Checks that the variables of the environment that electd reads are text. A path may be any bytes.
///
/// # Errors
/// With this code, and the first one that is not UTF-8, which would count as none.
pub fn check_environment(exit: Exit) -> Result<(), CliError> {
    let is_wrong = |name: &str| matches!(std::env::var(name), Err(VarError::NotUnicode(_)));
    let Some(name) = READ.into_iter().find(|name| is_wrong(name)) else { return Ok(()) };
    let value = std::env::var_os(name).unwrap_or_default();
    let what = format!("{name}={value:?} is not UTF-8 text: set it again, or unset it");
    Err(CliError::new(exit, what))
}

/// The format of results.
#[derive(Args, Clone, Copy, Debug)]
pub struct OutputArgs {
    /// How results are printed: for people or for programs.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub output: OutputFormat,
}

/// A format of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Aligned columns, for people.
    #[default]
    Table,
    /// JSON, for programs.
    Json,
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use electd_facts::hint::Hint;

    use super::*;

    /// What a command needs besides may be missing.
    #[test]
    fn electd_takes_every_command_that_a_sentence_names() {
        let flags = ClusterFlags::of_command(Some("f".as_ref()));
        for hint in Hint::ALL {
            let words = match hint {
                Hint::Undrain | Hint::Status | Hint::Check | Hint::Run | Hint::SwitchoverTo => {
                    hint.at("a", &flags)
                }
                _ => hint.by(&flags),
            };
            let line = words.trim_matches('`');
            let parsed = crate::cli::command().try_get_matches_from(line.split(' '));
            let wrong = parsed.err().map(|error| error.kind());
            let wrong = wrong.filter(|it| *it != ErrorKind::MissingRequiredArgument);
            assert_eq!(wrong, None, "{line}");
        }
    }

    #[test]
    fn a_command_line_that_is_typed_names_the_file() {
        for line in ["run --config c.json --node", "run --config=c.json", "run --config = c.json"] {
            let words = line.split(' ').map(OsString::from);
            assert_eq!(typed(words), Some("c.json".into()), "{line}");
        }
        assert_eq!(typed(["run".into(), "--node".into()].into_iter()), None);
        assert_eq!(typed(["run".into(), "--config".into()].into_iter()), None);
    }

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(time_to_wait("1ms"), Ok(Duration::from_millis(1)));
        let none = "\"0s\" leaves no time for an answer: give more, such as 500ms";
        assert_eq!(time_to_wait("0s"), Err(none.to_owned()));
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        assert_eq!(duration("1.5s"), Ok(Duration::from_millis(1500)));
        for text in ["10", "", "-1s", "00:00:01", "soon"] {
            let wrong =
                format!("\"{text}\" is no time: give a number and a unit, such as 500ms or 10s");
            assert_eq!([duration(text), time_to_wait(text)], [Err(wrong.clone()), Err(wrong)]);
        }
    }
}
