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
    member: &'c MemberConfig,
    why: io::Error,
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

/// Why the others cannot dial this member, if its address means loopback on this host and theirs are elsewhere.
pub fn hidden(config: &Config, own: &MemberConfig) -> Option<String> {
    let others = config.members.iter().filter(|member| member.id != own.id);
    let others: Vec<_> =
        others.map(|member| (member.name.clone(), member.address.clone())).collect();
    net::OwnAddress::new(&own.listen, &own.address).hidden(&others, TIMEOUT)
}

/// The members besides this one whose addresses do not resolve here.
pub fn unresolved<'c>(config: &'c Config, own: &MemberConfig) -> Vec<Unresolved<'c>> {
    let others = || config.members.iter().filter(|member| member.id != own.id);
    let names: Vec<&str> = others().map(|member| member.address.as_str()).collect();
    let found = others().zip(net::look_up(&names, TIMEOUT));
    found.filter_map(|(member, why)| Some(Unresolved { member, why: why? })).collect()
}
