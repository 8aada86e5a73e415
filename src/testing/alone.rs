//! For tests: a process of one's own, for what concerns all children of a process, its parent, its stderr or its signals.

use std::process::{Command, Output};

/// Says to a test that it is in a process of its own.
const ALONE: &str = "ELECTD_TEST_ALONE";

/// Runs this test alone in another process, and gives the end of that; none there.
pub fn output(test: &str) -> Option<Output> {
    output_in(test, &[])
}

/// The same with these variables.
pub fn output_in(test: &str, variables: &[(&str, &str)]) -> Option<Output> {
    if std::env::var_os(ALONE).is_some() {
        return None;
    }
    let mut other = Command::new(std::env::current_exe().unwrap());
    other.args([test, "--exact", "--nocapture"]).env(ALONE, "yes").env_remove("RUST_LOG");
    let output = other.envs(variables.iter().copied()).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.starts_with("\nrunning 1 test\n"), "{output:?}");
    Some(output)
}

/// Like [`output`], of a test that has to pass there.
pub fn alone(test: &str) -> Option<Output> {
    let output = output(test)?;
    assert!(output.status.success(), "{output:?}");
    Some(output)
}
