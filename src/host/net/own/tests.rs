//! A host and a name that come to mean something else.

use std::net::{Ipv4Addr, TcpStream};

use rustix::fs::{OFlags, fcntl_getfl};

use super::*;
use crate::net::places::MemberPlaces;

const LIMIT: Duration = Duration::from_secs(20);

/// The listener of a member at this address, to which an earlier process left this socket.
fn bound(at: SocketAddr, left: Option<TcpListener>) -> OwnListener {
    let own = OwnAddress::new(&at.to_string(), &at.to_string());
    OwnListener::bind(own, LIMIT, left.into_iter().collect()).unwrap()
}

/// A socket, and where it listens.
fn left() -> (TcpListener, SocketAddr) {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap();
    (socket, at)
}

#[test]
fn who_waits_at_a_socket_that_was_left_is_accepted() {
    let (socket, at) = left();
    socket.set_nonblocking(true).unwrap();
    let waits = TcpStream::connect(at).unwrap();
    let taken = bound(at, Some(socket)).socket().unwrap();
    assert!(fcntl_getfl(&*taken).unwrap().contains(OFlags::NONBLOCK), "all of them are waited for");
    let (accepted, _) = taken.accept().unwrap();
    assert_eq!(accepted.peer_addr().unwrap(), waits.local_addr().unwrap());
}

/// Its process crashed while it stopped, or listened at another address.
#[test]
fn a_socket_that_does_not_listen_here_is_not_taken() {
    let (stopped, at) = left();
    SockRef::from(&stopped).shutdown(Shutdown::Both).unwrap();
    let _own = bound(at, Some(stopped));
    TcpStream::connect(at).expect("it listens anew");
    let ((other, _), (own, at)) = (left(), left());
    drop(own);
    assert_eq!(bound(at, Some(other)).socket().unwrap().local_addr().unwrap(), at);
}

#[test]
fn a_failure_to_accept_is_news_once_and_a_problem_while_it_lasts() {
    let own = bound("127.0.0.1:0".parse().unwrap(), None);
    assert_eq!(own.look(&[], &[]), None);
    let fails = || own.fails(&io::Error::other("no luck"));
    assert_eq!([fails(), fails(), fails()], [true, false, false]);
    let told = own.look(&[], &[]);
    assert_eq!(told.as_deref(), Some("this node cannot accept connections: no luck"));
    own.fails(&io::Error::from_raw_os_error(rustix::io::Errno::MFILE.raw_os_error()));
    let told = format!("this node cannot accept connections: {}", out_of_descriptors());
    assert_eq!(own.look(&[], &[]), Some(told));

    let failed_before = |ms| {
        let since = Instant::now() - Duration::from_millis(ms);
        own.0.failed.lock().replace((since, "as before".to_owned()));
    };
    // The machine may stand still for the rest of the five seconds.
    let lasts = || {
        failed_before(4500);
        let is_told = own.look(&[], &[]).as_deref() == Some("as before");
        failed_before(4500);
        is_told && !fails()
    };
    assert!((0..20).any(|_| lasts()));
    failed_before(5000);
    assert_eq!(own.look(&[], &[]), None, "it has passed");
    assert!(fails(), "and is news again");
}

/// What was found at the last look counts until the next.
#[test]
fn the_name_is_looked_up_again_after_five_seconds() {
    let own = bound("127.0.0.1:0".parse().unwrap(), None);
    let looked_before = |ms| {
        let since = Instant::now() - Duration::from_millis(ms);
        *own.0.last_look.lock() = (Some(since), Some("as before".to_owned()));
        own.look(&[], &[])
    };
    assert!((0..20).any(|_| looked_before(4500).as_deref() == Some("as before")));
    assert_eq!(looked_before(5000), None);
    assert!(own.0.last_look.lock().0.is_some_and(|at| at.elapsed() < LIMIT), "until the next");
    assert!((0..20).any(|_| own.look(&[], &[]).is_none()));
}

