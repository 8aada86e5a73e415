//! The connection to close when there are too many: of the client host with the most connections, the one that has
//! made no progress for longest.
//!
//! So a host that floods the port takes places from itself alone, and if all come from one host, as they do behind a
//! proxy, the newest and the busy stay.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::time::Instant;

/// When a connection last made progress, and its number.
pub type Turn = (Instant, u64);

/// A client host, as far as addresses distinguish hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Host(IpAddr);

impl Host {
    /// The host with this address. An IPv6 host may have any of 2^64 addresses, so the last 64 bits do not count.
    pub fn of(address: IpAddr) -> Host {
        Host(match address.to_canonical() {
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            address => address,
        })
    }
}

/// Connections by host.
#[derive(Default)]
pub struct Shares {
    lines: HashMap<Host, BTreeSet<Turn>>,
    /// The line of each host by its length, of equal ones by its oldest connection.
    ranking: BTreeSet<(usize, Reverse<Turn>, Host)>,
}

impl Shares {
    /// A connection comes, goes, or has made progress.
    pub fn replace(&mut self, host: Host, before: Option<Turn>, now: Option<Turn>) {
        if before == now {
            return;
        }
        let rank =
            |line: &BTreeSet<Turn>| line.first().map(|oldest| (line.len(), Reverse(*oldest), host));
        let line = self.lines.entry(host).or_default();
        if let Some(rank) = rank(line) {
            self.ranking.remove(&rank);
        }
        if let Some(before) = before {
            line.remove(&before);
        }
        line.extend(now);
        let rank = rank(line);
        if rank.is_none() {
            self.lines.remove(&host);
        }
        self.ranking.extend(rank);
    }

    /// The number of the connection to close first.
    pub fn first_to_go(&self) -> Option<u64> {
        self.ranking.last().map(|(_, Reverse((_, number)), _)| *number)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Shares of connections numbered from 0, each a second younger than the one before.
    fn shares(hosts: &[&str]) -> (Shares, Instant) {
        let (mut shares, origin) = (Shares::default(), Instant::now());
        for (number, host) in hosts.iter().enumerate() {
            shares.replace(host_of(host), None, Some(turn(origin, number as u64)));
        }
        (shares, origin)
    }

    fn host_of(address: &str) -> Host {
        Host::of(address.parse().unwrap())
    }

    fn turn(origin: Instant, number: u64) -> Turn {
        (origin + Duration::from_secs(number), number)
    }

    /// All in the order in which they go.
    fn order(hosts: &[&str]) -> Vec<u64> {
        let (mut shares, origin) = shares(hosts);
        let mut order = Vec::new();
        while let Some(number) = shares.first_to_go() {
            let host = host_of(hosts[number as usize]);
            shares.replace(host, Some(turn(origin, number)), None);
            order.push(number);
        }
        assert!(shares.lines.is_empty());
        order
    }

    #[test]
    fn of_one_host_the_oldest_goes() {
        assert_eq!(order(&["10.0.0.1"; 4]), [0, 1, 2, 3]);
    }

    #[test]
    fn the_host_with_the_most_gives_way_whoever_came_first() {
        let (few, many) = ("10.0.0.1", "10.0.0.2");
        assert_eq!(order(&[few, few, many, many, many, many])[..2], [2, 3]);
    }

    #[test]
    fn of_hosts_with_equally_many_the_oldest_connection_goes() {
        assert_eq!(order(&["10.0.0.9", "10.0.0.1", "10.0.0.5"]), [0, 1, 2]);
    }

    #[test]
    fn a_host_is_the_same_in_all_its_addresses() {
        assert_eq!(host_of("::ffff:10.0.0.1"), host_of("10.0.0.1"));
        assert_eq!(host_of("2001:db8::1"), host_of("2001:db8::ffff:1"));
        assert_ne!(host_of("2001:db8::1"), host_of("2001:db8:0:1::1"));
    }
}
