//! From a file to a validated configuration.
//!
//! The file is operated by people, so one run reports every problem in it, with its place, its value
//! and a remedy. Inside, this module knows the keys of the file; outside, it offers [`Config`], which
//! is valid as a whole or does not exist.
//!
//! ```text
//! json -> report -> document, members, rank, timing -> Config
//! ```

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

mod builder;
mod choices;
mod comments;
mod document;
pub mod entry;
pub mod forecast;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzz;
pub mod guarantee;
mod health;
mod hooks;
mod json;
pub mod locks;
mod members;
mod node;
mod problem;
mod program;
mod rank;
mod report;
#[cfg(test)]
mod tests;
pub mod timing;
mod tls;
pub mod types;
mod written;

pub use builder::Builder;
pub use comments::blanked as without_comments;
pub use locks::LocksConfig;
pub use node::{NodeNameError, node_name};
pub use problem::{ConfigErrors, ConfigProblem, Position};
pub use types::{Attribute, Config, HealthConfig, HooksConfig, MemberConfig, RankConfig};
pub use written::WrittenMembers;

use electd_election::core::settings::Quorum;

/// The largest file that is read: a thousand members fit many times over, a device does not.
const LARGEST: u64 = 1 << 20;

/// Reads and validates a configuration file.
///
/// # Errors
/// With all problems found in the file.
pub fn load(path: &Path) -> Result<Config, ConfigErrors> {
    let bytes = read(path).map_err(|error| {
        let remedy = "name it with --config or ELECTD_CONFIG, or write one with `electd init`";
        ConfigErrors::unreadable(path, None, format!("cannot be read: {error}"), remedy)
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let position = Position::of(&String::from_utf8_lossy(valid), valid.len());
        let what = "is not UTF-8 text".to_owned();
        ConfigErrors::unreadable(path, Some(position), what, "save it as UTF-8")
    })?;
    parse(&text, path)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 MiB"));
    }
    Ok(bytes)
}

/// Validates the text of a configuration: JSON, with comments from `//` to the end of a line. `path` says where it comes
/// from: errors name it, and paths in the text start at its folder.
///
/// ```
/// let error = electd_config::parse("{}", "cluster.json".as_ref()).unwrap_err();
/// assert!(error.problems.iter().any(|problem| problem.key == "quorum"));
/// ```
///
/// # Errors
/// With all problems found in the text.
pub fn parse(text: &str, path: &Path) -> Result<Config, ConfigErrors> {
    let text = &*comments::blanked(text);
    let root = json::JsonNode::parse(text).map_err(|error| syntax(&error, text, path))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut report = report::Report::new(text);
    let config = document::read(&report::Spot::root(root), folder, &mut report);
    let problems = report.finish();
    debug_assert!(config.is_some() || !problems.is_empty(), "refused without a reason");
    match config {
        Some(config) if problems.is_empty() => Ok(Config { file: path.to_owned(), ..config }),
        _ => Err(ConfigErrors { file: path.to_owned(), problems }),
    }
}

/// A text that is no JSON has only this problem, since nothing after the error can be trusted.
fn syntax(error: &serde_json::Error, text: &str, path: &Path) -> ConfigErrors {
    let remedy = if text.starts_with('\u{feff}') {
        "save it without a byte order mark"
    } else {
        "mind commas, quotes and brackets just before this place; a comment begins with //"
    };
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = error.to_string();
    let reason = reason.strip_suffix(&place).unwrap_or(&reason);
    // serde_json counts the end of a line as column 0 of the next.
    let position = Position { line: error.line(), column: error.column().max(1) };
    ConfigErrors::unreadable(path, Some(position), format!("is not JSON: {reason}"), remedy)
}

/// The value of `--quorum`, named as in the file: the value, or why this version does not take it.
///
/// # Errors Says what is wrong, with a remedy.
pub fn parse_quorum(word: &str) -> Result<Quorum, String> {
    choices::pick("quorum", word, &choices::all())
        .map_err(|(what, remedy)| format!("{what}: {remedy}"))
}
