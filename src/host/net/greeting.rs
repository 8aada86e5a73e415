//! The first words of a dialer: with TLS the handshake, then the hello; all within one deadline.
//!
//! A dialer that is refused here has proved nothing, so the election thread does not hear of it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use log::debug;

use super::deadline::Deadline;
use super::peers::Peers;
use super::refused::{Refusals, Who};
use crate::core::message::{Hello, Rejection};
use crate::core::types::NodeId;
use crate::tls::{Secured, Security, Session, TlsCause, TlsFault};
use crate::wire::{self, FrameError, Opening};

/// The first byte of a TLS handshake. A frame begins with 0, since its length never needs the first
/// byte.
const TLS: u8 = 0x16;

/// The number of bytes to read from a refused dialer, so that it can read why.
const MOST_LEFT: u64 = 64 * 1024;

/// The data that the first words are checked against.
#[derive(Clone)]
pub struct Greeter {
    pub peers: Peers,
    pub security: Security,
    pub refusals: Refusals,
}

impl Greeter {
    /// Takes the first words. None if there is no hello to answer; then the dialer was told why, if it
    /// can read that.
    pub fn listen(
        &self,
        stream: &TcpStream,
        address: SocketAddr,
        limit: Duration,
    ) -> Option<(Opening, Option<Session>)> {
        let mut timed = Deadline::new(stream, limit);
        let mut session = match self.shake_hands(&mut timed) {
            Ok(session) => session,
            Err(fault) => {
                match fault {
                    Some(fault) => self.refuse(address, fault),
                    None => debug!("{address} ended the TLS handshake, or is too slow"),
                }
                part(stream, timed);
                return None;
            }
        };
        let mut payload = Vec::new();
        let read = wire::read_frame(&mut Secured::new(&mut timed, session.as_mut()), &mut payload);
        if let Err(error) = read {
            debug!("{address} said no hello: {error}");
            if session.is_none() && speaks_tls(&error) {
                let why = "it speaks TLS, and this node has none: give all members `tls`, or none";
                self.refuse(address, TlsFault::of_peer(TlsCause::Tls, why));
                answer(&mut timed, &differs("tls", "off", "on"));
                part(stream, timed);
            }
            return None;
        }
        let opening = wire::decode_opening(&payload)
            .map_err(|error| debug!("{address} said no hello: {error}"))
            .ok()?;
        if let (Opening::Hello(hello), Some(session)) = (&opening, &mut session)
            && let Err((fault, reason)) = self.prove(hello, session)
        {
            self.refuse(address, fault);
            answer(&mut Secured::new(&mut timed, Some(session)), &reason);
            part(stream, timed);
            return None;
        }
        Some((opening, session))
    }

    /// With TLS: takes the handshake, or tells a dialer that has none.
    fn shake_hands(&self, timed: &mut Deadline) -> Result<Option<Session>, Option<TlsFault>> {
        let Some(credentials) = self.security.now() else { return Ok(None) };
        if timed.peek().ok().flatten().ok_or(None)? == TLS {
            return Session::accept(&credentials, timed).map(Some);
        }
        let mut payload = Vec::new();
        wire::read_frame(timed, &mut payload).map_err(|_| None)?;
        let name = match wire::decode_opening(&payload) {
            Ok(Opening::Hello(hello)) => self.name(&hello),
            _ => None,
        };
        let says = name.map_or_else(String::new, |name| format!(" (it says that it is {name})"));
        answer(timed, &differs("tls", "on", "off"));
        let why = format!("it speaks no TLS{says}: give all members `tls`, and look at who it is");
        Err(Some(TlsFault::of_peer(TlsCause::Plain, why)))
    }

    /// Whether the certificate is that of the member that the hello names.
    fn prove(&self, hello: &Hello, session: &Session) -> Result<(), (TlsFault, Rejection)> {
        // A name that is in no list belongs to no member; the core words that refusal better.
        let Some(name) = self.name(hello) else { return Ok(()) };
        session.prove(&name).map_err(|fault| {
            let reason = differs("certificate", &name, &session.shown());
            (TlsFault { why: format!("it says that it is {name}: {}", fault.why), ..fault }, reason)
        })
    }

    /// The name of the member that sent this hello: from this node's list, or from the hello's if the
    /// member was added meanwhile.
    fn name(&self, hello: &Hello) -> Option<String> {
        let named = |id: NodeId| {
            self.peers.now().iter().find(|peer| peer.id == id).map(|peer| peer.name.clone())
        };
        named(hello.id).or_else(|| hello.list.get(hello.id).map(|member| member.name.clone()))
    }

    fn refuse(&self, address: SocketAddr, fault: TlsFault) {
        self.refusals.tell(Who::Address(address.ip()), fault);
    }
}

