//! The numbers of the sockets, which say in which order the peers of a killed process hear of its end.
//!
//! When a process is killed, Linux lets go of its descriptors from the highest number down. So the listeners have the
//! highest ones: a peer whose connection ends dials again, and is refused immediately. Below them are the connections to
//! the peers, in the order of their ids: the member that is likely to lead next hears of the end first. A process
//! that may not have so many descriptors keeps the low ones, and its peers hear of its end a bit later. The guard of a
//! job hears of it before any of them: its line has a number above the listeners (`exec::ready`).

use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::fcntl_dupfd_cloexec;

use crate::core::membership::MOST_MEMBERS;

/// Above every descriptor that a connection gets, and within the usual limit of 1024.
const LISTENERS: usize = 1000;

/// Moves a listener above all connections.
pub fn of_listener(listener: TcpListener) -> TcpListener {
    raise(&listener, LISTENERS).map_or(listener, TcpListener::from)
}

/// Moves the connection to a peer above all that have a lower place.
pub fn of_connection(connection: TcpStream, place: usize) -> TcpStream {
    raise(&connection, LISTENERS - MOST_MEMBERS + place).map_or(connection, TcpStream::from)
}

fn raise(socket: &impl AsFd, least: usize) -> Option<OwnedFd> {
    fcntl_dupfd_cloexec(socket, i32::try_from(least).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_connection_is_below_the_listeners_and_above_those_of_lower_places() {
        let listener = of_listener(TcpListener::bind("127.0.0.1:0").unwrap());
        let address = listener.local_addr().unwrap();
        let dial = |place| of_connection(TcpStream::connect(address).unwrap(), place);
        let (mut best, low) = (dial(MOST_MEMBERS / 2), dial(0));
        let numbers = [low.as_raw_fd(), best.as_raw_fd(), listener.as_raw_fd()];
        assert!(numbers.is_sorted(), "{numbers:?}");
        assert!(numbers[0] as usize >= LISTENERS - MOST_MEMBERS, "{numbers:?}");

        best.write_all(b"x").unwrap();
        let mut byte = [0];
        listener.accept().unwrap().0.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"x", "it is the same connection");
    }
}
