//! Listening sockets, for members and for HTTP.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};

use socket2::{Domain, Protocol, Socket, Type};

#[cfg(any(test, feature = "http"))]
use super::places::look_up;

/// Newcomers that the kernel holds for us. With std's 128, a crowd of strangers makes the kernel
/// drop the dial of a member too, which then waits a second before it tries again.
const BACKLOG: i32 = 4096;

/// Listens on an address, host:port.
///
/// # Errors
/// When the address cannot be resolved or is taken.
#[cfg(any(test, feature = "http"))]
pub fn listen(address: &str) -> io::Result<TcpListener> {
    listen_on_any(&look_up(address)?)
}

/// Listens on the first of these that can be listened on.
pub(super) fn listen_on_any(addresses: &[SocketAddr]) -> io::Result<TcpListener> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        match listen_on(*address) {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn listen_on(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;
    use std::time::{Duration, Instant};

    use super::*;

    /// A name may mean addresses that this host does not have, or not any more.
    #[test]
    fn of_several_addresses_the_first_that_this_host_has_is_listened_on() {
        let [elsewhere, here] = ["192.0.2.1:0", "127.0.0.1:0"].map(|at| at.parse().unwrap());
        let found = listen_on_any(&[elsewhere, here]).unwrap();
        assert!(found.local_addr().unwrap().ip().is_loopback());
        let refused = listen_on_any(&[elsewhere]).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::AddrNotAvailable);
        let taken = found.local_addr().unwrap();
        let why = |addresses| listen_on_any(addresses).unwrap_err().kind();
        let last = [why(&[taken, elsewhere]), why(&[elsewhere, taken])];
        assert_eq!(last, [ErrorKind::AddrNotAvailable, ErrorKind::AddrInUse], "of the last");
        let none = listen_on_any(&[]).unwrap_err();
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
        assert_eq!(listen_on(at).unwrap().local_addr().unwrap(), at);
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
