//! The commands of electd about a cluster, as an operator gives them.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::Cluster;

/// No command of a test waits for longer, also for nodes that do not answer.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs to its end, and never for ever.
pub trait Finished {
    /// The output of the command. One that does not end is killed, and the test fails.
    #[track_caller]
    fn finished(&mut self) -> Output;
}

impl Finished for Command {
    #[track_caller]
    fn finished(&mut self) -> Output {
        self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.spawn().unwrap();
        let (pid, (sender, ended)) = (Pid::from_child(&child), channel());
        let reader = thread::spawn(move || sender.send(child.wait_with_output().unwrap()));
        let output = ended.recv_timeout(LONGEST);
        if output.is_err() {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = reader.join();
        output.unwrap_or_else(|_| panic!("{self:?} has not ended in {LONGEST:?}"))
    }
}

/// This command with the file of the cluster, and nothing of the environment that says another.
pub fn command(cluster: &Cluster, args: &[&str]) -> Command {
    command_by(&cluster.file(), args)
}

/// The same with another file.
pub fn command_by(file: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.arg(args[0]).arg("--config").arg(file).args(&args[1..]);
    for variable in ["ELECTD_CONFIG", "ELECTD_NODE", "ELECTD_ADMIN"] {
        command.env_remove(variable);
    }
    command
}

/// Its outcome.
pub fn electd(cluster: &Cluster, args: &[&str]) -> Output {
    command(cluster, args).finished()
}

/// The output of a command that is done.
#[track_caller]
pub fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
