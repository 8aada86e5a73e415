//! A member that connects and breaks over and over, while the name server hangs; and one that speaks
//! with the id of a live member.

use std::net::UdpSocket;
use std::process::Command;

use crate::support::impostor::Impostor;
use crate::support::network::inside;
use crate::support::{Cluster, Network, ensure, eventually, watchful};
use story::story;

/// How often the impostor connects and breaks.
const OFTEN: usize = 300;

/// Fewer than that.
const DESCRIPTORS: usize = 256;

/// A reader, a writer and a resolver for each peer, those that redial, and a handful of its own.
const MOST_THREADS: u64 = 64;

/// The name server of this machine, as the system reads it.
fn name_server() -> String {
    let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
    let named = text.lines().find_map(|line| line.strip_prefix("nameserver"));
    named.map_or("127.0.0.1", str::trim).to_owned()
}

/// Three members of which the lowest is down and is known by its name only, at a name server that takes
/// questions and never answers. None where no network can be made.
fn scene() -> Option<(Cluster, UdpSocket)> {
    let network = Network::of(3)?;
    let server = name_server();
    let silent = inside(&network.home(2), || {
        let address = format!("{server}/32");
        let added = Command::new("ip").args(["address", "add", &address, "dev", "lo"]).status();
        added.is_ok().then(|| UdpSocket::bind((server.as_str(), 53)))
    });
    let silent = silent?.expect("the address is there");
    let cluster = Cluster::prepare_on(network, |config| {
        watchful(config);
        config["members"][0]["address"] = "node-1.example.com:7100".into();
    });
    for node in cluster.nodes() {
        node.descriptors.set(Some(DESCRIPTORS));
        node.start();
    }
    cluster.node(1).kill_9();
    Some((cluster, silent))
}

#[story]
fn a_member_that_connects_and_breaks_makes_no_threads() {
    let Some((cluster, _silent)) = scene() else { return };
    eventually("node-3 leads", || {
        let status = cluster.node(2).status()?;
        let leader = status.leader.map(|leader| leader.name);
        ensure(leader.as_deref() == Some("node-3"), || format!("{leader:?}"))
    });
    let impostor = Impostor::of(&cluster, 1);
    let hello = impostor.hello(2);
    let broken = (0..OFTEN).filter(|_| {
        let threads = cluster.node(2).figure("Threads");
        assert!(threads <= MOST_THREADS, "{threads} threads");
        impostor.greet(2, &hello).is_ok()
    });
    let broken = broken.count();
    assert!(broken > OFTEN / 10, "only {broken} connections of {OFTEN} were answered");
    let status = cluster.node(2).status().unwrap();
    assert_eq!(status.leader.map(|leader| leader.name).as_deref(), Some("node-3"));
}

#[story]
fn a_second_connection_with_the_id_of_a_live_member_displaces_nothing() {
    let cluster = Cluster::start_watchful(3);
    let epoch = cluster.agree_on(3);
    let changes = || cluster.status(2).unwrap().changes.len();
    let readers = || cluster.node(2).threads("reader-node");
    eventually("node-2 hears both others", || {
        ensure(readers().len() == 2, || format!("{:?}", readers()))
    });
    let before = (changes(), readers());
    for number in [1, 3] {
        let mut impostor = Impostor::of(&cluster, number);
        for incarnation in [0, 1, 2, 1000] {
            impostor.incarnation = incarnation;
            let (_stream, reply) = impostor.greet(2, &impostor.hello(2)).unwrap();
            assert!(reply["reject"].get("id_in_use").is_some(), "{reply}");
        }
    }
    assert_eq!(cluster.agree_on(3), epoch);
    assert_eq!((changes(), readers()), before);
}
