//! The network of a node, one peer of which is played here, as is the election thread.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

use crossbeam::channel::{Receiver, TryRecvError, unbounded};
use socket2::SockRef;

use super::newcomer::Closer;
use super::*;
use crate::core::Redial;
use crate::core::detector::ConnectionId;
use crate::core::message::{Envelope, Hello, Kind, Message};
use crate::core::types::{Epoch, Incarnation};
use crate::realtime::Realtime;
use crate::testing::within::within;
use crate::tls::{Security, TlsFault};
use crate::wire::fuzz::streams;
use crate::wire::{self, Opening};

mod names;

/// Far longer than anything takes here.
const TIMEOUT: Duration = Duration::from_secs(20);

struct Scene {
    net: Net,
    socket: OwnListener,
    events: Receiver<NetEvent>,
    /// Where the node listens.
    at: std::net::SocketAddr,
    hello: Hello,
    counters: Arc<Counters>,
    _answering: Answering,
}

impl Scene {
    /// A node without peers.
    fn new() -> Scene {
        Scene::with(Security::default(), |_, _| ())
    }

    /// The same, with these credentials, which tells of those that it refuses.
    fn with(security: Security, tell: impl Fn(Who, TlsFault) + Send + Sync + 'static) -> Scene {
        let (sender, events) = unbounded::<NetEvent>();
        let (answering, end) = ThreadEnd::new();
        let counters = Arc::<Counters>::default();
        let refusals = Refusals::new(counters.clone(), tell);
        let surroundings = NetworkContext::new(
            Inbox::new(sender, end),
            Peers::default(),
            security,
            refusals,
            counters.clone(),
            Realtime::default(),
        );
        let own = OwnAddress::new("127.0.0.1:0", "127.0.0.1:0");
        let socket = OwnListener::bind(own, TIMEOUT, Vec::new()).unwrap();
        let at = socket.socket().unwrap().local_addr().unwrap();
        let net = Net::start(socket.clone(), Vec::new(), TIMEOUT * 10, surroundings, 1).unwrap();
        let Ok(Opening::Hello(hello)) = wire::decode_opening(&streams()[0][4..]) else { panic!() };
        Scene { net, socket, events, at, hello, counters, _answering: answering }
    }

    fn peer(&self, listener: &TcpListener) -> PeerAddress {
        let address = listener.local_addr().unwrap().to_string();
        PeerAddress { id: self.hello.id, name: "b".to_owned(), address }
    }

    fn dropped(&self, what: &str) -> u64 {
        self.counters.drops().find(|(name, _)| *name == what).unwrap().1
    }

    /// The node stops: no thread of its network is left then, so nothing can come any more.
    #[track_caller]
    fn ends(self) {
        self.net.stop();
        let left = std::iter::repeat_with(|| self.events.try_recv()).find_map(Result::err);
        assert_eq!(left, Some(TryRecvError::Disconnected), "who could tell something has ended");
        assert!(self.socket.socket().is_none(), "nobody listens");
    }

    fn next(&self) -> NetEvent {
        self.events.recv_timeout(TIMEOUT).expect("something comes")
    }

    /// The peer says hello, and is welcomed. Gives its end, and the number of the connection.
    fn hears(&mut self) -> (TcpStream, ConnectionId) {
        let (stream, connection, _) = self.hears_by();
        (stream, connection)
    }

    /// The same, with what the node keeps of the connection.
    fn hears_by(&mut self) -> (TcpStream, ConnectionId, Weak<Closer>) {
        let mut stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(&streams()[0]).unwrap();
        let NetEvent::Newcomer(newcomer) = self.next() else { panic!("no hello") };
        let socket = SockRef::from(&newcomer.closer.stream);
        assert!(socket.tcp_nodelay().unwrap() && socket.keepalive().unwrap(), "it is tuned");
        let kept = Arc::downgrade(&newcomer.closer);
        let Input::Hello { connection, .. } = self.net.admit(*newcomer) else { panic!("no hello") };
        let (peer, welcome) = (self.hello.id, self.hello.clone());
        assert_eq!(self.net.carry(Output::Welcome { connection, peer, welcome }), None);
        assert!(read(&mut stream).starts_with("{\"welcome\":"));
        (stream, connection, kept)
    }

