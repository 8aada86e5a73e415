//! A crowd of hostile clients on every port: the cluster does not even notice.

mod support;

use std::net::SocketAddr;

use electd::node::status::ChangeStatus;
use support::crowd::Crowd;
use support::{Cluster, ensure, eventually};

/// On each port; a node has two.
const CLIENTS: usize = 300;

/// 64 strangers on each port and 16 on their way out, a reader and a writer for each peer, and a
/// handful of its own.
const MOST_THREADS: u64 = 64 + 64 + 16 + 20;

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

fn all_changes(cluster: &Cluster) -> Vec<Vec<ChangeStatus>> {
    (1..=cluster.nodes().len()).map(|number| cluster.status(number).unwrap().changes).collect()
}
