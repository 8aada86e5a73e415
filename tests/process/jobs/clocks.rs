//! Processes in different time namespaces: a moment of one is another moment of the other.

use std::process::Command;

use story::story;

use super::attached::exec;
use crate::support::Cluster;

/// Another time namespace, whose CLOCK_BOOTTIME is this far behind or ahead.
const BEHIND: &str = "-10";
const AHEAD: &str = "1000";

fn elsewhere(boottime: &str) -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--time", "--fork", "--kill-child", "--boottime", boottime]);
    unshare
}

#[story]
fn exec_does_not_run_a_command_by_another_clock_than_the_nodes() {
    if !elsewhere(AHEAD).arg("true").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: a time namespace needs root, unshare, and a kernel that has them");
        return;
    }
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    for boottime in [BEHIND, AHEAD] {
        let here = exec(&cluster, 1, &["--wait", "10s", "--", "echo", "runs"]);
        let mut there = elsewhere(boottime);
        let output = there.arg(here.get_program()).args(here.get_args()).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(78), "{boottime}: {told}");
        let begin = "node-1 does not run commands of others at ";
        let is_told =
            told.lines().any(|line| line.starts_with(begin)) && told.contains("another clock");
        assert!(is_told, "{boottime}: {told}");
        assert_eq!(output.stdout, b"", "{boottime}: the command ran");
    }
    let output = exec(&cluster, 1, &["--", "echo", "runs"]).output().unwrap();
    assert_eq!(output.stdout, b"runs\n", "{output:?}");
}