    /// The peer is dialed, hears the hello, and has yet to answer. Gives its end.
    fn greets(&mut self, listener: &TcpListener) -> TcpStream {
        let mut stream = listener.accept().unwrap().0;
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let NetEvent::Input(Input::Dialed { peer, attempt }) = self.next() else { panic!("none") };
        let hello = self.hello.clone();
        assert_eq!(self.net.carry(Output::Hello { to: peer, attempt, hello }), None);
        read(&mut stream);
        stream
    }

    /// The peer is dialed, and welcomes this node. Gives its end.
    fn speaks(&mut self, listener: &TcpListener) -> TcpStream {
        let mut stream = self.greets(listener);
        stream.write_all(&streams()[1]).unwrap();
        let welcomed = self.next();
        assert!(matches!(welcomed, NetEvent::Input(Input::Welcomed { .. })), "{welcomed:?}");
        stream
    }
}

fn probe() -> Envelope {
    let message = Message::Probe { number: 1 };
    Envelope { epoch: Epoch(1), incarnation: Incarnation(1), message }
}

fn read(stream: &mut TcpStream) -> String {
    let mut payload = Vec::new();
    wire::read_frame(stream, &mut payload).unwrap();
    String::from_utf8(payload).unwrap()
}

#[track_caller]
fn has_ended(stream: &mut TcpStream) {
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "it has ended");
}

