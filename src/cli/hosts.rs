//! For `check`: the members that this host cannot dial, as the name of their host has no address here.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::config::{Config, MemberConfig};
use crate::net;

/// How long the name service has to answer. All names are asked for at once.
const PATIENCE: Duration = Duration::from_secs(3);

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
            ErrorKind::TimedOut => format!("has no answer of the name service after {PATIENCE:?}"),
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

/// The members besides this one whose addresses do not resolve here.
pub fn unresolved<'c>(config: &'c Config, own: &MemberConfig) -> Vec<Unresolved<'c>> {
    let named = |member: &&MemberConfig| {
        member.id != own.id && member.address.parse::<SocketAddr>().is_err()
    };
    let named: Vec<&MemberConfig> = config.members.iter().filter(named).collect();
    thread::scope(|scope| {
        let ask = |member: &'c MemberConfig| {
            let ask = || net::resolve(&member.address, PATIENCE);
            (member, thread::Builder::new().spawn_scoped(scope, ask))
        };
        let asked: Vec<_> = named.into_iter().map(ask).collect();
        let failure = |(member, asked): (_, io::Result<ScopedJoinHandle<'_, _>>)| {
            let defect = |_| io::Error::other("the thread that asked panicked");
            let found =
                asked.and_then(|asked| asked.join().unwrap_or_else(|panic| Err(defect(panic))));
            Some(Unresolved { member, why: found.err()? })
        };
        asked.into_iter().filter_map(failure).collect()
    })
}
