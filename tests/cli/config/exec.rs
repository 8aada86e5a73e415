//! `exec` where no node runs, as users run it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::files::*;
use crate::admin::pace::{Running, end_of, until};
use crate::heed::heed_signals;

#[test]
fn a_command_beside_no_node_waits_for_one_as_long_as_it_is_told_to() {
    let file = ConfigFile::new(GOOD);
    for (wait, waits) in [(vec![], 0), (vec!["--wait", "0s"], 0), (vec!["--wait", "1s"], 1)] {
        let exec = ["exec", "--config", file.arg(), "--node", "node-1"];
        let output = electd(&[&exec[..], &wait[..], &["--", "true"]].concat());
        assert_eq!(output.status.code(), Some(69), "{output:?}");
        let said = stderr(&output);
        let told = said.matches("; waiting for a node on this host\n").count();
        assert_eq!(told, waits, "{wait:?}: {said}");
        assert_eq!(said.lines().count(), 1 + waits, "{wait:?}: {said}");
        assert!(said.lines().last().unwrap().starts_with("no node runs on this host: "), "{said}");
    }
}

#[test]
fn a_program_that_is_not_there_is_warned_of_as_it_may_come_later() {
    let file = ConfigFile::new(GOOD);
    let exec = ["exec", "--config", file.arg(), "--node", "node-1", "--", "./no-such"];
    let said = stderr(&electd(&exec));
    let words = "./no-such cannot be run on this host: No such file or directory (os error 2): it is tried when this node \
                 leads";
    assert!(said.lines().next().unwrap().ends_with(words), "{said}");
}

/// As a service manager has it: the node may start later.
#[test]
fn a_command_that_is_restarted_waits_for_a_node_until_a_signal_ends_it() {
    heed_signals();
    let file = ConfigFile::new(GOOD);
    for (signal, number) in
        [(Signal::TERM, 15), (Signal::INT, 2), (Signal::QUIT, 3), (Signal::HUP, 1)]
    {
        let exec = ["exec", "--config", file.arg(), "--node", "node-1", "--restart", "always"];
        let mut exec = command(&[&exec[..], &["--", "true"]].concat());
        let mut exec = exec.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(exec.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        assert!(line.ends_with("; waiting for a node on this host\n"), "{line}");
        kill_process(Pid::from_child(&exec), signal).unwrap();
        assert_eq!(end_of(&mut exec).code(), Some(128 + number), "{signal:?}");
    }
}

/// As the first process of a container: what nobody reaps keeps its number.
#[test]
fn a_command_that_waits_for_a_node_reaps_what_it_did_not_start() {
    let file = ConfigFile::new(GOOD);
    let script = "sleep 1000 >/dev/null 2>&1 & echo $!
        exec \"$0\" exec --config \"$1\" --node node-1 --restart always -- true";
    let mut exec = Command::new("sh");
    exec.args(["-c", script, env!("CARGO_BIN_EXE_electd"), file.arg()]).stdin(Stdio::null());
    let exec = exec.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut exec = Running(exec.unwrap());
    let mut number = String::new();
    BufReader::new(exec.0.stdout.take().unwrap()).read_line(&mut number).unwrap();
    let mut waits = String::new();
    BufReader::new(exec.0.stderr.take().unwrap()).read_line(&mut waits).unwrap();
    let child = number.trim().parse().ok().and_then(Pid::from_raw).unwrap();
    kill_process(child, Signal::KILL).unwrap();
    assert!(waits.ends_with("; waiting for a node on this host\n"), "{waits}");
    until("it is reaped", || !Path::new("/proc").join(number.trim()).exists());
}
