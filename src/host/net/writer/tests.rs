//! A writer whose peer is played here, as is the election thread.

use std::net::{SocketAddr, TcpListener};
use std::thread;

use crossbeam::channel::{Sender, bounded, unbounded};
use socket2::{Domain, Socket, Type};

mod steps;
#[cfg(feature = "tls")]
mod tls;

use super::*;
use crate::core::message::Kind;
use crate::core::types::NodeId;
use crate::net::dials::FailedDial;
use crate::net::inbox::{Answering, NetEvent, ThreadEnd};
use crate::net::line::{WriterLine, line};
use crate::wire::fuzz::streams;

/// Far longer than anything takes here.
const TIMEOUT: Duration = Duration::from_secs(600);

const PEER: NodeId = NodeId(uuid::Uuid::nil());

struct Scene {
    writer: PeerWriter,
    line: WriterLine,
    orders: Sender<WriterOrder>,
    events: Receiver<NetEvent>,
    _answering: Answering,
}

impl Scene {
    /// The peer is dialed at this address.
    fn new(address: &str, places: MemberPlaces) -> Scene {
        let peer = PeerAddress { id: PEER, name: "b".to_owned(), address: address.to_owned() };
        let counters = Arc::<Counters>::default();
        let why = "an earlier dial failed".to_owned();
        counters.dials.record(PEER, FailedDial { why, is_refused: false });
        let (sender, events) = unbounded::<NetEvent>();
        let (answering, end) = ThreadEnd::new();
        let surroundings = NetworkContext {
            inbox: Inbox::new(sender, end),
            places,
            peers: Peers::default(),
            security: Security::default(),
            refusals: Refusals::new(counters.clone(), |_, _| ()),
            counters: counters.clone(),
            realtime: Realtime::default(),
        };
        let (line, backlog) = line(counters);
        let (orders, ordered) = bounded(16);
        let failure_time = FailureTime::new(TIMEOUT);
        let writer = PeerWriter::new(peer, failure_time, surroundings, (backlog, ordered), 1);
        Scene { writer, line, orders, events, _answering: answering }
    }

    /// What the core has heard since the last call, by its names.
    fn heard(&self) -> Vec<String> {
        let name = |event| format!("{event:?}").split(['(', ' ', '{']).nth(1).unwrap().to_owned();
        self.events.try_iter().map(name).collect()
    }

    /// Why the last dial failed.
    fn failed(&self) -> Option<String> {
        self.writer.surroundings.counters.failed_dial(PEER)
    }

    fn reached(&self) -> Option<SocketAddr> {
        self.writer.surroundings.places.of(PEER)
    }
}

fn frame(payload: &[u8]) -> Frame {
    [&u32::try_from(payload.len()).unwrap().to_be_bytes()[..], payload].concat().into()
}

/// Dials a peer that answers the hello with these bytes. Gives the connection, if there is one.
fn dial(scene: &mut Scene, peer: &TcpListener, answer: &[u8]) -> Option<(Arc<Channel>, TcpStream)> {
    for (attempt, hello) in [(7, "of an earlier dial"), (1, "the present one")] {
        scene.orders.send(WriterOrder::Hello(attempt, frame(hello.as_bytes()))).unwrap();
        scene.orders.send(WriterOrder::Dial).unwrap(); // it dials already
    }
    thread::scope(|scope| {
        let answers = scope.spawn(|| {
            let mut stream = peer.accept().unwrap().0;
            let mut hello = Vec::new();
            wire::read_frame(&mut stream, &mut hello).unwrap();
            assert_eq!(String::from_utf8(hello).unwrap(), "the present one");
            stream.write_all(answer).unwrap();
            stream
        });
        let opened = scene.writer.open();
        let stream = answers.join().unwrap();
        opened.ok().map(|channel| (channel, stream))
    })
}

/// A dial ends in one of these ways.
#[test]
fn the_core_and_the_status_are_told_what_becomes_of_a_dial() {
    let frames = streams();
    let [_, welcome, dead, reject, ..] = &frames[..] else { panic!("{frames:?}") };
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = peer.local_addr().unwrap();
    let junk = frame(b"{}");
    let why = wire::decode_reply(b"{}").unwrap_err();
    let no_electd = format!("what answers there is no electd of this kind: {why}");
    for (answer, heard, failed) in [
        (&welcome[..], &["Dialed", "Welcomed"][..], None),
        (reject, &["Dialed", "Rejected"], None),
        (dead, &["Dialed", "Dead"], Some("its host certifies its death".to_owned())),
        (&junk, &["Dialed"], Some(no_electd)),
    ] {
        let mut scene = Scene::new(&address.to_string(), MemberPlaces::default());
        let opened = dial(&mut scene, &peer, answer);
        assert_eq!(scene.heard(), heard);
        assert_eq!(opened.is_some(), answer == &welcome[..]);
        assert_eq!(scene.reached(), opened.is_some().then_some(address));
        assert_eq!(scene.failed(), failed);
    }
}

