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
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzz;
pub mod guarantee;
mod health;
mod hooks;
mod json;
mod members;
mod node;
mod problem;
mod program;
mod rank;
mod report;
mod timing;
mod tls;
pub mod types;
mod written;

pub use builder::Builder;
#[cfg(feature = "cli")]
pub(crate) use comments::blanked as without_comments;
pub use node::{NodeNameError, node_name};
pub use problem::{ConfigErrors, Position, Problem};
#[cfg(feature = "http")]
pub(crate) use timing::with_unit;
pub use types::{Attribute, Config, HealthConfig, HooksConfig, MemberConfig, RankConfig};
pub use written::WrittenMembers;

use crate::core::settings::Quorum;

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
/// let error = electd::config::parse("{}", "cluster.json".as_ref()).unwrap_err();
/// assert!(error.problems.iter().any(|problem| problem.key == "quorum"));
/// ```
///
/// # Errors
/// With all problems found in the text.
pub fn parse(text: &str, path: &Path) -> Result<Config, ConfigErrors> {
    let text = &*comments::blanked(text);
    let root = json::Node::parse(text).map_err(|error| syntax(&error, text, path))?;
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
    let position = Position { line: error.line().max(1), column: error.column().max(1) };
    ConfigErrors::unreadable(path, Some(position), format!("is not JSON: {reason}"), remedy)
}

/// The value of `--quorum`, named as in the file: the value, or why this version does not take it.
///
/// # Errors Says what is wrong, with a remedy.
pub fn parse_quorum(word: &str) -> Result<Quorum, String> {
    choices::pick("quorum", word, &choices::all())
        .map_err(|(what, remedy)| format!("{what}: {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a slip of the editor leaves is either a configuration or refused with reasons;
    /// that a refusal has one is asserted in `parse`.
    #[test]
    fn no_damage_to_a_file_makes_reading_it_panic() {
        let good = include_str!("../../conf/cluster.json");
        for at in (0..good.len()).filter(|&at| good.is_char_boundary(at)) {
            let _ = parse(&good[..at], Path::new("c.json"));
            for piece in ["", "\"", "{", "]", "0", "-", "\\", "\u{e9}", "null", "\\ud800"] {
                let (before, after) = (&good[..at], &good[at + 1..]);
                let _ = parse(&format!("{before}{piece}{after}"), Path::new("c.json"));
            }
        }
    }

    #[test]
    fn comments_are_read_over_and_a_problem_keeps_its_place() {
        let good = include_str!("../../conf/cluster.json");
        let commented = good.replace(",\n", ", // a comment, \"quorum\"\n");
        let path = Path::new("c.json");
        assert_eq!(parse(&commented, path).unwrap(), parse(good, path).unwrap());
        let wrong = "// one\n{ // two\n  \"cluster\": 7 // three\n}";
        let problems = parse(wrong, path).unwrap_err().problems;
        let found = problems.iter().find(|problem| problem.key == "cluster").unwrap();
        assert_eq!(found.position, Some(Position { line: 3, column: 14 }));
    }

    #[test]
    fn what_check_does_not_show_has_its_default_too() {
        let more =
            r#"{ "hooks": {"on_change": ["x"]}, "rank": {"by": "command", "command": ["x"]}, "#;
        let text = include_str!("../../conf/cluster.json").replacen('{', more, 1);
        let config = parse(&text, Path::new("c.json")).unwrap();
        let member = &config.members[0];
        let seconds = std::time::Duration::from_secs;
        assert_eq!(member.hooks.as_ref().map(|hooks| hooks.timeout), Some(seconds(10)));
        let Attribute::Command { timeout, .. } = member.rank.attribute else {
            panic!("{member:?}")
        };
        assert_eq!((timeout, member.rank.every), (seconds(1), seconds(30)));
    }

    #[test]
    fn a_member_is_ranked_by_what_the_file_says_and_else_by_its_id() {
        let good = include_str!("../../conf/cluster.json");
        let ranked = |rank: &str| {
            let text = good.replacen('{', &format!("{{ {rank}"), 1);
            parse(&text, Path::new("/etc/c.json")).unwrap().members.remove(0).rank.attribute
        };
        for (rank, attribute) in [
            ("", Attribute::Id),
            ("\"rank\": {\"by\": \"id\"},", Attribute::Id),
            ("\"rank\": {\"by\": \"address\"},", Attribute::Address),
            ("\"rank\": {\"by\": \"cpu\"},", Attribute::Cpu),
            ("\"rank\": {\"by\": \"disk\", \"path\": \"x\"},", Attribute::Disk("/etc/x".into())),
            ("\"rank\": {\"by\": \"files\", \"path\": \"/x\"},", Attribute::Files("/x".into())),
        ] {
            assert_eq!(ranked(rank), attribute, "{rank}");
        }
    }

    #[test]
    fn paths_start_at_the_folder_of_the_file() {
        let text = include_str!("../../conf/cluster.json");
        let data_dir = |path| parse(text, Path::new(path)).unwrap().data_dir;
        assert_eq!(data_dir("/etc/electd/cluster.json"), Path::new("/etc/electd/data"));
        assert_eq!(data_dir("cluster.json"), Path::new("data"));
    }
}
