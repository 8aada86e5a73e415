//! The protocol between members, as another program would speak it: raw frames.
//!
//! Node-1 is played by the test. It listens at node-1's address, so that it hears the hello of
//! node-2, and says one like it.

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use crate::support::impostor::{self, read};
use crate::support::link::{Guise, Link};
use crate::support::{Cluster, accept, ensure, eventually, within};
use serde_json::{Value, json};
use socket2::SockRef;
use story::story;

/// Strangers, some three times as many as may wait for their welcome.
const CROWD: usize = 200;

/// Ten times the time of a hello.
const SOON: Duration = Duration::from_secs(10);

/// As long as a node redials.
const BRIEF: Duration = Duration::from_millis(400);

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
    fn heard_hello(&self) -> (Link, Value) {
        let guise = Guise::of(&self.cluster, 1);
        loop {
            let stream = accept(&self.listener);
            // It gives a dial up that is not answered soon, and dials again.
            let Ok(mut stream) = guise.take(stream) else { continue };
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

    fn dial(&self) -> Link {
        dial(&self.cluster)
    }
}

/// A connection to node-2 by node-1.
fn dial(cluster: &Cluster) -> Link {
    let node = cluster.node(2);
    Guise::of(cluster, 1).dial(&node.name, node.address).unwrap()
}

fn write(stream: &mut Link, message: &Value) {
    impostor::write(stream, message).unwrap();
}

fn write_bytes(stream: &mut Link, payload: &[u8]) {
    impostor::write_bytes(stream, payload).unwrap();
}

/// Waits until the other side ends the connection, without another message.
#[track_caller]
fn ends(mut stream: Link) {
    loop {
        match stream.read(&mut [0; 1]) {
            Ok(0) => return,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => panic!("it goes on: {other:?}"),
        }
    }
}

#[story]
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

/// Rule C5.
#[story]
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

/// Rule C5.
/// Claim: upgrade.
#[story]
fn what_a_later_version_says_is_dropped_and_counted_and_the_connection_goes_on() {
    let scene = Scene::new();
    let hello = scene.own_hello();
    let mut stream = scene.dial();
    write(&mut stream, &hello);
    assert!(read(&mut stream).unwrap().get("welcome").is_some());
    let said = |message: Value| json!({"epoch": 0, "incarnation": 1, "message": message});
    for number in [1, 2] {
        write(&mut stream, &said(json!({"to_come": {"number": number}})));
    }
    let rank = json!({"value": 0, "id": hello["id"]});
    write(&mut stream, &said(json!({"election": {"round": 7, "rank": rank, "stands": true}})));
    eventually("what came after it is taken", || {
        let status = scene.cluster.status(2)?;
        ensure(status.messages["election"].received == 1, || format!("{:?}", status.messages))
    });
    let dropped = scene.cluster.status(2).unwrap().dropped;
    assert_eq!((dropped["unknown"], dropped["junk"]), (2, 0));
    let told = "of a later one: \"to_come\"; upgrade this node";
    scene.cluster.node(2).until_logged(&[told]);
    let log = scene.cluster.node(2).log();
    assert_eq!(log.matches(told).count(), 1, "{log}");
}

/// How many TIMINGs node-2 has said by the time of the next heartbeat, if node-1 speaks versions up to
/// this one.
fn timings_told(highest: Option<u32>) -> u64 {
    let scene = Scene::new();
    let (mut heard, mut welcome) = scene.heard_hello();
    welcome["id"] = scene.cluster.id(1).into();
    welcome["to"] = scene.cluster.id(2).into();
    welcome.as_object_mut().unwrap().remove("highest");
    if let Some(highest) = highest {
        welcome["highest"] = highest.into();
    }
    write(&mut heard, &json!({ "welcome": welcome }));
    let mut said = scene.dial();
    write(&mut said, &welcome);
    assert!(read(&mut said).unwrap().get("welcome").is_some());
    let next_heartbeat = |stream: &mut Link| {
        eventually("a heartbeat comes", || {
            let message = read(stream).unwrap()["message"].take();
            ensure(message.get("heartbeat").is_some(), || message.to_string())
        });
    };
    next_heartbeat(&mut heard);

    let mut config = scene.cluster.config().clone();
    config["timing"]["failure"] = "3s".into();
    fs::write(scene.cluster.file(), config.to_string()).unwrap();
    assert_eq!(scene.cluster.node(2).post("/reload", "").unwrap().code, 200);
    next_heartbeat(&mut heard);
    scene.cluster.status(2).unwrap().messages["timing"].sent
}

/// Claim: upgrade.
#[story]
fn a_member_of_an_earlier_version_is_not_told_what_it_does_not_know() {
    assert_eq!((timings_told(None), timings_told(Some(6))), (0, 1));
}

#[story]
fn another_protocol_version_is_told_so() {
    let scene = Scene::new();
    let mut stream = scene.dial();
    write(&mut stream, &json!({"protocol": 999, "what": "is unknown here"}));
    let reply = read(&mut stream).unwrap();
    assert_eq!(reply["reject"]["protocol"]["theirs"], 999, "{reply}");
    ends(stream);
}

#[story]
fn a_member_that_answers_with_another_version_is_shown() {
    let scene = Scene::new();
    let (mut stream, hello) = scene.heard_hello();
    let ours = hello["protocol"].clone();
    write(&mut stream, &json!({"reject": {"protocol": {"ours": 999, "theirs": ours}}}));
    eventually("the refusal is shown", || {
        let rejections = scene.cluster.status(2)?.rejections;
        let words = format!("the side that refuses speaks 999, the other {ours}");
        let told = rejections.iter().any(|r| r.peer == "node-1" && r.reason.contains(&words));
        ensure(told, || format!("{rejections:?}"))
    });
}

#[story]
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
    let mut slow = dial(&cluster);
    slow.write_all(&[0, 1, 0, 0]).unwrap(); // at this pace the rest takes ten minutes
    within(SOON, "a byte now and then does not help", || {
        ensure(slow.write_all(b" ").is_err(), || "it goes on".to_owned())
    });
}

