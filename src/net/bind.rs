//! Listening sockets, for members and for HTTP.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use rustix::io::fcntl_dupfd_cloexec;
use socket2::{Domain, Protocol, Socket, Type};

/// Newcomers that the kernel holds for us. With std's 128, a crowd of strangers makes the kernel
/// drop the dial of a member too, which then waits a second before it tries again.
const BACKLOG: i32 = 4096;

/// Above every descriptor that a connection gets, and within the usual limit of 1024.
const HIGH: i32 = 1000;

/// Listens on an address, host:port.
///
/// # Errors
/// When the address cannot be resolved or is taken.
pub fn listen(address: &str) -> io::Result<TcpListener> {
    let mut failure = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in address.to_socket_addrs()? {
        match listen_on(address) {
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
    Ok(raise(socket.into()))
}

/// Moves a listener to a high descriptor. When a process is killed, Linux lets go of its sockets from
/// the highest descriptor down: so the listener is gone before the connections end, and a peer that
/// redials when its connection ends is refused immediately.
fn raise(listener: TcpListener) -> TcpListener {
    // A process that may not have so many descriptors keeps the low one, and dies a bit slower.
    fcntl_dupfd_cloexec(&listener, HIGH).map_or(listener, TcpListener::from)
}
