//! Lists, adds and removes the kernel's addresses by netlink.
//!
//! The kernel answers within the call that sends the request, so a blocking socket does not really
//! wait; there is a time limit all the same.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkHeader,
    NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::address::{
    AddressAttribute, AddressFlags, AddressHeader, AddressMessage, CacheInfo,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    self, AddressFamily as Family, RecvFlags, SendFlags, SocketFlags, SocketType, netdevice,
};

use super::spec::Address;

/// For how long the kernel keeps an address that is not renewed.
pub const LIFETIME: Duration = Duration::from_secs(3);

/// The kernel sends no longer answer in one piece.
const ANSWER: usize = 64 * 1024;

/// The longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A conversation with the kernel.
pub(super) struct Netlink {
    socket: OwnedFd,
    number: u32,
}

/// An address that this host has.
pub(super) struct Present {
    /// The number of its interface.
    pub index: u32,
    /// For how long it is valid; none if permanently.
    pub valid_seconds: Option<u32>,
}

impl Present {
    /// Whether it expires soon unless a process renews it.
    pub(super) fn is_mortal(&self) -> bool {
        self.valid_seconds.is_some_and(|valid| u64::from(valid) <= LIFETIME.as_secs())
    }
}

impl Netlink {
    pub(super) fn open() -> io::Result<Netlink> {
        let socket =
            net::socket_with(Family::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
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
    pub(super) fn find(&mut self, ip: IpAddr) -> io::Result<Option<Present>> {
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
        let seconds = u32::try_from(LIFETIME.as_secs()).unwrap_or(u32::MAX);
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
        self.ask(RouteNetlinkMessage::NewAddress(message), flags, |_| ())
    }

    /// Removes an address, which may have expired already.
    pub(super) fn remove(&mut self, address: &Address, index: u32) -> io::Result<()> {
        let message = RouteNetlinkMessage::DelAddress(message(address, index));
        match self.ask(message, NLM_F_ACK, |_| ()) {
            Err(error) if is_gone(&error) => Ok(()),
            done => done,
        }
    }

    /// Also where the interface has got another name meanwhile.
    fn remove_one_left(&mut self, address: &Address) -> io::Result<()> {
        let index = match self.index(&address.interface)? {
            None => self.find(address.ip)?.filter(Present::is_mortal).map(|found| found.index),
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
    let gone = [Errno::ADDRNOTAVAIL, Errno::NODEV, Errno::NXIO];
    gone.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn family(ip: IpAddr) -> AddressFamily {
    if ip.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn message(address: &Address, index: u32) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header = AddressHeader {
        family: family(address.ip),
        prefix_len: address.prefix,
        index,
        ..AddressHeader::default()
    };
    let ip = [AddressAttribute::Local(address.ip), AddressAttribute::Address(address.ip)];
    message.attributes.extend(ip);
    message
}

/// The kernel's description of an address, if it is this one.
fn present(message: &AddressMessage, ip: IpAddr) -> Option<Present> {
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
        Present { index: message.header.index, valid_seconds }
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroI32;

    use netlink_packet_core::{DoneMessage, ErrorMessage};

    use super::*;

    fn address(text: &str) -> Address {
        text.parse().unwrap()
    }

    #[test]
    fn what_this_host_has_is_found_whoever_asks() {
        let mut netlink = Netlink::open().unwrap();
        let lo = netlink.index("lo").unwrap().expect("every host has one");
        assert_eq!(netlink.name(lo).unwrap(), "lo");
        assert_eq!(netlink.index("no-such").unwrap(), None);
        for _ in 0..2 {
            let found = netlink.find([127, 0, 0, 1].into()).unwrap().expect("it is there");
            assert_eq!((found.index, found.valid_seconds), (lo, None));
            assert!(!found.is_mortal(), "it stays");
            assert!(netlink.find([127, 9, 9, 9].into()).unwrap().is_none());
        }
        assert_eq!(netlink.number, 4, "each question has a number of its own");
        remove_left(&[]).unwrap();
    }

    #[test]
    fn an_address_that_nobody_renews_is_told_from_one_that_stays() {
        for (valid_seconds, is_mortal) in
            [(None, false), (Some(0), true), (Some(3), true), (Some(4), false)]
        {
            assert_eq!(
                Present { index: 1, valid_seconds }.is_mortal(),
                is_mortal,
                "{valid_seconds:?}"
            );
        }
    }

    /// With these attributes, and a life of so many seconds.
    fn described(attributes: Vec<AddressAttribute>, seconds: Option<u32>) -> AddressMessage {
        let mut described = AddressMessage::default();
        described.header.index = 7;
        described.attributes = attributes;
        described.attributes.extend(seconds.map(|seconds| {
            let mut life = CacheInfo::default();
            life.ifa_valid = seconds;
            AddressAttribute::CacheInfo(life)
        }));
        described
    }

    /// The address of a tunnel's other end is no address of this host.
    #[test]
    fn an_address_is_known_by_what_the_kernel_says_of_it() {
        let [v4, other]: [IpAddr; 2] = [[10, 0, 0, 9].into(), [10, 0, 0, 8].into()];
        let v6: IpAddr = "fd00::9".parse().unwrap();
        let found = |attribute: AddressAttribute, seconds: Option<u32>, ip: IpAddr| {
            let found = present(&described(vec![attribute], seconds), ip);
            found.map(|found| (found.index, found.valid_seconds))
        };
        assert_eq!(found(AddressAttribute::Local(v4), Some(3), v4), Some((7, Some(3))));
        assert_eq!(found(AddressAttribute::Local(v4), Some(u32::MAX), v4), Some((7, None)));
        assert_eq!(found(AddressAttribute::Local(v4), None, v4), Some((7, None)));
        assert_eq!(found(AddressAttribute::Local(other), Some(3), v4), None);
        assert_eq!(found(AddressAttribute::Address(v4), Some(3), v4), None, "of the other end");
        assert_eq!(found(AddressAttribute::Address(v6), Some(3), v6), Some((7, Some(3))));
        assert_eq!(found(AddressAttribute::Label("eth0".to_owned()), Some(3), v4), None);
    }

    #[test]
    fn a_request_names_the_family_the_prefix_and_the_interface() {
        for (text, of) in
            [("10.0.0.9/24%eth0", AddressFamily::Inet), ("fd00::9/24%eth0", AddressFamily::Inet6)]
        {
            let address = address(text);
            let AddressMessage { header, attributes, .. } = message(&address, 7);
            assert_eq!((header.family, header.prefix_len, header.index), (of, 24, 7));
            let ip = [AddressAttribute::Local(address.ip), AddressAttribute::Address(address.ip)];
            assert_eq!(attributes, ip);
        }
    }

    /// A message of the kernel with this number.
    fn says(number: u32, payload: NetlinkPayload<RouteNetlinkMessage>) -> Vec<u8> {
        let mut header = NetlinkHeader::default();
        header.sequence_number = number;
        let mut message = NetlinkMessage::new(header, payload);
        message.finalize();
        let mut bytes = vec![0; message.buffer_len().next_multiple_of(4)];
        message.serialize(&mut bytes);
        bytes
    }

    fn fails(errno: Errno) -> NetlinkPayload<RouteNetlinkMessage> {
        let mut error = ErrorMessage::default();
        error.code = NonZeroI32::new(-errno.raw_os_error());
        NetlinkPayload::Error(error)
    }

    /// Whether this is the whole answer to question 5, and the addresses that it told until then.
    fn read(messages: &[Vec<u8>]) -> (io::Result<bool>, usize) {
        let netlink = Netlink { number: 5, ..Netlink::open().unwrap() };
        let mut told = 0;
        let mut take = |message: RouteNetlinkMessage| {
            told += usize::from(matches!(message, RouteNetlinkMessage::NewAddress(_)))
        };
        let done = netlink.read(&messages.concat(), &mut take);
        (done, told)
    }

    #[test]
    fn an_answer_ends_with_its_last_message_and_others_are_left_alone() {
        let address =
            || NetlinkPayload::from(RouteNetlinkMessage::NewAddress(described(vec![], Some(3))));
        let done = || NetlinkPayload::Done(DoneMessage::default());
        let is_done = |messages: &[Vec<u8>]| match read(messages) {
            (Ok(done), told) => (done, told),
            (Err(error), _) => panic!("{error}"),
        };
        assert_eq!(is_done(&[]), (false, 0));
        assert_eq!(is_done(&[says(5, address()), says(5, address())]), (false, 2));
        assert_eq!(is_done(&[says(5, address()), says(5, done()), says(5, address())]), (true, 1));
        assert_eq!(is_done(&[says(4, address()), says(4, done()), says(5, address())]), (false, 1));
        assert_eq!(is_done(&[says(5, NetlinkPayload::Error(ErrorMessage::default()))]), (true, 0));
        assert_eq!(is_done(&[says(5, NetlinkPayload::Noop), says(5, done())]), (true, 0));
        assert_eq!(is_done(&[says(4, fails(Errno::PERM))]), (false, 0), "of a question given up");
        let (refused, told) = read(&[says(5, address()), says(5, fails(Errno::PERM))]);
        assert_eq!((refused.unwrap_err().kind(), told), (io::ErrorKind::PermissionDenied, 1));
        assert!(read(&[vec![0xff; 20]]).0.is_err(), "no message");
    }

    #[test]
    fn what_is_gone_need_not_be_removed() {
        for (errno, gone) in [
            (Errno::ADDRNOTAVAIL, true),
            (Errno::NODEV, true),
            (Errno::NXIO, true),
            (Errno::PERM, false),
            (Errno::BUSY, false),
        ] {
            assert_eq!(is_gone(&errno.into()), gone, "{errno}");
        }
        // Nobody has the interface, nor the address: there is nothing that one would need a right for.
        remove_left(&[address("10.99.0.9/24%no-such")]).unwrap();
    }
}
