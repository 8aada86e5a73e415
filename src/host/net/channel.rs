//! The outgoing connection to one peer after its welcome: a socket that this node only writes to, and
//! its TLS session, if any.
//!
//! With TLS the thread that sends a frame seals its bytes, and sealed bytes can be neither left out nor
//! reordered. So the thread that writes next (see [`WriterLine`](super::line::WriterLine)) seals the frame, and
//! every sealed byte is sent.

use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::deadline::Deadline;
use crate::tls::Session;
use crate::wire::Frame;

/// A connection whose hello was answered.
pub struct Channel {
    pub(super) stream: TcpStream,
    /// Nobody waits for it: the election thread and the writer take turns.
    session: Option<Mutex<Session>>,
}

/// The bytes of a frame that are still to be sent.
pub struct Unsent {
    bytes: Frame,
    sent: usize,
    /// Whether these are the bytes for the wire.
    sealed: bool,
}

impl Unsent {
    /// A frame of which nothing was sent.
    pub fn whole(frame: &Frame) -> Unsent {
        Unsent { bytes: frame.clone(), sent: 0, sealed: false }
    }

    /// How many bytes are left.
    pub fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Channel {
    pub fn new(stream: TcpStream, session: Option<Session>) -> Channel {
        Channel { stream, session: session.map(Mutex::new) }
    }

    /// Sends as much of a frame as the socket takes without waiting; nothing if the connection has failed.
    pub fn send_some(&self, frame: &Frame) -> Unsent {
        if self.ended() {
            return Unsent::whole(frame);
        }
        let Ok(bytes) = self.seal(frame) else { return Unsent::whole(frame) };
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        let sent = send(&self.stream, &bytes, flags).unwrap_or(0);
        Unsent { bytes, sent, sealed: true }
    }

    /// Sends the rest of a frame, waiting for at most this time.
    ///
    /// # Errors
    /// When the connection has failed, or is too slow.
    pub fn send_all(&self, unsent: &Unsent, limit: Duration) -> io::Result<()> {
        if self.ended() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        let mut timed = Deadline::new(&self.stream, limit);
        if unsent.sealed {
            timed.write_all(&unsent.bytes[unsent.sent..])
        } else {
            timed.write_all(&self.seal(&unsent.bytes)?)
        }
    }

    fn seal(&self, frame: &Frame) -> io::Result<Frame> {
        match &self.session {
            Some(session) => Ok(session.lock().seal(frame)?.into()),
            None => Ok(frame.clone()),
        }
    }

    /// Whether the other side has closed the connection, without waiting. It never writes here, so that
    /// shows only to those who look; writing into it would seem to work once. With TLS anything that it
    /// writes after its welcome is a farewell.
    pub fn ended(&self) -> bool {
        let mut byte = [0; 1];
        match recv(&self.stream, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT) {
            Ok((0, _)) => true,
            Ok(_) => self.session.is_some(),
            Err(error) => error != Errno::AGAIN,
        }
    }

    pub fn close(&self) {
        let _ = self.stream.shutdown(Shutdown::Both); // it may have ended by itself
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;
    use crate::testing::within::within;

    /// Both ends of a connection.
    fn connection() -> (Channel, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (Channel::new(near, None), listener.accept().unwrap().0)
    }

    /// The rest follows: a byte that is counted and was not sent would be missing in the stream.
    #[test]
    fn what_a_full_socket_does_not_take_is_not_counted_as_sent() {
        let (channel, mut far) = connection();
        let frame: Frame = vec![7; 50_000].into();
        let (mut sent, mut is_full) = (0, false);
        for _ in 0..10_000 {
            let unsent = channel.send_some(&frame);
            sent += frame.len() - unsent.len();
            is_full |= unsent.len() == frame.len();
            if is_full {
                break;
            }
        }
        assert!(is_full, "it takes all of {sent} bytes that nobody reads");
        channel.close();
        let mut heard = Vec::new();
        far.read_to_end(&mut heard).unwrap();
        assert_eq!(heard.len(), sent);
    }

    /// It would seem to be sent once.
    #[test]
    fn nothing_is_sent_into_a_connection_that_the_other_side_has_closed() {
        let (channel, far) = connection();
        assert!(!channel.ended());
        let frame: Frame = (*b"frame").into();
        assert!(channel.send_some(&frame).is_empty());
        far.shutdown(Shutdown::Write).unwrap();
        within(Duration::from_secs(20), "it has ended", || channel.ended());
        let unsent = channel.send_some(&frame);
        assert_eq!(unsent.len(), frame.len());
        let error = channel.send_all(&unsent, Duration::from_secs(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn only_over_tls_a_word_of_the_other_side_ends_a_connection() {
        let (plain, mut far) = connection();
        far.write_all(b"x").unwrap();
        plain.stream.peek(&mut [0; 1]).unwrap(); // it has arrived
        assert!(!plain.ended());
        #[cfg(feature = "tls")]
        {
            let (Channel { mut stream, .. }, mut far) = connection();
            let (session, _) = crate::tls::tests::sessions(&mut stream, &mut far).unwrap();
            let secured = Channel::new(stream, Some(session));
            assert!(!secured.ended());
            far.write_all(b"x").unwrap();
            secured.stream.peek(&mut [0; 1]).unwrap();
            assert!(secured.ended());
        }
    }

    #[test]
    fn a_frame_that_the_other_side_does_not_take_in_time_is_an_error() {
        let (channel, _far) = connection();
        let frame: Frame = vec![7; 50_000].into();
        let all = |_: usize| channel.send_all(&Unsent::whole(&frame), Duration::from_millis(1));
        let error = (0..10_000).find_map(|at| all(at).err()).expect("nobody reads");
        let is_late = [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock].contains(&error.kind());
        assert!(is_late, "{error:?}");
    }
}
