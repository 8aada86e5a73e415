//! Signals and variables that a process of electd inherits or gets: which of them end it, and what its programs see.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, getpid, kill_process};
use serde_json::json;
use story::story;

use super::attached::{Attached, exec, lives};
use super::{command_of, coroner_of, only_child};
use crate::support::script::ELECTD;
use crate::support::{Cluster, ensure, eventually};

/// Those that an operator may have a program ignore, as `nohup` does with the first.
const IGNORED: [Signal; 3] = [Signal::HUP, Signal::INT, Signal::QUIT];
/// Those that mean nothing to electd.
const FOREIGN: [Signal; 3] = [Signal::USR1, Signal::USR2, Signal::ALARM];

/// Runs a program with [`IGNORED`] ignored.
const NOHUP: &str = "trap '' HUP INT QUIT; exec \"$0\" \"$@\"";

fn nohup(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", NOHUP]).arg(command.get_program()).args(command.get_args());
    shell.stdin(Stdio::null());
    shell
}

fn send(process: Pid, signals: &[Signal]) {
    signals.iter().for_each(|signal| kill_process(process, *signal).unwrap());
}

/// A mask of signals in the status of a process.
fn mask(process: Pid, which: &str) -> u64 {
    let status = format!("/proc/{}/status", process.as_raw_nonzero());
    let status = fs::read_to_string(status).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(which)?.strip_prefix(':'));
    line.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).unwrap())
}

fn has(mask: u64, signal: Signal) -> bool {
    mask >> (signal.as_raw() - 1) & 1 == 1
}

#[story]
fn exec_ends_by_no_signal_that_it_was_started_to_ignore() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    let waits = nohup(&exec(&cluster, 1, &["--", "true"])).spawn().unwrap();
    let mut waits = Attached(waits);
    eventually("it listens to signals", || {
        let caught = mask(waits.pid(), "SigCgt");
        ensure(has(caught, Signal::TERM), || format!("{caught:x}"))
    });
    send(waits.pid(), &IGNORED);
    send(waits.pid(), &FOREIGN);
    send(waits.pid(), &[Signal::TERM]);
    assert_eq!(waits.code(), 143, "the first signal that was to end it is TERM");

    let script = "grep SigIgn /proc/self/status";
    let shows = exec(&cluster, 2, &["--", "sh", "-c", script]);
    let of_this_test = mask(getpid(), "SigIgn");
    for (mut command, inherited) in [(nohup(&shows), u64::MAX), (shows, of_this_test)] {
        let output = command.stdout(Stdio::piped()).output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        let mask = u64::from_str_radix(told.trim_start_matches("SigIgn:").trim(), 16).unwrap();
        let ignored = |mask| IGNORED.map(|signal| has(mask, signal));
        assert_eq!(ignored(mask), ignored(inherited), "{told}");
        assert!(!FOREIGN.into_iter().any(|signal| has(mask, signal)), "{told}");
    }
}

#[story]
fn a_node_and_a_guard_end_by_no_signal_that_means_nothing_to_them() {
    let cluster = Cluster::prepare(1, |_| {});
    let node = cluster.node(1);
    node.runs_by(&format!("trap '' HUP INT QUIT\nexec {ELECTD} \"$@\""));
    node.start_with(&["--", "sleep", "1000"]);
    let (guard, command) = eventually("its command runs", || {
        let guard = only_child(node.pid()).ok_or("no guard")?;
        Ok((guard, command_of(guard).ok_or("no command")?))
    });
    for process in [node.pid(), guard] {
        send(process, &IGNORED);
        send(process, &FOREIGN);
    }
    eventually("both have taken the signals", || {
        let pending = [node.pid(), guard].map(|process| mask(process, "ShdPnd"));
        ensure(pending == [0, 0], || format!("{pending:x?}"))
    });
    cluster.agree_on(1);
    assert!([guard, command].into_iter().all(lives));
    assert_eq!(only_child(node.pid()), Some(guard), "{}", node.log_tail(9));
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
}

