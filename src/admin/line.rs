//! A client's socket, with TLS or without, on which no call waits after an absolute deadline.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::Instant;

use socket2::Socket;

use crate::net::Deadline;
use crate::tls::{Secured, Security, Session};

use super::places::Place;

/// The way to a client, which has a place.
pub struct ClientLine<'a> {
    place: Place<'a>,
    session: Option<Session>,
}

impl<'a> ClientLine<'a> {
    /// A newcomer's socket, without TLS.
    pub fn new(place: Place<'a>) -> ClientLine<'a> {
        ClientLine { place, session: None }
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
        let mut socket = timed(&self.place, until);
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

    fn by(&mut self, until: Instant) -> Secured<Deadline<'_, &Place<'a>>, &mut Session> {
        Secured::new(timed(&self.place, until), self.session.as_mut())
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
        let mut socket = timed(&self.place, until);
        if let Some(session) = &mut self.session {
            socket.write_all(&session.farewell()?)?;
        }
        self.place.socket().shutdown(Shutdown::Write)?;
        let mut dropped = [0; 4096];
        while socket.read(&mut dropped)? > 0 && Instant::now() < until {}
        Ok(())
    }

    /// Whether it has TLS.
    pub fn has_tls(&self) -> bool {
        self.session.is_some()
    }

    /// Whether the client has shown the certificate of the member of this name.
    pub fn proves(&self, name: &str) -> bool {
        self.session.as_ref().is_some_and(|session| session.prove(name).is_ok())
    }
}

/// The socket of this place, up to a deadline. While it waits, the place may be lost.
fn timed<'a, 'b>(place: &'a Place<'b>, until: Instant) -> Deadline<'a, &'a Place<'b>> {
    Deadline::until(place.socket(), until, place)
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use std::net::TcpStream;
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::admin::places::{self, ClientPlaces};
    use crate::admin::server::tests::members;
    use crate::tls::Trust;

    /// Far longer than anything takes here.
    const LONG: Duration = Duration::from_secs(20);

    /// The way to a client, and the client.
    fn connected(places: &ClientPlaces) -> (ClientLine<'_>, TcpStream) {
        let (client, place) = places::tests::connected(places);
        place.socket().set_nonblocking(true).unwrap();
        (ClientLine::new(place), client)
    }

    #[test]
    fn a_client_without_tls_is_told_from_one_that_speaks_nonsense() {
        let places = ClientPlaces::default();
        let security = Security::new(members().into_iter().next());
        let begun = |said: &[u8], security: &Security| {
            let (mut line, mut client) = connected(&places);
            client.write_all(said).unwrap();
            client.shutdown(Shutdown::Write).unwrap();
            let begun = line.secure(security, Instant::now() + LONG);
            begun.map_err(|error| error.kind())
        };
        assert_eq!(begun(b"GET / HTTP/1.1\r\n", &security), Err(ErrorKind::Unsupported));
        assert_eq!(begun(b"z", &security), Err(ErrorKind::Unsupported));
        assert_eq!(begun(b"\x16\x03\x01\x02", &security), Err(ErrorKind::InvalidData));
        assert_eq!(begun(b"", &security), Err(ErrorKind::InvalidData));
        assert_eq!(begun(b"GET / HTTP/1.1\r\n", &Security::default()), Ok(()), "as it is");
        let (mut silent, _client) = connected(&places);
        let late = silent.secure(&security, Instant::now()).unwrap_err();
        assert_eq!(late.kind(), ErrorKind::TimedOut);
    }

    /// The certificate proves one name, and the end is said in TLS, so that nobody can cut the answer short.
    #[test]
    fn over_tls_a_client_hears_the_answer_to_its_end() {
        let (places, [own, _]) = (ClientPlaces::default(), members());
        let trust = Trust::in_member(&own, "a").unwrap();
        let security = Security::new(Some(own));
        let (mut line, mut client) = connected(&places);
        thread::scope(|scope| {
            let asks = scope.spawn(move || {
                let mut session = Session::ask(&trust, &mut client).expect("it is trusted");
                client.write_all(&session.seal(b"question").unwrap()).unwrap();
                let (mut heard, mut part) = (Vec::<u8>::new(), [0; 100]);
                loop {
                    match session.read(&mut client, &mut part) {
                        Ok(0) => return heard,
                        Ok(count) => heard.extend(&part[..count]),
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            let until = Instant::now() + LONG;
            line.secure(&security, until).unwrap();
            assert!(line.proves("a") && !line.proves("b"));
            let mut asked = [0; 100];
            let count = line.read(&mut asked, until).unwrap();
            assert_eq!(&asked[..count], b"question");
            line.send(b"answer", until).unwrap();
            line.finish(until).unwrap();
            assert_eq!(asks.join().unwrap(), b"answer");
        });
        let (plain, _client) = connected(&places);
        assert!(!plain.proves("a"), "it has shown nothing");
    }

    #[test]
    fn a_client_has_ended_the_connection_when_nothing_more_can_come() {
        let places = ClientPlaces::default();
        let (line, mut client) = connected(&places);
        assert!(!line.is_ended());
        client.write_all(&[b'x'; 3000]).unwrap();
        assert!(!line.is_ended());
        drop(client);
        let begun = Instant::now();
        while !line.is_ended() {
            assert!(begun.elapsed() < LONG, "it is not seen");
        }
    }

    #[test]
    fn a_call_ends_at_its_deadline_and_a_socket_for_another_use_waits_again() {
        let places = ClientPlaces::default();
        let (mut line, mut client) = connected(&places);
        let late = Instant::now() + Duration::from_millis(20);
        let error = line.read(&mut [0; 1], late).unwrap_err();
        assert!(error.kind() == ErrorKind::TimedOut && Instant::now() >= late);
        let late = Instant::now() + Duration::from_millis(20);
        let error = line.send(&vec![b'x'; 64 << 20], late).unwrap_err();
        assert!(error.kind() == ErrorKind::TimedOut && Instant::now() >= late);
        let (other, mut far) = connected(&places);
        let mut socket = other.into_socket().unwrap();
        thread::scope(|scope| {
            let reads = scope.spawn(move || socket.read(&mut [0; 1]).unwrap());
            (0..100).for_each(|_| thread::yield_now());
            far.write_all(b"a").unwrap();
            assert_eq!(reads.join().unwrap(), 1);
        });
        client.write_all(b"ab").unwrap();
        assert_eq!(line.read(&mut [0; 2], Instant::now() + LONG).unwrap(), 2);
    }

    /// It would keep its thread, and as that does not wait the place would not be free for others.
    #[test]
    fn a_client_that_floods_is_dropped_when_its_time_is_over() {
        let places = ClientPlaces::default();
        let (line, mut client) = connected(&places);
        client.set_nonblocking(true).unwrap();
        while client.write(&[b'x'; 4096]).is_ok() {}
        let mut socket = line.place().socket().try_clone().unwrap();
        line.finish(Instant::now()).unwrap();
        assert!(socket.read(&mut [0; 1]).is_ok_and(|count| count > 0), "it has said more");
    }

    #[test]
    fn a_client_that_says_nothing_hears_all_that_is_sent() {
        const LENGTH: usize = 64 << 20;
        let places = ClientPlaces::default();
        let (mut line, mut client) = connected(&places);
        thread::scope(|scope| {
            let hears = scope.spawn(move || client.read_exact(&mut vec![0; LENGTH]));
            line.send(&vec![b'x'; LENGTH], Instant::now() + LONG).unwrap();
            hears.join().unwrap().unwrap();
        });
    }
}
