//! Crowds of hostile clients: the cluster does not even notice.

use std::net::SocketAddr;
use std::time::Duration;

use crate::support::crowd::{Crowd, Manner};
use crate::support::{Cluster, ensure, eventually};
use electd::node::status::ChangeStatus;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// On each port; a node has two.
const CLIENTS: usize = 300;

/// 64 strangers on the peer port and 16 on their way out, a reader and a writer for each peer, and a
/// handful of its own.
const MOST_THREADS: u64 = 64 + 16 + 20;

const MOST_MEMORY_KB: u64 = 64 * 1024;

#[test]
fn a_hostile_crowd_on_every_port_changes_nothing_and_a_failover_works_beside_it() {
    let cluster = Cluster::start(3);
    let epoch = cluster.agree_on(3);
    let before = all_changes(&cluster);

    let nodes = cluster.nodes().iter();
    let ports: Vec<SocketAddr> = nodes.flat_map(|node| [node.address, node.admin]).collect();
    let crowd = Crowd::besiege(&ports, CLIENTS);
    let mut rounds = 0;
    while rounds < 10 {
        assert_eq!(cluster.agree_on(3), epoch, "round {rounds}");
        for node in cluster.nodes() {
            let (threads, memory) = (node.figure("Threads"), node.figure("VmRSS"));
            assert!(threads <= MOST_THREADS, "{} has {threads} threads", node.name);
            assert!(memory <= MOST_MEMORY_KB, "{} takes {memory} kB", node.name);
        }
        rounds = eventually("the crowd goes on", || {
            ensure(crowd.rounds() > rounds, || format!("round {rounds}")).map(|()| crowd.rounds())
        });
    }
    assert_eq!(all_changes(&cluster), before, "nobody changed its view");
    let refused = |what| cluster.status(1).unwrap().dropped[what];
    assert!(refused("no_hello") > 100, "the crowd was there");

    cluster.node(3).kill_9();
    assert!(cluster.agree_on(2) > epoch, "a failover works beside it");
    drop(crowd);
    cluster.agree_on(2);
}

/// On the admin port of the leader: they hold what they get, and come back at once.
const HOARDERS: usize = 2000;

/// More than any takes, in an unoptimized build.
const MOST_MEMORY_BESIDE_HOARDERS_KB: u64 = 24 * 1024;

const PATIENCE: Duration = Duration::from_millis(10);

const MANNERS: [Manner; 4] = [Manner::Silent, Manner::Drip, Manner::Hoard, Manner::Deaf];

#[test]
fn an_honest_client_is_answered_while_two_thousand_hold_the_admin_port() {
    let hard = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard }).unwrap();
    let cluster = Cluster::start(3);
    let epoch = cluster.agree_on(3);
    let (before, leader) = (all_changes(&cluster), cluster.node(3));
    let threads = leader.figure("Threads");

    let crowd = Crowd::of(&MANNERS, &[leader.admin], HOARDERS, PATIENCE);
    let mut most_open = 0;
    while crowd.rounds() < 20 {
        let answer = leader.get("/leader").unwrap();
        assert_eq!(answer.code, 200, "{answer:?}");
        let memory = leader.figure("VmRSS");
        assert!(memory <= MOST_MEMORY_BESIDE_HOARDERS_KB, "it takes {memory} kB");
        assert_eq!(leader.figure("Threads"), threads, "a client costs no thread");
        most_open = most_open.max(crowd.open());
    }
    assert!(most_open > HOARDERS as u64 / 2, "the crowd was there: {most_open}");
    drop(crowd);
    assert_eq!(cluster.agree_on(3), epoch);
    assert_eq!(all_changes(&cluster), before, "nobody changed its view");
}

/// Few, so that 512 cannot be kept and a quarter of them serves.
const DESCRIPTORS: usize = 256;

#[test]
fn a_crowd_on_the_admin_port_takes_no_descriptor_from_the_members() {
    let cluster = Cluster::prepare(3, |_| {});
    for node in cluster.nodes() {
        node.descriptors.set(Some(DESCRIPTORS));
        node.start();
    }
    let epoch = cluster.agree_on(3);
    let leader = cluster.node(3);
    let crowd = Crowd::of(&MANNERS[..3], &[leader.admin], 2 * DESCRIPTORS, PATIENCE);
    eventually("the crowd has all that it gets", || {
        let told = leader.log().contains("all 64 connections that the admin address may have");
        ensure(told && crowd.rounds() > 20, || leader.log_tail(5))
    });
    cluster.node(1).restart(); // its connections are new, on both sides
    assert_eq!(cluster.agree_on(3), epoch);
    assert!(!leader.log().contains("cannot accept"), "{}", leader.log_tail(5));
    drop(crowd);
}

fn all_changes(cluster: &Cluster) -> Vec<Vec<ChangeStatus>> {
    (1..=cluster.nodes().len()).map(|number| cluster.status(number).unwrap().changes).collect()
}
