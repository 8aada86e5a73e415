//! The commands of electd about a cluster, as an operator gives them.

use std::process::{Command, Output};

use super::Cluster;

/// This command with the file of the cluster, and nothing of the environment that says another.
pub fn command(cluster: &Cluster, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.arg(args[0]).arg("--config").arg(cluster.file()).args(&args[1..]);
    for variable in ["ELECTD_CONFIG", "ELECTD_NODE", "ELECTD_ADMIN"] {
        command.env_remove(variable);
    }
    command
}

/// Its outcome.
pub fn electd(cluster: &Cluster, args: &[&str]) -> Output {
    command(cluster, args).output().unwrap()
}

/// The output of a command that is done.
#[track_caller]
pub fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
