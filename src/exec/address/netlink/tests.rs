//! What the kernel is asked, says and does.

use std::num::NonZeroI32;

use netlink_packet_core::{DoneMessage, ErrorMessage};
use rustix::thread::UnshareFlags;

use super::*;

/// Does this in a network of its own, with the interface `lo` alone, if this process may have one.
pub fn in_own_network(act: impl FnOnce() + Send) {
    // It is that of one thread alone.
    #[expect(
        deprecated,
        reason = "what the other one warns of concerns files, which are shared here"
    )]
    let unshare = || rustix::thread::unshare(UnshareFlags::NEWNET);
    std::thread::scope(|scope| {
        let own = scope.spawn(|| match unshare() {
            Ok(()) => act(),
            Err(error) => println!("skipped: no network of its own: {error}"),
        });
        own.join().unwrap();
    });
}

/// All that the kernel says of the addresses of this host.
fn told(netlink: &mut Netlink, family: AddressFamily) -> Vec<AddressMessage> {
    let mut message = AddressMessage::default();
    message.header.family = family;
    let mut told = Vec::new();
    let ask = RouteNetlinkMessage::GetAddress(message);
    let take = |answer| {
        if let RouteNetlinkMessage::NewAddress(answer) = answer {
            told.push(answer);
        }
    };
    netlink.ask(ask, NLM_F_DUMP, take).unwrap();
    told
}

#[test]
fn an_address_is_here_from_its_adding_to_its_removal_for_three_seconds_each_time() {
    in_own_network(|| {
        let mut netlink = Netlink::open().unwrap();
        let lo = netlink.index("lo").unwrap().unwrap();
        for (text, preferred) in [("10.0.0.9/24%lo", 3), ("fd00:9::9/64%lo", 0)] {
            let address = address(text);
            assert!(netlink.find(address.ip).unwrap().is_none());
            netlink.add(&address, lo).unwrap();
            let refused = netlink.add(&address, lo).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(Errno::EXIST.raw_os_error()));
            assert!(netlink.renew(&address, lo).unwrap(), "it was there");
            let found = netlink.find(address.ip).unwrap().unwrap();
            assert!(found.index == lo && found.is_mortal());
            let all = told(&mut netlink, family(address.ip));
            let [one] = &all[..] else { panic!("{all:?}") };
            assert_eq!((one.header.prefix_len, one.header.index), (longest(address.ip), lo));
            let life = one.attributes.iter().find_map(|attribute| match attribute {
                AddressAttribute::CacheInfo(life) => Some(life),
                _ => None,
            });
            let life = life.unwrap();
            assert!((1..=3).contains(&life.ifa_valid), "{life:?}");
            let is_preferred = life.ifa_preferred > 0;
            assert_eq!(is_preferred, preferred > 0, "or it would be spoken from: {life:?}");
            let lasts = one.attributes.iter().any(|attribute| {
                matches!(attribute, AddressAttribute::Flags(flags) if flags.contains(AddressFlags::Nodad))
            });
            assert_eq!(lasts, address.ip.is_ipv6(), "nobody is asked whether it is free");
            for _ in 0..2 {
                netlink.remove(&address, lo).unwrap();
                assert!(netlink.find(address.ip).unwrap().is_none());
            }
            assert!(!netlink.renew(&address, lo).unwrap(), "it was not there");
            assert!(netlink.find(address.ip).unwrap().is_some(), "it is again");
        }
    });
}

/// To the kernel these are two addresses, and it would take both.
#[test]
fn an_address_that_is_there_with_another_prefix_is_neither_added_nor_taken_for_the_held_one() {
    in_own_network(|| {
        let mut netlink = Netlink::open().unwrap();
        let lo = netlink.index("lo").unwrap().unwrap();
        let held = address("10.0.0.9/24%lo");
        let mut others = message(&held, lo);
        others.header.prefix_len = 24;
        let add_others = |netlink: &mut Netlink| {
            let message = RouteNetlinkMessage::NewAddress(others.clone());
            netlink.ask(message, NLM_F_ACK | NLM_F_CREATE, |_| ()).unwrap();
        };
        netlink.add(&held, lo).unwrap();
        add_others(&mut netlink);
        let left = netlink.remove(&held, lo).unwrap_err().to_string();
        assert_eq!(left, "another process has added it as well: remove that");
        let refused = netlink.add(&held, lo).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(Errno::EXIST.raw_os_error()));
    });
}

