//! The ports of a host: that of its member, and those that lie a fixed distance above it.

use crate::core::address::HostPort;

/// The default port of peers.
pub const PEERS: u16 = 7101;
/// How far the port of HTTP lies above that of peers.
const ADMIN: u16 = 100;
/// How far the port for hosts that join lies above that of peers.
const JOINERS: u16 = 200;
/// The port for hosts that join, of a host whose member has the default port.
pub const JOINERS_DEFAULT: u16 = PEERS + JOINERS;

/// Reads `HOST[:PORT]`.
pub fn with_port(host: &str, port: u16) -> Result<HostPort, String> {
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let address = if has_port { host.to_owned() } else { format!("{host}:{port}") };
    HostPort::parse(&address).map_err(|bad| format!("\"{host}\" {}: {}", bad.what, bad.remedy))
}

/// Where HTTP is served by the host of a member at this address.
pub fn admin_of(address: &HostPort) -> Result<HostPort, String> {
    above(address, ADMIN)
        .ok_or_else(|| format!("the admin port, {ADMIN} above {address}, is over 65535"))
}

/// Where hosts that join come in, on the host of a member at this address.
pub fn joiners_of(address: &HostPort) -> Result<HostPort, String> {
    above(address, JOINERS)
        .ok_or_else(|| format!("{address} leaves no port {JOINERS} above it for joiners"))
}

/// The port that a member of a host has whose port for joiners is this one.
pub fn peers_below(joiners: u16) -> u16 {
    joiners.saturating_sub(JOINERS)
}

fn above(address: &HostPort, distance: u16) -> Option<HostPort> {
    Some(address.with_port(address.port().checked_add(distance)?))
}
