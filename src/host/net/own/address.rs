//! What the address of this member means on this host, and whether the others can dial it there.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use crate::net::places::MemberPlaces;

/// Another member: its name, and the address at which it is dialed.
pub type Other = (String, String);

/// Where a member is to listen, as its configuration says.
#[derive(Clone)]
pub struct OwnAddress {
    pub(super) listen: String,
    /// Where the others dial it.
    pub(super) address: String,
    pub(super) places: MemberPlaces,
}

impl OwnAddress {
    /// A member that listens there, and is dialed at this address.
    #[must_use]
    pub fn new(listen: &str, address: &str) -> OwnAddress {
        let (listen, address) = (listen.to_owned(), address.to_owned());
        OwnAddress { listen, address, places: MemberPlaces::default() }
    }

    /// All that it means on this host, first what other hosts can dial.
    ///
    /// # Errors
    /// When the name has no address, or has not got one within `limit`.
    pub fn look_up(&self, limit: Duration) -> io::Result<Vec<SocketAddr>> {
        let mut found = self.places.resolve(&self.listen, limit)?;
        found.sort_by_key(|address| (address.ip().is_loopback(), *address));
        found.dedup();
        Ok(found)
    }

    /// Why the others cannot dial it, if it means loopback on this host and one of them is on another host. Those whose
    /// names have no address within `limit` do not count.
    #[must_use]
    pub fn hidden(&self, others: &[Other], limit: Duration) -> Option<String> {
        let found = self.look_up(limit).ok()?;
        self.hidden_at(&ips(&found), others, limit)
    }

    pub(super) fn hidden_at(
        &self,
        bound: &[IpAddr],
        others: &[Other],
        limit: Duration,
    ) -> Option<String> {
        if !bound.iter().all(IpAddr::is_loopback) || self.is_behind_proxy() {
            return None;
        }
        let bound = bound.first()?;
        let places = self.elsewhere(others, limit);
        let (other, at) =
            places.into_iter().find_map(|(name, at)| Some((name, at.first()?.ip())))?;
        let OwnAddress { listen, .. } = self;
        Some(format!(
            "{listen} is {bound} on this host, which no other host can dial, and {other} is on another, at {at}: give \
             this host's name its true address (Debian writes 127.0.1.1 into /etc/hosts), or add \"listen\": \
             \"0.0.0.0:{}\" to this member",
            self.port()
        ))
    }

    /// Why one of the others probably dials this host where nobody listens: this host reaches it from another address
    /// than those that it listens on. What a name means on the host of the other is known there alone.
    #[must_use]
    pub fn missed(&self, others: &[Other], limit: Duration) -> Option<String> {
        let found = self.look_up(limit).ok()?;
        let here: Vec<SocketAddr> = found.into_iter().filter(|at| !is_elsewhere(*at)).collect();
        self.missed_at(&ips(&here), others, limit)
    }

    pub(super) fn missed_at(
        &self,
        bound: &[IpAddr],
        others: &[Other],
        limit: Duration,
    ) -> Option<String> {
        if bound.is_empty() || self.is_behind_proxy() {
            return None;
        }
        // An address of numbers means the same to all. If this host does not have it, something passes on what comes there.
        let dialed = self.address.parse().ok();
        if dialed.is_some_and(is_elsewhere) {
            return None;
        }
        let dialed_by =
            |at: &SocketAddr| dialed.as_ref().map(SocketAddr::ip).or_else(|| source(*at));
        let places = self.elsewhere(others, limit);
        let (other, at, ip) = places.into_iter().find_map(|(other, places)| {
            let ways = || places.iter().filter_map(|at| Some((at.ip(), dialed_by(at)?)));
            let reaches = ways().any(|(at, ip)| is_reached(ip, bound, at));
            let (at, ip) = ways().next().filter(|_| !reaches)?;
            Some((other, at, ip))
        })?;
        let OwnAddress { listen, .. } = self;
        let bound: Vec<String> = bound.iter().map(IpAddr::to_string).collect();
        let every = if ip.is_ipv4() { "0.0.0.0" } else { "[::]" };
        Some(format!(
            "{listen} is {} on this host, and {other}, at {at}, probably dials {ip}, where this node does not listen: \
             let this host's name mean the same here as there (DNS, /etc/hosts), or add \"listen\": \"{every}:{}\" to \
             this member",
            bound.join(" and "),
            self.port()
        ))
    }

