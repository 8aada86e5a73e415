//! Crowds of hostile clients: the cluster does not even notice.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::crowd::{Crowd, Manner};
use crate::support::enough::Enough;
use crate::support::impostor::Impostor;
use crate::support::{Cluster, Node, ensure, eventually, readable, watchful};
use electd::node::status::ChangeStatus;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;
use story::story;

/// On each port; a node has two.
const CLIENTS: usize = 300;

/// 64 strangers on each port and 16 on their way out, a reader and a writer for each peer, and a handful of its own.
const MOST_THREADS: u64 = 2 * (64 + 16) + 20;

const MOST_MEMORY_KB: u64 = 64 * 1024;

/// Claim: bounds.
#[story]
fn a_hostile_crowd_on_every_port_changes_nothing_and_a_failover_works_beside_it() {
    let cluster = Cluster::start(3);
    let epoch = cluster.agree_on(3);
    let before = all_changes(&cluster);

    let nodes = cluster.nodes().iter();
    let ports: Vec<SocketAddr> = nodes.flat_map(|node| [node.address, node.admin]).collect();
    let crowd = Crowd::besiege(&ports, CLIENTS);
    let mut rounds = 0;
    while rounds < 10 {
        assert_eq!(cluster.agree_on(3), epoch, "round {rounds}");
        for node in cluster.nodes() {
            let (threads, memory) = (node.figure("Threads"), node.figure("VmRSS"));
            assert!(threads <= MOST_THREADS, "{} has {threads} threads", node.name);
            assert!(memory <= MOST_MEMORY_KB, "{} takes {memory} kB", node.name);
        }
        rounds = eventually("the crowd goes on", || {
            ensure(crowd.rounds() > rounds, || format!("round {rounds}")).map(|()| crowd.rounds())
        });
    }
    assert_eq!(all_changes(&cluster), before, "nobody changed its view");
    let refused = |what| cluster.status(1).unwrap().dropped[what];
    assert!(refused("no_hello") > 100, "the crowd was there");

    cluster.node(3).kill_9();
    assert!(cluster.agree_on(2) > epoch, "a failover works beside it");
    drop(crowd);
    cluster.agree_on(2);
}

/// More come at once than may wait for a welcome: the oldest of these has to go, and nobody who is welcomed.
#[story]
fn a_crowd_of_strangers_costs_no_member_its_connection() {
    let cluster = Cluster::start(3);
    cluster.agree_on(3);
    let node = cluster.node(2);
    eventually("node-2 hears both others", || {
        let readers = node.threads("reader-node");
        ensure(readers.len() == 2, || format!("{readers:?}"))
    });
    let readers = || ["reader-node-1", "reader-node-3"].map(|name| node.thread(name));
    let before = readers();
    let dial = |_| TcpStream::connect(node.address).unwrap();
    let crowd: Vec<TcpStream> = (0..200).map(dial).collect();
    readable("the last is let go, and all before it", crowd.last().unwrap());
    assert_eq!(readers(), before);
}

/// How soon a client of the crowd is back.
const TIMEOUT: Duration = Duration::from_millis(10);

/// Lets this process have as many descriptors as it may. Tells how many.
fn as_many_descriptors_as_allowed() -> usize {
    let hard = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard }).unwrap();
    hard.and_then(|hard| usize::try_from(hard).ok()).unwrap_or(usize::MAX)
}

const MANNERS: [Manner; 4] = [Manner::Silent, Manner::Drip, Manner::Hoard, Manner::Deaf];

/// Few: hardly more than the members and the clients of both ports take.
const DESCRIPTORS: usize = 256;

#[story]
fn a_crowd_on_the_admin_port_takes_no_descriptor_from_the_members() {
    let cluster = Cluster::prepare(3, |_| {});
    for node in cluster.nodes() {
        node.descriptors.set(Some(DESCRIPTORS));
        node.start();
    }
    let epoch = cluster.agree_on(3);
    let leader = cluster.node(3);
    let crowd = Crowd::of(&MANNERS[..3], &[leader.admin], 2 * DESCRIPTORS, TIMEOUT);
    eventually("the crowd has all that it gets", || {
        ensure(crowd.rounds() > 20, || leader.log_tail(5))
    });
    cluster.node(1).restart(); // its connections are new, on both sides
    assert_eq!(cluster.agree_on(3), epoch);
    assert!(!leader.log().contains("cannot accept"), "{}", leader.log_tail(5));
    drop(crowd);
}

/// This many requests whose answers the client does not read, in one segment.
const PIPELINED: usize = 500;

#[story]
fn requests_in_one_segment_are_all_answered_or_the_last_answer_says_that_no_more_come() {
    let cluster = Cluster::start(3);
    cluster.agree_on(3);
    for number in [1, 3] {
        let mut client = TcpStream::connect(cluster.node(number).admin).unwrap();
        client.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let ask = |how: &str| format!("GET /leader HTTP/1.1\r\nHost: a\r\n{how}\r\n");
        let asked = ask("").repeat(PIPELINED - 1) + &ask("Connection: close\r\n");
        client.write_all(asked.as_bytes()).unwrap();
        let mut said = String::new();
        client.read_to_string(&mut said).unwrap();
        let answers = said.matches("HTTP/1.1 ").count() - said.matches("HTTP/1.1 4").count();
        let last = said.rsplit("HTTP/1.1 ").next().unwrap().to_lowercase();
        assert!(answers > 0, "{said}");
        assert!(last.contains("connection: close"), "{answers} answers, the last is {last}");
    }
}