/// The listener of a member of this name at this socket.
fn named(name: &str, socket: TcpListener) -> OwnListener {
    OwnListener::of(OwnAddress::new(name, name), vec![socket]).unwrap()
}

fn parsed(places: &[&str]) -> Vec<SocketAddr> {
    places.iter().map(|at| at.parse().unwrap()).collect()
}

/// As of a host whose address went to another one.
#[test]
fn who_listens_where_its_host_is_not_any_more_moves_or_says_so() {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.set_freebind_v4(true).unwrap();
    socket.bind(&"203.0.113.7:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    socket.listen(1).unwrap();
    let own = named("db1:7101", socket.into());
    let first = own.socket().unwrap();
    let told = "this node listens on 203.0.113.7, which this host does not have any more, so that the others cannot \
                dial it: give the host that address again, or let db1:7101 mean the one that it has";
    for found in [&[][..], &["203.0.113.7:1"], &["203.0.113.9:1"], &["127.0.0.1:1"]] {
        assert_eq!(own.judge(&parsed(found), &[]).as_deref(), Some(told), "{found:?}");
    }
    assert!(own.is(&first));
    // An address of this host that is not loopback, whatever host that is.
    assert_eq!(own.judge(&parsed(&["127.0.0.1:0", "203.0.113.9:1", "0.0.0.0:0"]), &[]), None);
    assert_eq!(own.socket().unwrap().local_addr().unwrap().ip(), Ipv4Addr::UNSPECIFIED);
}

/// This form of an address of loopback does not count as one.
#[test]
fn a_name_that_means_another_host_is_wrong_and_one_that_means_a_better_address_is_followed() {
    let Ok(socket) = TcpListener::bind("[::ffff:127.0.0.1]:0") else {
        return println!("skipped: this host has no IPv6");
    };
    let here = socket.local_addr().unwrap();
    assert!(!is_elsewhere(here));
    let own = named("db1:7101", socket);
    let others = [("b".to_owned(), "192.0.2.9:7101".to_owned())];
    let told = "db1:7101 means 203.0.113.9 now, which this host does not have, and this node listens on \
                ::ffff:127.0.0.1: correct the name";
    for (found, told) in [
        (vec![], None),
        (vec![here], None),
        (parsed(&["203.0.113.9:1", "[::ffff:127.0.0.1]:1"]), None),
        (parsed(&["203.0.113.9:1", "203.0.113.8:1"]), Some(told)),
    ] {
        assert_eq!(own.judge(&found, &others).as_deref(), told, "{found:?}");
    }
    let local = bound("127.0.0.1:0".parse().unwrap(), None);
    assert_eq!(local.judge(&parsed(&["127.0.0.1:1", "[::ffff:127.0.0.1]:0"]), &others), None);
    assert!(ips(&local.bound()).contains(&here.ip()), "it listens there too");
}

/// All of 127/8 is on every host.
#[test]
fn a_listener_that_moves_leaves_the_last_socket_and_tells_the_next() {
    let own = bound("127.0.0.1:0".parse().unwrap(), None);
    let first = own.socket().unwrap();
    let moved = Arc::new(Mutex::new(Vec::new()));
    let told = moved.clone();
    own.on_move(move |sockets| {
        told.lock().extend(sockets.iter().map(|socket| socket.local_addr().unwrap()));
    });
    assert!(own.is(&first));
    let move_to = |at: &str| own.move_to(&parsed(&[at]), &parsed(&[at]));
    assert_eq!(move_to("127.0.0.2:0"), None);
    let next = own.socket().unwrap();
    assert!(own.is(&next) && !own.is(&first));
    let at = next.local_addr().unwrap();
    assert_eq!((at.ip().to_string(), moved.lock().clone()), ("127.0.0.2".to_owned(), vec![at]));
    assert!(first.accept().is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock));
    TcpStream::connect(at).expect("it listens there");

    let listen = &own.0.own.listen;
    let told = move_to("192.0.2.1:1").unwrap();
    let words = format!("cannot listen on 192.0.2.1:1, which {listen} means now: ");
    assert!(told.starts_with(&words), "{told}");
    own.stop();
    assert!(!own.is(&next) && own.socket().is_none());
    assert!(next.accept().is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock));
    assert_eq!(move_to("127.0.0.2:0"), None);
    assert!(own.socket().is_none(), "it has stopped");
}

