//! The most that a node takes on, and how it leaves its files: numbers and modes that no course of events shows.

use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use electd::admin::control;
use story::story;

use crate::support::{Cluster, accept, ensure, eventually, http, watchful, within};

/// Ten times a second and more: the time of a handshake, of a hello and of an end.
const SOON: Duration = Duration::from_secs(12);

fn mode(path: &Path) -> u32 {
    fs::metadata(path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        .permissions()
        .mode()
        & 0o777
}

/// A process that attaches itself to a node, and the beginning of the answer.
fn attach(state: &Path) -> (UnixStream, String) {
    let mut stream = control::dial(&control::path(state), SOON).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    let ask =
        b"GET /exec HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: electd-exec\r\n\r\n";
    stream.write_all(ask).unwrap();
    let mut answer = [0; 512];
    let count = stream.read(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
    (stream, answer)
}

#[story]
fn a_node_takes_256_commands_and_a_place_is_free_again_with_its_lock() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let state = cluster.node(1).state();
    let mut attached: Vec<UnixStream> = (1..=256)
        .map(|number| {
            let (stream, answer) = attach(&state);
            assert!(answer.starts_with("HTTP/1.1 101 "), "{number}: {answer}");
            assert_eq!(mode(&state.join(format!("exec-{number}.lock"))), 0o600, "{number}");
            stream
        })
        .collect();
    let (_, refused) = attach(&state);
    let words = "256 commands are attached to this node, which is the most";
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains(words), "{refused}");
    drop(attached.remove(7));
    let again = within(SOON, "a place is free", || {
        let (stream, answer) = attach(&state);
        ensure(answer.starts_with("HTTP/1.1 101 "), || answer).map(|()| stream)
    });
    drop((attached, again));
    within(SOON, "no lock is left", || {
        let left = fs::read_dir(&state).unwrap().flatten().map(|file| file.file_name());
        let left: Vec<_> =
            left.filter(|name| name.to_string_lossy().starts_with("exec-")).collect();
        ensure(left.is_empty(), || format!("{left:?}"))
    });
}

#[story]
fn the_files_of_a_node_are_for_its_user_alone() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    for node in cluster.nodes() {
        let state = node.state();
        assert_eq!((mode(&state), mode(state.parent().unwrap())), (0o700, 0o700));
        eventually("it has written its history", || {
            ensure(state.join("history.json").exists(), || node.log_tail(3))
        });
        for file in fs::read_dir(&state).unwrap().flatten() {
            let name = file.file_name();
            assert_eq!(mode(&file.path()), 0o600, "{name:?}");
        }
        assert!(
            ["state.json", "lock", "control.sock"].iter().all(|name| state.join(name).exists())
        );
    }
}

#[story]
fn a_node_carries_out_16_commands_at_once_and_refuses_the_next_with_words() {
    let cluster = Cluster::start(2);
    cluster.agree_on(2);
    cluster.node(2).freeze(); // so that each is under way for a while
    let state = cluster.node(1).state();
    let ask = || http::tell(&state, "POST", "/pause", "").unwrap();
    let answers = thread::scope(|scope| {
        let asked: Vec<_> = (0..40).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().unwrap()).collect::<Vec<_>>()
    });
    cluster.node(2).thaw();
    let refused =
        answers.iter().filter(|answer| answer.body.contains("too many commands are under way"));
    assert!(refused.clone().all(|answer| answer.code == 503), "{answers:?}");
    assert!((1..=24).contains(&refused.count()), "{answers:?}");
    eventually("it takes commands again", || {
        let answer = cluster.node(1).post("/resume", "")?;
        ensure(answer.code == 200, || format!("{answer:?}"))
    });
}

/// "A handshake and the hello after it must be complete within one second."
#[story]
fn a_stranger_that_says_nothing_is_let_go_soon() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let mut silent = TcpStream::connect(cluster.node(1).address).unwrap();
    silent.set_read_timeout(Some(SOON)).unwrap();
    let said = silent.read(&mut [0; 16]);
    let ended = said.as_ref().is_ok_and(|count| *count == 0);
    let reset =
        said.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset);
    assert!(ended || reset, "{said:?}");
}

/// One takes its dial and says nothing, another one dials it and says nothing, and a third does not read what it asked for.
#[story]
fn a_node_ends_soon_whoever_holds_its_connections() {
    let cluster = Cluster::prepare(2, watchful);
    let (node, hangs) = (cluster.node(2), TcpListener::bind(cluster.node(1).address).unwrap());
    node.start();
    let dialed = accept(&hangs);
    cluster.agree_on(2);
    let silent = TcpStream::connect(node.address).unwrap();
    let mut deaf = TcpStream::connect(node.admin).unwrap();
    deaf.write_all(b"GET /events HTTP/1.1\r\nHost: n\r\n\r\n").unwrap();
    let begun = Instant::now();
    let _again = accept(&hangs); // it has given up one dial, and is in the middle of the next
    assert!(begun.elapsed() < SOON, "after {:?}", begun.elapsed());
    node.stop_term();
    let code = within(SOON, "the node ends", || node.ended().ok_or_else(|| node.log_tail(5)));
    assert_eq!(code, 0);
    drop((dialed, silent));
    let _ = deaf.shutdown(Shutdown::Both);
}

/// Load balancers and proxies close what is quiet; so a stream says something, and an idle connection ends.
#[story]
#[ignore = "long"]
fn an_idle_stream_gets_a_sign_of_life_and_an_idle_connection_is_closed() {
    let cluster = Cluster::start(1);
    cluster.agree_on(1);
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(cluster.node(1).admin).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(100))).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: n\r\n\r\n").as_bytes()).unwrap();
        stream
    };
    let (mut events, mut idle) = (ask("/events"), ask("/livez"));
    let mut told = String::new();
    let mut part = [0; 1024];
    while !told.contains(": nothing new\n\n") {
        let count = events.read(&mut part).unwrap();
        assert_ne!(count, 0, "the stream ended: {told}");
        told += &String::from_utf8_lossy(&part[..count]);
    }
    let mut answer = String::new();
    idle.read_to_string(&mut answer).unwrap(); // until it is closed
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}
