//! The process of a coroner: it ends when it is not needed, holds nothing that it does not need, and lets nobody hold what
//! would keep it from its work.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use electd::admin::control;
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Signal, getpgid, getsid, kill_process, pidfd_getfd,
    pidfd_open,
};
use serde_json::{Value, json};
use story::story;

use super::{
    Job, Manner, SOON, coroner, is_certificate, nobody_is_free, number, others, quick, said, slow,
    until_gone, until_replaced,
};
use crate::jobs::{children, only_child};
use crate::support::script::ELECTD;
use crate::support::{Cluster, DEADLINE, Node, ensure, eventually, within};

#[story]
fn a_clean_stop_ends_the_coroner() {
    let cluster = Cluster::start_with(1, quick);

    cluster.agree_on(1);
    let node = cluster.node(1);
    let coroner = coroner(node);
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    // At once: one that was not dismissed would certify a death, and end by itself after a while.
    assert!(said(node).is_err(), "nobody answers");
    until_gone(coroner);
    node.start();
    cluster.agree_on(1);
    let log = node.log();
    assert!(!log.contains("the coroner of the last process"), "neither start is amiss: {log}");
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

/// Sixteen leases are longer than a test waits, and TERM ends a coroner after `failure`.
fn with_long_lease(config: &mut Value) {
    slow(config);
    config["timing"] =
        json!({"failure": "9s", "lease": "9s", "heartbeat": "300ms", "message": "50ms"});
}

#[story]
fn term_before_the_death_ends_a_coroner_after_it_has_answered_for_a_while() {
    let cluster = Cluster::start_with(1, with_long_lease);
    cluster.agree_on(1);
    let node = cluster.node(1);
    let coroner = coroner(node);
    kill_process(coroner, Signal::TERM).unwrap();
    node.kill_9();
    assert!(is_certificate(&said(node).unwrap()));
    until_gone(coroner);
}

/// A service manager sends TERM to all that is left of a unit whose main process has died, and waits for that before it starts
/// the unit again. The job takes a second to end, and only then its end can be certified.
#[story]
fn term_to_all_that_is_left_of_a_unit_spares_the_certificate_and_ends_the_coroner() {
    let cluster = Cluster::prepare(3, with_long_lease);
    let job = Job::of(&cluster);
    let command = job.command(Manner::Ignores);
    let options = ["--stop-after", "1s", "--"].into_iter();
    let more: Vec<&str> = options.chain(command.iter().map(String::as_str)).collect();
    cluster.nodes().iter().for_each(|node| node.start_with(&more));
    let leader = number(&cluster, &job.until_begun(1, DEADLINE));
    cluster.agree_on(leader);
    let node = cluster.node(leader);
    let left = [all_below(node.pid()), vec![coroner(node)]].concat();
    assert!(left.len() >= 3, "a guard, its command and the coroner: {left:?}");
    node.kill_9();
    for process in &left {
        let _ = kill_process(*process, Signal::TERM); // it may have ended by itself
    }
    job.until_begun(2, SOON);
    left.into_iter().for_each(until_gone);
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
    for process in [coroner, guard] {
        let name = fs::read_to_string(format!("/proc/{process}/comm"));
        assert_eq!(name.unwrap(), "electd\n");
    }
    assert_eq!(words(coroner), "electd coroner node-1 ");
    let variables = fs::read_to_string(format!("/proc/{coroner}/environ")).unwrap();
    assert!(variables.starts_with("ELECTD_HELPER="), "it is no part of a job: {variables}");
    assert!(words(guard).starts_with("electd guard "));
    assert_eq!(getpgid(Some(guard)), Ok(guard), "a terminal's Ctrl-Z does not stop it");
}

/// The command line of a process. Empty if it has ended, and for a moment while it becomes another program.
fn words(process: Pid) -> String {
    fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default().replace('\0', " ")
}

/// The sockets that a process has.
pub fn sockets(process: Pid) -> BTreeSet<String> {
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
    config["hooks"] = json!({"on_change": ["sleep", "100"]});
    // Each lives for longer than a busy machine takes from a look at who is there to a look at what it is.
    config["health"] = json!({"command": ["sleep", "0.5"], "every": "1s", "timeout": "900ms"});
    let rank = ["sh", "-c", "sleep 0.4; echo 1"];
    config["rank"] = json!({"by": "command", "command": rank, "every": "1s", "timeout": "900ms"});
    fs::write(cluster.file(), config.to_string()).unwrap();
    let command = job.command(Manner::Obeys);
    let more: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
    node.start_with(&more);
    job.until_begun(1, DEADLINE);
    let (own, of_node) = (sockets(node.pid()), words(node.pid()));
    let mut unseen = vec!["electd guard ", "sleep 1000 ", "sleep 100 ", "sleep 0.5 ", "sleep 0.4 "];
    eventually("each kind of program was looked at", || {
        for process in all_below(node.pid()) {
            let words = words(process);
            // What runs between fork and exec is a copy of the node for a moment, and then has no words.
            if words.is_empty() || words == of_node {
                continue;
            }
            let shared: Vec<_> = sockets(process).intersection(&own).cloned().collect();
            assert!(shared.is_empty(), "{words} has {shared:?}");
            unseen.retain(|kind| !words.contains(kind));
        }
        ensure(unseen.is_empty(), || format!("{unseen:?}"))
    });
    let shared = sockets(coroner(node)).intersection(&own).count();
    assert_eq!(shared, 1, "the listening socket alone");
    let below = all_below(node.pid()).into_iter();
    let hooks: Vec<Pid> = below.filter(|process| words(*process) == "sleep 100 ").collect();
    node.kill_9();
    for hook in hooks {
        let _ = kill_process(hook, Signal::KILL); // nobody else ends it
    }
}

/// A copy of the node's end of the pair. None where this process may not look into others.
fn copy_of_pair(node: &Node) -> Option<OwnedFd> {
    let process = pidfd_open(node.pid(), PidfdFlags::empty()).unwrap();
    let numbers = fs::read_dir(format!("/proc/{}/fd", node.pid())).unwrap().flatten();
    let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let copied = |number| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok();
    let is_pair = |copy: &OwnedFd| socket_type(copy) == Ok(SocketType::SEQPACKET);
    let copy = numbers.filter_map(copied).find(is_pair);
    if copy.is_none() {
        println!(
            "skipped: to copy a descriptor of another process needs its rights, and Linux 5.6"
        );
    }
    copy
}

/// However it came about, it costs time, and nothing else: the coroner takes the node for alive.
#[story]
fn a_copy_of_what_its_coroner_watches_makes_the_certificate_late() {
    let cluster = Cluster::start_with(3, slow);
    let (leader, epoch) = cluster.agree();
    let node = cluster.node(leader);
    let Some(copy) = copy_of_pair(node) else { return };
    node.kill_9();
    for observer in others(leader) {
        within(SOON, "a dial to it gets no answer", || {
            let member = &cluster.status(observer)?.members[leader - 1];
            assert_ne!(member.status, "dead");
            member.failed_dial.clone().ok_or_else(|| "none yet".to_owned())
        });
    }
    nobody_is_free(&cluster, others(leader), epoch);
    drop(copy);
    until_replaced(&cluster, leader);
    cluster.agree();
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

/// `electd exec` of an earlier version takes no descriptors: nobody would wait for the guard of its command.
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
    assert!(!welcome.contains("\"coroner\""), "its guard is to register with none: {welcome}");
    let leads = lines.find(|line| line.starts_with("{\"leads")).unwrap();
    assert!(leads.contains("\"renewal\":"), "{leads}");
    stream.write_all(b"{\"hold\":{\"most_ms\":1000}}\n").unwrap();
    assert!(lines.any(|line| line == "{\"held\":true}"));
    node.kill_9();
    until_gone(coroner);
    assert!(said(node).is_err(), "nobody answers");
}

/// A reader of what a node prints, to its end, does not wait for the coroner.
#[story]
fn a_coroner_holds_nothing_that_its_node_prints_to() {
    let cluster = Cluster::prepare(1, quick);
    let (node, printed) = (cluster.node(1), cluster.file().with_file_name("printed"));
    node.runs_by(&format!("exec {ELECTD} \"$@\" >{}", printed.display()));
    node.start();
    cluster.agree_on(1);
    let file = |process: Pid, number: u32| {
        fs::read_link(format!("/proc/{}/fd/{number}", process.as_raw_nonzero())).unwrap()
    };
    assert_eq!(file(node.pid(), 1), printed);
    let coroner = coroner(node);
    assert_eq!([1, 2].map(|number| file(coroner, number)), ["/dev/null"; 2].map(PathBuf::from));
}
