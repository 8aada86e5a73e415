//! The process of a coroner: it ends when it is not needed, holds nothing that it does not need, and lets nobody hold what
//! would keep it from its work.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};

use electd::admin::control;
use rustix::process::{Pid, Signal, getpgid, getsid, kill_process};
use story::story;

use super::{Job, Manner, coroner, is_certificate, quick, said, slow, until_gone};
use crate::jobs::{children, only_child};
use crate::support::{Cluster, DEADLINE, ensure, eventually};

#[story]
fn a_clean_stop_ends_the_coroner() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let node = cluster.node(1);
    let coroner = coroner(node);
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    until_gone(coroner);
    assert!(said(node).is_err(), "nobody answers");
}

#[story]
fn a_coroner_ends_by_itself_after_sixteen_leases() {
    let cluster = Cluster::start_with(1, |config| {
        quick(config);
        config["timing"]["failure"] = "1s".into();
        config["timing"]["message"] = "50ms".into();
    });
    cluster.agree_on(1);
    let coroner = coroner(cluster.node(1));
    cluster.node(1).kill_9();
    until_gone(coroner);
}

/// A service manager sends TERM to what is left of a unit, and waits for it before it restarts the unit. Sixteen leases are
/// longer than this test waits.
#[story]
fn term_ends_a_coroner_after_it_has_answered_for_a_while() {
    let cluster = Cluster::start_with(1, |config| {
        slow(config);
        config["timing"] = serde_json::json!({"failure": "9s", "lease": "9s", "message": "50ms"});
    });
    cluster.agree_on(1);
    let node = cluster.node(1);
    let coroner = coroner(node);
    kill_process(coroner, Signal::TERM).unwrap(); // the order of the two is the manager's
    node.kill_9();
    assert!(is_certificate(&said(node).unwrap()));
    until_gone(coroner);
}

/// As a shell kills a job, and a person a program on a terminal: nobody means the coroner.
#[story]
fn what_kills_the_group_of_a_node_spares_its_coroner() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let node = cluster.node(1);
    let coroner = coroner(node);
    assert_eq!((getpgid(Some(coroner)), getsid(Some(coroner))), (Ok(coroner), Ok(coroner)));
}

#[story]
fn whoever_lists_processes_sees_what_a_coroner_and_a_guard_are() {
    let cluster = Cluster::prepare(1, quick);
    let (job, node) = (Job::of(&cluster), cluster.node(1));
    let command = job.command(Manner::Obeys);
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    node.start_with(&more);
    job.until_begun(1, DEADLINE);
    let (coroner, guard) = (coroner(node), only_child(node.pid()).unwrap());
    let read = |process: Pid, file: &str| {
        let text = fs::read_to_string(format!("/proc/{}/{file}", process.as_raw_nonzero()));
        text.unwrap().replace('\0', " ")
    };
    for process in [coroner, guard] {
        assert_eq!(read(process, "comm"), "electd\n");
    }
    assert_eq!(read(coroner, "cmdline"), "electd coroner node-1 ");
    assert!(read(guard, "cmdline").starts_with("electd guard "));
}

/// The sockets that a process has.
fn sockets(process: Pid) -> BTreeSet<String> {
    let folder = format!("/proc/{}/fd", process.as_raw_nonzero());
    let links = fs::read_dir(folder).into_iter().flatten().flatten();
    let targets = links.filter_map(|entry| fs::read_link(entry.path()).ok());
    let names = targets.map(|target| target.display().to_string());
    names.filter(|name| name.starts_with("socket:")).collect()
}

/// Everything below a process.
fn all_below(process: Pid) -> Vec<Pid> {
    children(process).flat_map(|child| [vec![child], all_below(child)].concat()).collect()
}

/// One forgotten copy of the node's end of the pair, and the coroner would not notice the death in time.
#[story]
fn nobody_but_the_node_holds_what_its_coroner_watches() {
    let cluster = Cluster::prepare(1, quick);
    let (job, node) = (Job::of(&cluster), cluster.node(1));
    let mut config = cluster.config().clone();
    config["hooks"] = serde_json::json!({"on_change": ["sh", "-c", "exec sleep 1000"]});
    config["members"][0]["health"] =
        serde_json::json!({"command": ["sleep", "0.05"], "every": "100ms"});
    fs::write(cluster.file(), config.to_string()).unwrap();
    let command = job.command(Manner::Obeys);
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    node.start_with(&more);
    job.until_begun(1, DEADLINE);
    let own = sockets(node.pid());
    for _ in 0..100 {
        for process in all_below(node.pid()) {
            let shared: Vec<_> = sockets(process).intersection(&own).cloned().collect();
            // What runs between fork and exec is a copy of the node for a moment.
            let is_copy = || fs::read_link(format!("/proc/{}/exe", process.as_raw_nonzero()));
            assert!(shared.is_empty() || is_electd(is_copy()), "{process:?} has {shared:?}");
        }
    }
    let shared = sockets(coroner(node)).intersection(&own).count();
    assert_eq!(shared, 1, "the listening socket alone");
}

fn is_electd(program: std::io::Result<std::path::PathBuf>) -> bool {
    program.is_ok_and(|program| program.ends_with("electd"))
}

#[story]
fn a_coroner_takes_no_processor_time_and_little_memory() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let coroner = coroner(cluster.node(1)).as_raw_nonzero();
    let times = || {
        let stat = fs::read_to_string(format!("/proc/{coroner}/stat")).unwrap();
        let switches = fs::read_to_string(format!("/proc/{coroner}/status")).unwrap();
        let switches =
            switches.lines().find(|line| line.starts_with("voluntary")).unwrap().to_owned();
        (stat.split(' ').nth(13).unwrap().to_owned(), switches)
    };
    eventually("it waits", || {
        let before = times();
        (0..20).for_each(|_| _ = cluster.status(1).unwrap());
        ensure(times() == before, || format!("{before:?}, {:?}", times()))
    });
    println!("{}", fs::read_to_string(format!("/proc/{coroner}/smaps_rollup")).unwrap());
}

/// `electd exec` of an earlier version knows of no coroner: nobody would wait for the guard of its command.
#[story]
fn beside_an_older_exec_nothing_is_certified() {
    let cluster = Cluster::start_with(1, quick);
    cluster.agree_on(1);
    let node = cluster.node(1);
    let coroner = coroner(node);
    let mut stream = control::dial(&control::path(&node.state()), DEADLINE).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
    let upgrade =
        "GET /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: electd-exec\r\n";
    stream.write_all(format!("{upgrade}\r\n").as_bytes()).unwrap();
    let welcome = lines.find(|line| line.starts_with("{\"welcome")).unwrap();
    assert!(welcome.contains("\"coroner\":1"), "{welcome}");
    stream.write_all(b"{\"hold\":{\"most_ms\":1000}}\n").unwrap();
    assert!(lines.any(|line| line == "{\"held\":true}"));
    node.kill_9();
    until_gone(coroner);
    assert!(said(node).is_err(), "nobody answers");
}
