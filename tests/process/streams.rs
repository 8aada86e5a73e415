//! Streams of events beyond the most that a node serves, and readers that do not read: nothing of it reaches the election.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use socket2::SockRef;
use story::story;

use crate::support::{Cluster, ensure, eventually};

const TIMEOUT: Duration = Duration::from_secs(30);

/// Asks for the events of a node, and reads the first line of the answer.
fn listen(admin: SocketAddr) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(admin).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: n\r\nLast-Event-ID: 1-0\r\n\r\n").unwrap();
    let (mut reader, mut line) = (BufReader::new(stream), String::new());
    reader.read_line(&mut line).unwrap();
    (line.trim().to_owned(), reader)
}

#[story]
#[ignore = "long"]
fn a_thousand_streams_are_32_and_leadership_does_not_notice() {
    // Its members are patient: no busy machine is to be taken for the work of the crowd.
    let cluster = Cluster::start_with(3, |config| config["quorum"] = "majority".into());
    let epoch = cluster.agree_on(3);
    let admin = cluster.node(3).admin;
    let mut served = Vec::new();
    let mut refused = Vec::new();
    for _ in 0..1000 {
        let (line, reader) = listen(admin);
        match line.as_str() {
            "HTTP/1.1 200 OK" => served.push(reader),
            "HTTP/1.1 503 Service Unavailable" => refused.push(reader),
            other => panic!("{other}"),
        }
    }
    assert_eq!((served.len(), refused.len()), (32, 968));
    for mut reader in refused {
        let mut answer = String::new();
        let _ = reader.read_to_string(&mut answer); // it may be kept open: what was read is there
        assert!(answer.contains("32 streams of events are open already"), "{answer}");
    }
    // They get the events; a stream that its client does not read does not affect the others.
    let events = BufReader::lines(served.pop().unwrap());
    cluster.node(1).kill_9();
    let told = events.map_while(Result::ok).find(|line| line == "event: member_down");
    assert!(told.is_some(), "the stream ended");
    assert_eq!(cluster.agree_on(3), epoch, "nobody lost the leadership");
    let changes = cluster.status(3).unwrap().changes;
    assert_eq!(changes.last().unwrap().to, "leading", "{changes:?}");
    drop(served);
    eventually("there is room again", || {
        let (line, _) = listen(admin);
        ensure(line == "HTTP/1.1 200 OK", || line)
    });
}

/// Reads a stream on a thread of its own until it ends; its lines wait here.
fn read_on(stream: BufReader<TcpStream>) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in stream.lines().map_while(Result::ok) {
            let _ = sender.send(line); // the story may be over
        }
    });
    lines
}

/// A client that asks for all events that are kept, and reads none.
fn deaf(admin: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(admin).unwrap();
    SockRef::from(&stream).set_recv_buffer_size(4096).unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: n\r\nLast-Event-ID: 1-0\r\n\r\n").unwrap();
    stream
}

/// How many events fill a node's log of them, far more than what the system keeps for a client.
const EVENTS: u64 = 1024;

/// The most that this many deaf clients may cost the node.
const MOST_MEMORY_KB: u64 = 8 * 1024;

#[story]
fn a_reader_that_stops_reading_is_cut_and_one_that_reads_is_told_all() {
    let cluster = Cluster::start_with(2, |config| config["preempt"] = "never".into());
    cluster.agree_on(2);
    let admin = cluster.node(1).admin;
    let number = || -> Result<u64, String> {
        let last = cluster.node(1).get("/status")?.json()["last_event"].clone();
        let number = last.as_str().and_then(|id| id.rsplit_once('-')).map(|(_, number)| number);
        number.and_then(|number| number.parse().ok()).ok_or_else(|| last.to_string())
    };
    eventually("the leadership has gone to and fro until the log of events is full", || {
        for _ in 0..20 {
            for to in ["node-1", "node-2"] {
                let _ = cluster.node(1).post("/switchover", &format!("{{\"to\": \"{to}\"}}"));
            }
        }
        let number = number()?;
        ensure(number >= EVENTS, || format!("{number} events"))
    });
    let (leader, epoch) = cluster.agree();
    let memory = cluster.node(1).figure("VmRSS");
    let (line, reader) = listen(admin);
    assert_eq!(line, "HTTP/1.1 200 OK");
    let lines = read_on(reader);
    let deaf: Vec<TcpStream> = (0..31).map(|_| deaf(admin)).collect();
    // The place of one that is cut is free.
    eventually("those that do not read are cut", || {
        let grown = cluster.node(1).figure("VmRSS").saturating_sub(memory);
        assert!(grown <= MOST_MEMORY_KB, "they cost {grown} kB");
        let places: Vec<_> = deaf.iter().map(|_| listen(admin)).collect();
        let free = places.iter().filter(|(line, _)| line == "HTTP/1.1 200 OK").count();
        ensure(free == deaf.len(), || format!("{free} places are free"))
    });
    assert_eq!(cluster.agree(), (leader, epoch), "nobody lost the leadership");
    cluster.node(2).kill_9();
    assert!(lines.iter().any(|line| line == "event: member_down"), "who reads was cut too");
}
