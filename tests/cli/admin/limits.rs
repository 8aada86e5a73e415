//! Limits of size and time for one client.

use std::fs;
use std::time::{Duration, Instant};

use super::fake::{BEARER, FakeNode};
use super::pace::{pace, until};
use super::peer::{Peer, ask, get};

/// Far more lots of questions than fit into any buffer.
const MOST: usize = 10_000;

#[test]
fn a_header_may_be_large_but_not_larger() {
    let node = FakeNode::new();
    let server = node.serve();
    let with = |padding: usize| {
        let padding = "x".repeat(padding);
        ask(
            server.local_addr(),
            &format!("GET /livez HTTP/1.1\r\nHost: n\r\nCookie: {padding}\r\n\r\n"),
        )
    };
    assert_eq!(with(15_000).code, 200);
    let answer = with(17_000);
    assert_eq!((answer.code, answer.header("connection")), (431, Some("close")));
}

#[test]
fn sixty_four_headers_are_enough() {
    let node = FakeNode::new();
    let server = node.serve();
    let with = |count: usize| {
        let more = "X: y\r\n".repeat(count - 1);
        ask(server.local_addr(), &format!("GET /livez HTTP/1.1\r\nHost: n\r\n{more}\r\n")).code
    };
    assert_eq!([with(64), with(65)], [200, 431]);
}

#[test]
fn the_largest_body_is_read() {
    let node = FakeNode::new();
    let server = node.serve();
    let body = format!("{{}}{}", " ".repeat(65_534));
    let mut peer = Peer::connect(server.local_addr());
    peer.say(&format!(
        "POST /resign HTTP/1.1\r\nHost: n\r\n{BEARER}Content-Length: 65536\r\n\r\n{body}"
    ));
    assert_eq!(peer.answer().code, 200);
    peer.say("GET /livez HTTP/1.1\r\nHost: n\r\n\r\n");
    assert_eq!(peer.answer().code, 200);
}

#[test]
fn ten_megabytes_of_header_get_an_answer_and_no_memory() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    peer.try_say(b"GET /livez HTTP/1.1\r\nHost: n\r\nX: ");
    let line = [b'x'; 10_240];
    for _ in 0..1024 {
        if !peer.try_say(&line) {
            break;
        }
    }
    // The rest of what it says is read and forgotten, so the answer is not lost in a reset.
    assert_eq!(peer.answer().code, 431);
    assert_eq!(get(server.local_addr(), "/livez").code, 200);
}

#[test]
fn a_silent_client_is_let_go_after_two_seconds() {
    let node = FakeNode::new();
    let server = node.serve();
    let begun = Instant::now();
    let mut peer = Peer::connect(server.local_addr());
    assert!(peer.is_closed(), "a client that said nothing is told nothing");
    let took = begun.elapsed();
    let expected = Duration::from_secs(2)..Duration::from_secs(10);
    assert!(expected.contains(&took), "{took:?}");
}

#[test]
fn a_trickle_does_not_stretch_the_deadline() {
    let node = FakeNode::new();
    let server = node.serve();
    let begun = Instant::now();
    let mut peer = Peer::connect(server.local_addr());
    let mut request =
        b"GET /livez HTTP/1.1\r\nHost: n\r\nX-Slow: ".iter().chain(std::iter::repeat(&b'x'));
    // Each byte is well within any timeout of a single read.
    while begun.elapsed() < Duration::from_millis(1500) {
        peer.try_say(&[*request.next().unwrap()]);
        pace(20);
    }
    let answer = peer.answer();
    assert_eq!((answer.code, answer.header("connection")), (408, Some("close")));
}

/// Between two requests a client may be silent for half a minute, and not amid one.
#[test]
fn a_later_request_has_no_more_time_than_the_first() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    peer.say("GET /livez HTTP/1.1\r\nHost: n\r\n\r\n");
    assert_eq!(peer.answer().code, 200);
    let begun = Instant::now();
    peer.say("GET /livez HT");
    assert_eq!(peer.answer().code, 408);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(15), "it was waited for {took:?}");
}

/// More clients than may do the same at the same time, which have done it, stay connected and ask no more.
#[test]
fn a_client_that_has_its_answer_keeps_nobody_from_the_same() {
    let node = FakeNode::new();
    let server = node.serve();
    let asks = [
        ("GET /peers/node-9/status", 404, 8),
        ("POST /resign", 200, 16),
        ("GET /elections/last", 404, 16),
    ];
    for (line, code, most) in asks {
        let ask = format!("{line} HTTP/1.1\r\nHost: n\r\n{BEARER}Content-Length: 0\r\n\r\n");
        let clients: Vec<Peer> = (0..=most)
            .map(|count| {
                let mut peer = Peer::connect(server.local_addr());
                peer.say(&ask);
                let answer = peer.answer();
                assert_eq!(answer.code, code, "{line} after {count}: {}", answer.body);
                peer
            })
            .collect();
        drop(clients);
    }
}

#[test]
fn a_body_that_does_not_come_is_not_waited_for() {
    let node = FakeNode::new();
    let server = node.serve();
    for begun in ["{", ""] {
        let mut peer = Peer::connect(server.local_addr());
        peer.say(&format!("POST /resign HTTP/1.1\r\nHost: n\r\nContent-Length: 10\r\n\r\n{begun}"));
        assert_eq!(peer.answer().code, 408, "{begun:?}");
    }
    assert!(node.commands().is_empty());
}

#[test]
fn a_client_that_takes_no_answer_does_not_hold_up_a_stop() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    peer.limit_writes(Duration::from_millis(300));
    let questions = "GET /status HTTP/1.1\r\nHost: n\r\n\r\n".repeat(100);
    // Once the server cannot write it stops reading, and then nothing more goes in.
    assert!((0..MOST).any(|_| !peer.try_say(questions.as_bytes())), "it reads on for ever");
    let begun = Instant::now();
    server.stop();
    let took = begun.elapsed();
    println!("stopping beside a client that takes no answer: {took:?}");
    assert!(took < Duration::from_secs(10), "stopping took {took:?}");
}

/// The nice values of the threads of this process, in which the node runs, that have this name.
pub fn nice_values(name: &str) -> Vec<i32> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let stats = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    let of_name = stats.filter_map(|stat| {
        let (head, fields) = stat.rsplit_once(") ")?;
        let is_it = head.ends_with(&format!("({name}"));
        fields.split_whitespace().nth(19 - 3).filter(|_| is_it)?.parse().ok()
    });
    of_name.collect()
}

/// Dozens that are busy with a crowd keep the election thread from no processor.
#[test]
fn the_threads_of_clients_give_way_to_others() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut peer = Peer::connect(server.local_addr());
    peer.say("GET /livez HTTP/1.1\r\nHost: n\r\n\r\n");
    assert_eq!(peer.answer().code, 200);
    // A thread is about to lower its own priority when it begins, and other tests have such threads.
    let own = rustix::process::getpriority_process(None).unwrap();
    until("they have a lower priority", || {
        let values = nice_values("admin-client");
        !values.is_empty() && values.iter().all(|value| [5, own.max(5)].contains(value))
    });
}
