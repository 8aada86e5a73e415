//! One socket of a client: reads and writes with absolute deadlines, and the mark by which the
//! accepting thread finds the connection that has waited longest for its client.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::limits;

/// The mark of a connection that cannot be taken away: no worker has it yet, or the node is carrying
/// out its command.
const HELD: u64 = u64::MAX;

/// A client's connection, shared by the worker that serves it and the accepting thread.
pub struct Connection {
    stream: TcpStream,
    /// What `since` counts from.
    origin: Instant,
    /// Microseconds at which it last got on: was taken by a worker, or asked. Or `HELD`.
    since: AtomicU64,
}

/// What a read brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Fill {
    /// Some bytes.
    Bytes,
    /// The client, or this side's shutdown, ended the stream; or it broke.
    End,
    /// Nothing more before the deadline.
    Late,
}

impl Connection {
    /// A connection that no worker has taken yet; it is held until then.
    pub fn new(stream: TcpStream, origin: Instant) -> Connection {
        Connection { stream, origin, since: AtomicU64::new(HELD) }
    }

    /// It got on: a worker has taken it, or its client has asked.
    pub fn touch(&self) {
        let since = u64::try_from(self.origin.elapsed().as_micros()).unwrap_or(HELD - 1);
        self.since.store(since, Ordering::Relaxed);
    }

    /// It cannot be taken away until the next touch.
    pub fn hold(&self) {
        self.since.store(HELD, Ordering::Relaxed);
    }

    /// How long it has not got on; none while it is held.
    pub fn waits(&self) -> Option<Duration> {
        match self.since.load(Ordering::Relaxed) {
            HELD => None,
            since => Some(self.origin.elapsed().saturating_sub(Duration::from_micros(since))),
        }
    }

    /// Ends the stream in one direction or both; unblocks the thread that reads or writes it.
    pub fn shutdown(&self, how: Shutdown) {
        // It fails only where the client ended it first, and then there is nothing to unblock.
        let _ = self.stream.shutdown(how);
    }

    /// The addresses of the client and of this side; none once the client is gone.
    pub fn ends(&self) -> Option<(SocketAddr, SocketAddr)> {
        Some((self.stream.peer_addr().ok()?, self.stream.local_addr().ok()?))
    }

    /// Appends to `buffer` what one read brings, at most up to `limit` bytes in all.
    pub fn fill(&self, buffer: &mut Vec<u8>, limit: usize, deadline: Instant) -> Fill {
        let have = buffer.len();
        buffer.resize(limit.min(have + 4096).max(have), 0);
        let outcome = self.read(&mut buffer[have..], deadline);
        buffer.truncate(have + outcome.as_ref().copied().unwrap_or(0));
        match outcome {
            Ok(0) => Fill::End,
            Ok(_) => Fill::Bytes,
            Err(error) if is_late(&error) => Fill::Late,
            Err(_) => Fill::End,
        }
    }

    /// One read. std's read timeout holds for a single read, so that a client of one byte a
    /// second would never meet it; hence the time left is set anew before each.
    fn read(&self, space: &mut [u8], deadline: Instant) -> io::Result<usize> {
        loop {
            self.stream.set_read_timeout(Some(left(deadline)?))?;
            match (&self.stream).read(space) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }

    /// Writes all of an answer before the deadline.
    ///
    /// # Errors
    /// When the client is gone or does not take it in time.
    pub fn write(&self, mut bytes: &[u8], deadline: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(left(deadline)?))?;
            match (&self.stream).write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Says that no more comes, then reads and forgets what the client still says, for a while:
    /// to close with unread bytes resets the connection, and the answer may be lost with it.
    pub fn part(&self) {
        self.shutdown(Shutdown::Write);
        let deadline = Instant::now() + limits::LINGER;
        let mut unwanted = [0; 4096];
        while matches!(self.read(&mut unwanted, deadline), Ok(count) if count > 0) {}
    }
}

/// The time left, never zero, which a socket would take for no deadline at all.
fn left(deadline: Instant) -> io::Result<Duration> {
    match deadline.checked_duration_since(Instant::now()) {
        Some(left) if !left.is_zero() => Ok(left),
        _ => Err(ErrorKind::TimedOut.into()),
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
