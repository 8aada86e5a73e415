//! Tells the neighbours where an address lives now: they would else send to its last holder until their memory
//! of it has aged.
//!
//! For IPv4 that is a gratuitous ARP (RFC 5227, section 3), for IPv6 an unsolicited neighbour advertisement that
//! overrides (RFC 4861, section 7.2.6).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddrV6};
use std::os::fd::AsRawFd;

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockType, sendto, socket as packet_socket,
};
use socket2::{Domain, Protocol, Socket, Type};

use super::spec::Address;

/// The hardware address of Ethernet.
type Hardware = [u8; 6];

const BROADCAST: Hardware = [0xff; 6];
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// Routers and hosts drop an advertisement that a router has passed on.
const HOPS: u32 = 255;

/// Announces an address on its interface. An interface without hardware addresses has no neighbours to tell.
pub(super) fn announce(address: &Address, index: u32) -> io::Result<()> {
    let Some(link) = link(index)? else { return Ok(()) };
    let hardware = link.addr().unwrap_or_default();
    if hardware == Hardware::default() {
        return Ok(());
    }
    match address.ip {
        IpAddr::V4(ip) => send_frame(&arp(ip, hardware), &link),
        IpAddr::V6(ip) => advertise(ip, hardware, index),
    }
}

/// The interface as the kernel's packet sockets address it. It may have got another name.
fn link(index: u32) -> io::Result<Option<LinkAddr>> {
    let mut links = getifaddrs()?.filter_map(|found| found.address?.as_link_addr().copied());
    Ok(links.find(|link| u32::try_from(link.ifindex()) == Ok(index)))
}

/// Sends a whole frame of Ethernet.
fn send_frame(frame: &[u8], link: &LinkAddr) -> io::Result<()> {
    // Without a protocol, so that nothing is received.
    let (family, flags) = (AddressFamily::Packet, SockFlag::SOCK_CLOEXEC);
    let socket = packet_socket(family, SockType::Raw, flags, None)?;
    sendto(socket.as_raw_fd(), frame, link, MsgFlags::MSG_DONTWAIT)?;
    Ok(())
}

/// "The address is at this hardware", to all hosts, as a request that none answers.
fn arp(ip: Ipv4Addr, hardware: Hardware) -> Vec<u8> {
    let (ip, nobody) = (ip.octets(), Hardware::default());
    let ethernet_frame = [&BROADCAST[..], &hardware, &[0x08, 0x06]];
    let request_of_ethernet_and_ipv4 = [&[0, 1][..], &[0x08, 0], &[6, 4], &[0, 1]];
    let sender_and_target = [&hardware[..], &ip, &nobody, &ip];
    let parts = [&ethernet_frame[..], &request_of_ethernet_and_ipv4, &sender_and_target];
    parts.concat().concat()
}

/// The same for IPv6. The kernel adds the checksum.
fn advertise(ip: Ipv6Addr, hardware: Hardware, index: u32) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV6, Type::RAW, Some(Protocol::ICMPV6))?;
    socket.set_nonblocking(true)?;
    socket.set_multicast_hops_v6(HOPS)?;
    socket.set_multicast_if_v6(index)?;
    socket.bind(&SocketAddrV6::new(ip, 0, 0, index).into())?;
    socket
        .send_to(&advertisement(ip, hardware), &SocketAddrV6::new(ALL_NODES, 0, 0, index).into())?;
    Ok(())
}

fn advertisement(ip: Ipv6Addr, hardware: Hardware) -> Vec<u8> {
    let neighbour_advertisement = [136, 0, 0, 0];
    let overrides = [0x20, 0, 0, 0];
    let target_hardware = [2, 1];
    [&neighbour_advertisement[..], &overrides, &ip.octets(), &target_hardware, &hardware].concat()
}

#[cfg(test)]
mod tests {
    use super::super::netlink::Netlink;
    use super::*;

    const HARDWARE: Hardware = [2, 0, 0, 0, 0, 7];

    #[test]
    fn a_gratuitous_arp_asks_for_its_own_address() {
        let frame = arp(Ipv4Addr::new(10, 0, 0, 9), HARDWARE);
        assert_eq!(frame.len(), 14 + 28);
        assert_eq!(frame[..14], [255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 7, 8, 6]);
        assert_eq!(frame[14..22], [0, 1, 8, 0, 6, 4, 0, 1]);
        assert_eq!(frame[22..32], [2, 0, 0, 0, 0, 7, 10, 0, 0, 9]);
        assert_eq!(frame[32..], [0, 0, 0, 0, 0, 0, 10, 0, 0, 9]);
    }

    #[test]
    fn an_advertisement_overrides_and_names_the_hardware() {
        let ip: Ipv6Addr = "fd00::9".parse().unwrap();
        let message = advertisement(ip, HARDWARE);
        assert_eq!(message[..8], [136, 0, 0, 0, 0x20, 0, 0, 0]);
        assert_eq!(message[8..24], ip.octets());
        assert_eq!(message[24..], [2, 1, 2, 0, 0, 0, 0, 7]);
    }

    /// The loopback is on every host, and has no neighbours.
    #[test]
    fn an_interface_is_found_by_its_number_and_one_without_hardware_needs_no_announcement() {
        let lo = Netlink::open().unwrap().index("lo").unwrap().unwrap();
        let found = link(lo).unwrap().expect("lo is there");
        assert_eq!((found.ifindex(), found.addr()), (usize::try_from(lo).unwrap(), Some([0; 6])));
        assert!(link(u32::MAX).unwrap().is_none());
        for text in ["10.0.0.9/32%lo", "fd00::9/128%lo"] {
            let address = text.parse().unwrap();
            announce(&address, lo).unwrap();
            announce(&address, u32::MAX).unwrap();
        }
    }
}
