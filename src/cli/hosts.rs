//! For `check`: the members that this host cannot dial, as the name of their host has no address here.

use std::io::{self, ErrorKind};
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::{Config, MemberConfig};
use crate::net;

/// How long the name service has to answer. All names are asked for at once.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A member whose address has a host name that does not resolve on this host.
pub struct Unresolved<'c> {
    pub(super) member: &'c MemberConfig,
    pub(super) why: io::Error,
}

impl Unresolved<'_> {
    /// For people.
    pub fn words(&self) -> String {
        let MemberConfig { name, address, .. } = self.member;
        let why = match self.why.kind() {
            ErrorKind::TimedOut => format!("has no answer of the name service after {TIMEOUT:?}"),
            _ => format!(
                "does not resolve on this host: {}; correct it, or the name service",
                self.why
            ),
        };
        format!("WARNING: {address}, the address of {name}, {why}")
    }

    /// For programs.
    pub fn object(&self) -> Value {
        json!({ "member": self.member.name, "address": self.member.address, "reason": self.why.to_string() })
    }
}

/// Why the others cannot dial this member, or probably dial it where it does not listen.
pub fn hidden(config: &Config, own: &MemberConfig) -> Option<String> {
    let others = config.members.iter().filter(|member| member.id != own.id);
    let others: Vec<_> =
        others.map(|member| (member.name.clone(), member.address.clone())).collect();
    let address = net::OwnAddress::new(&own.listen, &own.address);
    address.hidden(&others, TIMEOUT).or_else(|| address.missed(&others, TIMEOUT))
}

/// The members besides this one whose addresses do not resolve here.
pub fn unresolved<'c>(config: &'c Config, own: &MemberConfig) -> Vec<Unresolved<'c>> {
    let others = || config.members.iter().filter(|member| member.id != own.id);
    let names: Vec<&str> = others().map(|member| member.address.as_str()).collect();
    let found = others().zip(net::look_up(&names, TIMEOUT));
    found.filter_map(|(member, why)| Some(Unresolved { member, why: why? })).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn an_unresolved_name_is_told_with_its_reason_and_a_silent_name_service_with_its_time() {
        let text = include_str!("../../conf/cluster.json");
        let config = crate::config::parse(text, Path::new("c.json")).unwrap();
        let member = &config.members[0];
        let said = |kind: ErrorKind| {
            let unresolved = Unresolved { member, why: io::Error::new(kind, "no such name") };
            (unresolved.words(), unresolved.object())
        };
        let begin = format!("WARNING: {}, the address of {}, ", member.address, member.name);
        let object =
            json!({ "member": member.name, "address": member.address, "reason": "no such name" });
        let (words, told) = said(ErrorKind::TimedOut);
        assert_eq!(words, format!("{begin}has no answer of the name service after 3s"));
        assert_eq!(told, object);
        let words = "does not resolve on this host: no such name; correct it, or the name service";
        assert_eq!(said(ErrorKind::NotFound), (format!("{begin}{words}"), object));
    }

    #[test]
    fn a_member_whose_address_is_loopback_is_hidden_from_those_that_are_elsewhere() {
        let text = include_str!("../../conf/cluster.json");
        let mut config = crate::config::parse(text, Path::new("c.json")).unwrap();
        assert_eq!(hidden(&config, &config.members[0]), None, "all are on this host");
        config.members[0].listen = "127.0.0.2:7101".to_owned();
        config.members[0].address = "127.0.0.2:7101".to_owned();
        config.members[3].address = "192.0.2.7:7104".to_owned();
        let why = hidden(&config, &config.members[0]).unwrap();
        let begin = "127.0.0.2:7101 is 127.0.0.2 on this host, which no other host can dial, and node-4 is on another, \
                     at 192.0.2.7: give ";
        assert!(why.starts_with(begin), "{why}");
        // A proxy may pass on what comes to its address.
        config.members[0].address = "192.0.2.1:7101".to_owned();
        assert_eq!(hidden(&config, &config.members[0]), None);
        let unresolved = unresolved(&config, &config.members[0]);
        assert!(unresolved.is_empty(), "an address of numbers needs no name service");
    }
}
