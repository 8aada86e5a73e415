//! One question to a node and its answer: by TCP, with TLS or without, or by its control socket.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use socket2::Socket;

use super::control;
use crate::net::{Deadline, dial};
use crate::tls::{Secured, Session, Trust};

/// How long the name service has.
const RESOLVE: Duration = Duration::from_secs(2);

/// The longest head of an answer.
const LONGEST_HEAD: usize = 16 * 1024;

/// More than the recording of any node has, which is the longest answer; a stranger's page may be larger.
const LARGEST_ANSWER: u64 = 16 * 1024 * 1024;

/// A connection to a node.
pub struct Exchange {
    socket: Socket,
    session: Option<Session>,
}

impl Exchange {
    /// Connects to the node at an admin address, or at a control socket, within this time.
    ///
    /// # Errors
    /// If nobody listens there, or there is no TLS with it.
    pub fn open(address: &str, trust: Option<&Trust>, limit: Duration) -> io::Result<Exchange> {
        if let Some(path) = control::of_address(address) {
            let socket = OwnedFd::from(control::dial(path, limit)?).into();
            return Ok(Exchange { socket, session: None });
        }
        let socket = Socket::from(dial(host_of(address), RESOLVE, limit)?);
        let session = trust.map(|trust| shake_hands(trust, &socket, limit)).transpose()?;
        Ok(Exchange { socket, session })
    }

    /// Asks. The node has this long to take the question.
    ///
    /// # Errors
    /// If the connection ends, or it takes longer.
    pub fn ask(&mut self, question: &str, limit: Duration) -> io::Result<()> {
        self.by(deadline(limit)).write_all(question.as_bytes())
    }

    /// The answer: its code, and its body. The node has this long for the whole of it.
    ///
    /// # Errors
    /// If it takes longer, the connection ends before, or the answer is not HTTP.
    pub fn answer(&mut self, limit: Duration) -> io::Result<(u16, String)> {
        read_answer(&mut self.by(deadline(limit)))
    }

    /// The head of an answer after which another protocol may follow. The node has this long for it.
    ///
    /// # Errors
    /// As [`Exchange::answer`].
    pub fn head(&mut self, limit: Duration) -> io::Result<Head> {
        read_head(&mut self.by(deadline(limit)))
    }

    /// The body of an answer with this head. The node has this long for it.
    ///
    /// # Errors
    /// As [`Exchange::answer`].
    pub fn body(&mut self, head: Head, limit: Duration) -> io::Result<String> {
        read_body(&mut self.by(deadline(limit)), head)
    }

    /// The connection, which was made by a control socket, for another protocol.
    pub fn into_stream(self) -> UnixStream {
        UnixStream::from(OwnedFd::from(self.socket))
    }

    fn by(&mut self, until: Instant) -> Secured<Deadline<'_>, &mut Session> {
        Secured::new(Deadline::until(&self.socket, until, ()), self.session.as_mut())
    }
}

/// Reads an answer without an end: each part of it has a time of its own.
pub struct Endless {
    /// The connection.
    pub exchange: Exchange,
    /// How long the next part may take.
    pub timeout: Duration,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.exchange.by(deadline(self.timeout)).read(buffer)
    }
}

/// A day is as good as no end, and a clock can count to it.
fn deadline(limit: Duration) -> Instant {
    Instant::now() + limit.min(Duration::from_secs(24 * 60 * 60))
}

fn shake_hands(trust: &Trust, socket: &Socket, limit: Duration) -> io::Result<Session> {
    Session::ask(trust, &mut Deadline::until(socket, deadline(limit), ())).map_err(|fault| {
        match fault {
            Some(fault) => io::Error::other(format!("no TLS with it: {}", fault.why)),
            None => ErrorKind::UnexpectedEof.into(),
        }
    })
}

/// The head of an answer.
#[derive(Debug)]
pub struct Head {
    /// The status code.
    pub code: u16,
    /// The length of the body, if it is told.
    length: Option<u64>,
    /// The first bytes of what follows.
    pub rest: Vec<u8>,
}

/// Reads an answer: its code, and its body.
///
/// # Errors
/// If it ends early, or is not HTTP.
pub fn read_answer(stream: &mut impl Read) -> io::Result<(u16, String)> {
    let head = read_head(stream)?;
    Ok((head.code, read_body(stream, head)?))
}

