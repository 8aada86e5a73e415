//! A client's socket, with TLS or without: reads and writes without waiting.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};

use socket2::Socket;

use crate::tls::Buffered;

/// The way to a client.
pub struct Line {
    socket: Socket,
    session: Option<Box<Buffered>>,
}

impl Line {
    /// A socket, with TLS if there is a session.
    pub fn new(socket: Socket, session: Option<Buffered>) -> Line {
        Line { socket, session: session.map(Box::new) }
    }

    /// The socket, for the poller.
    pub fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// The socket, for another use.
    pub fn into_socket(self) -> Socket {
        self.socket
    }

    /// Reads the client's input; 0 is the end.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            Some(session) => session.read(&mut self.socket, buffer),
            None => self.socket.read(buffer),
        }
    }

    /// Takes some of these bytes to send.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            Some(session) => session.write(&mut self.socket, bytes),
            None => self.socket.write(bytes),
        }
    }

    /// Sends the bytes that it took, as far as the socket takes them.
    pub fn flush(&mut self) -> io::Result<()> {
        let Some(session) = &mut self.session else { return Ok(()) };
        match session.flush(&mut self.socket) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            flushed => flushed,
        }
    }

    /// Tells the client that nothing more comes.
    pub fn shut(&mut self) -> io::Result<()> {
        if let Some(session) = &mut self.session {
            session.bid_farewell(&mut self.socket);
        }
        self.socket.shutdown(Shutdown::Write)
    }

    /// Continues without TLS, with a client that speaks none.
    pub fn speak_plainly(&mut self) {
        self.session = None;
    }

    /// Whether some of the bytes that it took are not sent.
    pub fn owes(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.owes())
    }

    /// Whether there is input that the poller does not notice on the socket.
    pub fn has_more(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.has_more())
    }

    /// Whether its handshake is in progress.
    pub fn is_shaking(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_shaking())
    }

    /// Whether a request may come: there is no handshake, or it has succeeded.
    pub fn is_open(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.has_shaken())
    }

    /// Whether the client has begun something that is not complete.
    pub fn is_amid(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.is_amid())
    }

    /// Whether the client has shown the certificate of the member of this name.
    pub fn proves(&self, name: &str) -> bool {
        self.session.as_ref().is_some_and(|session| session.proves(name))
    }

    /// The bytes of memory that it keeps.
    pub fn memory(&self) -> usize {
        self.session.as_ref().map_or(0, |session| session.memory())
    }
}
