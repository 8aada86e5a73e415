//! A reader whose peer is played here, as is the election thread.

use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::thread;
use std::time::Instant;

use crossbeam::channel::unbounded;
use socket2::{Domain, SockRef, Socket, Type};

use super::*;
use crate::net::deadline::STEP;
use crate::net::inbox::{Answering, ThreadEnd};
use crate::net::peers::PeerAddress;
use crate::net::refused::Refusals;
use crate::testing::within::within;
use crate::tls::Security;
use crate::wire::fuzz::streams;

/// Far longer than anything takes here.
const TIMEOUT: Duration = Duration::from_secs(20);

const CONNECTION: ConnectionId = ConnectionId(7);

/// A reader whose peer listens at this address, what it reports, and the thread that answers it.
fn reader(peer: NodeId, address: String) -> (Reception, Receiver<NetEvent>, Answering) {
    let counters = Arc::<Counters>::default();
    let peers = Peers::new(vec![PeerAddress { id: peer, name: "b".to_owned(), address }]);
    let refusals = Refusals::new(counters.clone(), |_, _| ());
    let greeter = Greeter { peers: peers.clone(), security: Security::default(), refusals };
    let (sender, events) = unbounded();
    let (answering, end) = ThreadEnd::new();
    let reception = Reception {
        peers,
        greeter,
        places: MemberPlaces::default(),
        failure_time: FailureTime::new(Duration::from_secs(60)),
        inbox: Inbox::new(sender, end),
        counters,
        realtime: Realtime::default(),
    };
    (reception, events, answering)
}

/// An address at which nobody listens, for as long as this socket is open.
fn refusing() -> (Socket, SocketAddr) {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    (socket, address)
}

/// Both ends of a connection: the reader's, and the peer's.
fn connection() -> (Arc<Closer>, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (Arc::new(Closer::new(listener.accept().unwrap().0)), far)
}

/// The next event is that the connection of this peer ended, and what the redial told.
#[track_caller]
fn ended(events: &Receiver<NetEvent>, peer: NodeId, redial: Redial) {
    let event = events.recv_timeout(TIMEOUT).expect("the end is reported");
    let end = Input::Ended { connection: CONNECTION, peer, redial };
    assert!(matches!(&event, NetEvent::Input(input) if *input == end), "{event:?}");
}

/// Whether a reader reports a refusal whose redial is taken, and reset by a process that is gone then, or not, and the
/// next redial is none, as another one is under way. None if the reset came too late, as the machine stood still.
fn reports_a_refusal(is_gone: bool, redials: bool) -> Option<bool> {
    let peer = NodeId::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (reader, events, _) = reader(peer, address.to_string());
    let (closer, _far) = connection();
    let since = Instant::now();
    thread::scope(|scope| {
        let reads = scope.spawn(|| reader.ended(CONNECTION, &closer, peer));
        let (redial, _) = listener.accept().unwrap();
        ended(&events, peer, Redial::Accepted);
        SockRef::from(&redial).set_linger(Some(Duration::ZERO)).unwrap();
        let _there = Some(listener).filter(|_| !is_gone);
        // A program that another test starts now listens there, too, until its exec.
        let is_refused = || TcpStream::connect(address).is_err();
        within(TIMEOUT, "nobody listens there", || !is_gone || is_refused());
        let _other = (!redials).then(|| reader.places.take_turn(peer, ReaderTask::Redial).unwrap());
        drop(redial); // by a reset
        reads.join().unwrap();
        (since.elapsed() < STEP).then(|| {
            events.try_iter().any(|event| matches!(event, NetEvent::Input(Input::Refused { .. })))
        })
    })
}

/// The kernel took it in the place of a process that ended just then, or a process did that was restarted.
#[test]
fn a_redial_that_is_reset_is_repeated_and_a_refusal_then_is_reported() {
    for (is_gone, redials) in [(true, true), (false, true), (true, false)] {
        let mut reports = std::iter::repeat_with(|| reports_a_refusal(is_gone, redials));
        assert_eq!(reports.find_map(|it| it), Some(is_gone && redials), "nothing else proves it");
    }
}

/// Otherwise the core would take the peer for connected, and refuse its next hello.
#[test]
fn the_end_of_a_connection_is_reported_if_its_welcome_came_too_late() {
    let Ok(Opening::Hello(hello)) = wire::decode_opening(&streams()[0][4..]) else { panic!() };
    let (peer, (_socket, address)) = (hello.id, refusing());
    let (reader, events, _answering) = reader(peer, address.to_string());
    let (closer, mut far) = connection();
    far.write_all(&streams()[0]).unwrap();
    thread::scope(|scope| {
        scope.spawn(|| reader.serve(CONNECTION, &closer));
        let mut inbound = Inbound::default();
        let Ok(NetEvent::Newcomer(newcomer)) = events.recv_timeout(TIMEOUT) else { panic!() };
        let address = far.local_addr().unwrap().to_string();
        let admitted = Input::Hello { connection: CONNECTION, address, hello: hello.clone() };
        assert_eq!(inbound.admit(*newcomer), admitted);
        closer.evict(); // as the oldest of a crowd
        inbound.welcome(CONNECTION, peer, &hello);
        ended(&events, peer, Redial::Refused);
        assert!(closer.shut.load(Ordering::Relaxed), "the election thread need not close it");
    });
}