/// The name of its interface may be another's by now.
#[test]
fn what_a_guard_left_is_removed_wherever_it_is_but_not_what_stays() {
    in_own_network(|| {
        let mut netlink = Netlink::open().unwrap();
        let lo = netlink.index("lo").unwrap().unwrap();
        let [left, renamed] = ["10.0.0.9/32%lo", "10.0.0.8/32%gone"].map(address);
        netlink.add(&left, lo).unwrap();
        netlink.add(&renamed, lo).unwrap();
        let stays = address("10.0.0.7/32%gone");
        let message = RouteNetlinkMessage::NewAddress(message(&stays, lo));
        netlink.ask(message, NLM_F_ACK | NLM_F_CREATE, |_| ()).unwrap();
        let all = [left, renamed, stays];
        remove_left(&all).unwrap();
        let is_there = all.map(|address| netlink.find(address.ip).unwrap().is_some());
        assert_eq!(is_there, [false, false, true]);
    });
}

/// To ask the kernel takes no time, so that whoever waits for longer waits for ever.
#[test]
fn an_answer_is_waited_for_one_second() {
    use rustix::net::sockopt::socket_timeout;
    let socket = Netlink::open().unwrap().socket;
    for which in [Timeout::Recv, Timeout::Send] {
        let timeout = socket_timeout(&socket, which).unwrap();
        assert_eq!(timeout, Some(Duration::from_secs(1)));
    }
}

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
            PresentAddress { index: 1, valid_seconds }.is_mortal(),
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
fn a_request_names_the_family_the_interface_and_the_address_alone() {
    for (text, of, alone) in [
        ("10.0.0.9/24%eth0", AddressFamily::Inet, 32),
        ("fd00::9/24%eth0", AddressFamily::Inet6, 128),
    ] {
        let address = address(text);
        let AddressMessage { header, attributes, .. } = message(&address, 7);
        assert_eq!((header.family, header.prefix_len, header.index), (of, alone, 7));
        let ip = [AddressAttribute::Local(address.ip), AddressAttribute::Address(address.ip)];
        assert_eq!(attributes, ip);
    }
}

/// The kernel refuses an IPv4 network with bits of a host.
#[test]
fn a_route_leads_to_the_whole_network_and_no_other_route_counts_less() {
    for (text, to) in [
        ("10.1.130.9/24%eth0", "10.1.130.0"),
        ("10.1.130.9/17%eth0", "10.1.128.0"),
        ("10.1.130.9/1%eth0", "0.0.0.0"),
        ("fd00:9:0:8001::9/64%eth0", "fd00:9:0:8001::"),
        ("fd00:9:0:8001::9/49%eth0", "fd00:9:0:8000::"),
    ] {
        let address = address(text);
        let RouteMessage { header, attributes, .. } = route(&address, 7);
        assert_eq!(header.destination_prefix_length, address.prefix, "{text}");
        let (network, last) = match (address.ip, to.parse().unwrap()) {
            (IpAddr::V4(ip), IpAddr::V4(to)) => {
                let from = RouteAttribute::PrefSource(RouteAddress::Inet(ip));
                (RouteAddress::Inet(to), from)
            }
            (_, IpAddr::V6(to)) => (RouteAddress::Inet6(to), RouteAttribute::Expires(3)),
            _ => unreachable!("of one family"),
        };
        let [to, by] = [RouteAttribute::Destination(network), RouteAttribute::Oif(7)];
        assert_eq!(attributes, [to, by, RouteAttribute::Priority(u32::MAX), last], "{text}");
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
