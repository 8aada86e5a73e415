//! Single questions over TCP: with TLS, or with an answer that is read as it comes.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::tls::{Secured, Session, Trust};

use super::control::{not_http, read_head};

/// How long each part may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// A connection.
    pub connect: Duration,
    /// The next bytes of the answer.
    pub answer: Duration,
}

/// Connects to a node and asks. Returns the stream with the answer.
pub fn open(
    host: &str,
    question: &str,
    patience: Patience,
    trust: Option<&Trust>,
) -> io::Result<Box<dyn Read + Send>> {
    let mut stream = connect(host, patience.connect)?;
    stream.set_write_timeout(Some(patience.connect))?;
    stream.set_read_timeout(Some(patience.connect))?;
    let session = trust.map(|trust| shake_hands(trust, &mut stream)).transpose()?;
    stream.set_read_timeout(Some(patience.answer))?;
    let mut secured = Secured::new(stream, session);
    secured.write_all(question.as_bytes())?;
    Ok(Box::new(secured))
}

fn shake_hands(trust: &Trust, stream: &mut TcpStream) -> io::Result<Session> {
    Session::ask(trust, stream).map_err(|fault| match fault {
        Some(fault) => io::Error::other(format!("no TLS with it: {}", fault.why)),
        None => ErrorKind::UnexpectedEof.into(),
    })
}

/// Asks for a whole answer.
pub fn ask(
    host: &str,
    question: &str,
    patience: Patience,
    trust: &Trust,
    longest: u64,
) -> io::Result<(u16, String)> {
    let mut stream = open(host, question, patience, Some(trust))?;
    let (code, mut body) = read_head(&mut stream)?;
    stream.take(longest).read_to_end(&mut body)?;
    let text = String::from_utf8(body).map_err(|_| not_http("its answer is not UTF-8"))?;
    Ok((code, text))
}

/// The host and the port of an address.
pub fn host_of(address: &str) -> &str {
    let schemes = ["http://", "https://"].into_iter();
    let host = schemes.filter_map(|scheme| address.strip_prefix(scheme)).next();
    host.unwrap_or(address).trim_end_matches('/')
}

fn connect(host: &str, patience: Duration) -> io::Result<TcpStream> {
    let mut last = io::Error::new(ErrorKind::InvalidInput, "the name has no address");
    for place in host.to_socket_addrs()? {
        match TcpStream::connect_timeout(&place, patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}
