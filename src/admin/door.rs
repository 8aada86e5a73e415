//! Where the clients of a server come in.

use std::io;
use std::net::Shutdown;

use socket2::{SockAddr, Socket};

use super::control::ControlSocket;

/// The listening socket of a server.
pub enum Door {
    /// A socket that stays.
    Port(Socket),
    /// A control socket, whose file may be removed and is made anew then.
    File(ControlSocket),
}

impl Door {
    /// Waits for the next client.
    ///
    /// # Errors
    /// What the system says; [`io::ErrorKind::WouldBlock`] if none came for a while.
    pub fn accept(&self) -> io::Result<(Socket, SockAddr)> {
        match self {
            Door::Port(socket) => socket.accept(),
            Door::File(control) => control.accept(),
        }
    }

    /// Lets nobody in any more, and wakes whoever waits for a client.
    pub fn close(&self) {
        match self {
            Door::Port(socket) => _ = socket.shutdown(Shutdown::Both),
            Door::File(control) => control.close(),
        }
    }
}

impl From<Socket> for Door {
    fn from(socket: Socket) -> Door {
        Door::Port(socket)
    }
}
