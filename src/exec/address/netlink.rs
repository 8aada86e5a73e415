//! Lists, adds and removes the kernel's addresses by netlink.
//!
//! An address is added alone: as /32 or /128, whatever its prefix. The kernel removes other IPv4 addresses of a network
//! together with the first one that came with the prefix of that network, and a short-lived IPv6 address passes its
//! lifetime on to the route that it shares with others of its prefix. The route to the network is added apart, and
//! counts only where the host has no other.
//!
//! The kernel answers within the call that sends the request, so a blocking socket does not really
//! wait; there is a time limit all the same.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_APPEND, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST,
    NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeader, AddressMessage, CacheInfo,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    self, AddressFamily as Family, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice,
};

use super::spec::Address;
use crate::calls::Named;

/// For how long the kernel keeps an address that is not renewed.
pub const LIFETIME: Duration = Duration::from_secs(3);

/// The kernel sends no longer answer in one piece.
const ANSWER: usize = 64 * 1024;

/// The metric of a route that any other route to the same network precedes.
const LAST: u32 = u32::MAX;

/// The longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A conversation with the kernel.
pub(super) struct Netlink {
    socket: OwnedFd,
    number: u32,
}

/// An address that this host has.
pub(super) struct PresentAddress {
    /// The number of its interface.
    pub index: u32,
    /// For how long it is valid; none if permanently.
    pub valid_seconds: Option<u32>,
}

impl PresentAddress {
    /// Whether it expires soon unless a process renews it.
    pub(super) fn is_mortal(&self) -> bool {
        self.valid_seconds.is_some_and(|valid| u64::from(valid) <= LIFETIME.as_secs())
    }
}

impl Netlink {
    pub(super) fn open() -> io::Result<Netlink> {
        let socket = net::socket_with(Family::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None);
        let socket = socket.named("socket(AF_NETLINK)")?;
        set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT))?;
        set_socket_timeout(&socket, Timeout::Send, Some(TIMEOUT))?;
        Ok(Netlink { socket, number: 0 })
    }

    /// The number of an interface, if it is there.
    pub(super) fn index(&self, interface: &str) -> io::Result<Option<u32>> {
        match netdevice::name_to_index(&self.socket, interface) {
            Ok(index) => Ok(Some(index)),
            Err(Errno::NODEV) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The name of an interface.
    pub(super) fn name(&self, index: u32) -> io::Result<String> {
        Ok(netdevice::index_to_name(&self.socket, index)?)
    }

    /// This address, on whichever interface it is.
    pub(super) fn find(&mut self, ip: IpAddr) -> io::Result<Option<PresentAddress>> {
        let mut message = AddressMessage::default();
        message.header.family = family(ip);
        let mut found = None;
        self.ask(RouteNetlinkMessage::GetAddress(message), NLM_F_DUMP, |answer| {
            if let RouteNetlinkMessage::NewAddress(answer) = answer {
                found = found.take().or(present(&answer, ip));
            }
        })?;
        Ok(found)
    }

    /// Adds an address, which must not be there, with its lifetime.
    pub(super) fn add(&mut self, address: &Address, index: u32) -> io::Result<()> {
        // With another prefix, or on another interface, the kernel would have the address twice.
        if self.find(address.ip)?.is_some() {
            return Err(Errno::EXIST.into());
        }
        self.put(address, index, NLM_F_EXCL)
    }

    /// Restarts the lifetime of an address, or adds it again if it is gone. Returns whether it was
    /// still there.
    pub(super) fn renew(&mut self, address: &Address, index: u32) -> io::Result<bool> {
        match self.put(address, index, NLM_F_EXCL) {
            Err(error) if error.raw_os_error() == Some(Errno::EXIST.raw_os_error()) => {
                self.put(address, index, NLM_F_REPLACE).map(|()| true)
            }
            added => added.map(|()| false),
        }
    }

    fn put(&mut self, address: &Address, index: u32, how: u16) -> io::Result<()> {
        let seconds = seconds();
        let mut message = message(address, index);
        let mut life = CacheInfo::default();
        life.ifa_valid = seconds;
        // An IPv6 host would else speak from this address of its own accord, and lose what it began with it.
        life.ifa_preferred = if address.ip.is_ipv4() { seconds } else { 0 };
        message.attributes.push(AddressAttribute::CacheInfo(life));
        if address.ip.is_ipv6() {
            // Its last holder may still be there for a moment, and would win.
            message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad));
        }
        let flags = NLM_F_ACK | NLM_F_CREATE | how;
        self.ask(RouteNetlinkMessage::NewAddress(message), flags, |_| ())?;
        self.lead_to_network(address, index)
    }

    /// Adds the route to the network of an address, or restarts its lifetime. The kernel removes an IPv4 route together
    /// with the address that it speaks from, and an IPv6 route at the end of its lifetime.
    fn lead_to_network(&mut self, address: &Address, index: u32) -> io::Result<()> {
        if address.prefix >= longest(address.ip) {
            return Ok(());
        }
        let message = RouteNetlinkMessage::NewRoute(route(address, index));
        match self.ask(message, NLM_F_ACK | NLM_F_CREATE | NLM_F_APPEND, |_| ()) {
            // While the interface is down, nobody is reached by it; the next renewal tries again.
            Err(error) if is_one_of(&error, &[Errno::EXIST, Errno::NETDOWN]) => Ok(()),
            done => done,
        }
    }

    /// Removes an address, which may have expired already.
    pub(super) fn remove(&mut self, address: &Address, index: u32) -> io::Result<()> {
        let message = RouteNetlinkMessage::DelAddress(message(address, index));
        match self.ask(message, NLM_F_ACK, |_| ()) {
            Err(error) if is_gone(&error) => {}
            done => done?,
        }
        match self.find(address.ip)? {
            Some(_) => Err(io::Error::other("another process has added it as well: remove that")),
            None => Ok(()),
        }
    }

    /// Also where the interface has got another name meanwhile.
    fn remove_one_left(&mut self, address: &Address) -> io::Result<()> {
        let index = match self.index(&address.interface)? {
            None => {
                self.find(address.ip)?.filter(PresentAddress::is_mortal).map(|found| found.index)
            }
            index => index,
        };
        index.map_or(Ok(()), |index| self.remove(address, index))
    }

    /// Sends a request, and takes its answers to the last.
    fn ask(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        mut take: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.number += 1;
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST | flags;
        header.sequence_number = self.number;
        let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        net::send(&self.socket, &bytes, SendFlags::empty())?;
        let mut buffer = vec![0; ANSWER];
        loop {
            let (length, _) = match net::recv(&self.socket, &mut buffer[..], RecvFlags::empty()) {
                Err(Errno::INTR) => continue,
                received => received?,
            };
            if self.read(&buffer[..length], &mut take)? {
                return Ok(());
            }
        }
    }

    /// Reads the messages of one answer. Tells whether the last of all is among them.
    fn read(
        &self,
        mut bytes: &[u8],
        take: &mut impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<bool> {
        while !bytes.is_empty() {
            let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(bytes)
                .map_err(io::Error::other)?;
            let length = usize::try_from(answer.header.length).unwrap_or(usize::MAX).max(1);
            bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
            if answer.header.sequence_number != self.number {
                continue; // the answer to a question that was given up
            }
            match answer.payload {
                NetlinkPayload::Done(_) => return Ok(true),
                NetlinkPayload::Error(error) if error.code.is_none() => return Ok(true),
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(message) => take(message),
                _ => {}
            }
        }
        Ok(false)
    }
}

