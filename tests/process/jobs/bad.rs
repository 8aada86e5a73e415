//! Commands that cannot be run, and users who may not run one.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::setup::can_trace;
use crate::support::Cluster;
use crate::support::Finished;
use story::story;

#[story]
fn run_ends_with_the_code_of_a_command_that_cannot_be_run_and_another_leads() {
    for (command, code, why) in [
        ("/no/such/program", 127, "No such file or directory"),
        ("/dev/null", 126, "Permission denied"),
    ] {
        let cluster = Cluster::prepare(2, |_| {});
        cluster.node(1).start();
        cluster.node(2).start_with(&["--", command]);
        assert_eq!(cluster.node(2).exit_code(), code, "{}", cluster.node(2).log_tail(10));
        let log = cluster.node(2).log();
        let said = format!("electd: cannot run \"{command}\": {why}");
        assert_eq!(log.matches(&said).count(), 1, "{log}");
        cluster.agree_on(1);
    }
}

/// A call that fails, how, and what to do about it.
const NEEDS: [(&str, &str, &str); 3] = [
    ("pidfd_open", "EPERM", "seccomp"),
    ("timerfd_create", "EPERM", "SystemCallFilter="),
    ("pidfd_open", "ENOSYS", "Linux 5.4"),
];

/// At the start, and not only when the node leads.
#[story]
fn a_job_that_could_not_be_guarded_here_is_refused_with_the_call_and_the_remedy() {
    if !can_trace() {
        return;
    }
    let cluster = Cluster::prepare(1, |_| {});
    for (call, how, remedy) in NEEDS {
        let mut command = Command::new("strace");
        command.args(["-qq", "-o", "/dev/null", "-e"]).arg(format!("inject={call}:error={how}"));
        command.arg(env!("CARGO_BIN_EXE_electd")).arg("run").arg("--config").arg(cluster.file());
        let output = command.args(["--node", "node-1", "--", "true"]).finished();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(78), "{call}: {told}");
        assert!(told.contains(&format!("{call} fails: ")) && told.contains(remedy), "{told}");
    }
}

/// A user of this host besides the node's, and a group of that user alone.
const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65533", "--clear-groups"];

/// Whether this process can run others as that user. It says so if not.
fn can_be_nobody() -> bool {
    let is_nobody = |output: Output| output.status.success();
    let can = Command::new("setpriv").args(NOBODY).arg("true").output().is_ok_and(is_nobody);
    if !can {
        println!("skipped: to be another user needs root and setpriv");
    }
    can
}

/// Puts a copy of the program beside the file of the cluster, where every user may run it. Returns that folder.
fn copied_program(cluster: &Cluster) -> PathBuf {
    let folder = cluster.file().parent().unwrap().to_path_buf();
    fs::copy(env!("CARGO_BIN_EXE_electd"), folder.join("electd")).unwrap();
    folder
}

/// Gives node-2 a command as that user: the command, and its arguments after those that all commands have.
fn as_nobody(cluster: &Cluster, more: &[&str]) -> Output {
    let mut command = Command::new("setpriv");
    command.args(NOBODY).arg(cluster.file().with_file_name("electd")).arg(more[0]);
    command.arg("--config").arg(cluster.file()).args(["--node", "node-2"]).args(&more[1..]);
    command.current_dir("/").finished()
}

/// The folders above the socket are for the node's user alone until the node lets the group pass.
#[story]
fn a_user_of_the_control_group_may_command_a_node() {
    if !can_be_nobody() {
        return;
    }
    let cluster = Cluster::prepare(2, |config| config["control_group"] = "65533".into());
    let folder = copied_program(&cluster);
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    for node in cluster.nodes() {
        fs::create_dir_all(node.state()).unwrap();
        for own in [node.state(), folder.join("data")] {
            fs::set_permissions(own, Permissions::from_mode(0o700)).unwrap();
        }
        node.start();
    }
    cluster.agree_on(2);
    for more in [&["exec", "--", "true"][..], &["drain"], &["undrain"], &["reload"]] {
        let output = as_nobody(&cluster, more);
        assert_eq!(output.status.code(), Some(0), "{more:?}: {output:?}");
        if more[0] == "undrain" {
            cluster.agree_on(2);
        }
    }
    let log = cluster.node(2).log();
    assert!(log.contains("the users of control_group may pass"), "{}", cluster.node(2).log_tail(9));
    assert!(!log.contains("may not pass"), "{}", cluster.node(2).log_tail(9));
}

#[story]
fn another_user_may_not_command_a_node() {
    if !can_be_nobody() {
        return;
    }
    let cluster = Cluster::start(2);
    let epoch = cluster.agree_on(2);
    // All may read the file and run the program: only the socket keeps them out.
    let folder = copied_program(&cluster);
    for open in [&folder, &folder.join("data"), &cluster.node(2).state()] {
        fs::set_permissions(open, Permissions::from_mode(0o755)).unwrap();
    }
    for more in [&["exec", "--", "true"][..], &["drain"], &["resign"], &["reload"]] {
        let output = as_nobody(&cluster, more);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{more:?}: {said}");
        assert!(said.contains("as the node's user, or"), "{more:?}: {said}");
        assert_eq!(said.lines().count(), 1, "{more:?}: {said}");
    }
    assert_eq!(cluster.agree_on(2), epoch);
}
