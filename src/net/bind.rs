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
