//! The order in which a killed process lets go of its sockets.
//!
//! Linux closes them from the highest descriptor down. So the listener has the highest: it is gone
//! before any connection ends, and whoever redials at its end is refused at once. Then come the
//! connections to others, to the highest member first: the next leader learns first that its turn
//! has come, and does not compete for a processor with those who can only wait for it.
//!
//! Elsewhere, and where a process may not have so many descriptors, all this is only slower.

use std::os::fd::OwnedFd;

use rustix::io::fcntl_dupfd_cloexec;

/// Where the listener is put: above all else, and within the usual limit of 1024.
pub const LISTENER: i32 = 1000;

/// Where connections to others start. Those from others stay below.
const CONNECTIONS: i32 = 900;

/// Where the connection to a member is put, of whom so many rank below.
pub fn connection(below: usize) -> i32 {
    let below = i32::try_from(below).unwrap_or(i32::MAX);
    CONNECTIONS.saturating_add(below).min(LISTENER - 1)
}

/// Moves a socket to this descriptor, or the next one that is free.
pub fn raise(socket: OwnedFd, to: i32) -> OwnedFd {
    fcntl_dupfd_cloexec(&socket, to).unwrap_or(socket)
}
