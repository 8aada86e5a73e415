//! electd and its guard are killed, one right after the other: the coroner ends the job by its cgroup, and certifies
//! that.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use story::story;

use super::jobs::attached;
use super::{
    Job, Manner, SOON, coroner, is_certificate, number, quick, said, said_at, slow, until_gone,
    until_gone_soon,
};
use crate::jobs::attached::lives;
use crate::jobs::worker::{ASTRAY, DRAWN, FILE, MANNER, MANNERS, command};
use crate::jobs::{Elsewhere, Lines, command_of, guard_of};
use crate::support::cgroup::{TestCgroup, folder_of, mount, path_of};
use crate::support::script::script;
use crate::support::undead::Undead;
use crate::support::{Cluster, DEADLINE, Node, ensure, eventually};

/// Starts each node with this job.
fn start_all(cluster: &Cluster, options: &[&str], job: &[String]) {
    let all = ["--then", "exit", "--cgroup", "always"].into_iter().chain(options.iter().copied());
    let all: Vec<&str> = all.chain(["--"]).chain(job.iter().map(String::as_str)).collect();
    cluster.nodes().iter().for_each(|node| node.start_with(&all));
}

/// So many nodes with a job that ignores TERM and runs at one of them, and the number of that one.
fn ignoring(nodes: usize, timings: fn(&mut Value)) -> (Cluster, Job, usize) {
    let cluster = Cluster::prepare(nodes, timings);
    let job = Job::of(&cluster);
    start_all(&cluster, &[], &job.command(Manner::Ignores));
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    (cluster, job, leader)
}

/// The guard of the command that runs below this process.
#[track_caller]
fn guard(process: Pid) -> Pid {
    eventually("a command runs", || guard_now(process))
}

fn guard_now(process: Pid) -> Result<Pid, String> {
    let guard = guard_of(process).filter(|guard| command_of(*guard).is_some());
    guard.ok_or_else(|| "not yet".to_owned())
}

/// Kills the node and its guard, whichever of them first.
fn kill_with_guard(node: &Node, guard_first: bool) {
    kill_two(node, guard(node.pid()), guard_first);
}

/// Kills the node and its guard, neither of which ends anything when the other one dies.
fn kill_unseen(node: &Node) {
    let guard = guard(node.pid());
    kill_process(node.pid(), Signal::STOP).unwrap();
    kill_two(node, guard, true);
}

fn kill_two(node: &Node, guard: Pid, guard_first: bool) {
    let kill = |process| _ = kill_process(process, Signal::KILL); // it may have ended by now
    if guard_first {
        kill(guard);
        node.kill_9();
    } else {
        kill(node.pid());
        kill(guard);
        node.reap();
    }
}

/// What no look at the processes below the guard finds, and what the kernel does not kill with it.
#[story]
fn a_leader_that_is_killed_with_its_guard_is_replaced_when_its_job_has_ended() {
    if TestCgroup::make().is_none() {
        return;
    }
    for guard_first in [true, false] {
        let (cluster, job, leader) = ignoring(3, slow);
        cluster.agree_on(leader);
        let child = job.child();
        kill_with_guard(cluster.node(leader), guard_first);
        let next = job.until_begun(2, SOON);
        assert_ne!(next, cluster.node(leader).name);
        assert!(!lives(child), "something of its job is left");
    }
}

/// The processes of the command that are left have left their guard, their session and their namespace.
#[story]
fn a_process_in_another_pid_namespace_is_ended_though_guard_and_electd_were_killed() {
    let (Some(elsewhere), Some(_makes)) = (Elsewhere::make(), TestCgroup::make()) else { return };
    let cluster = Cluster::prepare(3, slow);
    let job = Job::of(&cluster);
    let namespace = elsewhere.first;
    let stray = format!(
        "nsenter --pid=/proc/{namespace}/ns/pid sh -c '(setsid \"$@\" &)' sh \"$@\"; exec sleep 1000"
    );
    let all = [
        ["sh", "-c", &stray, "sh"].map(str::to_owned).to_vec(),
        job.command(Manner::Ignores).to_vec(),
    ];
    start_all(&cluster, &[], &all.concat());
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    cluster.agree_on(leader);
    kill_with_guard(cluster.node(leader), true);
    job.until_begun(2, SOON); // it never overlaps
}

