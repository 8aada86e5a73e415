//! Addresses, ports and ids that no other cluster has.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::process;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use serde_json::Value;
use uuid::Uuid;

use super::{Cluster, Network};

/// A loopback address that no other cluster has, in this process or in another.
pub fn own_host() -> Ipv4Addr {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    assert!(number < 1 << 10, "more clusters than addresses");
    let below = (process::id() % (1 << 14)) << 10 | number;
    Ipv4Addr::from(127 << 24 | below)
}

/// Two ports for each of `n` nodes on a host that only this cluster has. They are counted and not asked for: a
/// listener that asks the kernel for a free port outlives its drop in a child that another thread has just forked.
pub fn own_places(host: Ipv4Addr, n: usize) -> Vec<(SocketAddr, SocketAddr)> {
    static LAST: AtomicU16 = AtomicU16::new(0);
    // Two processes with the same hosts have other ports: see above.
    let first = 10_000 + (process::id() >> 14) as u16 % 8 * 2_500;
    let port = || first + LAST.fetch_add(1, Ordering::Relaxed) % 2_500;
    let place = || SocketAddr::from((host, port()));
    (0..n).map(|_| (place(), place())).collect()
}

/// Fresh ids, in the order in which electd ranks them.
pub fn ascending_ids(n: usize) -> BTreeSet<Uuid> {
    (0..n).map(|_| Uuid::new_v4()).collect()
}

impl Cluster {
    /// Nodes that listen at these places of a network, and have not been started yet.
    pub fn prepare_at(
        places: &[(SocketAddr, SocketAddr)],
        network: Network,
        change: impl FnOnce(&mut Value),
    ) -> Cluster {
        let mut cluster = Cluster::at(places, own_host(), change);
        for (number, node) in (1..).zip(&mut cluster.nodes) {
            node.home = Some(network.home(number));
        }
        cluster.network = Some(network);
        cluster
    }
}