    /// The others with those of their addresses that are on other hosts.
    fn elsewhere(&self, others: &[Other], limit: Duration) -> Vec<(String, Vec<SocketAddr>)> {
        let end = Instant::now() + limit;
        // Asks for all of them at once. Who does not wait asks once, and finds the answers at the next look.
        for (_, address) in others.iter().filter(|_| !limit.is_zero()) {
            let _ = self.places.resolve(address, Duration::ZERO);
        }
        let places = |(name, address): &Other| {
            let left = end.saturating_duration_since(Instant::now());
            let mut found = self.places.resolve(address, left).unwrap_or_default();
            found.retain(|at| is_elsewhere(*at));
            (name.clone(), found)
        };
        others.iter().map(places).collect()
    }

    fn port(&self) -> &str {
        self.listen.rsplit(':').next().unwrap_or_default()
    }

    /// Whether it listens on loopback by intention: the others dial another address, which something passes on.
    fn is_behind_proxy(&self) -> bool {
        let host = self.listen.rsplit_once(':').map_or("", |(host, _)| host);
        let loopback = || self.listen.parse().is_ok_and(|at: SocketAddr| at.ip().is_loopback());
        self.listen != self.address && (host.eq_ignore_ascii_case("localhost") || loopback())
    }
}

pub(super) fn ips(places: &[SocketAddr]) -> Vec<IpAddr> {
    places.iter().map(SocketAddr::ip).collect()
}

/// Whether another host, which this one reaches from the first address, reaches a socket at one of those: there, or at a
/// second address of the same network.
fn is_reached(ip: IpAddr, bound: &[IpAddr], other: IpAddr) -> bool {
    let port = 1; // any: nothing is sent
    let same_network = |bound: &IpAddr| {
        bound.is_ipv4() == other.is_ipv4() && source(SocketAddr::new(*bound, port)) == Some(ip)
    };
    is_covered(ip, bound) || bound.iter().any(same_network)
}

/// Whether a socket at one of these addresses takes what comes to this one.
fn is_covered(ip: IpAddr, bound: &[IpAddr]) -> bool {
    bound.iter().any(|bound| match bound {
        IpAddr::V6(every) if every.is_unspecified() => true,
        IpAddr::V4(every) if every.is_unspecified() => ip.is_ipv4(),
        bound => bound.to_canonical() == ip.to_canonical(),
    })
}

/// Whether this address belongs to another host, as far as the routes and addresses of this one say.
pub(super) fn is_elsewhere(at: SocketAddr) -> bool {
    if at.ip().is_loopback() || at.ip().is_unspecified() {
        return false;
    }
    // What a host sends to itself leaves from the address that it goes to, but for a second one of the same network: then
    // from the first. No way may lead there.
    probe(at).is_some_and(|socket| match source_of(&socket, at) {
        Some(source) => source != at.ip() && !is_here(at.ip()),
        None => true,
    })
}

/// Whether this host has an address.
fn is_here(ip: IpAddr) -> bool {
    match UdpSocket::bind((ip, 0)) {
        // Where keepalived or HAProxy runs, a socket may have any address.
        Ok(_) => look_up(ip).unwrap_or(true),
        Err(_) => false,
    }
}

/// Whether an address of IPv4 is one of this host, by the list of the kernel; none if that cannot be read, and of IPv6.
fn look_up(ip: IpAddr) -> Option<bool> {
    let nonlocal = fs::read_to_string("/proc/sys/net/ipv4/ip_nonlocal_bind").ok()?;
    if ip.is_ipv6() || nonlocal.trim() == "0" {
        return None;
    }
    fs::read_to_string("/proc/thread-self/net/fib_trie").ok().map(|trie| lists(&trie, ip))
}

/// Whether this is an address of the host with these routes: each route follows the network that it leads to.
pub(super) fn lists(trie: &str, ip: IpAddr) -> bool {
    let leaf = format!("|-- {ip}");
    let mut is_leaf = false;
    trie.lines().any(|line| {
        let line = line.trim();
        if line.starts_with("|--") || line.starts_with("+--") {
            is_leaf = line == leaf;
        }
        is_leaf && line == "/32 host LOCAL"
    })
}

/// The address from which this host sends there.
fn source(at: SocketAddr) -> Option<IpAddr> {
    source_of(&probe(at)?, at)
}

fn source_of(socket: &UdpSocket, at: SocketAddr) -> Option<IpAddr> {
    socket.connect(at).ok()?; // sends nothing
    Some(socket.local_addr().ok()?.ip())
}

fn probe(at: SocketAddr) -> Option<UdpSocket> {
    let any: IpAddr = match at {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    UdpSocket::bind((any, 0)).ok()
}