#[test]
fn a_dial_that_reaches_nobody_is_told_with_the_step_that_failed() {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    let refuses = socket.local_addr().unwrap().as_socket().unwrap().to_string();
    let refused = format!("{refuses} refuses connections: start it, or look at where it listens");
    let [unknown, unreached] = [
        "b:1 does not resolve here: entity not found; correct it, or the name service",
        "no connection to b:1: Network is unreachable (os error 101)",
    ];
    let nameless = MemberPlaces::with(|_| Err(ErrorKind::NotFound.into()));
    let nowhere = MemberPlaces::with(|_| Ok(vec!["255.255.255.255:1".parse().unwrap()])); // all hosts
    for (address, places, heard, failed) in [
        (&refuses[..], MemberPlaces::default(), &["Refused"][..], &refused[..]),
        ("b:1", nameless, &[], unknown),
        ("b:1", nowhere, &[], unreached),
    ] {
        let mut scene = Scene::new(address, places);
        assert!(matches!(scene.writer.open(), Err(WriterEnd::Connection)));
        assert_eq!(scene.heard(), heard, "{failed}");
        assert_eq!(scene.failed().as_deref(), Some(failed));
    }
}

#[test]
fn a_peer_that_hangs_up_amid_the_hellos_is_told() {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut scene = Scene::new(&peer.local_addr().unwrap().to_string(), MemberPlaces::default());
    scene.orders.send(WriterOrder::Hello(1, frame(b"hello"))).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = peer.accept().unwrap().0;
            wire::read_frame(&mut stream, &mut Vec::new()).unwrap();
        });
        assert!(matches!(scene.writer.open(), Err(WriterEnd::Connection)));
    });
    let why = "it takes connections, and ends them without an answer to the hello: look at its log";
    assert_eq!(scene.failed().as_deref(), Some(why));
}

/// Later the peer may be elsewhere, and be another process.
#[test]
fn of_a_connection_that_has_ended_nothing_is_kept() {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut scene = Scene::new(&peer.local_addr().unwrap().to_string(), MemberPlaces::default());
    let (channel, stream) = dial(&mut scene, &peer, &streams()[1]).unwrap();
    scene.line.send(&[Kind::Heartbeat], &frame(b"a heartbeat"));
    let mut heard = Vec::new();
    wire::read_frame(&mut &stream, &mut heard).unwrap();
    assert_eq!(heard, b"a heartbeat");
    scene.heard();
    scene.writer.close(&channel);
    assert_eq!((scene.heard(), scene.reached()), (vec!["Lost".to_owned()], None));
    scene.line.send(&[Kind::Heartbeat], &frame(b"another"));
    let dropped =
        scene.writer.surroundings.counters.drops().find(|(name, _)| *name == "not_connected");
    assert_eq!(dropped, Some(("not_connected", 1)));
    let ended = wire::read_frame(&mut &stream, &mut heard);
    assert!(matches!(ended, Err(FrameError::Closed)), "{ended:?}");
}

#[test]
fn an_order_to_dial_ends_the_pause_and_no_other_order_does() {
    let mut scene = Scene::new("b:1", MemberPlaces::default());
    assert_eq!(scene.writer.back_off(Instant::now(), Duration::ZERO), Some(false));
    scene.orders.send(WriterOrder::Disconnect).unwrap();
    scene.orders.send(WriterOrder::Hello(1, frame(b"late"))).unwrap();
    let short = Duration::from_millis(2);
    assert_eq!(scene.writer.back_off(Instant::now(), short), Some(false));
    scene.orders.send(WriterOrder::Disconnect).unwrap();
    scene.orders.send(WriterOrder::Dial).unwrap();
    assert_eq!(scene.writer.back_off(Instant::now(), TIMEOUT), Some(true));
    drop(scene.orders);
    assert_eq!(scene.writer.back_off(Instant::now(), TIMEOUT), None, "the node stops");
}

/// As when the peer has closed it alone, and keeps the other one.
#[test]
fn the_end_of_an_idle_connection_is_noticed_within_failure() {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut scene = Scene::new(&peer.local_addr().unwrap().to_string(), MemberPlaces::default());
    let (channel, stream) = dial(&mut scene, &peer, &streams()[1]).unwrap();
    drop(stream);
    scene.writer.failure_time.set(Duration::from_millis(1));
    let (done, ended) = bounded(1);
    thread::spawn(move || done.send(matches!(scene.writer.write(&channel), WriterEnd::Connection)));
    assert_eq!(ended.recv_timeout(Duration::from_secs(20)), Ok(true));
}

