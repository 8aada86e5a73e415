//! A stream with its TLS session, if any, for a thread that waits for the other side.

use std::borrow::BorrowMut;
use std::io::{self, Read, Write};

use super::Session;

/// Reads and writes what the two sides say, whatever goes over the wire. The session is its own, or borrowed.
pub struct Secured<T, S> {
    io: T,
    session: Option<S>,
}

impl<T, S: BorrowMut<Session>> Secured<T, S> {
    pub fn new(io: T, session: Option<S>) -> Secured<T, S> {
        Secured { io, session }
    }
}

impl<T: Read, S: BorrowMut<Session>> Read for Secured<T, S> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            Some(session) => session.borrow_mut().read(&mut self.io, buffer),
            None => self.io.read(buffer),
        }
    }
}

impl<T: Write, S: BorrowMut<Session>> Write for Secured<T, S> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            Some(session) => {
                self.io.write_all(&session.borrow_mut().seal(buffer)?)?;
                Ok(buffer.len())
            }
            None => self.io.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.io.flush()
    }
}