/// The name may be looked up for long, and the last answer counts meanwhile.
#[test]
fn a_name_that_means_another_host_now_is_a_problem_while_it_does() {
    let places = MemberPlaces::with(|_| Ok(vec!["192.0.2.1:7101".parse().unwrap()]));
    let own = OwnAddress { places, ..OwnAddress::new("db1:7101", "db1:7101") };
    let own = OwnListener::of(own, vec![left().0]).unwrap();
    let others = [("b".to_owned(), "192.0.2.1:7102".to_owned())];
    let begin = Instant::now();
    let told = loop {
        assert!(begin.elapsed() < LIMIT, "it is not told");
        if let Some(told) = own.look(&others, &[]) {
            break told;
        }
        std::thread::yield_now(); // until the name has its answer
    };
    let words = "db1:7101 is 127.0.0.1 on this host, which no other host can dial, and b is on another, at \
                     192.0.2.1: give this host's name its true address (Debian writes 127.0.1.1 into /etc/hosts), or \
                     add \"listen\": \"0.0.0.0:7101\" to this member";
    assert_eq!(told, words);
    assert_eq!(own.look(&others, &[]), Some(told), "it still does");
}

#[test]
fn of_several_addresses_one_that_others_can_dial_comes_first() {
    let parse = |at: &str| at.parse::<SocketAddr>().unwrap();
    let places = MemberPlaces::with(|_| {
        Ok(["127.0.1.1:7101", "192.0.2.1:7101", "[::1]:7101"]
            .map(|at| at.parse().unwrap())
            .to_vec())
    });
    let own = OwnAddress { places, ..OwnAddress::new("db1:7101", "db1:7101") };
    let found = own.look_up(LIMIT).unwrap();
    assert_eq!(found, ["192.0.2.1:7101", "127.0.1.1:7101", "[::1]:7101"].map(parse));
    let others = [("b".to_owned(), "192.0.2.9:7101".to_owned())];
    assert_eq!(own.hidden(&others, LIMIT), None);
    let places = MemberPlaces::with(|_| Ok(vec!["127.0.1.1:7101".parse().unwrap()]));
    let own = OwnAddress { places, ..OwnAddress::new("db1:7101", "db1:7101") };
    let told = own.hidden(&others, LIMIT).unwrap();
    assert!(told.starts_with("db1:7101 is 127.0.1.1 on this host, which no other"), "{told}");
    let places = MemberPlaces::with(|_| Ok(Vec::new()));
    let nowhere = OwnAddress { places, ..own };
    assert_eq!(nowhere.hidden(&others, LIMIT), None);
}

/// A member that listens on every address is reached whatever its name means.
#[test]
fn a_name_is_no_problem_to_who_listens_everywhere_or_stays_on_one_host() {
    let everywhere = bound("0.0.0.0:0".parse().unwrap(), None);
    let local = bound("127.0.0.1:0".parse().unwrap(), None);
    let far = ["192.0.2.1:7101".parse().unwrap()];
    let others = [("b".to_owned(), "192.0.2.9:7101".to_owned())];
    assert_eq!(everywhere.judge(&far, &others), None);
    assert_eq!(local.judge(&far, &[]), None);
    let first = local.socket().unwrap();
    let near = ["127.0.0.2:7101".parse().unwrap()];
    assert_eq!(local.judge(&near, &[]), None);
    assert!(local.is(&first), "loopback is no better than loopback");
    assert!(local.judge(&[], &others).is_some_and(|told| told.contains("and b is on another")));
}

