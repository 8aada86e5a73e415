//! An address as `--address` takes it.

use std::fmt::{self, Display};
use std::net::IpAddr;
use std::str::FromStr;

/// The kernel's limit for the name of an interface.
const LONGEST_NAME: usize = 15;

/// An address with the length of the prefix of its network, and the interface that it is added to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(super) ip: IpAddr,
    pub(super) prefix: u8,
    pub(super) interface: String,
}

impl Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}%{}", self.ip, self.prefix, self.interface)
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let form = "write it as 10.0.0.9/24%eth0: address, length of the prefix, interface";
        let parts = text.split_once('%').and_then(|(address, interface)| {
            let (ip, prefix) = address.split_once('/')?;
            Some((ip, prefix, interface))
        });
        let (ip, prefix, interface) = parts.ok_or(form)?;
        let ip: IpAddr = ip.parse().map_err(|_| format!("\"{ip}\" is no IP address; {form}"))?;
        let longest = if ip.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.parse().ok().filter(|prefix| (1..=longest).contains(prefix));
        let prefix = prefix.ok_or_else(|| {
            format!("the prefix of {ip} is to be a number from 1 to {longest}; {form}")
        })?;
        let is_wrong = |c: char| c == '/' || c == ':' || c.is_whitespace();
        if interface.is_empty() || interface.len() > LONGEST_NAME || interface.contains(is_wrong) {
            return Err(format!("\"{interface}\" cannot be the name of an interface; {form}"));
        }
        let broadcast = IpAddr::from([255; 4]);
        if ip.is_unspecified() || ip.is_multicast() || ip.is_loopback() || ip == broadcast {
            return Err(format!("{ip} cannot be the address of one host in a network"));
        }
        Ok(Address { ip, prefix, interface: interface.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_prefix_and_an_interface() {
        for text in [
            "10.0.0.9/24%eth0",
            "10.0.0.9/1%eth0",
            "10.0.0.9/32%of-15-character",
            "255.255.255.254/31%eth0",
            "fd00::9/128%br-lan.7",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        let form = "write it as 10.0.0.9/24%eth0: address, length of the prefix, interface";
        let prefix = |ip: &str, longest: u8| {
            format!("the prefix of {ip} is to be a number from 1 to {longest}; {form}")
        };
        let name = |name: &str| format!("\"{name}\" cannot be the name of an interface; {form}");
        let host = |ip: &str| format!("{ip} cannot be the address of one host in a network");
        for (text, said) in [
            ("10.0.0.9", form.to_owned()),
            ("10.0.0.9/24", form.to_owned()),
            ("10.0.0.9%eth0", form.to_owned()),
            ("10.0.0.256/24%eth0", format!("\"10.0.0.256\" is no IP address; {form}")),
            ("10.0.0.9/33%eth0", prefix("10.0.0.9", 32)),
            ("fd00::9/129%eth0", prefix("fd00::9", 128)),
            ("10.0.0.9/0%eth0", prefix("10.0.0.9", 32)),
            ("10.0.0.9/x%eth0", prefix("10.0.0.9", 32)),
            ("10.0.0.9/24%", name("")),
            ("10.0.0.9/24%of-16-characters", name("of-16-characters")),
            ("10.0.0.9/24%a/b", name("a/b")),
            ("10.0.0.9/24%a:b", name("a:b")),
            ("10.0.0.9/24%a b", name("a b")),
            ("224.0.0.1/24%eth0", host("224.0.0.1")),
            ("::/64%eth0", host("::")),
            ("127.0.0.9/8%lo", host("127.0.0.9")),
            ("255.255.255.255/32%eth0", host("255.255.255.255")),
        ] {
            assert_eq!(text.parse::<Address>(), Err(said), "{text}");
        }
    }
}
