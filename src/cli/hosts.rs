//! For `check`: the members that this host cannot dial, as the name of their host has no address here.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::{Config, MemberConfig};
use crate::net;

/// How long the name service has to answer. All names are asked for at once.
const PATIENCE: Duration = Duration::from_secs(3);

/// A member whose address has a host name that does not resolve on this host.
pub struct Unresolved<'c> {
    member: &'c MemberConfig,
    why: String,
}

impl Unresolved<'_> {
    /// For people.
    pub fn words(&self) -> String {
        let MemberConfig { name, address, .. } = self.member;
        let why = &self.why;
        format!(
            "WARNING: {address}, the address of {name}, does not resolve on this host: {why}; correct it, or the \
             name service"
        )
    }

    /// For programs.
    pub fn object(&self) -> Value {
        json!({ "member": self.member.name, "address": self.member.address, "reason": self.why })
    }
}

/// The members besides this one whose addresses do not resolve here.
pub fn unresolved<'c>(config: &'c Config, own: &MemberConfig) -> Vec<Unresolved<'c>> {
    let others = config.members.iter().filter(|member| member.id != own.id);
    thread::scope(|scope| {
        let asked: Vec<_> = others
            .map(|member| (member, scope.spawn(|| net::resolve(&member.address, PATIENCE))))
            .collect();
        let answers =
            asked.into_iter().filter_map(|(member, asked)| Some((member, asked.join().ok()?)));
        answers
            .filter_map(|(member, found)| {
                Some(Unresolved { member, why: found.err()?.to_string() })
            })
            .collect()
    })
}