/// The pauses double: these nine take five seconds, and half of that where chance has it so.
#[story]
fn who_hangs_up_is_dialed_more_and_more_rarely() {
    let cluster = Cluster::prepare(2, |_| {});
    let listener = TcpListener::bind(cluster.node(1).address).unwrap();
    cluster.node(2).start();
    drop(accept(&listener));
    let begun = Instant::now();
    (0..9).for_each(|_| drop(accept(&listener)));
    assert!(begun.elapsed() > Duration::from_secs(2), "{:?}", begun.elapsed());
}

/// Only a refusal proves that nobody listens there any more. Here the queue of the listener is full, as on a host that is
/// too busy, or behind a firewall: nothing answers.
#[story]
fn a_redial_that_is_not_answered_is_no_proof_of_death() {
    let scene = Scene::new();
    let hello = scene.own_hello();
    let mut own = scene.dial();
    write(&mut own, &hello);
    assert!(read(&mut own).unwrap().get("welcome").is_some());
    scene.cluster.until_seen(2, 1, "alive");
    SockRef::from(&scene.listener).listen(0).unwrap();
    let mut queued = Vec::new();
    within(SOON, "the queue is full", || {
        let next = TcpStream::connect_timeout(&scene.cluster.node(1).address, BRIEF);
        next.map_or(Ok(()), |next| {
            Err(format!("{} wait", {
                queued.push(next);
                queued.len()
            }))
        })
    });
    drop(own);
    scene.cluster.until_seen(2, 1, "suspected");
}

/// By and by a pause lasts for `failure`, and not longer: these take some eight seconds, and hours without that bound.
#[story]
fn who_comes_back_after_long_is_dialed_soon() {
    let cluster = Cluster::prepare(2, |config| config["timing"] = json!({"failure": "200ms"}));
    let listener = TcpListener::bind(cluster.node(1).address).unwrap();
    cluster.node(2).start();
    (0..50).for_each(|_| drop(accept(&listener)));
}

#[story]
fn in_a_crowd_the_oldest_stranger_goes_and_the_newest_is_heard() {
    let scene = Scene::new();
    let hello = scene.own_hello();
    let oldest = scene.dial();
    let crowd: Vec<Link> = (0..CROWD).map(|_| scene.dial()).collect();
    let mut newest = scene.dial();
    write(&mut newest, &hello);
    assert!(read(&mut newest).unwrap().get("welcome").is_some());
    let threads = scene.cluster.node(2).figure("Threads");
    assert!(threads <= MOST_THREADS, "{threads} threads");
    ends(oldest);
    drop(crowd);
}
