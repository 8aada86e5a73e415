//! What keeps `electd run` from starting a node, by running the program on one member.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tempfile::TempDir;

use crate::admin::pace::{Running, TIMEOUT, end_of, run_within, until};
use crate::heed::heed_signals;
use crate::pty::{Terminal, on_terminal};

/// A file with one member that has these keys too, which does not start in these tests.
fn file(keys: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut member = json!({"name": "a", "id": "0dac99d5-3e7f-40fb-ace7-f991c011c960", "address": "127.0.0.1:1"});
    let mut config = json!({"cluster": "c", "quorum": "none", "data_dir": "data"});
    for (key, value) in keys {
        match *key {
            "admin_token_file" => config[*key] = json!(value),
            _ => member[*key] = json!(value),
        }
    }
    config["members"] = json!([member]);
    fs::write(folder.path().join("c.json"), config.to_string()).unwrap();
    folder
}

/// Runs it as a shell does after this, with no settings of the tester's own.
fn command_after(before: &str, folder: &TempDir, args: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec \"$0\" run --config c.json --node a {args}")]);
    command.arg(env!("CARGO_BIN_EXE_electd")).current_dir(folder.path());
    for variable in
        ["ELECTD_CONFIG", "ELECTD_NODE", "ELECTD_LOG_FORMAT", "RUST_LOG", "JOURNAL_STREAM"]
    {
        command.env_remove(variable);
    }
    on_terminal(&mut command);
    command
}

/// Runs it as a shell does after this, and gives its code and the last line that it says.
fn run_after(before: &str, folder: &TempDir, args: &str) -> (Option<i32>, String) {
    let output = run_within(TIMEOUT, command_after(before, folder, args));
    let said = String::from_utf8(output.stderr).unwrap();
    (output.status.code(), said.lines().last().unwrap_or_default().to_owned())
}

#[test]
fn an_admin_address_that_cannot_be_had_is_told_with_a_remedy_for_its_cause() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (admin, remedy) in [
        (
            taken.as_str(),
            "another process listens there: ss -ltnp shows it; end it, or give another port",
        ),
        (
            "192.0.2.1:7201", // nobody's
            "start it on the host that has this address, or give the member an admin_listen",
        ),
    ] {
        let (code, said) = run_after("", &file(&[("admin", admin)]), "");
        assert_eq!(code, Some(71), "{said}");
        let begin = format!("cannot listen on {admin}, the admin address of a: ");
        assert!(said.starts_with(&begin) && said.ends_with(remedy), "{said}");
    }
}

#[test]
fn a_process_that_may_open_too_few_files_for_its_members_does_not_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let folder = file(&[("admin", &taken.local_addr().unwrap().to_string())]);
    let (code, said) = run_after("ulimit -n 35;", &folder, "");
    assert_eq!(code, Some(78), "{said}");
    let words = "this process may open 35 files, and a node of 1 member needs 36: ";
    assert!(said.starts_with(words), "{said}");
    let (code, said) = run_after("ulimit -n 36;", &folder, "");
    assert_eq!(code, Some(71), "these are enough: {said}");
}

#[test]
fn a_task_is_no_longer_than_may_be_handed_out() {
    let folder = file(&[]);
    let task = folder.path().join("task");
    let (_, none) = run_after("", &folder, "--task task");
    assert!(none.starts_with("cannot read --task task: No such file"), "{none}");
    fs::write(&task, vec![b'x'; 65_537]).unwrap();
    let long = "--task task is longer than 65536 bytes: hand out where it is kept";
    assert_eq!(run_after("", &folder, "--task task"), (Some(2), long.to_owned()));
    fs::write(&task, vec![b'x'; 65_536]).unwrap();
    let (code, said) = run_after("", &folder, "--task task");
    assert!(code == Some(2) && said.contains("halting"), "it is for that algorithm: {said}");
}

#[test]
fn a_token_that_a_node_cannot_read_keeps_it_from_starting() {
    let folder = file(&[("admin_token_file", "token")]);
    let (code, said) = run_after("", &folder, "");
    assert_eq!(code, Some(66), "{said}");
    assert!(said.starts_with("cannot read admin_token_file "), "{said}");
    fs::write(folder.path().join("token"), "\n").unwrap();
    let (code, said) = run_after("", &folder, "");
    assert!(code == Some(78) && said.ends_with("token is empty: write a token"), "{said}");
}