/// As where the core objects to each welcome.
#[test]
fn who_is_connected_for_less_than_failure_is_dialed_more_and_more_rarely() {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = peer.local_addr().unwrap().to_string();
    let Scene { writer, line, orders, events, _answering } =
        Scene::new(&address, MemberPlaces::default());
    let next = || events.recv_timeout(TIMEOUT).unwrap();
    let begun = Instant::now();
    let writes = thread::spawn(move || writer.run());
    for attempt in 1..=6 {
        let mut stream = peer.accept().unwrap().0;
        assert!(
            matches!(next(), NetEvent::Input(Input::Dialed { attempt: now, .. }) if now == attempt)
        );
        orders.send(WriterOrder::Hello(attempt, frame(b"hello"))).unwrap();
        stream.write_all(&streams()[1]).unwrap();
        assert!(matches!(next(), NetEvent::Input(Input::Welcomed { .. })));
        orders.send(WriterOrder::Disconnect).unwrap();
        assert!(matches!(next(), NetEvent::Input(Input::Lost { .. })));
    }
    // Pauses of 10 to 160 ms, by half at most.
    assert!(begun.elapsed() > Duration::from_millis(150), "{:?}", begun.elapsed());
    drop((line, orders));
    writes.join().unwrap();
}

#[test]
fn the_system_is_told_how_long_a_connection_may_be_dead() {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let scene = Scene::new(&peer.local_addr().unwrap().to_string(), MemberPlaces::default());
    for (failure, unanswered, idle) in [(1, 400, 1), (1_500, 1_500, 1), (30_000, 30_000, 30)] {
        scene.writer.failure_time.set(Duration::from_millis(failure));
        let stream = TcpStream::connect(peer.local_addr().unwrap()).unwrap();
        scene.writer.watch(&stream).unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap());
        let found =
            (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
        assert_eq!(found, (Duration::from_secs(idle), Duration::from_secs(1)));
        assert_eq!(socket.tcp_user_timeout().unwrap(), Some(Duration::from_millis(unanswered)));
    }
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut scene = Scene::new(&peer.local_addr().unwrap().to_string(), MemberPlaces::default());
    let (channel, _stream) = dial(&mut scene, &peer, &streams()[1]).unwrap();
    let socket = SockRef::from(&channel.stream);
    assert_eq!(socket.tcp_user_timeout().unwrap(), Some(TIMEOUT), "of each connection");
    assert!(socket.tcp_nodelay().unwrap());
}

#[test]
fn a_peer_that_takes_a_connection_and_says_nothing_is_told_with_the_step() {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let scene = Scene::new(&peer.local_addr().unwrap().to_string(), MemberPlaces::default());
    let remedy = "look whether its process hangs, and whether large packets pass (the MTU)";
    scene.writer.failure_time.set(Duration::from_millis(1));
    let stream = TcpStream::connect(peer.local_addr().unwrap()).unwrap();
    assert!(scene.writer.ask(&stream, None, &frame(b"hello")).is_err());
    let told = format!("it takes connections, and the hello is not answered: {remedy}");
    assert_eq!(scene.failed(), Some(told));
    scene.writer.refuse(None);
    let told = format!("it takes connections, and the TLS handshake is not answered: {remedy}");
    assert_eq!(scene.failed(), Some(told));
}

#[test]
fn of_a_peer_that_is_not_dialed_any_more_no_failure_is_told() {
    let places = MemberPlaces::with(|_| Err(ErrorKind::NotFound.into()));
    let Scene { writer, line, orders, events: _events, _answering } = Scene::new("b:1", places);
    let counters = writer.surroundings.counters.clone();
    assert!(counters.failed_dial(PEER).is_some());
    drop((line, orders));
    writer.run();
    assert_eq!(counters.failed_dial(PEER), None);
}

/// Whether a node that stops says all that the socket did not take at once. It has a step for that, and the machine may
/// stand still.
fn says_its_last_words() -> bool {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut scene = Scene::new(&peer.local_addr().unwrap().to_string(), MemberPlaces::default());
    let (channel, stream) = dial(&mut scene, &peer, &streams()[1]).unwrap();
    let said = fill(&scene);
    let reads = thread::spawn(move || heard_whole(stream));
    scene.writer.flush(&channel);
    channel.close();
    (reads.join().unwrap(), counted(&scene.writer.surroundings.counters)) == (said, said)
}

/// Sends until three messages wait. Gives how many were sent, with those.
fn fill(scene: &Scene) -> u64 {
    let last = frame(&vec![7; 200_000]);
    let mut said = 0;
    while scene.writer.backlog.queue.len() < 3 && said < 1000 {
        scene.line.send(&[Kind::Heartbeat], &last);
        said += 1;
    }
    assert_eq!(counted(&scene.writer.surroundings.counters), said - 3);
    said
}

/// How many messages have left.
fn counted(counters: &Counters) -> u64 {
    counters.messages().find(|(kind, ..)| *kind == Kind::Heartbeat).unwrap().1
}

/// How many of those arrive.
fn heard_whole(mut stream: TcpStream) -> u64 {
    let (mut heard, mut payload) = (0, Vec::new());
    while wire::read_frame(&mut stream, &mut payload).is_ok() {
        heard += u64::from(payload.len() == 200_000);
    }
    heard
}

#[test]
fn the_last_words_of_a_node_that_stops_are_sent_whole() {
    assert!((0..20).any(|_| says_its_last_words()));
}