#[story]
fn a_hup_right_after_the_start_has_a_node_read_its_file_again() {
    let cluster = Cluster::prepare(1, |_| {});
    let place = (cluster.node(1).address, cluster.node(1).admin);
    let node = cluster.process(1, place, "piped", cluster.config());
    // The node waits for the text of its file until the HUP has come.
    let (pipe, file) = (cluster.file().with_file_name("piped.json"), cluster.file());
    fs::remove_file(&pipe).unwrap();
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    node.start();
    let mut text = OpenOptions::new().write(true).open(&pipe).unwrap();
    node.hang_up();
    fs::rename(&file, &pipe).unwrap();
    text.write_all(cluster.config().to_string().as_bytes()).unwrap();
    drop(text);
    eventually("it runs, or has ended", || {
        assert!(lives(node.pid()), "HUP ended it");
        node.status()
    });
    node.until_logged(&["the configuration was read again"]);
}

/// Whether this process has such a file open: then whoever started it may have left it to all.
fn is_open_here(file: &str) -> bool {
    let own = fs::read_dir("/proc/self/fd").unwrap().flatten();
    own.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|open| open.as_os_str() == file)
}

#[story]
fn no_program_inherits_what_the_service_manager_gave_to_electd() {
    let cluster = Cluster::prepare(1, |_| {});
    let folder = cluster.file().parent().unwrap().display().to_string();
    let mut config = cluster.config().clone();
    let all = "{ env; ls -l /proc/self/fd; }";
    let show = |name: &str| json!(["sh", "-c", format!("{all} >>{folder}/{name}; echo 1")]);
    config["hooks"] = json!({"on_change": show("hook")});
    config["members"][0]["health"] = json!({"command": show("check"), "every": "1s"});
    config["rank"] = json!({"by": "command"});
    config["members"][0]["rank"] = json!({"command": show("rank")});
    fs::write(cluster.file(), config.to_string()).unwrap();
    let given = [
        ("NOTIFY_SOCKET", "@electd-test-nobody"),
        ("WATCHDOG_USEC", "600000000"),
        ("WATCHDOG_PID", "1"),
        ("LISTEN_FDS", "1"),
        ("LISTEN_PID", "1"),
        ("LISTEN_FDNAMES", "a"),
        ("LISTEN_PIDFDID", "1"),
        ("ELECTD_TEST_OTHER", "kept"),
        ("ELECTD_HELPER", "1"), // as in an electd that a hook of another started
    ];
    let script = format!("{all} >{folder}/command; exec sleep 1000");
    cluster.node(1).start_as(&["--", "sh", "-c", &script], &given);
    for name in ["hook", "check", "rank", "command"] {
        let seen = eventually(&format!("{name} has run"), || {
            let seen = fs::read_to_string(format!("{folder}/{name}")).unwrap_or_default();
            let is_all = seen.contains("ELECTD_TEST_OTHER=kept") && seen.contains(" -> /proc/");
            ensure(is_all, || cluster.node(1).log_tail(9))?;
            Ok(seen)
        });
        for (variable, _) in &given[..7] {
            assert!(!seen.contains(&format!("{variable}=")), "{name} has {variable}: {seen}");
        }
        let descriptors = seen.lines().filter_map(|line| line.rsplit_once(" -> "));
        let more = descriptors.filter(|(fd, to)| {
            let number = fd.rsplit(' ').next().and_then(|number| number.parse::<u32>().ok());
            // `ls` reads a folder. All timers have one name, and other tests have some.
            let is_ours = to.contains("timerfd") || !is_open_here(to);
            let is_mark = number >= Some(1020) && to.starts_with("pipe:") && name == "command";
            number > Some(2) && !to.starts_with("/proc/") && is_ours && !is_mark
        });
        assert_eq!(more.collect::<Vec<_>>(), [], "{name}");
        // By this mark the end of the job spares them.
        let mark = seen.lines().find_map(|line| line.strip_prefix("ELECTD_HELPER="));
        assert_eq!(mark.is_some_and(|mark| mark.len() == 32), name != "command", "{name}: {seen}");
        assert!(mark != Some("1"), "any electd could have made it: {name}");
        if name == "command" {
            let own = ["CLUSTER=test", "NODE=node-1", "LEADER=node-1", "EPOCH=1"];
            let has = |own| seen.lines().any(|line| line == format!("ELECTD_{own}"));
            assert!(own.into_iter().all(has), "{seen}");
        }
    }
    let coroner = coroner_of(cluster.node(1).pid()).unwrap().as_raw_nonzero();
    let seen = fs::read_to_string(format!("/proc/{coroner}/environ")).unwrap();
    let is_marked = seen.starts_with("ELECTD_HELPER=") && seen.matches('\0').count() == 1;
    assert!(is_marked, "it needs nothing else, and outlives the node: {seen}");
}