/// The name service may hang in the same trouble. Besides, the name may mean another host by now.
#[test]
fn a_peer_is_redialed_where_it_was_reached() {
    let (peer, (_socket, address)) = (NodeId::default(), refusing());
    let (mut reader, events, _) = reader(peer, "b:1".to_owned());
    reader.places = MemberPlaces::with(|_| Err(ErrorKind::TimedOut.into()));
    for (reached, redial) in [(None, Redial::Failed), (Some(address), Redial::Refused)] {
        reader.places.set_reached(peer, reached);
        for _ in 0..2 {
            reader.ended(CONNECTION, &connection().0, peer);
            ended(&events, peer, redial);
        }
    }
}

/// Whether a certificate that comes on a redial is passed on. It has to come within a step, and the machine may stand
/// still.
fn passes_a_certificate_on() -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let Ok(Reply::Dead(certificate)) = wire::decode_reply(&streams()[2][4..]) else { panic!() };
    let peer = NodeId::default();
    let (reader, events, _) = reader(peer, listener.local_addr().unwrap().to_string());
    let (closer, mut far) = connection();
    far.set_read_timeout(Some(TIMEOUT)).unwrap();
    thread::scope(|scope| {
        let coroner = scope.spawn(|| {
            let mut redial = listener.accept().unwrap().0;
            redial.write_all(&streams()[2]).map(|()| redial)
        });
        reader.ended(CONNECTION, &closer, peer);
        let _redial = coroner.join().unwrap();
    });
    ended(&events, peer, Redial::Accepted);
    assert_eq!(far.read(&mut [0; 1]).unwrap(), 0, "it is closed on this side too");
    events
        .try_iter()
        .any(|event| matches!(event, NetEvent::Input(Input::Dead(it)) if it == certificate))
}

/// As of a peer whose process has died: its coroner says so to whoever dials.
#[test]
fn a_certificate_that_a_redial_brings_is_passed_on() {
    assert!((0..20).any(|_| passes_a_certificate_on()));
}

/// Later the connection may be idle for longer than a hello may take.
#[test]
fn a_peer_that_is_welcomed_may_be_silent_for_long_and_its_reader_has_its_name() {
    let Ok(Opening::Hello(hello)) = wire::decode_opening(&streams()[0][4..]) else { panic!() };
    let (reader, events, _answering) = reader(hello.id, refusing().1.to_string());
    let (closer, mut far) = connection();
    far.write_all(&streams()[0]).unwrap();
    thread::scope(|scope| {
        let reads = scope.spawn(|| {
            reader.serve(CONNECTION, &closer);
            std::fs::read_to_string("/proc/thread-self/comm").unwrap()
        });
        let mut inbound = Inbound::default();
        let Ok(NetEvent::Newcomer(newcomer)) = events.recv_timeout(TIMEOUT) else { panic!() };
        inbound.admit(*newcomer);
        inbound.welcome(ConnectionId(8), hello.id, &hello);
        assert!(!closer.is_welcomed(), "that is not its connection");
        inbound.welcome(CONNECTION, hello.id, &hello);
        wire::read_frame(&mut far, &mut Vec::new()).unwrap(); // its welcome
        let limits = [closer.stream.read_timeout(), closer.stream.write_timeout()];
        assert_eq!(limits.map(Result::unwrap), [None; 2], "the times of a hello are over");
        inbound.disconnect(hello.id);
        assert_eq!(reads.join().unwrap(), "reader-b\n");
    });
    assert!(events.is_empty(), "it was this node that ended it");
}

/// A peer that lives waits for a hello, and another reader that waits for the same peer may hear of its death.
#[test]
fn a_redial_that_tells_nothing_is_given_up_and_heard_out_by_one_reader_alone() {
    let (peer, listener) = (NodeId::default(), TcpListener::bind("127.0.0.1:0").unwrap());
    let (reader, events, _) = reader(peer, listener.local_addr().unwrap().to_string());
    let begun = Instant::now();
    reader.ended(CONNECTION, &connection().0, peer);
    ended(&events, peer, Redial::Accepted);
    assert!(begun.elapsed() < TIMEOUT && events.is_empty());
    drop(listener.accept().unwrap());
    let _turn = reader.places.take_turn(peer, ReaderTask::Watch).unwrap();
    thread::scope(|scope| {
        let answers = scope.spawn(|| {
            let mut redial = listener.accept().unwrap().0;
            let _ = redial.write_all(&streams()[2]); // a certificate
            redial
        });
        reader.ended(CONNECTION, &connection().0, peer);
        drop(answers.join().unwrap());
    });
    ended(&events, peer, Redial::Accepted);
    assert!(events.is_empty(), "another reader hears it");
}

#[test]
fn a_peer_is_redialed_at_its_own_address_and_one_that_is_gone_nowhere() {
    let (_socket, refuses) = refusing();
    let id = |number| NodeId(uuid::Uuid::from_u128(number));
    let (reader, events, _) = reader(id(1), refuses.to_string());
    let address = "no address".to_owned();
    let other = PeerAddress { id: id(2), name: "c".to_owned(), address };
    reader.peers.replace([vec![other], reader.peers.now().to_vec()].concat());
    for (peer, redial, name) in
        [(1, Redial::Refused, "b"), (2, Redial::Failed, "c"), (3, Redial::Failed, "?")]
    {
        reader.ended(CONNECTION, &connection().0, id(peer));
        ended(&events, id(peer), redial);
        assert_eq!(reader.name(id(peer)), name);
    }
    let (closer, _far) = connection();
    closer.shut();
    reader.ended(CONNECTION, &closer, id(1));
    assert!(events.is_empty(), "this node ended it");
}
