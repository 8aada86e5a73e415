//! Streams of events beyond the most that a node serves, and readers that do not read: nothing of it reaches the election.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::support::{Cluster, ensure, eventually, watchful};

const PATIENCE: Duration = Duration::from_secs(30);

/// Asks for the events of a node, and reads the first line of the answer.
fn listen(admin: SocketAddr) -> (String, BufReader<TcpStream>) {
    let mut stream = TcpStream::connect(admin).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nHost: n\r\nLast-Event-ID: 1-0\r\n\r\n").unwrap();
    let (mut reader, mut line) = (BufReader::new(stream), String::new());
    reader.read_line(&mut line).unwrap();
    (line.trim().to_owned(), reader)
}

#[test]
fn a_thousand_streams_are_32_and_leadership_does_not_notice() {
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
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
    // They are told what happens, a stream that nobody reads from is none of the others' business.
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
