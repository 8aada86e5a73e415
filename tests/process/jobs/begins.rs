//! What keeps a job from beginning: nothing that others can reach on the way from the node to the guard. And what does keep
//! it, is told, and the leadership goes.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Signal, kill_process};
use serde_json::Value;
use story::story;

use super::attached::{Attached, Beside, Fault, exec, stop};
use super::worker::STUBBORN;
use super::{coroner_of, with_majority};
use crate::support::script::in_pid_namespace;
use crate::support::{Cluster, Node, ensure, eventually};

const BEGUN: [&str; 4] = ["--", "sh", "-c", "echo begun; exec sleep 1000"];

/// Removes all that a cleaner or a restore may remove under a running node, but the socket by which it is asked.
fn clear(state: &Path) {
    for file in fs::read_dir(state).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        let is_of_jobs = name.ends_with(".lock") || name.ends_with(".sock");
        if is_of_jobs && name != "control.sock" {
            fs::remove_file(file.path()).unwrap();
        }
    }
}

/// The same command line.
pub fn again(command: &Command, _: &Path) -> Command {
    with_all_of(Command::new(command.get_program()), command)
}

/// A command line with the arguments and the variables of another one as well.
fn with_all_of(mut command: Command, other: &Command) -> Command {
    command.args(other.get_args()).stdin(Stdio::null());
    for (name, value) in other.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

/// A command that sees these sockets of this state folder alone, in a mount namespace of its own.
fn with_sockets(command: &Command, state: &Path, names: &[&str]) -> Command {
    let script = "s=$1; d=$2; n=$3; shift 3; mkdir -p $d; for f in $n; do [ ! -e $s/$f ] || \
                  { touch $d/$f; mount --bind $s/$f $d/$f; }; done; mount --rbind $d $s; exec \"$@\"";
    let mut elsewhere = Command::new("unshare");
    let folder = state.with_extension("elsewhere");
    elsewhere.args(["--mount", "sh", "-c", script, "sh"]).args([state, &folder]);
    elsewhere.arg(names.join(" ")).arg(command.get_program());
    with_all_of(elsewhere, command)
}

/// With those of earlier versions.
fn with_all_sockets(command: &Command, state: &Path) -> Command {
    with_sockets(command, state, &["control.sock", "guards.sock"])
}

/// Whether this process may make namespaces.
fn may_unshare() -> bool {
    let tried = Command::new("unshare").args(["--mount", "true"]).output();
    let may = tried.is_ok_and(|output| output.status.success());
    if !may {
        println!("skipped: a mount namespace needs root and unshare");
    }
    may
}

/// How many guards a node has ordered to begin.
fn starts(node: &Node) -> usize {
    node.log().matches(" in epoch ").count() - node.log().matches("leads in epoch ").count()
}

/// Claim: job-runs.
#[story]
fn the_job_of_run_begins_whatever_was_removed_from_the_state_and_though_the_coroner_stands_still() {
    let cluster = Cluster::prepare(1, with_majority);
    let node = cluster.node(1);
    let begun = cluster.file().with_file_name("begun");
    let script = format!("echo >>{}; exec sleep 1000", begun.display());
    node.start_as(&["--restart", "always", "--", "sh", "-c", &script], &[]);
    let count = || fs::read_to_string(&begun).unwrap_or_default().len();
    let until = |times| {
        eventually("its job begins", || ensure(count() >= times, || node.log_tail(5)));
    };
    until(1);
    let end_command = || {
        let guard = super::only_child(node.pid()).unwrap();
        kill_process(super::command_of(guard).unwrap(), Signal::TERM).unwrap();
    };
    clear(&node.state());
    end_command();
    until(2);
    stop(coroner_of(node.pid()).unwrap());
    end_command();
    until(3);
    assert_eq!(count(), 3, "{}", node.log());
    kill_process(coroner_of(node.pid()).unwrap(), Signal::CONT).unwrap();
}

/// Neither what was removed, nor a coroner that it can neither see nor end, nor files that are not there.
#[story]
fn a_command_of_exec_begins_wherever_its_process_lives() {
    let Some(pid_namespace) = in_pid_namespace() else { return };
    let cluster = Cluster::start_with(1, with_majority);
    cluster.agree_on(1);
    let node = cluster.node(1);
    let begins = |mut command: Command| {
        let mut exec = Attached(command.stdout(Stdio::piped()).spawn().unwrap());
        exec.hears("begun\n");
        exec
    };
    let cut_off =
        begins(with_sockets(&exec(&cluster, 1, &BEGUN), &node.state(), &["control.sock"]));
    clear(&node.state());
    let after_a_cleaner = begins(exec(&cluster, 1, &BEGUN));
    let coroner = coroner_of(node.pid()).unwrap();
    stop(coroner);
    let mut words = pid_namespace.split(' ');
    let mut there = Command::new(words.next().unwrap());
    let here = exec(&cluster, 1, &BEGUN);
    there.args(words).arg(here.get_program()).args(here.get_args()).stdin(Stdio::null());
    let in_a_container = begins(there);
    kill_process(coroner, Signal::CONT).unwrap();
    assert_eq!(starts(node), 0, "the node itself has no job: {}", node.log());
    drop((cut_off, after_a_cleaner, in_a_container));
}

/// The problem of a node whose job could not begin.
pub fn problem(cluster: &Cluster, number: usize) -> Result<String, String> {
    let problems = cluster.status(number)?.problems;
    let job = problems.iter().find(|problem| problem.kind == "job");
    job.map(|problem| problem.text.clone()).ok_or_else(|| format!("{problems:?}"))
}

/// A folder has the name of the file: nobody can lock that.
/// Claim: job-runs.
#[story]
fn a_node_whose_job_cannot_begin_hands_over_and_says_why() {
    let cluster = Cluster::prepare(3, with_majority);
    let lock = cluster.node(3).state().join("job.lock");
    let ends = format!("until [ -d {} ]; do sleep 0.05; done", lock.display());
    let job = ["--restart", "always", "--", "sh", "-c", &ends];
    // The highest leads first.
    cluster.nodes().iter().for_each(|node| node.start_as(&job, &[]));
    eventually("its job runs", || {
        ensure(starts(cluster.node(3)) == 1, || cluster.node(3).log_tail(9))
    });
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let why = eventually("it stands back", || problem(&cluster, 3));
    assert!(why.contains("it cannot be run: cannot lock ") && why.contains("job.lock"), "{why}");
    cluster.agree_on(2);
    let log = cluster.node(3).log();
    let told = log.matches("the job cannot be run: cannot lock ").count();
    assert!((1..=3).contains(&told) && starts(cluster.node(3)) == 1, "{log}");
    assert!(cluster.node(3).runs());
}

/// Claim: job-runs.
#[story]
fn an_exec_whose_command_cannot_begin_says_why_and_the_node_hands_over() {
    let cluster = Cluster::start_with(3, with_majority);
    let (leader, _) = cluster.agree();
    fs::create_dir(cluster.node(leader).state().join("exec-1.lock")).unwrap();
    let mut exec = exec(&cluster, leader, &BEGUN);
    let mut exec = Attached(exec.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap());
    exec.until_told("the job cannot be run: cannot lock ");
    assert_eq!(exec.code(), 70);
    eventually("another leads", || {
        let (now, _) = cluster.agree();
        ensure(now != leader, || format!("{leader} leads on"))
    });
    let why = eventually("it stands back", || problem(&cluster, leader));
    assert!(why.contains("it cannot be run: cannot lock "), "{why}");
}

/// Its users may run commands, and keep none of others from beginning: who can open a file can lock it.
#[story]
fn a_group_that_may_use_the_control_socket_can_open_nothing_else() {
    let own = rustix::process::getegid().as_raw();
    let groups = fs::read_to_string("/etc/group").unwrap();
    let name = groups.lines().find_map(|line| {
        let mut words = line.split(':');
        let name = words.next()?;
        (words.nth(1)? == own.to_string()).then(|| name.to_owned())
    });
    let Some(name) = name else { return };
    let cluster = Cluster::prepare(1, |config: &mut Value| {
        with_majority(config);
        config["control_group"] = name.into();
    });
    let node = cluster.node(1);
    node.start_as(&BEGUN, &[]);
    cluster.agree_on(1);
    let mut exec = exec(&cluster, 1, &BEGUN);
    let mut exec = Attached(exec.stdout(Stdio::piped()).spawn().unwrap());
    exec.hears("begun\n");
    eventually("its own job has begun", || {
        ensure(node.state().join("job.lock").exists(), || node.log_tail(5))
    });
    let all = fs::read_dir(node.state()).unwrap().flatten();
    let open = all.filter(|file| file.metadata().unwrap().mode() & 0o077 != 0);
    let names: Vec<_> = open.map(|file| file.file_name()).collect();
    assert_eq!(names, ["control.sock"]);
}

/// What its guard locks is the file that the node has, though it sees another folder there.
fn are_killed_elsewhere(times: usize) {
    if !may_unshare() {
        return;
    }
    let beside = Beside::start_by(with_all_sockets);
    beside.lines.draw(STUBBORN);
    let mut before = beside.lines.runs_next(None);
    for _ in 0..times {
        before = beside.suffer(Fault::KillExec, &before);
        beside.lines.assert_never_two();
    }
}

/// Claim: one-job.
#[story]
fn a_killed_exec_that_sees_another_folder_leaves_no_command_beside_the_next() {
    are_killed_elsewhere(2);
}

#[story]
#[ignore = "long"]
fn killed_execs_that_see_another_folder_leave_no_command_for_long() {
    are_killed_elsewhere(20);
}