/// Removes what a guard left that was killed: all that it can. Tells the last failure.
pub fn remove_left(addresses: &[Address]) -> io::Result<()> {
    if addresses.is_empty() {
        return Ok(());
    }
    let mut netlink = Netlink::open()?;
    let mut done = Ok(());
    for address in addresses {
        done = netlink.remove_one_left(address).and(done);
    }
    done
}

/// Whether the kernel says that the address, or its interface, is not there.
fn is_gone(error: &io::Error) -> bool {
    is_one_of(error, &[Errno::ADDRNOTAVAIL, Errno::NODEV, Errno::NXIO])
}

fn is_one_of(error: &io::Error, some: &[Errno]) -> bool {
    some.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// The prefix of an address alone.
fn longest(ip: IpAddr) -> u8 {
    if ip.is_ipv4() { 32 } else { 128 }
}

fn message(address: &Address, index: u32) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header = AddressHeader {
        family: family(address.ip),
        prefix_len: longest(address.ip),
        index,
        ..AddressHeader::default()
    };
    let ip = [AddressAttribute::Local(address.ip), AddressAttribute::Address(address.ip)];
    message.attributes.extend(ip);
    message
}

/// The route to the network of an address, by its interface.
fn route(address: &Address, index: u32) -> RouteMessage {
    let Address { ip, prefix, .. } = *address;
    let mut route = RouteMessage::default();
    route.header = RouteHeader {
        address_family: family(ip),
        destination_prefix_length: prefix,
        table: RouteHeader::RT_TABLE_MAIN,
        // Programs that configure networks remove routes that are neither theirs nor the kernel's.
        protocol: RouteProtocol::Kernel,
        scope: if ip.is_ipv4() { RouteScope::Link } else { RouteScope::Universe },
        kind: RouteType::Unicast,
        ..RouteHeader::default()
    };
    let (network, of_family) = match ip {
        IpAddr::V4(ip) => {
            let network =
                Ipv4Addr::from_bits(ip.to_bits() & !u32::MAX.unbounded_shr(prefix.into()));
            (RouteAddress::Inet(network), RouteAttribute::PrefSource(RouteAddress::Inet(ip)))
        }
        IpAddr::V6(ip) => {
            let network =
                Ipv6Addr::from_bits(ip.to_bits() & !u128::MAX.unbounded_shr(prefix.into()));
            (RouteAddress::Inet6(network), RouteAttribute::Expires(seconds()))
        }
    };
    let to = [RouteAttribute::Destination(network), RouteAttribute::Oif(index)];
    route.attributes.extend(to);
    route.attributes.extend([RouteAttribute::Priority(LAST), of_family]);
    route
}

/// [`LIFETIME`] as the kernel counts it.
fn seconds() -> u32 {
    u32::try_from(LIFETIME.as_secs()).unwrap_or(u32::MAX)
}

/// The kernel's description of an address, if it is this one.
fn present(message: &AddressMessage, ip: IpAddr) -> Option<PresentAddress> {
    let has = |attribute: &AddressAttribute| match attribute {
        AddressAttribute::Local(found) => *found == ip,
        AddressAttribute::Address(found) => *found == ip && ip.is_ipv6(), // else of the other end
        _ => false,
    };
    message.attributes.iter().any(has).then(|| {
        let valid = message.attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::CacheInfo(life) => Some(life.ifa_valid),
            _ => None,
        });
        let valid_seconds = valid.filter(|seconds| *seconds != u32::MAX);
        PresentAddress { index: message.header.index, valid_seconds }
    })
}

#[cfg(test)]
pub(super) mod tests;
