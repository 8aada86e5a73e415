//! A server's side of a nonblocking connection: bytes come in as the client sends them, and go out as
//! the socket takes them.
//!
//! The library gets only whole records, and this type keeps the incomplete ones: so we know to the byte
//! what we keep for a client, and a silent client costs nothing.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::ServerConnection;

use super::credentials::Credentials;
use super::identity::judge_member;

/// The type and the version of a record, and its length.
const HEADER: usize = 5;

/// The longest record, as TLS 1.3 has it.
const LONGEST: usize = 16 * 1024 + 256;

/// The most that a handshake may have a server read, and that may wait to be sent.
const MOST: usize = 64 * 1024;

/// The number of records to take in one go, so that no client is served alone.
const LOT: usize = 8;

/// How many bytes are sealed in one go.
const PIECE: usize = 16 * 1024;

/// About what the library keeps of a handshake.
const SHAKING: usize = 8 * 1024;

/// The server's side of a connection.
#[derive(Debug)]
pub struct Buffered {
    credentials: Arc<Credentials>,
    /// None before a whole record has come.
    connection: Option<Box<ServerConnection>>,
    /// The record that is coming.
    record: Vec<u8>,
    /// How many bytes the handshake has taken.
    taken: usize,
    /// How many bytes wait to be read.
    plain: usize,
    /// Sealed bytes that are not sent yet.
    sealed: Vec<u8>,
    ended: bool,
}

impl Buffered {
    /// A connection on which nothing was said yet. The client may show a certificate.
    #[must_use]
    pub fn new(credentials: Arc<Credentials>) -> Buffered {
        Buffered {
            credentials,
            connection: None,
            record: Vec::new(),
            taken: 0,
            plain: 0,
            sealed: Vec::new(),
            ended: false,
        }
    }

    /// Reads what the client said; 0 is the end.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] while nothing is there, [`ErrorKind::Unsupported`] if the client speaks HTTP without
    /// TLS, and others when the connection is of no use.
    pub fn read(&mut self, io: &mut (impl Read + Write), buffer: &mut [u8]) -> io::Result<usize> {
        for _ in 0..LOT {
            if let Some(connection) = self.connection.as_mut().filter(|_| self.plain > 0) {
                let count = connection.reader().read(buffer)?;
                self.plain -= count.min(self.plain);
                return Ok(count);
            }
            if self.ended || !self.hear(io)? {
                return Ok(0);
            }
            let taken = self.take();
            match self.flush(io) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => taken?, // the client has been told why, if possible
            }
        }
        Err(ErrorKind::WouldBlock.into())
    }

    /// Reads the rest of a record; false at the end.
    fn hear(&mut self, io: &mut impl Read) -> io::Result<bool> {
        loop {
            let missing = self.missing()?;
            if missing == 0 {
                return Ok(true);
            }
            let mut part = [0; 4096];
            let most = missing.min(part.len());
            match io.read(&mut part[..most])? {
                0 => return Ok(false),
                count => self.record.extend_from_slice(&part[..count]),
            }
        }
    }

    /// How many bytes the record lacks, as far as is known.
    fn missing(&self) -> io::Result<usize> {
        let speaks_http = |first: &u8| self.connection.is_none() && first.is_ascii_alphabetic();
        if self.record.first().is_some_and(speaks_http) {
            return Err(ErrorKind::Unsupported.into());
        }
        let [_, _, _, high, low, ..] = self.record[..] else {
            return Ok(HEADER - self.record.len());
        };
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > LONGEST {
            return Err(invalid("a record is too long"));
        }
        Ok((HEADER + length).saturating_sub(self.record.len()))
    }

    /// Hands the library a record.
    fn take(&mut self) -> io::Result<()> {
        let record = std::mem::take(&mut self.record);
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(Box::new(
                ServerConnection::new(self.credentials.admin.clone()).map_err(io::Error::other)?,
            )),
        };
        if connection.is_handshaking() {
            self.taken += record.len();
        }
        let mut rest = &record[..];
        let mut outcome = Ok(());
        while !rest.is_empty() && outcome.is_ok() {
            connection.read_tls(&mut rest)?;
            outcome = match connection.process_new_packets() {
                Ok(state) => {
                    self.plain = state.plaintext_bytes_to_read();
                    self.ended |= state.peer_has_closed();
                    Ok(())
                }
                Err(error) => Err(io::Error::new(ErrorKind::InvalidData, error)),
            };
        }
        self.seal()?;
        if self.taken > MOST || self.sealed.len() > MOST {
            return Err(invalid("the client has this side keep too much"));
        }
        outcome
    }

    /// Fetches what the library has to send.
    fn seal(&mut self) -> io::Result<()> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        while connection.wants_write() {
            connection.write_tls(&mut self.sealed)?;
        }
        Ok(())
    }

    /// Takes some of these bytes, and sends what the socket takes. The taken bytes are sent sooner or
    /// later.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] while earlier bytes wait, and others when the connection is of no use.
    pub fn write(&mut self, io: &mut impl Write, bytes: &[u8]) -> io::Result<usize> {
        self.flush(io)?;
        let Some(connection) = &mut self.connection else {
            return Err(ErrorKind::NotConnected.into());
        };
        let count = connection.writer().write(&bytes[..bytes.len().min(PIECE)])?;
        self.seal()?;
        match self.flush(io) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
            _ => Ok(count),
        }
    }

    /// Sends what waits.
    ///
    /// # Errors
    /// [`ErrorKind::WouldBlock`] if not all of it could be sent, and others when the connection is of no use.
    pub fn flush(&mut self, io: &mut impl Write) -> io::Result<()> {
        while !self.sealed.is_empty() {
            match io.write(&self.sealed) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => drop(self.sealed.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.sealed = Vec::new();
        Ok(())
    }

    /// Says that nothing more follows, as far as the socket takes that without blocking.
    pub fn bid_farewell(&mut self, io: &mut impl Write) {
        if let Some(connection) = &mut self.connection {
            connection.send_close_notify();
        }
        // A client that misses it has the length of the answer.
        let _ = self.seal().and_then(|()| self.flush(io));
    }

    /// Whether something waits to be sent.
    #[must_use]
    pub fn owes(&self) -> bool {
        !self.sealed.is_empty()
    }

    /// Whether bytes wait to be read that the socket does not report.
    #[must_use]
    pub fn has_more(&self) -> bool {
        self.plain > 0
    }

    /// Whether the handshake is under way.
    #[must_use]
    pub fn is_shaking(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| connection.is_handshaking())
    }

    /// Whether the handshake has ended well.
    #[must_use]
    pub fn has_shaken(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| !connection.is_handshaking())
    }

    /// Whether the client has begun something that is not complete.
    #[must_use]
    pub fn is_amid(&self) -> bool {
        self.is_shaking() || !self.record.is_empty()
    }

    /// Whether the client has shown the certificate of the member of this name.
    #[must_use]
    pub fn proves(&self, name: &str) -> bool {
        let Some(connection) = self.connection.as_ref().filter(|_| self.has_shaken()) else {
            return false;
        };
        let shown = connection.peer_certificates().and_then(|chain| chain.first());
        shown.is_some_and(|shown| judge_member(shown, &self.credentials.cluster, name).is_ok())
    }

    /// The memory that the client has this side keep; what every connection takes after its handshake not
    /// counted.
    #[must_use]
    pub fn memory(&self) -> usize {
        let shaking = if self.is_shaking() { SHAKING + self.taken } else { 0 };
        self.record.capacity() + self.sealed.capacity() + self.plain + shaking
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