/// A setting that must be shared is not.
fn differs(key: &str, ours: &str, theirs: &str) -> Rejection {
    Rejection::Disagreement {
        key: key.to_owned(),
        ours: ours.to_owned(),
        theirs: theirs.to_owned(),
    }
}

/// Tells a dialer why it is refused, if it still listens.
fn answer(to: &mut impl Write, reason: &Rejection) {
    let _ = to.write_all(&wire::encode_rejection(reason));
}

/// Whether the first bytes, which are no frame, begin a TLS handshake.
fn speaks_tls(error: &FrameError) -> bool {
    matches!(error, FrameError::TooLong(length) if length.to_be_bytes()[..2] == [TLS, 3])
}

/// Ends a connection so that the other side can read why: if a socket with unread bytes is closed, the
/// kernel discards what was written to it.
fn part(stream: &TcpStream, timed: Deadline) {
    if stream.shutdown(Shutdown::Write).is_ok() {
        let _ = io::copy(&mut timed.take(MOST_LEFT), &mut io::sink());
    }
}

#[cfg(all(test, feature = "tls"))]
mod tests {
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;

    use crossbeam::channel::{Receiver, unbounded};

    use super::*;
    use crate::net::PeerAddress;
    use crate::net::counters::Counters;
    use crate::tls::Credentials;
    use crate::tls::tests::{credentials, members, sessions};
    use crate::wire::Reply;

    /// Far longer than anything takes here.
    const LIMIT: Duration = Duration::from_secs(20);

    /// A greeter that knows no peer, what it tells of those it refuses, and the counts.
    fn greeter(security: Security) -> (Greeter, Receiver<(Who, TlsFault)>, Arc<Counters>) {
        let (tell, told) = unbounded();
        let counters = Arc::<Counters>::default();
        let refusals = Refusals::new(counters.clone(), move |who, fault| {
            let _ = tell.send((who, fault));
        });
        (Greeter { peers: Peers::new(Vec::new()), security, refusals }, told, counters)
    }

    /// A dialer that says these bytes. Gives what is taken of it, and all that it hears until the connection ends.
    fn says(greeter: &Greeter, bytes: &[u8]) -> (Option<Opening>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut dialer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        dialer.set_read_timeout(Some(LIMIT)).unwrap();
        dialer.write_all(bytes).unwrap();
        let (stream, address) = listener.accept().unwrap();
        let hears = thread::spawn(move || {
            let mut heard = Vec::new();
            dialer.read_to_end(&mut heard).expect("it ends without a reset");
            heard
        });
        let opening = greeter.listen(&stream, address, LIMIT).map(|(opening, _)| opening);
        drop(stream);
        (opening, hears.join().unwrap())
    }

    /// The one refusal that was told and counted.
    fn only(told: &Receiver<(Who, TlsFault)>, counters: &Counters) -> (&'static str, String) {
        let (who, fault) = told.try_recv().expect("it is told");
        assert_eq!(who, Who::Address([127, 0, 0, 1].into()));
        let counted: Vec<_> = counters.refusals().filter(|(_, count)| *count > 0).collect();
        assert_eq!(counted, [(fault.cause.name(), 1)]);
        assert!(told.try_recv().is_err(), "only once");
        (fault.cause.name(), fault.why)
    }

    /// The answer in plain words.
    fn answered(heard: &[u8]) -> Reply {
        wire::decode_reply(&heard[4..]).unwrap()
    }

    #[test]
    fn without_tls_who_speaks_it_is_told_so_and_who_says_junk_is_not() {
        let (greeter, told, counters) = greeter(Security::default());
        let frames = wire::fuzz::streams();
        let [hello, welcome, ..] = &frames[..] else { panic!() };
        let (opening, heard) = says(&greeter, hello);
        assert!(matches!(opening, Some(Opening::Hello(_))) && heard.is_empty());
        for junk in [&welcome[..], &[0, 0, 0, 1, b'7'], &[TLS, 4, 0, 0], &[9, 3, 1, 0]] {
            let (opening, heard) = says(&greeter, junk);
            assert!(opening.is_none() && heard.is_empty() && told.is_empty(), "{junk:?}");
        }
        let mut of_tls = vec![7; 600];
        of_tls[..5].copy_from_slice(&[TLS, 3, 1, 2, 0x53]);
        let (opening, heard) = says(&greeter, &of_tls);
        assert_eq!((opening, answered(&heard)), (None, Reply::Reject(differs("tls", "off", "on"))));
        let why = "it speaks TLS, and this node has none: give all members `tls`, or none";
        assert_eq!(only(&told, &counters), ("tls", why.to_owned()));
    }

