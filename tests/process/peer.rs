//! The protocol between members, as another program would speak it: raw frames over TCP.
//!
//! Node-1 is played by the test. It listens at node-1's address, so that it hears the hello of
//! node-2, and says one like it.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::support::{Cluster, ensure, eventually};
use serde_json::{Value, json};

/// Strangers, some three times as many as may wait for their welcome.
const CROWD: usize = 200;

/// 64 that wait, 16 on their way out, and a node's own.
const MOST_THREADS: u64 = 64 + 16 + 20;

/// Two members: the test is node-1, and node-2 runs.
struct Scene {
    cluster: Cluster,
    listener: TcpListener,
}

impl Scene {
    fn new() -> Scene {
        let cluster = Cluster::prepare(2, |_| {});
        let listener = TcpListener::bind(cluster.node(1).address).unwrap();
        cluster.node(2).start();
        eventually("node-2 runs", || cluster.status(2));
        Scene { cluster, listener }
    }

    /// Takes the dial of node-2: the connection, and the hello that it says.
    fn heard_hello(&self) -> (TcpStream, Value) {
        loop {
            let (mut stream, _) = self.listener.accept().unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            // It gives a dial up that is not answered soon, and dials again.
            if let Ok(hello) = read(&mut stream) {
                return (stream, hello);
            }
        }
    }

    /// The hello that node-1 would say.
    fn own_hello(&self) -> Value {
        let (_, mut hello) = self.heard_hello();
        hello["id"] = self.cluster.id(1).into();
        hello["to"] = self.cluster.id(2).into();
        hello
    }

    fn dial(&self) -> TcpStream {
        dial(&self.cluster)
    }
}

const PATIENCE: Duration = Duration::from_secs(20);

fn dial(cluster: &Cluster) -> TcpStream {
    let stream = TcpStream::connect(cluster.node(2).address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

fn write(stream: &mut TcpStream, message: &Value) {
    write_bytes(stream, message.to_string().as_bytes());
}

fn write_bytes(stream: &mut TcpStream, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    stream.write_all(&[&length, payload].concat()).unwrap();
}

fn read(stream: &mut TcpStream) -> io::Result<Value> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut payload = vec![0; usize::try_from(u32::from_be_bytes(length)).unwrap()];
    stream.read_exact(&mut payload)?;
    Ok(serde_json::from_slice(&payload)?)
}

/// Waits until the other side ends the connection, without another word.
#[track_caller]
fn ends(mut stream: TcpStream) {
    match stream.read(&mut [0; 1]) {
        Ok(0) => {}
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {}
        other => panic!("it goes on: {other:?}"),
    }
}

#[test]
fn a_member_says_hello_is_welcomed_and_its_messages_are_taken() {
    let scene = Scene::new();
    let hello = scene.own_hello();
    let mut stream = scene.dial();
    write(&mut stream, &hello);
    let reply = read(&mut stream).unwrap();
    assert_eq!(reply["welcome"]["id"], scene.cluster.id(2), "{reply}");

    let election =
        json!({"election": {"round": 7, "rank": {"value": 0, "id": hello["id"]}, "stands": true}});
    write(&mut stream, &json!({"epoch": 0, "incarnation": 1, "message": election}));
    eventually("the message is taken", || {
        let status = scene.cluster.status(2)?;
        ensure(status.messages["election"].received == 1, || format!("{:?}", status.messages))
    });
}

#[test]
fn junk_after_the_hello_ends_the_connection_and_is_counted() {
    let scene = Scene::new();
    let hello = scene.own_hello();
    for (n, junk) in [&b"\xff\xfe"[..], b"[]", b"{\"epoch\": 1}"].into_iter().enumerate() {
        let mut stream = scene.dial();
        write(&mut stream, &hello);
        assert!(read(&mut stream).unwrap().get("welcome").is_some());
        write_bytes(&mut stream, junk);
        ends(stream);
        let count = u64::try_from(n + 1).unwrap();
        eventually("it is counted", || {
            let dropped = scene.cluster.status(2)?.dropped;
            ensure(dropped["junk"] == count, || format!("{dropped:?}"))
        });
    }
}

#[test]
fn another_protocol_version_is_told_so() {
    let scene = Scene::new();
    let mut stream = scene.dial();
    write(&mut stream, &json!({"protocol": 999, "what": "is unknown here"}));
    let reply = read(&mut stream).unwrap();
    assert_eq!(reply["reject"]["protocol"]["theirs"], 999, "{reply}");
    ends(stream);
}

#[test]
fn a_member_that_answers_with_another_version_is_shown() {
    let scene = Scene::new();
    let (mut stream, hello) = scene.heard_hello();
    let ours = hello["protocol"].clone();
    write(&mut stream, &json!({"reject": {"protocol": {"ours": 999, "theirs": ours}}}));
    eventually("the refusal is shown", || {
        let rejections = scene.cluster.status(2)?.rejections;
        let words = format!("the side that refuses speaks 999, the other {ours}:");
        let told = rejections.iter().any(|r| r.peer == "node-1" && r.reason.contains(&words));
        ensure(told, || format!("{rejections:?}"))
    });
}

#[test]
fn who_says_nothing_is_dropped_also_when_it_says_it_slowly() {
    let cluster = Cluster::start_watchful(2);
    cluster.agree_on(2);
    let silent = dial(&cluster);
    let mut half = dial(&cluster);
    half.write_all(b"\0\0\0\x40{").unwrap();
    let mut huge = dial(&cluster);
    huge.write_all(&[0xff; 8]).unwrap();
    ends(silent);
    ends(half);
    ends(huge);
}

#[test]
fn in_a_crowd_the_oldest_stranger_goes_and_the_newest_is_heard() {
    let scene = Scene::new();
    let hello = scene.own_hello();
    let oldest = scene.dial();
    let crowd: Vec<TcpStream> = (0..CROWD).map(|_| scene.dial()).collect();
    let mut newest = scene.dial();
    write(&mut newest, &hello);
    assert!(read(&mut newest).unwrap().get("welcome").is_some());
    let threads = scene.cluster.node(2).figure("Threads");
    assert!(threads <= MOST_THREADS, "{threads} threads");
    ends(oldest);
    drop(crowd);
}
