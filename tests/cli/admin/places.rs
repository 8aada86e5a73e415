//! How many clients may do the same at a time, and who gives way to the next.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use electd::admin::client::{Client, Recipient, Refused};
use electd::admin::control::{self, ControlSocket};
use electd::admin::{ControlServer, Server, listen};
use electd::node::handle::Handle;
use rustix::fs::{OFlags, fcntl_getfl};
use serde_json::json;
use socket2::{Domain, SockRef, Socket, Type};

use super::fake::{BEARER, FakeNode, TOKEN};
use super::limits::nice_values;
use super::pace::until;
use super::peer::{Answer, Peer, get};

const LIVEZ: &[u8] = b"GET /livez HTTP/1.1\r\nHost: n\r\n\r\n";

/// The one that is refused of so many who ask this at a time, and the answers to the others, who are owed them.
fn one_too_many(
    node: &FakeNode,
    server: &Server,
    line: &str,
    most: usize,
) -> (Answer, Vec<Answer>) {
    let mut peers: Vec<_> = (0..=most).map(|_| Peer::connect(server.local_addr())).collect();
    let refused = node.shut(|| {
        let ask = format!("{line} HTTP/1.1\r\nHost: n\r\n{BEARER}Content-Length: 0\r\n\r\n");
        peers.iter_mut().for_each(|peer| peer.say(&ask));
        until("one is refused", || peers.iter().any(Peer::has_answer));
        let refused = peers.iter().position(Peer::has_answer).unwrap();
        peers.remove(refused).answer()
    });
    let answers = peers.iter_mut().map(Peer::answer).collect();
    // Those who have their answers, and keep their connections, are in nobody's way.
    let again = &mut peers[0];
    again.say(&format!("{line} HTTP/1.1\r\nHost: n\r\n{BEARER}Content-Length: 0\r\n\r\n"));
    assert_ne!(again.answer().code, 503);
    (refused, answers)
}

#[test]
fn sixteen_commands_are_carried_out_at_a_time() {
    let node = FakeNode::new();
    let server = node.serve();
    let (refused, others) = one_too_many(&node, &server, "POST /resign", 16);
    let words = "too many commands are under way; try again in a moment";
    let words = json!({"error": words, "try_again": true});
    assert_eq!((refused.code, refused.json()), (503, words));
    assert_eq!(others.iter().map(|answer| answer.code).collect::<Vec<_>>(), [200; 16]);
    assert_eq!(node.commands().len(), 17);
}

#[test]
fn sixteen_may_ask_for_elections_at_a_time() {
    let node = FakeNode::new();
    let server = node.serve();
    // On a machine that stands still for seconds, those who wait get the same refusal.
    let mut tries = (0..20).map(|_| {
        let begun = Instant::now();
        let told = one_too_many(&node, &server, "GET /elections/last", 16);
        (begun.elapsed() < Duration::from_secs(4)).then_some(told)
    });
    let (refused, others) = tries.find_map(|told| told).expect("they are asked in time");
    let words = json!({"error": "too many ask for elections at present: ask again"});
    assert_eq!((refused.code, refused.json()), (503, words));
    let none = "no member that answers has recorded an election since its start";
    for other in others {
        assert_eq!((other.code, other.error().as_str()), (404, none));
    }
}

/// A host that floods the port takes places from itself.
#[test]
fn a_client_of_a_host_with_few_stays_though_it_came_first() {
    let node = FakeNode::new();
    let server = node.serve();
    let connect = |host: [u8; 4]| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((host, 0)).into()).unwrap();
        socket.connect(&server.local_addr().into()).unwrap();
        let mut stream = TcpStream::from(socket);
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(LIVEZ).unwrap();
        stream.read_exact(&mut [0; 12]).unwrap();
        stream
    };
    let mut few = connect([127, 0, 0, 2]);
    let mut many: Vec<_> = (0..64).map(|_| connect([127, 0, 0, 1])).collect();
    let _ = many[0].read_to_end(&mut Vec::new()); // it has lost its place
    few.write_all(LIVEZ).unwrap();
    few.read_exact(&mut [0; 200]).unwrap();
    many[1].write_all(LIVEZ).unwrap();
    many[1].read_exact(&mut [0; 200]).unwrap();
}

