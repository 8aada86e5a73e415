//! The answers to dials after the death: each gets the certificate at once, whatever the dialer says.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How many connections stay open until the dialer has read the answer; the oldest goes for the next.
const MOST: usize = 32;

/// For how long they do.
const TIMEOUT: Duration = Duration::from_secs(1);

/// How many bytes of a dialer are read. If a socket with unread bytes is closed, the kernel discards what was written
/// to it.
const MOST_READ: usize = 64 * 1024;

/// The connections that were answered.
#[derive(Default)]
pub(super) struct Answers(VecDeque<Answered>);

struct Answered {
    stream: TcpStream,
    until: Instant,
    read: usize,
}

impl Answers {
    /// Answers all that wait to be accepted.
    ///
    /// # Errors
    /// If the system accepts none any more.
    pub fn give(&mut self, listener: &TcpListener, frame: &[u8]) -> io::Result<()> {
        loop {
            match listener.accept() {
                Ok((stream, _)) => self.answer(stream, frame),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_of_dialer(&error) => {}
                // Perhaps for want of descriptors.
                Err(error) => self.0.pop_front().map(drop).ok_or(error)?,
            }
        }
    }

    fn answer(&mut self, mut stream: TcpStream, frame: &[u8]) {
        let given = stream
            .set_nonblocking(true)
            .and_then(|()| stream.write_all(frame)) // a new socket has room for it
            .and_then(|()| stream.shutdown(Shutdown::Write));
        if given.is_ok() {
            if self.0.len() >= MOST {
                self.0.pop_front();
            }
            self.0.push_back(Answered { stream, until: Instant::now() + TIMEOUT, read: 0 });
        }
    }

    /// Reads what dialers said, and closes the connections that have ended or were open for long enough.
    pub fn tend(&mut self) {
        let now = Instant::now();
        self.0.retain_mut(|answered| now < answered.until && answered.is_open());
    }

    /// When the next one is closed.
    pub fn due(&self) -> Option<Instant> {
        self.0.front().map(|oldest| oldest.until)
    }

    pub fn streams(&self) -> impl Iterator<Item = &TcpStream> {
        self.0.iter().map(|answered| &answered.stream)
    }
}

impl Answered {
    fn is_open(&mut self) -> bool {
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(count) if count > 0 && self.read < MOST_READ => self.read += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                _ => return false,
            }
        }
    }
}

/// Whether it is the connection that failed, and not the socket.
fn is_of_dialer(error: &io::Error) -> bool {
    let kinds = [ErrorKind::ConnectionAborted, ErrorKind::ConnectionReset, ErrorKind::Interrupted];
    kinds.contains(&error.kind())
}
