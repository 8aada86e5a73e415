//! `host:port`: the form of an address, and when two of them are the same.
//!
//! Names are not resolved here: that happens at every dial, because answers change. An address is a plain value;
//! `::core::net` knows values only, and no sockets.

use std::fmt;

use ::core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV6};

/// An address in the form in which two are compared.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPort {
    host: Host,
    port: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Host {
    V4(Ipv4Addr),
    /// With its scope, and port 0.
    V6(SocketAddrV6),
    /// A link-local address, and the interface of this host that leads there.
    OnLink(Ipv6Addr, String),
    /// In lower case, without the dot of the root at its end.
    Name(String),
}

/// What is wrong with an address, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadAddress {
    /// What is wrong with it.
    pub what: &'static str,
    /// What to write instead.
    pub remedy: &'static str,
}

const EXAMPLES: &str =
    "write host:port, such as \"10.0.0.1:7101\", \"db1.example.com:7101\" or \"[::1]:7101\"";

/// The longest name of a host with the dot of the root, a colon and a port. A port could begin with any number of
/// zeros.
const LONGEST: usize = 260;

impl HostPort {
    /// Reads `host:port`, `1.2.3.4:port` or `[v6]:port`.
    ///
    /// # Errors
    /// If it is no address: what is wrong, and how to write one.
    pub fn parse(text: &str) -> Result<HostPort, BadAddress> {
        let bad = |what| Err(BadAddress { what, remedy: EXAMPLES });
        if text.len() > LONGEST {
            return bad("is too long");
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => return bad("has no port"),
        };
        if host.contains(':') && host.bytes().all(|b| b.is_ascii_hexdigit() || b == b':') {
            let remedy = "write an IPv6 address in brackets, such as \"[::1]:7101\"";
            return Err(BadAddress { what: "is ambiguous", remedy });
        }
        let Some(port) = parse_port(port) else {
            return bad("has no port between 1 and 65535");
        };
        match parse_host(host) {
            Some(host) => Ok(HostPort { host, port }),
            None => bad("has no valid host"),
        }
    }

    /// Whether it means every address of a host: fit to bind, useless to dial.
    pub fn is_wildcard(&self) -> bool {
        match &self.host {
            Host::V4(ip) => ip.is_unspecified(),
            Host::V6(at) => at.ip().is_unspecified(),
            Host::Name(_) | Host::OnLink(..) => false,
        }
    }

    /// Whether two sockets of one host cannot be bound to both.
    pub fn clashes(&self, other: &HostPort) -> bool {
        self == other || (self.port == other.port && (self.is_wildcard() || other.is_wildcard()))
    }

    /// The same host at another port.
    pub fn with_port(&self, port: u16) -> HostPort {
        HostPort { host: self.host.clone(), port }
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::V4(ip) => write!(f, "{ip}:{}", self.port),
            Host::V6(at) => SocketAddrV6::new(*at.ip(), self.port, 0, at.scope_id()).fmt(f),
            Host::OnLink(ip, zone) => write!(f, "[{ip}%{zone}]:{}", self.port),
            Host::Name(name) => write!(f, "{name}:{}", self.port),
        }
    }
}

fn parse_port(text: &str) -> Option<u16> {
    // Digits only: the standard library would also take "+7101".
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|&port| digits && port != 0)
}

