//! A client's socket, with TLS or without, on which every call ends by an absolute deadline: a trickle of bytes does not
//! stretch it.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};
use socket2::Socket;

use crate::tls::{Secured, Security, Session};

use super::places::Place;

/// The way to a client, which has a place.
pub struct Line<'a> {
    place: Place<'a>,
    session: Option<Session>,
}

impl<'a> Line<'a> {
    /// A newcomer's socket, without TLS.
    pub fn new(place: Place<'a>) -> Line<'a> {
        Line { place, session: None }
    }

    /// Its place.
    pub fn place(&self) -> &Place<'a> {
        &self.place
    }

    /// The socket, for another use.
    pub fn into_socket(self) -> io::Result<Socket> {
        let socket = self.place.socket().try_clone()?;
        socket.set_nonblocking(false)?;
        Ok(socket)
    }

    /// Begins TLS, if this has credentials.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the client speaks HTTP without TLS, and others when the connection is of no use.
    pub fn secure(&mut self, security: &Security, until: Instant) -> io::Result<()> {
        let Some(credentials) = security.now() else { return Ok(()) };
        let mut socket = Timed { place: &self.place, until };
        if socket.peek()?.is_some_and(|first| first.is_ascii_alphabetic()) {
            return Err(ErrorKind::Unsupported.into());
        }
        let session = Session::serve(&credentials, &mut socket);
        self.session = Some(session.map_err(|_| io::Error::from(ErrorKind::InvalidData))?);
        Ok(())
    }

    /// Reads the client's input; 0 is the end.
    pub fn read(&mut self, buffer: &mut [u8], until: Instant) -> io::Result<usize> {
        self.by(until).read(buffer)
    }

    /// Sends all of these bytes.
    pub fn send(&mut self, bytes: &[u8], until: Instant) -> io::Result<()> {
        self.by(until).write_all(bytes)
    }

    fn by(&mut self, until: Instant) -> Secured<Timed<'_, 'a>, &mut Session> {
        Secured::new(Timed { place: &self.place, until }, self.session.as_mut())
    }

    /// Whether the client has ended the connection. Its input is dropped.
    pub fn is_ended(&self) -> bool {
        let (mut socket, mut dropped) = (self.place.socket(), [0; 1024]);
        loop {
            match socket.read(&mut dropped) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return error.kind() != ErrorKind::WouldBlock,
            }
        }
    }

    /// Tells the client that nothing more comes, and drops its input until it ends the connection: to close with unread
    /// bytes would reset the connection, and the client might lose the answer.
    pub fn finish(mut self, until: Instant) -> io::Result<()> {
        let mut socket = Timed { place: &self.place, until };
        if let Some(session) = &mut self.session {
            socket.write_all(&session.farewell()?)?;
        }
        self.place.socket().shutdown(Shutdown::Write)?;
        let mut dropped = [0; 4096];
        while socket.read(&mut dropped)? > 0 {}
        Ok(())
    }

    /// Whether the client has shown the certificate of the member of this name.
    pub fn proves(&self, name: &str) -> bool {
        self.session.as_ref().is_some_and(|session| session.prove(name).is_ok())
    }
}

/// A socket without TLS, up to a deadline.
struct Timed<'a, 'b> {
    place: &'a Place<'b>,
    until: Instant,
}

impl Timed<'_, '_> {
    /// Calls this until it does not have to wait.
    fn call<T>(
        &self,
        wanted: PollFlags,
        mut call: impl FnMut(&Socket) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match call(self.place.socket()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait(wanted)?,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                done => return done,
            }
        }
    }

    fn wait(&self, wanted: PollFlags) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut sockets = [PollFd::new(self.place.socket(), wanted)];
        match self.place.wait(|| poll(&mut sockets, Some(&left))) {
            Err(error) if error != rustix::io::Errno::INTR => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// The first byte that was not read yet; none at the end.
    fn peek(&self) -> io::Result<Option<u8>> {
        let mut first = [0; 1];
        let count = self.call(PollFlags::IN, |socket| {
            let (count, _) = recv(socket, &mut first[..], RecvFlags::PEEK)?;
            Ok(count)
        })?;
        Ok((count > 0).then_some(first[0]))
    }
}

impl Read for Timed<'_, '_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.call(PollFlags::IN, |mut socket| socket.read(buffer))
    }
}

impl Write for Timed<'_, '_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.call(PollFlags::OUT, |mut socket| socket.write(buffer))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
