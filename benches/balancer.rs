//! How long clients wait for the next leader: behind HAProxy, set up as docs/operations.md says, and with `GET /events`.
//!
//! Three real `electd` processes on loopback, majority, default timings; 200 requests a second through HAProxy, each on a
//! connection of its own; the leader is killed (`kill -9`) `BALANCER_FAILOVERS=20` times, and started again each time.
//! A request is served where the leader answers it, and lost where it ends otherwise.

#[allow(dead_code, unused_imports, unused_macros)] // it uses a part
#[path = "../tests/process/support/mod.rs"]
mod support;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam::channel::{Receiver, bounded};
use serde_json::Value;
use support::{Cluster, http};

/// Between two requests.
const PACE: Duration = Duration::from_millis(5);

/// A client gives up after this time.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Requests in flight.
const CLIENTS: usize = 64;

/// How one request ended: when it was sent, when it ended, and which leader served it.
struct Request(Instant, Instant, Option<String>);

/// The cost of one failover.
struct Cost {
    /// From the kill to the first answer of the next leader through HAProxy.
    served: Duration,
    /// From the kill until that node says that it leads.
    failover: Duration,
    lost: usize,
    /// From the moment when the next leader leads to the event at a client, and to the answer to its request.
    heard: f64,
    answered: f64,
}

struct Balancer(Child);

impl Drop for Balancer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() {
    let Ok(haproxy) = which("haproxy") else {
        println!("haproxy is not installed: nothing is measured");
        return;
    };
    let failovers: usize =
        std::env::var("BALANCER_FAILOVERS").ok().and_then(|count| count.parse().ok()).unwrap_or(20);
    let cluster = Cluster::start_with(3, |config| {
        config["quorum"] = "majority".into();
        config["preempt"] = "never".into();
        config["timing"] = serde_json::json!({});
    });
    cluster.agree();
    let front = free_place();
    let file = cluster.file().with_file_name("haproxy.cfg");
    fs::write(&file, recipe(&cluster, front)).unwrap();
    let mut command = Command::new(haproxy);
    let command = command.arg("-db").arg("-f").arg(&file).stdout(Stdio::null());
    let _balancer = Balancer(command.stderr(Stdio::null()).spawn().unwrap());
    let requests = Mutex::new(Vec::new());
    let stop = AtomicBool::new(false);
    let mut costs = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| load(front, &requests, &stop));
        for _ in 0..failovers {
            costs.push(fail_over(&cluster, &requests));
        }
        stop.store(true, Ordering::Relaxed);
    });
    report(&costs, requests.into_inner().unwrap().len());
}

fn which(program: &str) -> Result<String, ()> {
    let places =
        ["/usr/sbin/", "/usr/local/sbin/", "/usr/bin/"].map(|place| place.to_owned() + program);
    places.into_iter().find(|place| fs::metadata(place).is_ok()).ok_or(())
}

fn free_place() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// The recipe of docs/operations.md; the service is the node's own HTTP.
fn recipe(cluster: &Cluster, front: SocketAddr) -> String {
    let line = |node: &support::Node| {
        format!("  server {} {} check port {}\n", node.name, node.admin, node.admin.port())
    };
    let servers: String = cluster.nodes().iter().map(line).collect();
    format!(
        "defaults\n  mode http\n  timeout connect 1s\n  timeout client 10s\n  timeout server 10s\n\
         frontend front\n  bind {front}\n  default_backend leader\n\
         backend leader\n  option httpchk GET /leader\n  http-check expect status 200\n\
         \x20 default-server inter 100ms fall 1 rise 1 on-marked-down shutdown-sessions\n{servers}"
    )
}

/// 200 requests a second until it is to stop.
fn load(front: SocketAddr, requests: &Mutex<Vec<Request>>, stop: &AtomicBool) {
    let (sender, ticks) = bounded::<Instant>(CLIENTS);
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            let ticks: Receiver<Instant> = ticks.clone();
            scope.spawn(move || {
                for sent in ticks {
                    let leader = http::ask(front, "GET", "/leader", "").ok().and_then(leader_of);
                    requests.lock().unwrap().push(Request(sent, Instant::now(), leader));
                }
            });
        }
        let mut next = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            let _ = sender.send(next);
            next += PACE;
            thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        drop(sender);
    });
}

fn leader_of(answer: http::Answer) -> Option<String> {
    let answered = (answer.code == 200).then(|| serde_json::from_str::<Value>(&answer.body))?;
    Some(answered.ok()?["leader"]["name"].as_str()?.to_owned())
}

