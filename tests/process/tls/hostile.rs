//! Crowds that begin a handshake and never end it.

use super::secured;
use crate::support::crowd::{Crowd, Manner, ROUND};
use crate::support::{Cluster, ensure, eventually};
use story::story;

/// On each peer port.
const CLIENTS: usize = 300;

/// As without TLS: 64 strangers, 16 on their way out, readers, writers, and a handful more.
const MOST_THREADS: u64 = 64 + 16 + 20;

const MOST_MEMORY_KB: u64 = 64 * 1024;

#[story]
fn handshakes_that_stop_or_trickle_hold_nobody_up_and_a_failover_works_beside_them() {
    let cluster = Cluster::start_with(3, secured);
    let epoch = cluster.agree_on(3);
    let ports: Vec<_> = cluster.nodes().iter().map(|node| node.address).collect();
    let manners = [Manner::Handshake, Manner::TrickledHandshake];
    let crowd = Crowd::of(&manners, &ports, CLIENTS, ROUND);
    eventually("the crowd is there", || {
        let threads = cluster.node(2).figure("Threads");
        let memory = cluster.node(2).figure("VmRSS");
        assert!(threads <= MOST_THREADS && memory <= MOST_MEMORY_KB, "{threads}, {memory} kB");
        ensure(crowd.rounds() > 10, || format!("{} rounds", crowd.rounds()))
    });
    assert_eq!(cluster.agree_on(3), epoch, "nobody who is connected is disturbed");
    let dropped = cluster.status(1).unwrap().dropped["no_hello"];
    assert!(dropped > 100, "the crowd was there: {dropped}");
    cluster.node(3).kill_9();
    assert!(cluster.agree_on(2) > epoch, "a failover works beside it");
    drop(crowd);
    cluster.node(3).start();
    cluster.agree_on(3);
}
