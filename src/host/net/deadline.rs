//! Reading and writing with an absolute deadline. A socket's own timeout is per call, so a
//! trickle of bytes would stretch it without end.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use socket2::SockRef;

/// No step of a connection's set-up or end takes longer, so that a node stops within a second.
pub const STEP: Duration = Duration::from_millis(400);

/// The shortest time that is waited for.
const SHORTEST: Duration = Duration::from_millis(1);

/// A stream whose reads and writes fail once the deadline has passed.
pub struct Deadline<'a> {
    stream: SockRef<'a>,
    until: Instant,
}

impl<'a> Deadline<'a> {
    pub fn new(stream: &'a impl AsFd, limit: Duration) -> Deadline<'a> {
        Deadline::until(stream, Instant::now() + limit)
    }

    /// With this deadline.
    pub fn until(stream: &'a impl AsFd, until: Instant) -> Deadline<'a> {
        Deadline { stream: SockRef::from(stream), until }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        // The kernel takes less than a microsecond for no limit.
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left.max(SHORTEST)) }
    }

    /// Has the next read of the stream end by the deadline.
    pub fn arm(&self) -> io::Result<()> {
        self.stream.set_read_timeout(Some(self.left()?))
    }
}

impl Read for Deadline<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        again_if_interrupted(|| {
            self.arm()?;
            (&*self.stream).read(buffer)
        })
    }
}

impl Write for Deadline<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        again_if_interrupted(|| {
            self.stream.set_write_timeout(Some(self.left()?))?;
            (&*self.stream).write(buffer)
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// When a stopped process resumes, the kernel interrupts a call of it that has a timeout. The stream is
/// intact then.
fn again_if_interrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// Connects to one of the addresses of a host; each has its share of the time. Refused means that
/// every address refused.
pub fn connect(addresses: &[SocketAddr], limit: Duration) -> io::Result<TcpStream> {
    let mut failure = None;
    let share = limit / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    for address in addresses {
        match TcpStream::connect_timeout(address, share).and_then(unless_own_echo) {
            Ok(stream) => return Ok(stream),
            Err(error) if failure.is_none() || error.kind() != io::ErrorKind::ConnectionRefused => {
                failure = Some(error);
            }
            Err(_) => {}
        }
    }
    Err(failure.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no such host")))
}

/// A dial to a free port of the ephemeral range can meet itself (TCP's simultaneous open): then no
/// process listens there. It ends without a trace: otherwise the system would keep the port for a minute, and the
/// process that is dialed could not listen on it.
fn unless_own_echo(stream: TcpStream) -> io::Result<TcpStream> {
    if !matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(peer)) if own == peer) {
        return Ok(stream);
    }
    SockRef::from(&stream).set_linger(Some(Duration::ZERO))?;
    Err(io::ErrorKind::ConnectionRefused.into())
}

#[cfg(test)]
mod tests {
    use socket2::{Domain, Socket, Type};

    use super::*;

    #[test]
    fn a_dial_that_meets_itself_is_refused_and_leaves_the_port_free() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        socket.bind(&any.into()).unwrap();
        let own = socket.local_addr().unwrap();
        socket.connect(&own).unwrap();
        let ended = unless_own_echo(socket.into()).unwrap_err();
        assert_eq!(ended.kind(), io::ErrorKind::ConnectionRefused);
        let own = own.as_socket().unwrap().to_string();
        crate::net::listen(&own).expect("whoever is dialed there can start");
    }

    /// Also if something is there to read, as of a peer that sends a byte now and then.
    #[test]
    fn after_the_deadline_nothing_is_read_or_written() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        far.write_all(b"xy").unwrap();
        let mut timed = Deadline::new(&near, Duration::from_secs(60));
        assert_eq!((timed.read(&mut [0; 1]).unwrap(), timed.write(b"z").unwrap()), (1, 1));
        let longest = [near.read_timeout(), near.write_timeout()].map(|it| it.unwrap().unwrap());
        let waits = Duration::from_secs(1)..=Duration::from_secs(60);
        assert!(longest.iter().all(|it| waits.contains(it)), "{longest:?}");
        let mut late = Deadline::new(&near, Duration::ZERO);
        let errors = [late.read(&mut [0; 1]).map(drop), late.write(b"z").map(drop), late.arm()];
        assert!(
            errors.iter().all(|it| {
                it.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::TimedOut)
            })
        );
        assert!(late.flush().is_ok());
    }

    #[test]
    fn a_call_that_was_interrupted_is_made_again() {
        let mut calls = 0;
        let done = again_if_interrupted(|| {
            calls += 1;
            if calls < 3 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(calls) }
        });
        assert_eq!(done.unwrap(), 3);
        let failed = again_if_interrupted(|| Err::<(), _>(io::ErrorKind::BrokenPipe.into()));
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_host_without_an_address_is_told() {
        let error = connect(&[], STEP).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (io::ErrorKind::NotFound, "no such host".to_owned())
        );
    }

    /// Only a host that refuses at each of its addresses has no process that listens.
    #[test]
    fn a_host_refuses_if_each_of_its_addresses_does() {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
        let refuses = socket.local_addr().unwrap().as_socket().unwrap();
        let fails: SocketAddr = "255.255.255.255:1".parse().unwrap(); // no connection goes to all hosts
        for (addresses, is_refused) in [
            (&[refuses][..], true),
            (&[refuses, refuses], true),
            (&[refuses, fails], false),
            (&[fails, refuses], false),
        ] {
            let kind = connect(addresses, STEP).unwrap_err().kind();
            assert_eq!(
                kind == io::ErrorKind::ConnectionRefused,
                is_refused,
                "{addresses:?}: {kind}"
            );
        }
    }
}