/// A client that follows the leader by the events of the other nodes: the wall-clock time at which the next one began to lead,
/// and when this client heard of it and was answered by it, in milliseconds.
fn follow(others: &[SocketAddr]) -> (String, u64, f64, f64) {
    let (heard, news) = bounded(1);
    thread::scope(|scope| {
        for admin in others.iter().copied() {
            let heard = heard.clone();
            scope.spawn(move || {
                let mut stream = TcpStream::connect(admin).unwrap();
                stream.set_read_timeout(Some(TIMEOUT)).unwrap();
                stream.write_all(b"GET /events HTTP/1.1\r\nHost: n\r\n\r\n").unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let Some(data) = line.strip_prefix("data: ") else { continue };
                    let event: Value = serde_json::from_str(data).unwrap();
                    if event["event"] == "leading" {
                        let name = event["node"].as_str().unwrap().to_owned();
                        let at = event["at_ms"].as_u64().unwrap();
                        let told = wall_clock();
                        let answer =
                            http::ask(admin, "GET", "/leader", "").ok().and_then(leader_of);
                        assert_eq!(answer.as_ref(), Some(&name), "it does not serve");
                        let _ = heard.try_send((name, at, told, wall_clock()));
                    }
                    if event["event"] == "leading" || event["event"] == "following" {
                        return; // the election is over
                    }
                }
            });
        }
        // Both listen before the leader is killed: the caller waits for that.
        let (name, at, told, answered) = news.recv_timeout(TIMEOUT).expect("somebody leads");
        (name, at, told, answered)
    })
}

fn wall_clock() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64() * 1000.0
}

fn fail_over(cluster: &Cluster, requests: &Mutex<Vec<Request>>) -> Cost {
    let (leader, _) = cluster.agree();
    let name = cluster.node(leader).name.clone();
    let is_served = |requests: &[Request], since: Instant, by: &str| {
        let last = requests.iter().rev().take(CLIENTS * 4);
        last.filter(|request| request.0 > since && request.2.as_deref() == Some(by))
            .map(|it| it.1)
            .min()
    };
    let begun = Instant::now();
    while is_served(&requests.lock().unwrap(), begun, &name).is_none() {
        thread::sleep(PACE);
    }
    thread::sleep(Duration::from_millis(500)); // a second in which nothing happens
    let others = (1..=3).filter(|number| *number != leader);
    let others: Vec<SocketAddr> = others.map(|number| cluster.node(number).admin).collect();
    thread::scope(|scope| {
        let following = scope.spawn(|| follow(&others));
        thread::sleep(Duration::from_millis(500)); // until both are listened to
        let (killed, killed_at) = (Instant::now(), wall_clock());
        cluster.node(leader).kill_9();
        let (next, at, heard, answered) = following.join().unwrap();
        let served = loop {
            if let Some(at) = is_served(&requests.lock().unwrap(), killed - TIMEOUT / 20, &next) {
                break at;
            }
            thread::sleep(PACE);
        };
        thread::sleep(Duration::from_millis(500));
        let ended = |request: &&Request| request.1 >= killed && request.2.is_none();
        let lost = requests.lock().unwrap().iter().filter(ended).count();
        cluster.node(leader).start();
        // The event has whole milliseconds.
        let at = at as f64;
        Cost {
            served: served - killed,
            failover: Duration::from_secs_f64((at - killed_at).max(0.0) / 1000.0),
            lost,
            heard: heard - at,
            answered: answered - at,
        }
    })
}

fn report(costs: &[Cost], requests: usize) {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!(
        "{} failovers, {requests} requests; load of the machine: {}",
        costs.len(),
        load.trim()
    );
    println!("{:<64} {:>8} {:>8} {:>8}", "milliseconds", "least", "median", "most");
    let row = |what: &str, of: fn(&Cost) -> f64| {
        let mut all: Vec<f64> = costs.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        let (least, most) = (all[0], all[all.len() - 1]);
        println!("{what:<64} {least:>8.1} {:>8.1} {most:>8.1}", all[all.len() / 2]);
    };
    row("from the kill until the next one leads", |it| it.failover.as_secs_f64() * 1e3);
    row("from the kill to its first answer through HAProxy", |it| it.served.as_secs_f64() * 1e3);
    row("HAProxy: beyond the failover", |it| {
        (it.served.as_secs_f64() - it.failover.as_secs_f64()) * 1e3
    });
    row("GET /events: from the lead to the event", |it| it.heard);
    row("GET /events: from the lead to the leader's answer", |it| it.answered);
    row("requests lost (of 200 a second)", |it| it.lost as f64);
}