fn parse_host(text: &str) -> Option<Host> {
    if text.starts_with('[') {
        return format!("{text}:0").parse().ok().map(Host::V6).or_else(|| on_link(text));
    }
    if let Ok(IpAddr::V4(ip)) = text.parse() {
        return Some(Host::V4(ip));
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let last = name.rsplit('.').next().unwrap_or_default();
    // A name whose last part is a number is a mistyped IPv4 address (RFC 1123, 2.1).
    let numeric = last.bytes().all(|b| b.is_ascii_digit());
    let valid = name.len() <= 253 && !numeric && name.split('.').all(is_label);
    valid.then(|| Host::Name(name.to_ascii_lowercase()))
}

/// A link-local address with the name of an interface, such as `[fe80::1%eth0]`.
fn on_link(text: &str) -> Option<Host> {
    let (ip, zone) = text.strip_prefix('[')?.strip_suffix(']')?.split_once('%')?;
    let ip: Ipv6Addr = ip.parse().ok()?;
    // As long as the system lets the name of an interface be; a number is read as the interface's number.
    let named = (1..=15).contains(&zone.len())
        && zone.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-@".contains(&b))
        && !zone.bytes().all(|b| b.is_ascii_digit());
    (ip.is_unicast_link_local() && named).then(|| Host::OnLink(ip, zone.to_owned()))
}

/// A part of a host name. The underscore is not in the standard, but common.
fn is_label(label: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    (1..=63).contains(&label.len())
        && label.bytes().all(inner)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_every_kind_are_read() {
        for text in ["127.0.0.1:7101", "[::1]:7101", "localhost:1", "db-1.example.com:65535"] {
            assert_eq!(HostPort::parse(text).unwrap().to_string(), text);
        }
        let link = "[fe80::1%eth0.7]:7101";
        assert_eq!(HostPort::parse(link).unwrap().to_string(), link);
        for text in ["[fe80::1%3]:7101", "my_host:80", "3com.example:80"] {
            assert!(HostPort::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn no_address_is_longer_than_the_longest_name_of_a_host() {
        let longest = format!("{}{}:65535", "x.".repeat(126), "x.");
        assert_eq!(HostPort::parse(&longest).map(|_| longest.len()), Ok(260));
        let zeros = "0".repeat(300);
        for text in [format!("h:{zeros}1"), format!("[fe80::1%{zeros}3]:1")] {
            assert_eq!(HostPort::parse(&text).unwrap_err().what, "is too long");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_the_part_that_is_wrong() {
        let cases = [
            ("127.0.0.1", "has no port"),
            ("[::1]", "has no port"),
            ("", "has no port"),
            ("::1:7101", "is ambiguous"),
            ("host:0", "has no port between 1 and 65535"),
            ("host:", "has no port between 1 and 65535"),
            ("host:65536", "has no port between 1 and 65535"),
            ("host:+80", "has no port between 1 and 65535"),
            ("host:http", "has no port between 1 and 65535"),
            (":7101", "has no valid host"),
            ("[]:7101", "has no valid host"),
            ("[::1:7101", "has no valid host"),
            ("[2001:db8::1%eth0]:7101", "has no valid host"),
            ("[fe80::1%]:7101", "has no valid host"),
            ("[fe80::1%eth 0]:7101", "has no valid host"),
            ("[127.0.0.1]:7101", "has no valid host"),
            ("300.1.1.1:7101", "has no valid host"),
            ("a b:7101", "has no valid host"),
            ("-a:7101", "has no valid host"),
            ("a..b:7101", "has no valid host"),
            ("http://a:7101", "has no valid host"),
        ];
        for (text, what) in cases {
            assert_eq!(HostPort::parse(text).map_err(|bad| bad.what), Err(what), "{text}");
        }
    }

    #[test]
    fn spellings_of_one_address_are_equal() {
        let same = |a, b| HostPort::parse(a).unwrap() == HostPort::parse(b).unwrap();
        assert!(same("Node-A:7101", "node-a.:7101"));
        assert!(same("[0:0:0:0:0:0:0:1]:7101", "[::1]:7101"));
        assert!(!same("node-a:7101", "node-a:7102"));
    }

    #[test]
    fn a_wildcard_clashes_with_every_address_of_its_port() {
        let parse = |text| HostPort::parse(text).unwrap();
        assert!(parse("0.0.0.0:7101").clashes(&parse("127.0.0.1:7101")));
        assert!(!parse("0.0.0.0:7101").clashes(&parse("127.0.0.1:7201")));
        assert!(!parse("10.0.0.1:7101").clashes(&parse("127.0.0.1:7101")));
    }
}