#[story]
fn an_attached_job_ends_though_exec_and_guard_and_node_were_killed() {
    if TestCgroup::make().is_none() {
        return;
    }
    let cluster = Cluster::start_with(3, slow);
    cluster.agree();
    let job = Job::of(&cluster);
    let execs = attached(&cluster, &["--cgroup", "always"], &job, Manner::Ignores);
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    let (exec, child) = (execs[leader - 1].pid(), job.child());
    let guard = guard(exec);
    for process in [exec, guard] {
        kill_process(process, Signal::KILL).unwrap();
    }
    cluster.node(leader).kill_9();
    let next = job.until_begun(2, SOON);
    assert_ne!(next, cluster.node(leader).name);
    assert!(!lives(child));
}

/// The next process of the member asks the coroner while that ends the job.
#[story]
fn a_node_that_is_started_at_once_is_left_the_certificate() {
    if TestCgroup::make().is_none() {
        return;
    }
    let (cluster, job, leader) = ignoring(3, slow);
    cluster.agree_on(leader);
    let node = cluster.node(leader);
    kill_with_guard(node, true);
    node.start();
    job.until_begun(2, SOON);
    cluster.agree();
}

/// A process that KILL does not end is still there, whatever else has ended.
/// Claim: certificate.
#[story]
fn nothing_is_certified_while_a_process_of_the_job_hangs() {
    if TestCgroup::make().is_none() {
        return;
    }
    let (cluster, job, _) = ignoring(1, quick);
    let (node, child) = (cluster.node(1), job.child());
    let Some(undead) = Undead::whole(child.as_raw_nonzero().get()) else { return };
    let (guard, coroner) = (guard(node.pid()), coroner(node));
    let command = command_of(guard).unwrap();
    kill_with_guard(node, true);
    until_gone(command);
    let address = node.address;
    thread::scope(|scope| {
        let asks = scope.spawn(move || said_at(address));
        let looks = || fs::read_to_string(format!("/proc/{}/schedstat", coroner.as_raw_nonzero()));
        let count = || looks().ok()?.split_whitespace().nth(2)?.parse::<u64>().ok();
        let before = count().unwrap();
        eventually("the coroner has looked again and again", || {
            ensure(asks.is_finished() || count() > Some(before + 20), || format!("{:?}", count()))
        });
        assert!(!asks.is_finished(), "it has certified: {:?}", asks.join());
        drop(undead);
        assert!(is_certificate(&asks.join().unwrap().unwrap()));
    });
    until_gone(child);
}

/// An address stays for seconds, and a cleanup has not run.
#[story]
fn the_job_ends_and_nothing_is_certified_where_a_cleanup_has_yet_to_run() {
    if TestCgroup::make().is_none() {
        return;
    }
    let cluster = Cluster::prepare(1, quick);
    let job = Job::of(&cluster);
    let cleanup = cluster.file().with_file_name("cleanup");
    script(&cleanup, "exit 0");
    let options = ["--cleanup", cleanup.to_str().unwrap()];
    start_all(&cluster, &options, &job.command(Manner::Ignores));
    job.until_begun(1, DEADLINE);
    let (node, child) = (cluster.node(1), job.child());
    let coroner = coroner(node);
    kill_with_guard(node, false);
    until_gone_soon(child);
    until_gone_soon(coroner); // in silence
    assert!(said(node).is_err(), "nobody answers");
}