/// A file of a node that never starts, as its name does not resolve.
fn nameless() -> TempDir {
    file(&[("address", "no-such-host.invalid:7101")])
}

/// Its network may come later. A signal ends it meanwhile.
#[test]
fn a_node_whose_name_does_not_resolve_waits_for_it_until_it_is_ended() {
    for (key, place) in [("address", "no-such-host.invalid:7101"), ("admin", "nor-this.invalid:1")]
    {
        let folder = file(&[(key, place)]);
        let child = command_after("", &folder, "").stderr(Stdio::piped()).spawn();
        let mut node = Running(child.unwrap());
        let mut lines = BufReader::new(node.0.stderr.take().unwrap()).lines().map(Result::unwrap);
        let waits = lines.find(|line| line.contains("does not resolve here"));
        let waits = waits.expect("it says that it waits");
        assert!(waits.contains(&format!("{place}, an address of a, does not")), "{waits}");
        assert!(waits.ends_with("; a starts when it does"), "{waits}");
        kill_process(Pid::from_child(&node.0), Signal::TERM).unwrap();
        assert_eq!(end_of(&mut node.0).code(), Some(0));
    }
}

/// A reload by HUP would be waited for in vain.
#[test]
fn a_node_that_was_started_to_ignore_hup_says_so() {
    heed_signals();
    for (before, first) in [
        (
            "trap '' HUP;",
            "INFO  a: HUP is ignored, as this process was started so: use electd reload",
        ),
        ("", "WARN  a: no-such-host.invalid:7101, an address of a, does not resolve here"),
    ] {
        let folder = nameless();
        let child = command_after(before, &folder, "").stderr(Stdio::piped()).spawn();
        let mut node = Running(child.unwrap());
        let mut lines = BufReader::new(node.0.stderr.take().unwrap()).lines().map(Result::unwrap);
        let told = lines.next().expect("a line");
        assert!(told["2026-11-22T10:58:33.123Z ".len()..].starts_with(first), "{told}");
    }
}

/// The journal of systemd has time and level of a line, a program reads documents, and a person at a terminal colours.
#[test]
fn a_log_looks_as_its_reader_needs_it() {
    let folder = nameless();
    let told = |variables: &[(&str, &str)], is_journal: bool| {
        let (reader, writer) = std::io::pipe().unwrap();
        let writer = fs::File::from(OwnedFd::from(writer));
        let made = writer.metadata().unwrap();
        let mut command = command_after("", &folder, "");
        command.envs(variables.iter().copied());
        let number = made.ino() + u64::from(!is_journal);
        command.env("JOURNAL_STREAM", format!("{}:{number}", made.dev()));
        let mut node = Running(command.stderr(writer).spawn().unwrap());
        let line = BufReader::new(reader).lines().next().unwrap().unwrap();
        node.0.kill().unwrap();
        line
    };
    let words = "no-such-host.invalid:7101, an address of a, does not resolve here: ";
    let timed = |line: &str| line["2026-11-22T10:58:33.123Z ".len()..].to_owned();
    let plain = told(&[("CLICOLOR_FORCE", "1")], false);
    assert!(
        timed(&plain).starts_with(&format!("WARN  a: {words}")),
        "a pipe has no colours: {plain}"
    );
    let journal = told(&[], true);
    assert!(journal.starts_with(&format!("<4>a: {words}")), "{journal}");
    let json = told(&[("ELECTD_LOG_FORMAT", "json")], false);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let keys = ["level", "cluster", "node", "event"];
    assert_eq!(keys.map(|key| json[key].as_str().unwrap()), ["WARN", "c", "a", "unresolved"]);
    assert!(json["message"].as_str().unwrap().starts_with(words), "{json}");
    for (colours, level) in [("", "\u{1b}[33mWARN \u{1b}[0m"), ("1", "WARN ")] {
        let terminal = Terminal::of(24, 200);
        let mut command = command_after("", &folder, "");
        let child = command.env("NO_COLOR", colours).stderr(terminal.stdio()).spawn();
        let _node = Running(child.unwrap());
        until("it says that it waits", || terminal.shows().contains('\n'));
        let shown = terminal.shows();
        assert!(timed(&shown).starts_with(&format!("{level} a: {words}")), "{shown:?}");
    }
}

