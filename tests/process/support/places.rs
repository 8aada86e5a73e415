//! Addresses, ports and ids that no other cluster has.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use uuid::Uuid;

/// A loopback address that no other cluster has, in this process or in another.
pub fn own_host() -> Ipv4Addr {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    assert!(number < 1 << 10, "more clusters than addresses");
    let below = (process::id() % (1 << 14)) << 10 | number;
    Ipv4Addr::from(127 << 24 | below)
}

/// Two free ports for each of `n` nodes. All are held until the last is found, so that none
/// comes twice.
pub fn free_places(host: Ipv4Addr, n: usize) -> Vec<(SocketAddr, SocketAddr)> {
    let port = || TcpListener::bind((host, 0)).unwrap();
    let held: Vec<_> = (0..n).map(|_| (port(), port())).collect();
    let address = |socket: &TcpListener| socket.local_addr().unwrap();
    held.iter().map(|(peer, admin)| (address(peer), address(admin))).collect()
}

/// Fresh ids, in the order in which electd ranks them.
pub fn ascending_ids(n: usize) -> BTreeSet<Uuid> {
    (0..n).map(|_| Uuid::new_v4()).collect()
}