    #[test]
    fn with_tls_who_speaks_none_is_told_so_and_named_if_it_says_who_it_is() {
        let secured = || greeter(Security::new(Some(credentials())));
        let frames = wire::fuzz::streams();
        let [hello, welcome, ..] = &frames[..] else { panic!() };
        for (bytes, says_that) in [(hello, " (it says that it is node-1)"), (welcome, "")] {
            let (greeter, told, counters) = secured();
            // What it says after that stays unread, and it reads why all the same.
            let (opening, heard) = says(&greeter, &[&bytes[..], &[7; 1000]].concat());
            assert_eq!(
                (opening, answered(&heard)),
                (None, Reply::Reject(differs("tls", "on", "off")))
            );
            let why = format!(
                "it speaks no TLS{says_that}: give all members `tls`, and look at who it is"
            );
            assert_eq!(only(&told, &counters), ("plain", why));
        }
        let (greeter, told, counters) = secured();
        let (opening, heard) = says(&greeter, &[TLS, 3, 1, 0, 4, 7, 0, 0, 0]);
        assert!(opening.is_none() && !heard.is_empty(), "an alert");
        assert!(["plain", "broken"].contains(&only(&told, &counters).0));
    }

    /// Our list comes first. A member that was added a moment ago is in its own list alone.
    #[test]
    fn a_dialer_proves_the_name_that_our_list_or_else_its_own_gives_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut far = listener.accept().unwrap().0;
        let (_, shows_a) = sessions(&mut near, &mut far).unwrap();
        let Ok(Opening::Hello(hello)) = wire::decode_opening(&wire::fuzz::greetings()[0]) else {
            panic!("no hello")
        };
        let proves = |name: Option<&str>, hello: &Hello| {
            let named = |name: &str| PeerAddress {
                id: hello.id,
                name: name.to_owned(),
                address: String::new(),
            };
            let greeter = Greeter {
                peers: Peers::new(name.map(named).into_iter().collect()),
                security: Security::default(),
                refusals: Refusals::new(std::sync::Arc::default(), |_, _| ()),
            };
            greeter.prove(hello, &shows_a).map_err(|(fault, _)| fault.why)
        };
        let it_says =
            |name| format!("it says that it is {name}: its certificate is for electd://hc/a");
        assert_eq!(proves(Some("a"), &hello), Ok(()));
        assert!(proves(Some("b"), &hello).is_err_and(|why| why.starts_with(&it_says("b"))));
        assert!(proves(None, &hello).is_err_and(|why| why.starts_with(&it_says("node-1"))));
        let unknown = Hello { id: NodeId::default(), ..hello };
        assert_eq!(proves(None, &unknown), Ok(()), "the core refuses it");
    }

    /// A member that says its hello over TLS, and the answer if there is one.
    fn says_over_tls(greeter: &Greeter, dialer: &Credentials) -> (bool, Option<Reply>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        near.set_read_timeout(Some(LIMIT)).unwrap();
        let (stream, address) = listener.accept().unwrap();
        thread::scope(|scope| {
            let hears = scope.spawn(move || {
                let mut session = Session::dial(dialer, "b", &mut near).unwrap();
                let mut secured = Secured::new(&mut near, Some(&mut session));
                secured.write_all(&wire::fuzz::streams()[0]).unwrap();
                let mut answer = Vec::new();
                wire::read_frame(&mut secured, &mut answer).ok()?;
                Some(wire::decode_reply(&answer).unwrap())
            });
            let taken = greeter.listen(&stream, address, LIMIT);
            let is_taken = matches!(&taken, Some((Opening::Hello(_), Some(_))));
            assert_eq!(taken.is_some(), is_taken);
            drop((taken, stream));
            (is_taken, hears.join().unwrap())
        })
    }

    #[test]
    fn over_tls_only_who_is_what_it_says_is_taken_and_another_reads_why_not() {
        let [a, b] = members();
        let (mut greeter, told, counters) = greeter(Security::new(Some(b)));
        let refused = differs("certificate", "node-1", "for electd://hc/a");
        assert_eq!(says_over_tls(&greeter, &a), (false, Some(Reply::Reject(refused))));
        let why = "it says that it is node-1: its certificate is for electd://hc/a, and not electd://hc/node-1: give \
                   every member its own certificate";
        assert_eq!(only(&told, &counters), ("other_member", why.to_owned()));
        let Ok(Opening::Hello(hello)) = wire::decode_opening(&wire::fuzz::greetings()[0]) else {
            panic!("no hello")
        };
        let known = PeerAddress { id: hello.id, name: "a".to_owned(), address: String::new() };
        greeter.peers = Peers::new(vec![known]);
        assert_eq!(says_over_tls(&greeter, &a), (true, None));
        assert!(told.is_empty());
    }

    /// Nothing is known of it that an operator could mend.
    #[test]
    fn who_says_nothing_is_let_go_after_its_time_without_a_word() {
        for security in [Security::default(), Security::new(Some(credentials()))] {
            let (greeter, told, _) = greeter(security);
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let _silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, address) = listener.accept().unwrap();
            assert!(greeter.listen(&stream, address, Duration::from_millis(1)).is_none());
            assert!(told.is_empty());
        }
    }
}