#[test]
fn a_member_that_is_removed_hears_the_last_words_and_both_connections_end() {
    let (mut scene, listener) = (Scene::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    scene.net.set_peers(vec![scene.peer(&listener)]);
    let (mut to, (mut from, _)) = (scene.speaks(&listener), scene.hears());
    let last = Output::Send { to: vec![scene.hello.id], envelope: probe() };
    assert_eq!(scene.net.carry(last), None);
    let other = Output::Members(scene.hello.list.clone());
    assert_eq!(scene.net.carry(other.clone()), Some(other), "that is not for the network");
    scene.net.set_peers(Vec::new());
    assert!(read(&mut to).contains("\"probe\""));
    has_ended(&mut to);
    has_ended(&mut from);
    scene.ends();
}

/// As of one that the file already names.
#[test]
fn a_member_that_was_added_is_redialed_when_its_connection_ends() {
    let (mut scene, listener) = (Scene::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    scene.net.set_peers(vec![scene.peer(&listener)]);
    let (_to, (from, first)) = (scene.speaks(&listener), scene.hears());
    SockRef::from(&listener).shutdown(Shutdown::Both).unwrap();
    drop(from);
    let end = Input::Ended { connection: first, peer: scene.hello.id, redial: Redial::Refused };
    let event = scene.next();
    assert!(matches!(&event, NetEvent::Input(input) if *input == end), "{event:?}");
    scene.ends();
}

/// As for want of descriptors: here a socket that does not wait finds nobody. A peer without a welcome makes room then.
#[test]
fn a_node_that_could_not_accept_a_connection_accepts_the_next() {
    let mut scene = Scene::new();
    let mut waits = TcpStream::connect(scene.at).unwrap();
    waits.set_read_timeout(Some(TIMEOUT)).unwrap();
    waits.write_all(&streams()[0]).unwrap();
    let event = scene.next();
    assert!(matches!(event, NetEvent::Newcomer(_)), "{event:?}");
    let socket = scene.socket.socket().unwrap();
    let socket = SockRef::from(&*socket);
    socket.shutdown(Shutdown::Both).unwrap(); // no accept succeeds until it listens again
    while scene.socket.look(&[], &[]).is_none() {
        thread::yield_now();
    }
    has_ended(&mut waits);
    drop(event);
    let begin = Instant::now();
    socket.listen(9).unwrap();
    scene.at = socket.local_addr().unwrap().as_socket().unwrap(); // the system draws another port
    let _next = scene.hears();
    assert!(begin.elapsed() < TIMEOUT / 2, "it pauses for {:?}", begin.elapsed());
    scene.ends();
}

#[test]
fn a_connection_that_a_newer_one_replaces_ends_in_silence() {
    let mut scene = Scene::new();
    let (mut first, replaced) = scene.hears();
    assert_eq!(scene.net.carry(Output::Close { connection: replaced }), None);
    has_ended(&mut first);
    let (mut second, connection) = scene.hears();
    assert_eq!(scene.net.carry(Output::Close { connection: replaced }), None);
    second.write_all(&wire::encode_message(&probe())).unwrap();
    let message = Input::Message { connection, from: scene.hello.id, envelope: probe() };
    let event = scene.next();
    assert!(matches!(&event, NetEvent::Input(input) if *input == message), "{event:?}");
    scene.ends();
}

#[test]
fn the_writers_wait_by_the_failure_of_a_reload() {
    let (mut scene, listener) = (Scene::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    scene.net.set_peers(vec![scene.peer(&listener)]);
    drop(scene.speaks(&listener));
    scene.net.set_failure(Duration::from_millis(1)); // to look at an idle connection
    assert_eq!(scene.net.carry(Output::Dial { peer: scene.hello.id }), None); // it wakes the writer
    let event = scene.next();
    assert!(matches!(event, NetEvent::Input(Input::Lost { .. })), "{event:?}");
    scene.ends();
}

/// It holds a descriptor and the stack of a thread, and members may come back for years.
#[test]
fn of_a_connection_that_has_ended_nothing_is_kept_when_others_come() {
    let mut scene = Scene::new();
    let (ends, connection, of_ended) = scene.hears_by();
    let (_stays, _, of_open) = scene.hears_by();
    drop(ends);
    let event = scene.next();
    assert!(matches!(event, NetEvent::Input(Input::Ended { .. })), "{event:?}");
    assert_eq!(scene.net.carry(Output::Close { connection }), None);
    within(TIMEOUT, "it is let go", || {
        TcpStream::connect(scene.at).unwrap();
        of_ended.strong_count() == 0
    });
    assert!(of_open.strong_count() > 0);
    scene.ends();
}

/// Its writer still waits for the answer to its hello.
#[test]
fn a_node_that_stops_waits_for_the_threads_of_members_that_were_removed() {
    let (mut scene, listener) = (Scene::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    scene.net.set_peers(vec![scene.peer(&listener)]);
    let _waits = scene.greets(&listener);
    scene.net.set_peers(Vec::new());
    scene.ends();
}

/// It does not wait for those who say nothing, or who wait for an answer of the core.
#[test]
fn a_node_that_stops_ends_the_connections_of_strangers_too() {
    let scene = Scene::new();
    let mut strangers = [(); 4].map(|()| TcpStream::connect(scene.at).unwrap());
    strangers.iter().for_each(|one| one.set_read_timeout(Some(TIMEOUT)).unwrap());
    scene.ends();
    for stranger in &mut strangers {
        // One that was not accepted yet is reset.
        assert_eq!(stranger.read(&mut [0; 1]).unwrap_or(0), 0);
    }
}

/// A later version may say more. What is no message at all does not come from a member.
#[test]
fn a_message_of_a_later_version_is_left_out_and_after_junk_nothing_is_read() {
    let mut scene = Scene::new();
    let (mut peer, connection) = scene.hears();
    let text = String::from_utf8(wire::encode_message(&probe())[4..].to_vec()).unwrap();
    let say = |peer: &mut TcpStream, text: &str| {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        peer.write_all(&[&length[..], text.as_bytes()].concat()).unwrap();
    };
    let later = text.replace("\"probe\"", "\"ponder\"");
    assert_ne!(later, text);
    [&*later, &*later, &*text].into_iter().for_each(|text| say(&mut peer, text));
    let message = Input::Message { connection, from: scene.hello.id, envelope: probe() };
    let event = scene.next();
    assert!(matches!(&event, NetEvent::Input(input) if *input == message), "{event:?}");
    say(&mut peer, "{}");
    let event = scene.next();
    assert!(matches!(&event, NetEvent::Input(Input::Ended { .. })), "{event:?}");
    has_ended(&mut peer);
    assert_eq!((scene.dropped("unknown"), scene.dropped("junk")), (2, 1));
    let probes = scene.counters.messages().find(|(kind, ..)| *kind == Kind::Probe);
    assert_eq!(probes, Some((Kind::Probe, 0, 1)));
    let mut stranger = TcpStream::connect(scene.at).unwrap();
    stranger.set_read_timeout(Some(TIMEOUT)).unwrap();
    say(&mut stranger, "{}");
    has_ended(&mut stranger);
    assert_eq!(scene.dropped("no_hello"), 1);
    scene.ends();
}

/// Rule X1. Here they have said hello, and the core does not answer.
#[test]
fn of_a_crowd_that_waits_for_a_welcome_the_oldest_goes_and_no_peer_that_has_one() {
    let mut scene = Scene::new();
    let (mut welcomed, connection) = scene.hears();
    let waits = || {
        let mut stream = TcpStream::connect(scene.at).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream.write_all(&streams()[0]).unwrap();
        let event = scene.next();
        assert!(matches!(event, NetEvent::Newcomer(_)), "{event:?}");
        (stream, event)
    };
    let mut crowd: Vec<_> = (0..64).map(|_| waits()).collect();
    let stays = |stream: &mut TcpStream| {
        stream.set_nonblocking(true).unwrap();
        let read = stream.read(&mut [0; 1]);
        stream.set_nonblocking(false).unwrap();
        read.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    };
    assert!(stays(&mut crowd[0].0));
    for oldest in 0..2 {
        crowd.push(waits());
        has_ended(&mut crowd[oldest].0);
        assert!(stays(&mut crowd[oldest + 1].0), "the next one");
    }
    welcomed.write_all(&wire::encode_message(&probe())).unwrap();
    let message = Input::Message { connection, from: scene.hello.id, envelope: probe() };
    let event = scene.next();
    assert!(matches!(&event, NetEvent::Input(input) if *input == message), "{event:?}");
    drop(crowd);
    scene.ends();
}

/// By the node itself, which knows why, or because the dialer speaks a later protocol alone.
#[test]
fn a_dialer_that_is_refused_reads_why_and_its_connection_ends() {
    let mut scene = Scene::new();
    let dials = |hello: &[u8]| {
        let mut stream = TcpStream::connect(scene.at).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
            .write_all(&[&u32::try_from(hello.len()).unwrap().to_be_bytes()[..], hello].concat())
            .unwrap();
        stream
    };
    let mut later = dials(br#"{"protocol": 4000000000}"#);
    let why = read(&mut later);
    assert!(why.starts_with("{\"reject\":") && why.contains("4000000000"), "{why}");
    has_ended(&mut later);
    let mut known = dials(&streams()[0][4..]);
    let NetEvent::Newcomer(newcomer) = scene.next() else { panic!("no hello") };
    let Input::Hello { connection, .. } = scene.net.admit(*newcomer) else { panic!("no hello") };
    let Ok(wire::Reply::Reject(reason)) = wire::decode_reply(&streams()[3][4..]) else { panic!() };
    assert_eq!(scene.net.carry(Output::Reject { connection, reason }), None);
    assert_eq!(read(&mut known).as_bytes(), &streams()[3][4..]);
    has_ended(&mut known);
    scene.ends();
}

#[test]
fn both_connections_of_a_peer_end_if_the_core_says_so_and_all_with_the_node() {
    let (mut scene, listener) = (Scene::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    scene.net.set_peers(vec![scene.peer(&listener)]);
    let (mut to, (mut from, _)) = (scene.speaks(&listener), scene.hears());
    assert_eq!(scene.net.carry(Output::Disconnect { peer: scene.hello.id }), None);
    has_ended(&mut to);
    has_ended(&mut from);
    let event = scene.next();
    assert!(matches!(event, NetEvent::Input(Input::Lost { .. })), "{event:?}");
    let (mut to, (mut from, _)) = (scene.speaks(&listener), scene.hears());
    scene.ends();
    has_ended(&mut to);
    has_ended(&mut from);
}

/// In one parcel or in several.
#[test]
fn messages_arrive_in_the_order_in_which_they_were_sent_and_count_by_their_kinds() {
    let (mut scene, listener) = (Scene::new(), TcpListener::bind("127.0.0.1:0").unwrap());
    scene.net.set_peers(vec![scene.peer(&listener)]);
    let mut to = scene.speaks(&listener);
    let alive = Envelope { message: Message::Alive { number: 2 }, ..probe() };
    for envelope in [probe(), alive.clone(), alive] {
        let to = vec![scene.hello.id];
        assert_eq!(scene.net.carry(Output::Send { to, envelope }), None);
    }
    scene.net.flush();
    let words = [(); 3].map(|()| read(&mut to));
    let arrived = ["probe", "alive", "alive"].map(|word| format!("\"{word}\""));
    assert!(words.iter().zip(&arrived).all(|(text, word)| text.contains(word)), "{words:?}");
    let counted = || {
        let sent = scene.counters.messages().filter(|(_, sent, _)| *sent > 0);
        sent.map(|(kind, sent, _)| (kind, sent)).collect::<Vec<_>>()
    };
    within(TIMEOUT, "they count", || counted() == [(Kind::Probe, 1), (Kind::Alive, 2)]);
    scene.ends();
}