/// It has the pipe that all of a command inherit.
#[story]
fn a_process_that_moved_to_another_cgroup_is_not_certified() {
    let (Ok(mount), Some(other)) = (mount(), TestCgroup::make()) else { return };
    let cluster = Cluster::prepare(1, quick);
    let job = Job::of(&cluster);
    let procs = other.folder.join("cgroup.procs");
    let [shell, flag, script] = job.command(Manner::Ignores);
    let moves = format!("setsid sh -c 'echo $$ >{}; ", procs.display());
    let moving = script.replace("setsid sh -c '", &moves);
    assert_ne!(script, moving);
    start_all(&cluster, &[], &[shell, flag, moving]);
    job.until_begun(1, DEADLINE);
    let (node, child) = (cluster.node(1), job.child());
    let own = path_of(&child.as_raw_nonzero().to_string()).unwrap();
    assert_eq!((own.as_str(), mount.exists()), (other.path.as_str(), true));
    let coroner = coroner(node);
    kill_unseen(node);
    until_gone_soon(coroner); // in silence
    assert!(said(node).is_err(), "nobody answers");
    assert!(lives(child));
}

/// All that could end it was killed, and another electd begins there.
#[story]
fn what_a_crash_of_all_left_is_ended_by_the_next_start() {
    if TestCgroup::make().is_none() {
        return;
    }
    let (cluster, job, _) = ignoring(1, quick);
    let command = job.command(Manner::Ignores);
    let (node, child) = (cluster.node(1), job.child());
    let own = path_of(&child.as_raw_nonzero().to_string()).unwrap();
    let folder = folder_of(&own).unwrap();
    kill_process(coroner(node), Signal::KILL).unwrap();
    kill_with_guard(node, true);
    fs::remove_file(job.folder.join("child")).unwrap();
    let all: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    node.start_with(&all);
    job.until_begun(2, DEADLINE); // it never overlaps
    assert!(!lives(child) && !folder.exists());
}

/// It has the cgroup of the job, and has yet to end that. The next start ends both before a job begins, whether that has
/// a cgroup or not.
/// Claim: one-job.
#[story]
fn what_a_stopped_coroner_has_yet_to_end_has_ended_before_the_next_job_begins() {
    if TestCgroup::make().is_none() {
        return;
    }
    for mode in ["always", "never"] {
        let (cluster, job, _) = ignoring(1, quick);
        let (node, child) = (cluster.node(1), job.child());
        let coroner = coroner(node);
        kill_process(coroner, Signal::STOP).unwrap();
        kill_unseen(node);
        assert!(lives(child));
        let command = job.command(Manner::Ignores);
        let options = ["--cgroup", mode, "--"].into_iter();
        let all: Vec<&str> = options.chain(command.iter().map(String::as_str)).collect();
        node.start_with(&all);
        job.until_begun(2, DEADLINE); // it never overlaps
        assert!(!lives(child) && !lives(coroner));
        node.until_logged(&[
            "the coroner of the last process of this member left nothing: it was stopped",
        ]);
    }
}

/// Each process starts the next one, in a session of its own, and ends: no look finds them all.
/// Claim: certificate.
#[story]
fn a_job_that_forks_without_end_has_ended_before_the_next_begins() {
    if TestCgroup::make().is_none() {
        return;
    }
    let cluster = Cluster::prepare(3, slow);
    let job = Job::of(&cluster);
    script(&job.folder.join("next"), "echo >>forks; setsid ./next &");
    let [shell, flag, begins] = job.command(Manner::Ignores);
    let forks = begins.replace("(setsid ", "./next & ./next & (setsid ");
    assert_ne!(begins, forks);
    start_all(&cluster, &[], &[shell, flag, forks]);
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    cluster.agree_on(leader);
    let count = || fs::read(job.folder.join("forks")).unwrap_or_default().len();
    eventually("it forks", || ensure(count() > 40, || count().to_string()));
    kill_with_guard(cluster.node(leader), true);
    job.until_begun(2, SOON); // it never overlaps: each process has the lock
}

