//! Files to be checked, and running the program on them.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::admin::pace::{TIMEOUT, run_within};

/// A valid file that the tests break in one place at a time.
pub const GOOD: &str = r#"{
  "cluster": "demo",
  "quorum": "none",
  "data_dir": "data",
  "timing": {"heartbeat": "100ms", "failure": "500ms", "message": "50ms", "lease": "400ms"},
  "members": [
    {"name": "node-1", "id": "0dac99d5-3e7f-40fb-ace7-f991c011c960", "address": "127.0.0.1:7101", "admin": "127.0.0.1:7201"},
    {"name": "node-2", "id": "665ab310-e093-4084-beaa-df6001b3876c", "address": "127.0.0.1:7102", "admin": "127.0.0.1:7202"}
  ]
}
"#;

pub fn electd(args: &[&str]) -> Output {
    run_within(TIMEOUT, command(args))
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.args(args).env_remove("ELECTD_CONFIG").env_remove("ELECTD_NODE");
    command
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A configuration file in a folder of its own, both gone when it is dropped.
pub struct ConfigFile {
    _folder: TempDir,
    pub path: PathBuf,
}

impl ConfigFile {
    pub fn new(text: &str) -> ConfigFile {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cluster.json");
        fs::write(&path, text).unwrap();
        ConfigFile { _folder: folder, path }
    }

    pub fn arg(&self) -> &str {
        self.path.to_str().unwrap()
    }

    /// Runs `check` on it.
    pub fn check(&self, more: &[&str]) -> Output {
        electd(&[&["check", "--config", self.arg()], more].concat())
    }

    /// The problems that `check` finds, without the name of the file.
    pub fn problems(&self) -> Vec<String> {
        let output = self.check(&[]);
        assert_eq!(output.status.code(), Some(78), "{output:?}");
        assert_eq!(stdout(&output), "", "problems are no result");
        let prefix = format!("{}:", self.arg());
        let strip = |line: &str| line.strip_prefix(&prefix).unwrap_or(line).to_owned();
        stderr(&output).lines().map(strip).collect()
    }
}

/// The good file with one piece replaced.
pub fn with(piece: &str, replacement: &str) -> ConfigFile {
    assert_eq!(GOOD.matches(piece).count(), 1, "{piece} is not unique");
    ConfigFile::new(&GOOD.replace(piece, replacement))
}

/// The one problem of a file that has this value under this key.
#[track_caller]
pub fn one_problem_of(key: &str, value: &str, expected: &str) {
    let quorum = "\"quorum\": \"none\",";
    one_problem(quorum, &format!("{quorum} \"{key}\": {value},"), expected);
}

#[track_caller]
pub fn one_problem(piece: &str, replacement: &str, expected: &str) {
    assert_eq!(with(piece, replacement).problems(), [expected], "{piece} -> {replacement}");
}
