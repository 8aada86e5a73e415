//! Reading and writing with an absolute deadline. A socket's own timeout is per call, so a
//! trickle of bytes would stretch it without end.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::time::Timespec;
use socket2::SockRef;

/// No step of a connection's set-up or end takes longer, so that a node stops within a second.
pub const STEP: Duration = Duration::from_millis(400);

/// A socket whose reads and writes wait until the deadline at most. What is there by then is read, also after it.
pub struct Deadline<'a, W = ()> {
    stream: BorrowedFd<'a>,
    until: Instant,
    waits: W,
}

/// Who has to know that a thread waits for the other side.
pub trait Waiter {
    /// Does this, which waits.
    fn wait<T>(&self, call: impl FnOnce() -> T) -> T;
}

/// Nobody.
impl Waiter for () {
    fn wait<T>(&self, call: impl FnOnce() -> T) -> T {
        call()
    }
}

impl<'a> Deadline<'a> {
    /// With a deadline after this time.
    pub fn new(stream: &'a impl AsFd, limit: Duration) -> Deadline<'a> {
        Deadline::until(stream, Instant::now() + limit, ())
    }
}

impl<'a, W: Waiter> Deadline<'a, W> {
    /// With this deadline.
    pub fn until(stream: &'a impl AsFd, until: Instant, waits: W) -> Deadline<'a, W> {
        Deadline { stream: stream.as_fd(), until, waits }
    }

    /// The first byte that was not read yet; none at the end.
    ///
    /// # Errors
    /// As of a read.
    pub fn peek(&self) -> io::Result<Option<u8>> {
        let mut byte = [0; 1];
        let count = self.receive(&mut byte, RecvFlags::PEEK)?;
        Ok((count > 0).then_some(byte[0]))
    }

    fn receive(&self, buffer: &mut [u8], flags: RecvFlags) -> io::Result<usize> {
        let flags = flags | RecvFlags::DONTWAIT;
        let receive = || recv(self.stream, &mut *buffer, flags).map(|(count, _)| count);
        self.call(PollFlags::IN, receive)
    }

    /// Calls this until it does not have to wait.
    fn call<T>(
        &self,
        wanted: PollFlags,
        mut call: impl FnMut() -> rustix::io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match call() {
                Err(Errno::AGAIN) => self.wait(wanted)?,
                Err(Errno::INTR) => {}
                done => return Ok(done?),
            }
        }
    }

    fn wait(&self, wanted: PollFlags) -> io::Result<()> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut sockets = [PollFd::from_borrowed_fd(self.stream, wanted)];
        match self.waits.wait(|| poll(&mut sockets, Some(&left))) {
            Ok(0) => Err(io::ErrorKind::TimedOut.into()),
            Err(error) if error != Errno::INTR => Err(error.into()),
            _ => Ok(()), // a stopped process that resumes has been interrupted
        }
    }
}

impl<W: Waiter> Read for Deadline<'_, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.receive(buffer, RecvFlags::empty())
    }
}

impl<W: Waiter> Write for Deadline<'_, W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        self.call(PollFlags::OUT, || send(self.stream, buffer, flags))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

    /// As with a peer that sends a byte now and then.
    #[test]
    fn nothing_is_waited_for_after_the_deadline_and_what_is_there_is_read() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        let mut timed = Deadline::new(&near, Duration::from_secs(60));
        let limit = Duration::from_millis(40);
        std::thread::scope(|scope| {
            scope.spawn(|| far.write_all(b"xyz").unwrap());
            assert_eq!(timed.peek().unwrap(), Some(b'x'), "it is waited for");
        });
        let mut late = Deadline::new(&near, Duration::ZERO);
        let mut read = [0; 3];
        late.read_exact(&mut read).unwrap();
        assert_eq!((&read, late.write(b"z").unwrap()), (b"xyz", 1));
        let begun = Instant::now();
        let mut soon = Deadline::new(&near, limit);
        let mut errors = vec![late.read(&mut [0; 1]).map(drop), late.peek().map(drop)];
        errors.push(soon.read(&mut [0; 1]).map(drop));
        assert!(begun.elapsed() >= limit);
        errors.push(soon.write_all(&vec![0; 64 << 20]));
        let kinds = errors.into_iter().map(|it| it.unwrap_err().kind());
        assert_eq!(kinds.collect::<Vec<_>>(), [io::ErrorKind::TimedOut; 4]);
        drop(far);
        assert!(matches!(timed.read(&mut [0; 1]), Ok(0) | Err(_)), "its end is no time-out");
        assert!(timed.flush().is_ok());
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
