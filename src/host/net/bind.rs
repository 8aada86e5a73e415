//! Listening sockets, for members and for HTTP.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

use super::places::look_up;
use crate::calls::{BIND, Named};

/// Newcomers that the kernel holds for us. With std's 128, a crowd of strangers makes the kernel
/// drop the dial of a member too, which then waits a second before it tries again.
const BACKLOG: i32 = 4096;

/// Listens on an address, host:port.
///
/// # Errors
/// When the address cannot be resolved or is taken.
pub fn listen(address: &str) -> io::Result<TcpListener> {
    Ok(listen_on(&look_up(address)?, 1)?.swap_remove(0))
}

/// Listens on those of these addresses that can be listened on: one at least, and so many at most.
///
/// # Errors
/// With the last failure, if there is none.
pub(super) fn listen_on(addresses: &[SocketAddr], most: usize) -> io::Result<Vec<TcpListener>> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "the host has no address");
    let mut listeners = Vec::new();
    for address in addresses {
        if listeners.len() == most {
            break;
        }
        match listen_on_one(*address) {
            Ok(listener) => listeners.push(listener),
            Err(error) => failure = error,
        }
    }
    if listeners.is_empty() { Err(failure) } else { Ok(listeners) }
}

fn listen_on_one(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
        .named("socket")?;
    socket.set_reuse_address(true).named("setsockopt(SO_REUSEADDR)")?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        socket.set_only_v6(false).named("setsockopt(IPV6_V6ONLY)")?; // every address, whatever `bindv6only` of the host says
    }
    socket.bind(&address.into()).named_for(BIND, address)?;
    socket.listen(BACKLOG).named_for("listen", address)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::testing::within::within;

    /// A name may mean addresses that this host does not have, or not any more.
    #[test]
    fn of_several_addresses_those_that_this_host_has_are_listened_on() {
        let [elsewhere, here, too] =
            ["192.0.2.1:0", "127.0.0.1:0", "127.0.0.2:0"].map(|at| at.parse().unwrap());
        let all = [elsewhere, here, too];
        let ips = |most| {
            let found = listen_on(&all, most).unwrap();
            found.iter().map(|found| found.local_addr().unwrap().ip()).collect::<Vec<_>>()
        };
        assert_eq!((ips(1), ips(9)), (vec![here.ip()], vec![here.ip(), too.ip()]));
        let refused = listen_on(&[elsewhere], 9).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AddrNotAvailable);
        let found = listen_on(&all, 1).unwrap();
        let taken = found[0].local_addr().unwrap();
        let why = |addresses| listen_on(addresses, 9).unwrap_err().kind();
        let last = [why(&[taken, elsewhere]), why(&[elsewhere, taken])];
        assert_eq!(last, [ErrorKind::AddrNotAvailable, ErrorKind::AddrInUse], "of the last");
        let none = listen_on(&[], 9).unwrap_err();
        assert_eq!(
            (none.kind(), none.to_string()),
            (ErrorKind::NotFound, "the host has no address".to_owned())
        );
    }

    /// A process that starts again does not wait for the system to forget the connections of the last.
    #[test]
    fn a_port_is_listened_on_while_its_last_connections_fade() {
        let listener = listen("localhost:0").unwrap();
        let at = listener.local_addr().unwrap();
        let near = TcpStream::connect(at).unwrap();
        drop(listener.accept().unwrap()); // who closes first keeps the port
        assert_eq!((&near).read(&mut [0; 1]).unwrap(), 0);
        drop((near, listener));
        // A program that another test starts now listens there, too, until its exec.
        within(Duration::from_secs(60), "it is listened on", || {
            listen_on_one(at).is_ok_and(|again| again.local_addr().unwrap() == at)
        });
    }

    /// The system takes no more for a listener than its own limit says.
    #[test]
    fn a_crowd_that_waits_to_be_accepted_keeps_nobody_out() {
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let crowd = most.trim().parse::<usize>().unwrap().min(300);
        let listener = listen("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let dial = |_| TcpStream::connect_timeout(&at, Duration::from_secs(20)).unwrap();
        let begun = Instant::now();
        let waits: Vec<_> = (0..crowd).map(dial).collect();
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        drop(waits);
    }
}