#[test]
fn a_file_with_problems_and_one_without_the_node_keep_it_from_starting() {
    let folder = file(&[]);
    let path = folder.path().join("c.json");
    let text = fs::read_to_string(&path).unwrap();
    for (broken, words) in [
        (text.replace("\"none\"", "\"most\""), "quorum cannot be \"most\""),
        (text.replace("\"a\"", "\"b\""), "\"a\""),
    ] {
        fs::write(&path, broken).unwrap();
        let (code, said) = run_after("", &folder, "");
        assert!(code == Some(78) && said.contains(words), "{code:?}: {said}");
    }
}

/// As a filter of system calls does, of a container or a unit: each call that a guard needs is tried by its own name.
#[test]
fn a_node_that_could_not_guard_its_job_does_not_start() {
    if Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_err() {
        return println!("skipped: there is no strace");
    }
    let folder = file(&[]);
    let calls = || fs::read_to_string(folder.path().join("calls")).unwrap();
    let run = |expressions: &[String]| {
        let mut command = Command::new("strace");
        command.args(["-o", "calls"]).args(expressions).arg(env!("CARGO_BIN_EXE_electd"));
        command.args(["run", "--config", "c.json", "--node", "a"]);
        command.args(["--address", "10.0.0.9/24%no-such"]).current_dir(folder.path());
        for variable in ["ELECTD_CONFIG", "ELECTD_NODE", "RUST_LOG"] {
            command.env_remove(variable);
        }
        let output = run_within(TIMEOUT, command);
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for (call, tried, name) in [
        ("pidfd_open", "pidfd_open(", "pidfd_open"),
        ("pidfd_send_signal", "pidfd_send_signal(", "pidfd_send_signal"),
        ("waitid", "P_PIDFD", "waitid(P_PIDFD)"),
        ("timerfd_create", "CLOCK_BOOTTIME", "timerfd_create"),
        ("timerfd_settime", "timerfd_settime(", "timerfd_settime"),
        ("timerfd_gettime", "timerfd_gettime(", "timerfd_gettime"),
        ("prctl", "PR_GET_CHILD_SUBREAPER", "prctl(PR_GET_CHILD_SUBREAPER)"),
        ("prctl", "PR_GET_PDEATHSIG", "prctl(PR_GET_PDEATHSIG)"),
        ("/^readlink", "\"/proc/self/exe\"", "reading /proc"),
    ] {
        let trace = format!("-etrace={call}");
        let (code, said) = run(std::slice::from_ref(&trace));
        assert_eq!(code, Some(71), "it may: {said}");
        let all = calls();
        let mut made = all.lines().filter(|line| !line.starts_with("---")); // but for signals
        let at = made.position(|line| line.contains(tried));
        let at = 1 + at.unwrap_or_else(|| panic!("{tried} is not tried: {all}"));
        let (code, said) = run(&[trace, format!("-einject={call}:error=EPERM:when={at}")]);
        let why = format!(
            "no job can be guarded here, as {name} fails: Operation not permitted (os error 1); have "
        );
        assert!(code == Some(78) && said.starts_with(&why), "{code:?} {said}{}", calls());
    }
}

/// As in a container that mounts nothing there: what is missing is named, with the remedy, and by process 1 too.
#[test]
fn a_node_without_proc_says_so() {
    let unshare = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options);
        command
    };
    if !unshare(&["--mount", "true"]).output().is_ok_and(|output| output.status.success()) {
        return println!("skipped: a mount namespace needs root and unshare");
    }
    let folder = file(&[]);
    let electd = format!("{} run --config c.json --node a", env!("CARGO_BIN_EXE_electd"));
    let remedy = "mount the file system of processes: mount -t proc proc /proc";
    for (options, arguments, code) in [
        (&["--mount"][..], "--address 10.0.0.9/24%no-such", 78),
        (&["--mount", "--pid", "--fork", "--kill-child"], "", 70),
    ] {
        let mut command = unshare(options);
        command.args(["sh", "-c", &format!("umount -l /proc && exec {electd} {arguments}")]);
        let output = {
            command.current_dir(folder.path()).env_remove("RUST_LOG");
            run_within(TIMEOUT, command)
        };
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains("/proc") && said.trim_end().ends_with(remedy), "{said}");
    }
}