fn read_body(stream: &mut impl Read, head: Head) -> io::Result<String> {
    let Head { length, rest: mut body, .. } = head;
    let most = length.unwrap_or(LARGEST_ANSWER);
    if most > LARGEST_ANSWER {
        return Err(not_http("its body is too long"));
    }
    stream.take(most.saturating_sub(body.len() as u64)).read_to_end(&mut body)?;
    if length.is_some_and(|length| length > body.len() as u64) {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    body.truncate(usize::try_from(most).unwrap_or(usize::MAX)); // no node sends more
    String::from_utf8(body).map_err(|_| not_http("its answer is not UTF-8"))
}

fn read_head(stream: &mut impl Read) -> io::Result<Head> {
    let mut bytes = Vec::new();
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut answer = httparse::Response::new(&mut headers);
        match answer.parse(&bytes).map_err(|error| not_http(&error.to_string()))? {
            httparse::Status::Complete(head) => {
                let code = answer.code.unwrap_or_default();
                let length = length(answer.headers)?;
                return Ok(Head { code, length, rest: bytes.split_off(head) });
            }
            httparse::Status::Partial if bytes.len() > LONGEST_HEAD => {
                return Err(not_http("its head is too long"));
            }
            httparse::Status::Partial => {}
        }
        let mut part = [0; 4096];
        match stream.read(&mut part)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&part[..count]),
        }
    }
}

/// The length of the body, if the headers tell it.
fn length(headers: &[httparse::Header<'_>]) -> io::Result<Option<u64>> {
    let header = |name: &str| headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
    if header("transfer-encoding").is_some() {
        return Err(not_http("its body comes in chunks, as no node sends it"));
    }
    let Some(length) = header("content-length") else { return Ok(None) };
    let length = std::str::from_utf8(length.value).ok().and_then(|length| length.parse().ok());
    length.map(Some).ok_or_else(|| not_http("the length of its body is no number"))
}

fn not_http(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("no answer of HTTP: {why}"))
}