#[test]
fn an_address_without_a_way_there_is_on_another_host() {
    for (at, elsewhere) in [
        ("127.0.0.1:1", false),
        ("127.1.2.3:1", false),
        ("0.0.0.0:1", false),
        ("[::1]:1", false),
        ("192.0.2.1:1", true),
        ("255.255.255.255:1", true), // the system lets nobody connect to all hosts
    ] {
        assert_eq!(is_elsewhere(at.parse().unwrap()), elsewhere, "{at}");
    }
}

/// As the kernel lists them: a host with two addresses of one network.
#[test]
fn an_address_of_this_host_is_listed_as_local() {
    let trie = "Main:\n  +-- 10.0.0.0/24 2 0 2\n     |-- 10.0.0.0\n        /24 link UNICAST\nLocal:\n  +-- 0.0.0.0/0 3 0 5\n     \
                |-- 10.0.0.1\n        /32 host LOCAL\n     |-- 10.0.0.51\n        /32 host LOCAL\n     |-- 10.0.0.255\n        \
                /32 link BROADCAST\n     |-- 127.0.0.0\n        /8 host LOCAL\n";
    for (ip, is_local) in [
        ("10.0.0.1", true),
        ("10.0.0.51", true),
        ("10.0.0.5", false),
        ("10.0.0.0", false),
        ("10.0.0.255", false),
        ("10.0.0.9", false),
    ] {
        assert_eq!(address::lists(trie, ip.parse().unwrap()), is_local, "{ip}");
    }
}

/// The others may dial a proxy. Who is dialed by a name that means loopback on this host is reached by nobody.
#[test]
fn only_who_means_to_listen_on_loopback_may_if_another_member_is_on_another_host() {
    let hidden = |listen, address, other: &str| {
        let others = [("b".to_owned(), other.to_owned())];
        let own = OwnAddress::new(listen, address);
        own.hidden_at(&[Ipv4Addr::LOCALHOST.into()], &others, LIMIT).is_some()
    };
    let (far, near) = ("192.0.2.1:7101", "127.0.0.1:7102");
    for (listen, address, is_hidden) in [
        ("db1:7101", "db1:7101", true),
        ("127.0.0.1:7101", "127.0.0.1:7101", true),
        ("db1:7101", "192.0.2.9:7101", true),
        ("127.0.0.1:7101", "192.0.2.9:7101", false),
        ("LocalHost:7101", "192.0.2.9:7101", false),
        ("[::1]:7101", "db1:7101", false),
    ] {
        assert_eq!(hidden(listen, address, far), is_hidden, "{listen}, {address}");
        assert!(!hidden(listen, address, near), "all members are on this host");
    }
    let own = OwnAddress::new("db1:7101", "db1:7101");
    let others = [("c", near), ("b", far)].map(|(name, at)| (name.to_owned(), at.to_owned()));
    let told = own.hidden_at(&[Ipv4Addr::LOCALHOST.into()], &others, LIMIT).unwrap();
    assert!(told.contains("b is on another"), "not all are on this host: {told}");
    assert_eq!(own.hidden_at(&[[192, 0, 2, 9].into()], &others, LIMIT), None);
}