/// As a container engine does: no process of the job has started it, and it has nothing of the job's.
#[story]
fn what_another_program_started_in_the_cgroup_has_ended_before_the_next_job_begins() {
    if TestCgroup::make().is_none() {
        return;
    }
    let (cluster, job, leader) = ignoring(3, slow);
    cluster.agree_on(leader);
    let own = path_of(&job.child().as_raw_nonzero().to_string()).unwrap();
    let container = folder_of(&own).unwrap().join("engine/container");
    fs::create_dir_all(&container).unwrap();
    let mut started = Command::new("sleep").arg("1000").spawn().unwrap();
    fs::write(container.join("cgroup.procs"), started.id().to_string()).unwrap();
    kill_with_guard(cluster.node(leader), false);
    job.until_begun(2, SOON);
    let ended = started.try_wait().unwrap();
    assert_eq!(ended.and_then(|ended| ended.signal()), Some(9), "it runs beside the next job");
}

/// Kills leaders and their guards so many times. Tells how long after the last line of each job, and the end of its
/// electd, that was certified, in milliseconds.
fn kills(times: usize) -> Vec<f64> {
    let cluster = Cluster::prepare(3, |config| {
        quick(config);
        config["timing"] =
            serde_json::json!({"failure": "1s", "heartbeat": "50ms", "message": "100ms"});
    });
    let lines = Lines::beside(&cluster);
    let file = lines.file();
    let command = command();
    let more = ["--stop-after", "300ms", "--cgroup", "always", "--"].into_iter();
    let more: Vec<&str> = more.chain(command.iter().map(String::as_str)).collect();
    let start = |node: &Node| node.start_as(&more, &[(FILE, &file), (MANNER, DRAWN)]);
    lines.draw(ASTRAY);
    cluster.nodes().iter().for_each(start);
    let mut after = Vec::new();
    while after.len() < times {
        cluster.agree();
        // On a busy machine the leadership may move by itself at any instant.
        let (run, node, guard) = eventually("a command runs", || {
            let run = lines.is_next(None)?;
            let node = &cluster.nodes()[number(&cluster, &run.node) - 1];
            Ok((run, node, guard_now(node.pid())?))
        });
        lines.draw(MANNERS[after.len() % MANNERS.len()]);
        kill_two(node, guard, after.len().is_multiple_of(2));
        let killed = electd::node::now().0;
        let told = said(node).unwrap();
        let now = electd::node::now().0;
        assert!(is_certificate(&told), "{told:?}");
        lines.runs_next(Some(&run));
        assert!(lines.last_of(&run) < now, "the job ran when its end was certified");
        after.push((now - killed.max(lines.last_of(&run))) as f64 / 1e6);
        lines.assert_never_two();
        start(node);
        if after.len().is_multiple_of(50) {
            println!("{} of {times} kills", after.len());
        }
    }
    cluster.agree();
    lines.assert_never_two();
    after.sort_by(f64::total_cmp);
    after
}

#[story]
fn the_end_of_a_job_is_certified_whose_guard_was_killed_with_electd() {
    if TestCgroup::make().is_some() {
        kills(4);
    }
}

/// `KILLS=500 cargo test --release --test process coroner::killed -- --ignored --nocapture for_long`
#[story]
#[ignore = "long"]
fn the_end_of_such_jobs_is_certified_for_long() {
    if TestCgroup::make().is_none() {
        return;
    }
    let times = std::env::var("KILLS").map_or(20, |times| times.parse().unwrap());
    let after = kills(times);
    let at = |part: usize| after[(after.len() - 1) * part / 100];
    let late = after.iter().filter(|after| **after > 10.0).count();
    println!(
        "certified after the end: median {:.1} ms, 95 % {:.1}, longest {:.1}; {late} of {times} over 10",
        at(50),
        at(95),
        at(100)
    );
}
