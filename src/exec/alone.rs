//! For tests: a process of one's own, for what concerns all children of a process, its parent or its stderr.

use std::process::{Command, Output};

/// Says to a test that it is in a process of its own.
const ALONE: &str = "ELECTD_TEST_ALONE_IN_EXEC";

/// Runs this test of this room alone in another process, and gives the end of that; none there.
pub fn alone(test: &str) -> Option<Output> {
    if std::env::var_os(ALONE).is_some() {
        return None;
    }
    let mut other = Command::new(std::env::current_exe().unwrap());
    other.args([&format!("exec::{test}"), "--exact", "--nocapture"]).env(ALONE, "yes");
    let output = other.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.starts_with("\nrunning 1 test\n"), "{output:?}");
    assert!(output.status.success(), "{output:?}");
    Some(output)
}