/// What an address of numbers means is the same for all.
#[test]
fn who_does_not_listen_where_the_others_dial_it_is_missed() {
    let far = [("b".to_owned(), "192.0.2.9:7101".to_owned())];
    let missed = |(listen, address): (&str, &str), bound: &[&str], others: &[Other]| {
        let bound: Vec<IpAddr> = bound.iter().map(|ip| ip.parse().unwrap()).collect();
        OwnAddress::new(listen, address).missed_at(&bound, others, LIMIT)
    };
    let own = ("db1:7101", "127.0.0.2:7101");
    let told = missed(own, &["127.0.0.1", "::1"], &far).unwrap();
    let words = "db1:7101 is 127.0.0.1 and ::1 on this host, and b, at 192.0.2.9, probably dials 127.0.0.2, where this \
                 node does not listen: let this host's name mean the same here as there (DNS, /etc/hosts), or add \
                 \"listen\": \"0.0.0.0:7101\" to this member";
    assert_eq!(told, words);
    for covers in ["127.0.0.2", "::ffff:127.0.0.2", "0.0.0.0", "::"] {
        assert_eq!(missed(own, &["127.0.0.1", covers], &far), None, "{covers}");
    }
    let of_ipv6 = ("0.0.0.0:7101", "[::1]:7101");
    let told = missed(of_ipv6, &["0.0.0.0"], &far).unwrap();
    assert!(told.contains("\"listen\": \"[::]:7101\""), "{told}");
    assert_eq!(missed(of_ipv6, &["::"], &far), None);
    let near = [("b".to_owned(), "127.0.0.9:7101".to_owned())];
    assert_eq!(missed(own, &["127.0.0.1"], &near), None, "all members are on this host");
    let passed_on = ("127.0.0.1:7101", "192.0.2.1:7101");
    assert_eq!(missed(passed_on, &["127.0.0.1"], &far), None);
    assert_eq!(missed(("10.0.0.1:7101", "192.0.2.1:7101"), &["10.0.0.1"], &far), None);
    assert_eq!(missed(own, &[], &far), None, "it has stopped");
}

#[test]
fn all_that_a_name_means_here_is_listened_on_by_what_was_left_and_by_new_sockets() {
    let (first, at) = left();
    let places: fn(&str) -> io::Result<Vec<SocketAddr>> = |name| {
        let port = name.rsplit(':').next().unwrap();
        let all = ["127.0.0.1", "127.0.0.2", "192.0.2.1", "127.0.0.2", "127.0.0.3"];
        Ok(all.map(|ip| format!("{ip}:{port}").parse().unwrap()).to_vec())
    };
    let name = format!("db1:{}", at.port());
    let own = || OwnAddress { places: MemberPlaces::with(places), ..OwnAddress::new(&name, &name) };
    let waits = TcpStream::connect(at).unwrap();
    let listener = OwnListener::bind(own(), LIMIT, vec![first]).unwrap();
    let bound = ips(&listener.bound()).iter().map(IpAddr::to_string).collect::<Vec<_>>();
    assert_eq!(bound, ["127.0.0.1", "127.0.0.2", "127.0.0.3"]);
    let accepted = listener.socket().unwrap().accept().unwrap().1;
    assert_eq!(accepted, waits.local_addr().unwrap(), "it waited at the socket that was left");
    let sockets = listener.sockets().unwrap();
    let _dialed = TcpStream::connect((Ipv4Addr::new(127, 0, 0, 3), at.port())).unwrap();
    let dialed = listener.await_dial(&sockets).unwrap();
    assert!(dialed.len() == 1 && Arc::ptr_eq(&dialed[0], &sockets[2]), "the one that is dialed");
    listener.stop();
    assert!(OwnListener::bind(own(), LIMIT, Vec::new()).is_ok(), "all are free again");
}

/// `bindv6only` was set when an older version made it.
#[test]
fn a_socket_for_ipv6_alone_is_not_taken_for_one_that_takes_all() {
    let make = |only: bool| {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV6, socket2::Type::STREAM, None).ok()?;
        socket.set_only_v6(only).ok()?;
        socket.bind(&"[::]:0".parse::<SocketAddr>().unwrap().into()).ok()?;
        socket.listen(1).ok()?;
        Some(TcpListener::from(socket))
    };
    for (only, is_taken) in [(true, false), (false, true)] {
        let Some(socket) = make(only) else { return println!("skipped: this host has no IPv6") };
        let places = [socket.local_addr().unwrap()];
        assert_eq!(listens_at(&socket, &places), is_taken, "{only}");
        drop(socket);
        let own = bound(places[0], None);
        assert!(!SockRef::from(&*own.socket().unwrap()).only_v6().unwrap());
    }
}
