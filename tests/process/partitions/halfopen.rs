//! Connections whose other end vanished silently: nothing of them stays.

use std::fs;

use electd::core::settings::AlgorithmKind;
use story::story;

use super::scene;
use crate::support::network::{PORT, inside};
use crate::support::{Cluster, ensure, eventually};

/// A node that is cut off dies with its host: the others never hear of that.
fn vanish(cluster: &Cluster, node: usize) {
    let home = cluster.network().home(node);
    let proc = "/proc/sys/net/ipv4/tcp_orphan_retries";
    inside(&home, || fs::write(proc, "1")).unwrap(); // what is left in the system dies too
    cluster.node(node).kill_9();
    let of_members = format!(":{PORT:04X}"); // as the system lists them
    eventually("its host has forgotten its connections", || {
        let sockets = inside(&home, || fs::read_to_string("/proc/thread-self/net/tcp")).unwrap();
        ensure(!sockets.contains(&of_members), || sockets)
    });
}

/// The peers that each running node reads from: the names of those threads.
fn readers(cluster: &Cluster) -> Vec<Vec<String>> {
    cluster.running().map(|node| node.threads("reader-")).collect()
}

/// Waits until every node that runs reads from each of the others among these, once.
#[track_caller]
fn until_all_read_from(cluster: &Cluster, numbers: &[usize]) {
    let name = |number: &usize| format!("reader-node-{number}");
    let others = |own: &usize| numbers.iter().filter(|number| *number != own).map(name).collect();
    let expected: Vec<Vec<String>> = numbers.iter().map(others).collect();
    eventually(&format!("{numbers:?} read from each other, and from nobody else"), || {
        let now = readers(cluster);
        ensure(now == expected, || format!("{now:?}"))
    });
}

#[story]
#[ignore = "long"]
fn the_readers_of_a_host_that_vanished_end() {
    let Some(cluster) = scene(AlgorithmKind::Bully, "none") else { return };
    cluster.agree_on(5);
    until_all_read_from(&cluster, &[1, 2, 3, 4, 5]);
    cluster.network().plug(2, false);
    cluster.until_seen(5, 2, "suspected");
    vanish(&cluster, 2);
    println!("before the heal they read from {:?}", readers(&cluster)); // from node-2 as well
    let healed = cluster.network().heal();
    until_all_read_from(&cluster, &[1, 3, 4, 5]);
    println!("the half-open connections were let go {:?} after the heal", healed.elapsed());
    for observer in [1, 3, 4, 5] {
        cluster.until_seen(observer, 2, "dead"); // its host is back, and refuses
    }
    cluster.node(2).start();
    cluster.agree_on(5);
    until_all_read_from(&cluster, &[1, 2, 3, 4, 5]);
}

#[story]
#[ignore = "long"]
fn cuts_leave_no_reader_behind() {
    let Some(cluster) = scene(AlgorithmKind::Bully, "none") else { return };
    cluster.agree_on(5);
    for _ in 0..3 {
        cluster.network().part(&[2, 5]);
        cluster.agree_among(&[1, 3, 4], 4);
        cluster.until_seen(4, 2, "suspected");
        cluster.network().heal();
        cluster.agree_on(5);
    }
    until_all_read_from(&cluster, &[1, 2, 3, 4, 5]);
}
