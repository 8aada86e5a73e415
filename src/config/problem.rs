//! The problems of a configuration, each with a remedy, one line each.

use std::fmt;
use std::path::{Path, PathBuf};

/// All problems found in one file, in the order of the file.
///
/// ```
/// let errors = electd_config::parse("{", "cluster.json".as_ref()).unwrap_err();
/// assert!(errors.to_string().starts_with("cluster.json:1:"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.lines())]
pub struct ConfigErrors {
    /// The file as it was named.
    pub file: PathBuf,
    /// At least one.
    pub problems: Vec<ConfigProblem>,
}

impl ConfigErrors {
    /// The one problem of a file that cannot be read far enough to find others.
    pub(super) fn unreadable(
        file: &Path,
        position: Option<Position>,
        what: String,
        remedy: &str,
    ) -> ConfigErrors {
        let problem = ConfigProblem {
            position,
            key: String::new(),
            what,
            value: None,
            remedy: remedy.to_owned(),
        };
        ConfigErrors { file: file.to_owned(), problems: vec![problem] }
    }

    /// Whether the file could not be read at all.
    #[must_use]
    pub fn is_unread(&self) -> bool {
        self.problems.iter().any(|problem| problem.position.is_none() && problem.key.is_empty())
    }

    fn lines(&self) -> String {
        let file = self.file.display();
        let lines: Vec<String> =
            self.problems.iter().map(|problem| format!("{file}:{problem}")).collect();
        lines.join("\n")
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where in the file; none where the file could not be read at all.
    pub position: Option<Position>,
    /// The path of the key, such as `members[2].id`; empty for the document as a whole.
    pub key: String,
    /// What is wrong with it.
    pub what: String,
    /// The value as it is written, shortened; none where there is none or `what` quotes it.
    pub value: Option<String>,
    /// What to do about it.
    pub remedy: String,
}

/// `LINE:COL: KEY: what is wrong (value ...): remedy`, without the parts that do not apply.
impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
            write!(f, "{line}:{column}:")?;
        }
        if !self.key.is_empty() {
            write!(f, " {}:", self.key)?;
        }
        write!(f, " {}", self.what)?;
        if let Some(value) = &self.value {
            write!(f, " (value {value})")?;
        }
        write!(f, ": {}", self.remedy)
    }
}

/// A place in a file, both counted from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The place of the byte at `offset`.
    pub(super) fn of(text: &str, offset: usize) -> Position {
        let before = text.get(..offset).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Position {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{load, parse};
    use super::*;

    /// Its file system may be there later. What was read and is wrong stays wrong.
    #[test]
    fn a_file_that_is_not_there_is_told_from_one_that_is_wrong() {
        assert!(load(Path::new("/nonexistent/cluster.json")).unwrap_err().is_unread());
        for text in ["{", "{}", "7"] {
            assert!(!parse(text, Path::new("c.json")).unwrap_err().is_unread(), "{text}");
        }
    }

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let text = "ab\nä€x\n";
        assert_eq!(Position::of(text, 0), Position { line: 1, column: 1 });
        let x = text.find('x').unwrap();
        assert_eq!(Position::of(text, x), Position { line: 2, column: 3 });
        assert_eq!(Position::of(text, text.len()), Position { line: 3, column: 1 });
    }

    #[test]
    fn a_problem_is_one_line_with_all_it_knows() {
        let problem = ConfigProblem {
            position: Some(Position { line: 3, column: 9 }),
            key: "members[2].id".to_owned(),
            what: "is not a UUID".to_owned(),
            value: Some("\"x\"".to_owned()),
            remedy: "give one".to_owned(),
        };
        let errors = ConfigErrors { file: "c.json".into(), problems: vec![problem] };
        assert_eq!(
            errors.to_string(),
            "c.json:3:9: members[2].id: is not a UUID (value \"x\"): give one"
        );
        assert!(!errors.is_unread());
    }
}
