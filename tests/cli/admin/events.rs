//! `GET /events`: the events that a client gets, where it resumes, and what happens to a client that
//! does not read.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use electd::node::handle::Handle;
use socket2::SockRef;

use super::fake::{FakeNode, event};
use super::pace::{until, within};
use super::peer::{Peer, get};

/// A stream of events after this one.
fn listen(server: SocketAddr, headers: &str) -> Peer {
    let mut peer = Peer::connect(server);
    peer.say(&format!("GET /events HTTP/1.1\r\nHost: n\r\n{headers}\r\n"));
    let head = peer.header();
    assert_eq!((head.code, head.header("content-type")), (200, Some("text/event-stream")));
    let passed_on = [head.header("cache-control"), head.header("x-accel-buffering")];
    assert_eq!(passed_on, [Some("no-store"), Some("no")], "by a proxy, and at once");
    assert_eq!([peer.line(), peer.line()], ["retry: 500", ""]);
    peer
}

/// The id of the next event, with its reason.
fn next(peer: &mut Peer) -> (String, String) {
    let lines = [peer.line(), peer.line(), peer.line(), peer.line()];
    let id = lines[0].strip_prefix("id: ").unwrap_or_else(|| panic!("{lines:?}")).to_owned();
    assert_eq!((lines[1].as_str(), lines[3].as_str()), ("event: no_leader", ""));
    let document = lines[2].strip_prefix("data: ").unwrap();
    let document: serde_json::Value = serde_json::from_str(document).unwrap();
    assert_eq!(document["id"], id.as_str());
    (id, document["reason"].as_str().unwrap().to_owned())
}

fn id_and_reason(id: &str, reason: &str) -> (String, String) {
    (id.to_owned(), reason.to_owned())
}

#[test]
fn a_client_is_told_what_happens_and_resumes_where_it_was() {
    let node = FakeNode::new();
    let server = node.serve();
    node.tell(event("before anybody listens"));
    let mut first = listen(server.local_addr(), "");
    node.tell(event("one"));
    assert_eq!(next(&mut first), id_and_reason("1-2", "one"));
    drop(first);
    node.tell(event("two"));
    let mut second = listen(server.local_addr(), "Last-Event-ID: 1-2\r\n");
    assert_eq!(next(&mut second), id_and_reason("1-3", "two"));
    let mut earlier = listen(server.local_addr(), "Last-Event-ID: 0-99\r\n");
    assert_eq!(next(&mut earlier).0, "1-1", "all of this start");
    for _ in 0..100 {
        node.tell(event("many"));
    }
    let ids: Vec<String> = (0..100).map(|_| next(&mut second).0).collect();
    assert_eq!((ids[0].as_str(), ids[99].as_str()), ("1-4", "1-103"));
}

#[test]
fn the_last_event_before_a_node_ends_reaches_all_who_listen() {
    for _ in 0..20 {
        let node = FakeNode::new();
        let server = node.serve();
        let mut listeners = [(); 4].map(|()| listen(server.local_addr(), ""));
        node.tell(event("stopping"));
        server.stop();
        let heard = listeners.each_mut().map(|peer| next(peer).1);
        assert_eq!(heard, ["stopping"; 4]);
    }
}

#[test]
fn an_id_that_is_none_is_refused() {
    let server = FakeNode::new().serve();
    let mut peer = Peer::connect(server.local_addr());
    peer.say("GET /events HTTP/1.1\r\nHost: n\r\nLast-Event-ID: yesterday\r\n\r\n");
    let answer = peer.answer();
    assert!(answer.code == 400 && answer.error().contains("such as 3-17"), "{answer:?}");
}

#[test]
fn there_are_32_streams_and_a_closed_one_is_free_again() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut streams: Vec<Peer> = (0..32).map(|_| listen(server.local_addr(), "")).collect();
    let refused = get(server.local_addr(), "/events");
    assert!(refused.code == 503 && refused.error().starts_with("32 streams"), "{refused:?}");
    assert_eq!(get(server.local_addr(), "/livez").code, 200);
    streams.pop();
    until_there_is_a_place(server.local_addr());
    node.tell(event("one"));
    assert!(streams.iter_mut().all(|stream| next(stream).0 == "1-1"));
}

/// The code of the answer to one more client.
fn asked(server: SocketAddr) -> u16 {
    let mut peer = Peer::connect(server);
    peer.say("GET /events HTTP/1.1\r\nHost: n\r\n\r\n");
    peer.header().code
}

fn until_there_is_a_place(server: SocketAddr) {
    within(Duration::from_secs(20), "a place is free", || asked(server) == 200);
}

/// A client that has a stream of events and reads none.
fn deaf(server: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(server).unwrap();
    SockRef::from(&stream).set_recv_buffer_size(4096).unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: n\r\n\r\n").unwrap();
    let mut begun = [0; 12];
    stream.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    stream
}

#[test]
fn a_reader_that_stops_reading_is_cut_and_another_is_not() {
    const EVENTS: usize = 200;
    let node = FakeNode::new();
    let server = node.serve();
    let mut reader = listen(server.local_addr(), "");
    let _deaf: Vec<TcpStream> = (0..31).map(|_| deaf(server.local_addr())).collect();
    assert_eq!(asked(server.local_addr()), 503, "each has its stream");
    (0..EVENTS).for_each(|_| node.tell(event(&"long".repeat(2000))));
    let ids: Vec<String> = (0..EVENTS).map(|_| next(&mut reader).0).collect();
    until_there_is_a_place(server.local_addr());
    node.tell(event("the last"));
    assert_eq!((ids.len(), next(&mut reader).1.as_str()), (EVENTS, "the last"));
    until("all that were cut are counted", || node.events().dropped() == 31);
}

#[test]
fn what_is_kept_for_a_stream_is_one_lot() {
    let node = FakeNode::new();
    for _ in 0..2000 {
        node.tell(event("many"));
    }
    let server = node.serve();
    let mut late = listen(server.local_addr(), "Last-Event-ID: 1-1\r\n");
    assert_eq!(next(&mut late).0, "1-977", "the oldest of the 1,024 that are kept");
}
