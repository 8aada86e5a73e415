//! The IP address of a member as a number that keeps the order of addresses.

use std::net::{IpAddr, ToSocketAddrs};

use super::{Sample, SampleResult, measured};

/// Resolves host:port.
pub fn sample(address: &str) -> SampleResult {
    let found = address
        .to_socket_addrs()
        .map_err(|error| format!("{address} has no IP address: {error}"))?;
    let best = best(found.map(|socket| socket.ip()))
        .ok_or_else(|| format!("{address} has no IP address"))?;
    Ok(Sample { value: number(best), from: words(address, best) })
}

/// Of several addresses the greatest of the older family counts, whatever order a name server gives them in.
fn best(found: impl Iterator<Item = IpAddr>) -> Option<IpAddr> {
    found.map(|ip| ip.to_canonical()).max_by_key(|ip| (ip.is_ipv4(), *ip))
}

/// IPv4 addresses are their 32 bits. Of IPv6 the first 63 bits fit: no address comes before one
/// that it is above, all global ones come after IPv4, and equal ones fall to the id.
fn number(ip: IpAddr) -> i64 {
    match ip {
        IpAddr::V4(ip) => i64::from(ip.to_bits()),
        IpAddr::V6(ip) => measured(ip.to_bits() >> 65),
    }
}

fn words(address: &str, ip: IpAddr) -> String {
    let ip = match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("the first 63 bits of {ip}"),
    };
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    if ip.ends_with(host.trim_matches(['[', ']'])) { ip } else { format!("{ip}, which is {host}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(ip: &str) -> i64 {
        number(ip.parse().unwrap())
    }

    #[test]
    fn a_greater_address_never_has_a_smaller_number() {
        let ascending = [
            "0.0.0.0",
            "9.255.255.255",
            "10.0.0.1",
            "10.0.0.2",
            "255.255.255.255",
            "2001:db8::1",
            "2001:db8:0:2::",
            "fe80::1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ];
        for pair in ascending.windows(2) {
            assert!(value(pair[0]) < value(pair[1]), "{pair:?}");
        }
        assert_eq!(value("10.0.0.1"), 0x0a00_0001);
        assert_eq!(value("2001:db8::1"), value("2001:db8::2"), "no more than 63 bits fit");
    }

    #[test]
    fn of_several_addresses_one_counts_in_whatever_order_they_come() {
        let best = |ips: [&str; 3]| best(ips.map(|ip| ip.parse().unwrap()).into_iter()).unwrap();
        for ips in [["10.0.0.2", "2001:db8::1", "10.0.0.9"], ["10.0.0.9", "10.0.0.2", "fe80::1"]] {
            assert_eq!(best(ips).to_string(), "10.0.0.9", "{ips:?}");
        }
        assert_eq!(best(["2001:db8::1", "fe80::1", "2001:db8::2"]).to_string(), "fe80::1");
    }

    #[test]
    fn what_was_read_is_told() {
        let from = |address| sample(address).unwrap();
        assert_eq!(from("127.0.0.2:7101"), Sample { value: 0x7f00_0002, from: "127.0.0.2".into() });
        assert_eq!(from("[::ffff:10.0.0.1]:7101").value, 0x0a00_0001, "IPv4 in disguise");
        assert_eq!(from("[2001:db8::5]:7101").from, "the first 63 bits of 2001:db8::5");
        assert_eq!(from("localhost:7101").from, "127.0.0.1, which is localhost");
        assert_eq!(
            sample("nobody"),
            Err("nobody has no IP address: invalid socket address".to_owned())
        );
    }
}
