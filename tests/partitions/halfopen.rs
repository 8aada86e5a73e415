//! Connections whose other end is gone without a word: nothing of them stays.

use electd::core::settings::AlgorithmKind;

use crate::scene;
use crate::support::{Cluster, ensure, eventually};

/// How many threads each node has that runs.
fn threads(cluster: &Cluster) -> Vec<u64> {
    cluster.running().map(|node| node.figure("Threads")).collect()
}

#[test]
fn the_readers_of_a_host_that_vanished_end() {
    let Some(cluster) = scene(AlgorithmKind::Bully, "none") else { return };
    cluster.agree_on(5);
    let before = threads(&cluster);
    cluster.network().plug(2, false);
    cluster.until_seen(5, 2, "suspected");
    cluster.network().vanish(&cluster, 2);
    // Each of the others reads from node-2 still, and will never hear from it.
    let hanging = threads(&cluster);
    assert_eq!(hanging, vec![before[0]; 4], "the readers wait");
    let healed = cluster.network().heal();
    for observer in [1, 3, 4, 5] {
        cluster.until_seen(observer, 2, "dead"); // its host is back, and refuses
    }
    eventually("the readers end", || {
        let now = threads(&cluster);
        ensure(now == vec![before[0] - 1; 4], || format!("{now:?}, once {before:?}"))
    });
    println!("the half-open connections were let go after {:?}", healed.elapsed());
    cluster.node(2).start();
    cluster.agree_on(5);
    eventually("as many threads as in the beginning", || {
        let now = threads(&cluster);
        ensure(now == before, || format!("{now:?}, once {before:?}"))
    });
}

#[test]
fn cuts_leave_no_thread_behind() {
    let Some(cluster) = scene(AlgorithmKind::Bully, "none") else { return };
    cluster.agree_on(5);
    let before = threads(&cluster);
    for _ in 0..3 {
        cluster.network().part(&[2, 5]);
        cluster.agree_among(&[1, 3, 4], 4);
        cluster.until_seen(4, 2, "suspected");
        cluster.network().heal();
        cluster.agree_on(5);
    }
    eventually("as many threads as in the beginning", || {
        let now = threads(&cluster);
        ensure(now == before, || format!("{now:?}, once {before:?}"))
    });
}
