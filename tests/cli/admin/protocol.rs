//! HTTP itself: staying open, closing, and requests that could be read in two ways.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::fake::{BEARER, FakeNode, status};
use super::peer::{Peer, ask, get};

/// Far more lots of questions than fit into any buffer.
const MOST: usize = 10_000;
const LIVEZ: &str = "GET /livez HTTP/1.1\r\nHost: n\r\n\r\n";

#[test]
fn a_connection_stays_open() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    for _ in 0..3 {
        peer.say(LIVEZ);
        let answer = peer.answer();
        assert_eq!((answer.code, answer.header("connection")), (200, None));
    }
}

#[test]
fn requests_in_one_go_are_answered_in_order() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    let post =
        format!("POST /elections HTTP/1.1\r\nHost: n\r\n{BEARER}Content-Length: 2\r\n\r\n{{}}");
    peer.say(&format!("{LIVEZ}{post}GET /x HTTP/1.1\r\nHost: n\r\n\r\n{LIVEZ}"));
    let codes = [(); 4].map(|()| peer.answer().code);
    assert_eq!(codes, [200, 200, 404, 200]);
}

#[test]
fn five_hundred_requests_in_one_go_are_answered_in_order() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    let paths = ["/livez", "/x", "/leader", "/status", "/follower"];
    let codes = [200, 404, 503, 200, 200];
    let all: String =
        paths.iter().map(|path| format!("GET {path} HTTP/1.1\r\nHost: n\r\n\r\n")).collect();
    peer.say(&all.repeat(100));
    for number in 0..500 {
        assert_eq!(peer.answer().code, codes[number % codes.len()], "answer {number}");
    }
    peer.say(LIVEZ);
    assert_eq!(peer.answer().code, 200, "and the next one too");
}

#[test]
fn answers_are_not_made_in_advance() {
    let node = FakeNode::new();
    node.set(|state| state.status = status("leading", Some("node-1")));
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    peer.limit_writes(Duration::from_millis(300));
    // The client reads nothing, until the server can no longer write and so no longer reads.
    let ask = "GET /leader HTTP/1.1\r\nHost: n\r\n\r\n";
    assert!((0..MOST).any(|_| !peer.try_say(ask.repeat(100).as_bytes())), "it reads on for ever");
    node.set(|state| state.status = status("following", Some("node-2")));
    // Answers on their way were true when they were made. Later answers were made after the change.
    let first = (0..5000).position(|_| peer.answer().code == 503);
    assert!(first.is_some(), "no answer is made thousands of answers ahead");
    assert_eq!([(); 20].map(|()| peer.answer().code), [503; 20]);
}

#[test]
fn a_client_that_wants_to_close_is_let_go() {
    let node = FakeNode::new();
    let server = node.serve();
    for request in [
        "GET /livez HTTP/1.1\r\nHost: n\r\nConnection: Close\r\n\r\n",
        "GET /livez HTTP/1.1\r\nHost: n\r\nConnection: keep-alive, close\r\n\r\n",
        "GET /livez HTTP/1.0\r\n\r\n",
    ] {
        let mut peer = Peer::connect(server.local_addr());
        peer.say(request);
        let answer = peer.answer();
        assert_eq!((answer.code, answer.header("connection")), (200, Some("close")), "{request}");
        assert!(peer.is_closed());
    }
}

#[test]
fn http_1_0_stays_open_where_it_asks_to() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    for _ in 0..2 {
        peer.say("GET /livez HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        let answer = peer.answer();
        assert_eq!((answer.code, answer.header("connection")), (200, Some("keep-alive")));
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_refused() {
    let node = FakeNode::new();
    let server = node.serve();
    for (code, lines) in [
        (400, "Host: n\r\nContent-Length: 2\r\nContent-Length: 2\r\n"),
        (400, "Host: n\r\nContent-Length: 2, 2\r\n"),
        (400, "Host: n\r\nContent-Length: +2\r\n"),
        (400, "Host: n\r\nContent-Length: -2\r\n"),
        (400, "Host: n\r\nContent-Length: 0x2\r\n"),
        (400, "Host: n\r\nContent-Length: \r\n"),
        (400, "Host: n\r\nContent-Length : 2\r\n"),
        (400, "Host: n\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n"),
        (501, "Host: n\r\nTransfer-Encoding: chunked\r\n"),
        (413, "Host: n\r\nContent-Length: 65537\r\n"),
        (413, "Host: n\r\nContent-Length: 99999999999999999999999999\r\n"),
        (417, "Host: n\r\nExpect: a-miracle\r\n"),
        (400, "Host: n\r\nHost: m\r\n"),
        (400, ""),
        (400, "Host: n\r\n folded: line\r\n"),
    ] {
        let mut peer = Peer::connect(server.local_addr());
        peer.say(&format!("POST /resign HTTP/1.1\r\n{lines}\r\n{{}}"));
        let answer = peer.answer();
        assert_eq!((answer.code, answer.header("connection")), (code, Some("close")), "{lines}");
        assert!(!answer.error().is_empty());
        assert!(peer.is_closed(), "after {lines}");
    }
    assert!(node.commands().is_empty());
}

#[test]
fn other_versions_and_noise_are_refused() {
    let node = FakeNode::new();
    let server = node.serve();
    assert_eq!(ask(server.local_addr(), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").code, 505);
    for noise in ["\x16\x03\x01\x02\x00\r\n", "hello\r\n\r\n", "GET /\0 HTTP/1.1\r\n\r\n"] {
        assert_eq!(ask(server.local_addr(), noise).code, 400, "{noise:?}");
    }
}

#[test]
fn a_body_is_asked_for_where_the_client_waits_to_be() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    peer.say(&format!(
        "POST /resign HTTP/1.1\r\nHost: n\r\n{BEARER}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n",
    ));
    assert_eq!(peer.line(), "HTTP/1.1 100 Continue");
    assert_eq!(peer.line(), "");
    peer.say("{}");
    assert_eq!(peer.answer().code, 200);
}

#[test]
fn a_stopped_server_leaves_nothing() {
    let node = FakeNode::new();
    let server = node.serve();
    let address = server.local_addr();
    let mut idle = Peer::connect(address);
    idle.say(LIVEZ);
    idle.answer();
    let mut silent = Peer::connect(address);
    let mut half = Peer::connect(address);
    half.say("GET /livez HT");
    assert_eq!(get(address, "/livez").code, 200);

    let begun = Instant::now();
    server.stop();
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(10), "stopping took {took:?}");
    // Every worker held the node; the test alone holds it now.
    assert_eq!(Arc::strong_count(&node.0), 1);
    assert!(idle.is_closed() && silent.is_closed() && half.is_closed());
    assert!(std::net::TcpStream::connect(address).is_err());
}