/// Memory and threads of these nodes, each.
fn costs(nodes: &[&Node]) -> Vec<(u64, u64)> {
    nodes.iter().map(|node| (node.figure("VmRSS"), node.figure("Threads"))).collect()
}

/// The memory that a node may keep after a flood, besides what the allocator does not return
/// immediately.
const KEPT_KB: u64 = 16 * 1024;

#[track_caller]
fn go_back(nodes: &[&Node], before: &[(u64, u64)]) {
    eventually("memory and threads go back", || {
        let now = costs(nodes);
        let back = now.iter().zip(before).all(|((memory, threads), (lean, few))| {
            // A redial of the dead leader has a thread now and then.
            *memory <= lean + KEPT_KB && *threads <= few + 2
        });
        ensure(back, || format!("{before:?}, now {now:?}"))
    });
}

/// This many messages are written in one go.
const AT_ONCE: usize = 1000;

/// Each of the others gets this many messages in all.
const TOLD: u64 = 100_000;

/// Somebody speaks as node-1, which is dead, as fast as the others read.
#[story]
#[ignore = "long"]
fn a_flood_of_messages_of_one_member_moves_no_leadership_and_a_killed_leader_is_replaced() {
    let cluster = Cluster::start_with(4, watchful_for_floods);
    cluster.agree_on(4);
    cluster.node(1).kill_9();
    let epoch = cluster.agree_on(4);
    let others = [2, 3, 4].map(|number| cluster.node(number));
    let before = costs(&others);
    let impostor = Impostor::of(&cluster, 1);
    let streams = [2, 3, 4].map(|to| impostor.welcomed(to));
    let frame = impostor.message(0, &json!({"alive": {"number": 0}})).to_string();
    let length = u32::try_from(frame.len()).unwrap().to_be_bytes();
    let frames = [&length[..], frame.as_bytes()].concat().repeat(AT_ONCE);
    let (told, enough) = ([0; 3].map(AtomicU64::new), Enough::default());
    thread::scope(|scope| {
        let _ends = enough.at_end();
        for (mut stream, told) in streams.into_iter().zip(&told) {
            let (frames, enough) = (&frames, &enough);
            scope.spawn(move || {
                while !enough.is_said() && stream.write_all(frames).is_ok() {
                    told.fetch_add(AT_ONCE as u64, Ordering::Relaxed);
                }
            });
        }
        let all =
            |least: u64| told.iter().take(2).all(|told| told.load(Ordering::Relaxed) >= least);
        eventually("they are flooded", || {
            assert_eq!(cluster.agree_on(4), epoch, "{told:?}");
            ensure(all(TOLD), || format!("{told:?}"))
        });
        cluster.node(4).kill_9();
        assert!(cluster.agree_on(3) > epoch);
        assert!(all(TOLD + 1), "the flood goes on: {told:?}");
    });
    println!("{told:?} messages");
    go_back(&others[..2], &before[..2]);
    cluster.agree_on(3);
}

/// As many strangers as there may be on the peer port, up to this.
const STRANGERS: usize = 10_000;

#[story]
#[ignore = "long"]
fn a_crowd_of_strangers_on_the_peer_port_moves_no_leadership_and_a_killed_leader_is_replaced() {
    let most = as_many_descriptors_as_allowed().saturating_sub(500).min(STRANGERS);
    let cluster = Cluster::start_with(3, watchful_for_floods);
    let epoch = cluster.agree_on(3);
    let [one, two, leader] = [1, 2, 3].map(|number| cluster.node(number));
    let before = costs(&[one, two]);
    let ports = [one.address, two.address, leader.address];
    let manners = [Manner::Silent, Manner::Trickle, Manner::Junk, Manner::Huge];
    let crowd = Crowd::of(&manners, &ports, most / ports.len(), TIMEOUT);
    let mut rounds = 0;
    while rounds < 5 {
        assert_eq!(cluster.agree_on(3), epoch, "round {rounds}");
        for node in cluster.nodes() {
            assert!(node.figure("Threads") <= MOST_THREADS, "{}", node.name);
        }
        rounds = eventually("the crowd goes on", || {
            ensure(crowd.rounds() > rounds, || format!("round {rounds}")).map(|()| crowd.rounds())
        });
    }
    leader.kill_9();
    assert!(cluster.agree_on(2) > epoch);
    let last = crowd.rounds();
    eventually("the crowd goes on", || ensure(crowd.rounds() > last, || last.to_string()));
    println!("{most} strangers, {} connected, {} rounds", crowd.open(), crowd.rounds());
    drop(crowd);
    go_back(&[one, two], &before);
    cluster.agree_on(2);
}

/// A killed leader is missed soon, and a node that has much to read is not.
fn watchful_for_floods(config: &mut serde_json::Value) {
    watchful(config);
    config["timing"]["failure"] = "3s".into();
}

fn all_changes(cluster: &Cluster) -> Vec<Vec<ChangeStatus>> {
    (1..=cluster.nodes().len()).map(|number| cluster.status(number).unwrap().changes).collect()
}
