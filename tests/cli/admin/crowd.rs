//! Crowds: many clients, most of them slow or hostile.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use electd::admin::{Server, listen};

use super::fake::FakeNode;
use super::pace::pace;
use super::peer::{Peer, get};

const LIVEZ: &str = "GET /livez HTTP/1.1\r\nHost: n\r\n\r\n";
/// The most connections of a server.
const SEATS: usize = 64;

#[test]
fn the_oldest_gives_way_to_the_newest() {
    let node = FakeNode::new();
    let listener = listen("127.0.0.1:0").unwrap();
    let server = Server::start(listener, node, None).unwrap();
    let mut crowd: Vec<Peer> = Vec::new();
    for _ in 0..SEATS {
        let mut peer = Peer::connect(server.local_addr());
        peer.say(LIVEZ);
        assert_eq!(peer.answer().code, 200);
        crowd.push(peer);
    }
    // All seats are taken by idle clients. The second asks again, so the third is older now.
    for position in [0, 1] {
        crowd[position].say(LIVEZ);
        assert_eq!(crowd[position].answer().code, 200);
    }
    assert_eq!(get(server.local_addr(), "/livez").code, 200);
    assert!(crowd[2].is_closed());
    for position in [0, 1, SEATS - 1] {
        crowd[position].say(LIVEZ);
        assert_eq!(crowd[position].answer().code, 200, "client {position}");
    }
}

/// Clients that come back as soon as they are thrown out, until the test ends.
struct Attack {
    over: Arc<AtomicBool>,
    attackers: Vec<JoinHandle<()>>,
}

impl Attack {
    /// `count` clients of five kinds. All have been connected once when it returns.
    fn start(address: SocketAddr, count: usize) -> Attack {
        let over = Arc::new(AtomicBool::new(false));
        let connected = Arc::new(Barrier::new(KINDS + 1));
        let attackers = (0..KINDS)
            .map(|kind| {
                let (over, connected) = (Arc::clone(&over), Arc::clone(&connected));
                thread::spawn(move || {
                    let clients = (0..count / KINDS).map(|_| attacker(address)).collect();
                    connected.wait();
                    attack(address, clients, &words(kind), &over);
                })
            })
            .collect();
        connected.wait();
        Attack { over, attackers }
    }
}

impl Drop for Attack {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.attackers.drain(..).for_each(|attacker| attacker.join().unwrap());
    }
}

const KINDS: usize = 5;

/// The bytes that a kind of attacker sends repeatedly.
fn words(kind: usize) -> Vec<u8> {
    match kind {
        // Random bytes.
        0 => (0..4096_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect(),
        // One byte now and then.
        1 => b"G".to_vec(),
        // Half open.
        2 => Vec::new(),
        // A header without an end.
        3 => [b"GET /livez HTTP/1.1\r\nX: ".as_slice(), &[b'x'; 32_000]].concat(),
        // Questions, and never an answer read.
        _ => "GET /status HTTP/1.1\r\nHost: n\r\n\r\n".repeat(50).into_bytes(),
    }
}

fn attacker(address: SocketAddr) -> Peer {
    let peer = Peer::connect(address);
    peer.limit_writes(Duration::from_millis(1));
    peer
}

fn attack(address: SocketAddr, mut clients: Vec<Peer>, words: &[u8], over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        for client in &mut clients {
            if !client.try_say(words) || client.is_reset() {
                *client = attacker(address);
            }
        }
        pace(10);
    }
}

#[test]
fn three_hundred_hostile_clients_do_not_keep_a_probe_waiting() {
    let node = FakeNode::new();
    let server = node.serve();
    let attack = Attack::start(server.local_addr(), 300);
    let mut times: Vec<Duration> =
        (0..PROBES).map(|_| time_of_a_probe(server.local_addr())).collect();
    drop(attack);
    times.sort();
    let (median, worst) = (times[PROBES / 2], times[PROBES - 1]);
    println!("GET /status beside 300 hostile clients: median {median:?}, worst {worst:?}");
    // How fast it answers is for `cargo bench --bench siege`; here, that it answers each.
    server.stop();
    assert_eq!(Arc::strong_count(&node.0), 1);
}

const PROBES: usize = 200;

fn time_of_a_probe(address: SocketAddr) -> Duration {
    let begun = Instant::now();
    assert_eq!(get(address, "/status").code, 200);
    begun.elapsed()
}
