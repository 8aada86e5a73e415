//! Programs for the shell, beside a node or in its place.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::Node;

/// The program under test.
pub const ELECTD: &str = env!("CARGO_BIN_EXE_electd");

/// A PID namespace of its own for a process and all that it starts, which end with it.
const PID_NAMESPACE: [&str; 4] = ["--pid", "--fork", "--kill-child", "--mount-proc"];

/// Writes a program of these lines.
#[track_caller]
pub fn script(path: &Path, lines: &str) {
    fs::write(path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// The command of a program that runs in a PID namespace of its own; none, and a word about it, where this process may
/// make none.
pub fn in_pid_namespace() -> Option<String> {
    let tried = Command::new("unshare").args(PID_NAMESPACE).arg("true").output();
    if !tried.is_ok_and(|output| output.status.success()) {
        println!("skipped: a PID namespace needs root and unshare");
        return None;
    }
    Some(format!("unshare {}", PID_NAMESPACE.join(" ")))
}

impl Node {
    /// From its next start on these lines run in the place of electd, with its arguments.
    #[track_caller]
    pub fn runs_by(&self, lines: &str) {
        let path = self.folder().join(format!("{}.sh", self.name));
        script(&path, lines);
        self.build.replace(Some(path));
    }
}