/// The host and the port of an address.
pub fn host_of(address: &str) -> &str {
    let schemes = ["http://", "https://"].into_iter();
    let host = schemes.filter_map(|scheme| address.strip_prefix(scheme)).next();
    host.unwrap_or(address).trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::net::{SocketAddr, TcpStream};

    use socket2::{Domain, Type};

    use super::*;

    fn read(text: &str) -> io::Result<(u16, String)> {
        read_answer(&mut Cursor::new(text.as_bytes()))
    }

    #[test]
    fn an_answer_ends_with_its_length_or_with_the_connection() {
        let answer = read("HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\n{} and more").unwrap();
        assert_eq!(answer, (503, "{}".to_owned()));
        let answer = read("HTTP/1.0 200 OK\r\n\r\nto the end").unwrap();
        assert_eq!(answer, (200, "to the end".to_owned()));
    }

    #[test]
    fn what_is_no_answer_is_told_from_one_that_breaks_off() {
        let kind = |text: &str| read(text).unwrap_err().kind();
        for early in
            ["", "HTTP/1.1 200 OK\r\nA: b", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{}"]
        {
            assert_eq!(kind(early), ErrorKind::UnexpectedEof, "{early}");
        }
        let head = "HTTP/1.1 200 OK\r\n";
        for stranger in [
            "\x15\x03\x03".to_owned(),
            format!("{head}Content-Length: many\r\n\r\n"),
            format!("{head}Content-Length: 99999999\r\n\r\n"),
            format!("{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            format!("{head}A: {}", "b".repeat(20_000)),
        ] {
            assert_eq!(kind(&stranger), ErrorKind::InvalidData, "{stranger}");
        }
    }

    #[test]
    fn what_is_odd_about_a_stranger_is_told() {
        let head = "HTTP/1.1 200 OK\r\n";
        let most = LARGEST_ANSWER;
        for (answer, why) in [
            (format!("{head}Content-Length: 1x\r\n\r\n"), "the length of its body is no number"),
            (format!("{head}Content-Length: {}\r\n\r\n", most + 1), "its body is too long"),
            (
                format!("{head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
                "its body comes in chunks, as no node sends it",
            ),
            (format!("{head}A: {}", "b".repeat(LONGEST_HEAD + 4096)), "its head is too long"),
        ] {
            let told = read(&answer).unwrap_err().to_string();
            assert_eq!(told, format!("no answer of HTTP: {why}"));
        }
        let odd = [head.as_bytes(), b"\r\n\xff"].concat();
        let told = read_answer(&mut Cursor::new(odd)).unwrap_err().to_string();
        assert_eq!(told, "no answer of HTTP: its answer is not UTF-8");
        let most = read(&format!("{head}Content-Length: {most}\r\n\r\n")).unwrap_err();
        assert_eq!(most.kind(), ErrorKind::UnexpectedEof, "it may be as long");
    }

    #[test]
    fn a_long_answer_is_read_in_parts_and_to_its_end_alone() {
        let body = "a".repeat(10_000);
        let text = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let mut stream = Cursor::new(format!("{text} and more"));
        assert_eq!(read_answer(&mut stream).unwrap(), (200, body));
        assert_eq!(stream.position(), text.len() as u64, "what follows is left");
        // Of a part that ends where a head may end at the latest, the rest may still come.
        let head = format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(LONGEST_HEAD - 20));
        assert_eq!(head.len(), LONGEST_HEAD);
        assert_eq!(read(&format!("{head}\r\n\r\nyes")).unwrap(), (200, "yes".to_owned()));
    }

    #[test]
    fn an_address_may_be_written_as_a_browser_shows_it() {
        for address in ["n:7201", "http://n:7201", "https://n:7201", "http://n:7201/", "n:7201/"] {
            assert_eq!(host_of(address), "n:7201", "{address}");
        }
    }

    #[test]
    fn an_answer_has_64_headers_at_most_and_a_length_that_counts_once() {
        let with = |count: usize, length: &str| {
            let more = "A: b\r\n".repeat(count - 1);
            read(&format!("HTTP/1.1 200 OK\r\n{more}{length}\r\n\r\n{{}} and more"))
        };
        assert_eq!(with(64, "CONTENT-length: 2").unwrap(), (200, "{}".to_owned()));
        let told = with(65, "Content-Length: 2").unwrap_err().to_string();
        assert_eq!(told, "no answer of HTTP: too many headers");
        assert_eq!(with(1, "Content-Length: 0").unwrap(), (200, String::new()));
        let head = "HTTP/1.1 200 OK\r\n\r\n".as_bytes();
        let most = usize::try_from(LARGEST_ANSWER).unwrap();
        let long = |length: usize| {
            let mut stream = Cursor::new(head).chain(io::repeat(b'a').take(length as u64));
            read_answer(&mut stream).unwrap().1.len()
        };
        assert_eq!((long(most), long(most + 1)), (most, most));
    }

    /// However long the name service may take.
    #[test]
    fn a_connection_that_nobody_takes_is_not_waited_for_any_longer() {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        listener.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        listener.listen(0).unwrap();
        let address = listener.local_addr().unwrap().as_socket().unwrap();
        let short = Duration::from_millis(20);
        let _others: Vec<_> =
            std::iter::from_fn(|| TcpStream::connect_timeout(&address, short).ok()).collect();
        let mut tries = (0..5).map(|_| {
            let begun = Instant::now();
            let refused = Exchange::open(&address.to_string(), None, short).err().unwrap();
            assert_eq!(refused.kind(), ErrorKind::TimedOut);
            begun.elapsed()
        });
        assert!(tries.any(|took| (short..RESOLVE).contains(&took)), "it is too long each time");
    }

    #[test]
    fn a_time_without_end_is_a_day() {
        let (day, second) = (Duration::from_secs(24 * 60 * 60), Duration::from_secs(1));
        for (limit, taken) in [(Duration::MAX, day), (second, second)] {
            let before = Instant::now();
            let until = deadline(limit);
            assert!((before + taken..=Instant::now() + taken).contains(&until), "{limit:?}");
        }
    }

    /// What follows has times of its own.
    #[test]
    fn a_connection_that_is_given_away_has_no_time_limit_any_more() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let mut exchange = Exchange { socket: OwnedFd::from(near).into(), session: None };
        let long = Duration::from_secs(20);
        far.write_all(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nrest").unwrap();
        exchange.ask("question", long).unwrap();
        let mut asked = [0; 8];
        far.read_exact(&mut asked).unwrap();
        assert_eq!(&asked, b"question");
        let head = exchange.head(long).unwrap();
        assert_eq!((head.code, head.length, &head.rest[..]), (101, None, &b"rest"[..]));
        let stream = exchange.into_stream();
        assert_eq!((stream.read_timeout().unwrap(), stream.write_timeout().unwrap()), (None, None));
    }
}