#[test]
fn a_stream_ends_when_the_server_stops() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    peer.say("GET /events HTTP/1.1\r\nHost: n\r\n\r\n");
    assert_eq!(peer.header().code, 200);
    let stops = std::thread::spawn(move || server.stop());
    until("it stops", || stops.is_finished());
    assert_eq!([peer.line(), peer.line(), peer.line()], ["retry: 500", "", ""]);
    assert_eq!(node.events().dropped(), 0, "nobody was cut off");
}

/// What the kernel keeps for a client that reads nothing is bounded, and an answer waits for no other packet.
#[test]
fn the_sockets_of_clients_are_as_a_node_wants_them() {
    let listener = listen("127.0.0.1:0").unwrap();
    let socket = listener.try_clone().unwrap();
    let address = socket.local_addr().unwrap();
    let server = Server::start(listener, FakeNode::new(), Some(TOKEN.to_owned())).unwrap();
    assert_eq!(server.local_addr(), address);
    let socket = SockRef::from(&socket);
    assert!(socket.tcp_nodelay().unwrap());
    assert_eq!(socket.send_buffer_size().unwrap(), 2 * 64 * 1024, "the kernel doubles it");
    assert_eq!(get(address, "/livez").code, 200);
}

/// A node by its control socket, whose connections are given to this.
fn by_socket(
    attach: impl Fn(UnixStream) + Send + Sync + 'static,
) -> (FakeNode, tempfile::TempDir, ControlServer) {
    let (node, folder) = (FakeNode::new(), tempfile::tempdir().unwrap());
    let control = ControlSocket::listen(folder.path(), None).unwrap();
    let server = ControlServer::start(control, node.clone(), attach).unwrap();
    (node, folder, server)
}

#[test]
fn a_process_that_attaches_itself_gets_the_connection_as_the_node_has_it() {
    let given = Mutex::new(Vec::new());
    let (_, folder, server) = by_socket(move |mut stream| {
        assert!(!fcntl_getfl(&stream).unwrap().contains(OFlags::NONBLOCK), "it may wait there");
        stream.write_all(b"HTTP/1.1 101 Switching\r\nUpgrade: a\r\n\r\nhello").unwrap();
        given.lock().unwrap().push(stream);
    });
    let address = control::address(folder.path());
    let id = "00000000-0000-4000-8000-000000000001";
    let to = Recipient { address: &address, cluster: "demo", id };
    let long = Duration::from_secs(60);
    let (mut stream, first) = to.upgrade("electd-exec", long).unwrap();
    assert_eq!(first, b"hello");
    stream.set_read_timeout(Some(long)).unwrap();
    let other = Recipient { id: "8", ..to };
    let words = "this node is node-1 of cluster demo (id 00000000-0000-4000-8000-000000000001), and the command is for \
                 id 8 of cluster demo: correct the configuration";
    let refused = other.upgrade("electd-exec", long).err();
    assert_eq!(refused, Some(Refused::Mismatch(words.to_owned())));
    server.stop();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0, "it ends with what the node does there");
    let path = folder.path().join("control.sock");
    let words = format!("no node runs on this host: nobody listens on {}", path.display());
    let refused = to.upgrade("electd-exec", long).err();
    assert_eq!(refused, Some(Refused::NoAnswer(words)));
}

/// A crowd on the admin address is not in the way of an operator.
#[test]
fn the_threads_of_the_control_socket_give_way_to_nobody() {
    let (_, folder, _server) = by_socket(drop);
    let path = folder.path().join("control.sock");
    let mut stream = UnixStream::connect(path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(LIVEZ).unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    let own = nice_values("control-client");
    assert!(!own.is_empty());
    let least = rustix::process::getpriority_process(None).unwrap();
    assert!(own.iter().all(|value| *value <= least), "{own:?}");
    let client = Client::new(None);
    assert_eq!(client.status(&control::address(folder.path())).unwrap().node.name, "node-1");
}
