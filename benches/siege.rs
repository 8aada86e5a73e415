//! How long an honest client waits for `GET /leader`, on the admin port and on the control socket, while a crowd holds the
//! admin port of the leader, or its peer port with TLS handshakes: real `electd` processes on loopback, majority, default
//! timing.
//!
//! `SIEGE_CLIENTS=10000` is the number of hostile connections, `SIEGE_HANDSHAKES=2000` that of handshakes
//! a second with a wrong certificate, `SIEGE_SECONDS=10` how long each kind of crowd stays; `SIEGE_TLS=1` leaves out
//! the crowds on the admin port. Linux only: it reads /proc.

#[path = "siege/handshakes.rs"]
mod handshakes;

#[allow(dead_code, unused_imports, unused_macros)] // it uses a part
#[path = "../tests/process/support/mod.rs"]
mod support;

use std::env;
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use handshakes::Strangers;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::Value;
use support::credentials::secure;
use support::crowd::{Crowd, Manner};
use support::{Cluster, http};

/// Between two questions.
const PACE: Duration = Duration::from_millis(10);

/// How long the crowd has to take its places.
const ARRIVAL: Duration = Duration::from_secs(5);

/// After this time a node has ended all connections of a crowd that went.
const DEPARTURE: Duration = Duration::from_secs(5);

/// How soon a hostile client is back that was thrown out, and how often it drips.
const RETURN: Duration = Duration::from_millis(10);

/// Threads that the hostile clients run on.
const CROWDS: usize = 2;

/// Crowds on the admin port.
const KINDS: [(&str, &[Manner]); 6] = [
    ("nobody", &[]),
    ("idle", &[Manner::Silent]),
    ("drip", &[Manner::Drip]),
    ("hoard keep-alive", &[Manner::Hoard]),
    ("deaf, 500 pipelined", &[Manner::Deaf]),
    ("idle, drip and hoard", &[Manner::Silent, Manner::Drip, Manner::Hoard]),
];

/// Crowds on the peer port of a cluster that speaks TLS.
const HANDSHAKES: [(&str, &[Manner]); 2] = [
    ("half a handshake", &[Manner::Handshake]),
    ("trickled handshake", &[Manner::TrickledHandshake]),
];

fn main() {
    let most = raise_limit();
    let wanted = setting("SIEGE_CLIENTS", 10_000);
    let clients = wanted.min(most.saturating_sub(1000));
    println!("{clients} hostile clients on the admin port of the leader of 3");
    println!(
        "{:<22} {:>9} {:>9} {:>9}  failed  {:>9} {:>9}    open  VmRSS before, most, after  threads",
        "crowd", "p50", "p99", "max", "control", "p99"
    );
    let kinds = if env::var_os("SIEGE_TLS").is_some() { &KINDS[..1] } else { &KINDS[..] };
    for (name, manners) in kinds {
        let cluster = start(|_| {});
        let come = || crowd(manners, cluster.node(3).admin, clients);
        measure(name, &cluster, come, Crowd::open);
    }
    for (name, manners) in HANDSHAKES {
        let cluster = start(secure);
        let come = || crowd(manners, cluster.node(3).address, clients);
        measure(name, &cluster, come, Crowd::open);
    }
    let cluster = start(secure);
    let come = || vec![Strangers::dial(&cluster, setting("SIEGE_HANDSHAKES", 2000))];
    measure("wrong certificates", &cluster, come, Strangers::done);
}

fn start(change: fn(&mut Value)) -> Cluster {
    Cluster::start_with(3, |config| {
        config["quorum"] = "majority".into();
        config["timing"] = serde_json::json!({});
        change(config);
    })
}

fn crowd(manners: &[Manner], address: SocketAddr, clients: usize) -> Vec<Crowd> {
    let crowds = if manners.is_empty() { 0 } else { CROWDS };
    (0..crowds).map(|_| Crowd::of(manners, &[address], clients / CROWDS, RETURN)).collect()
}

/// Has a crowd come, and asks the leader of this cluster while it is there. How many they are, or how many handshakes
/// they ended, is shown too.
fn measure<C>(name: &str, cluster: &Cluster, come: impl FnOnce() -> Vec<C>, count: fn(&C) -> u64) {
    let epoch = cluster.agree_on(3);
    let leader = cluster.node(3);
    let before = leader.figure("VmRSS");
    let crowds = come();
    let length = Duration::from_secs(setting("SIEGE_SECONDS", 10) as u64);
    if !crowds.is_empty() {
        thread::sleep(ARRIVAL);
    }
    let (mut memory, mut threads, mut open) = (0, 0, 0);
    let (mut times, mut control, mut failed) = (Vec::new(), Vec::new(), 0);
    let begin = Instant::now();
    while begin.elapsed() < length {
        for (times, answer) in [
            (&mut times, probe(|| http::ask(leader.admin, "GET", "/leader", ""))),
            (&mut control, probe(|| http::tell(&leader.state(), "GET", "/leader", ""))),
        ] {
            match answer {
                Some(time) => times.push(time),
                None => failed += 1,
            }
        }
        memory = memory.max(leader.figure("VmRSS"));
        threads = threads.max(leader.figure("Threads"));
        open = open.max(crowds.iter().map(count).sum());
        thread::sleep(PACE);
    }
    drop(crowds);
    thread::sleep(DEPARTURE);
    let after = leader.figure("VmRSS");
    times.sort();
    control.sort();
    let at = |times: &[Duration], share: f64| {
        let time = times.get(((times.len() as f64 - 1.0) * share) as usize);
        time.map_or("none".to_owned(), |time| format!("{:.2} ms", time.as_secs_f64() * 1e3))
    };
    let changed = cluster.agree_on(3) - epoch;
    println!(
        "{name:<22} {:>9} {:>9} {:>9}  {failed:>6}  {:>9} {:>9}  {open:>6}  \
         {before:>6} {memory:>6} {after:>6} kB {threads:>4}  changes of leader: {changed}",
        at(&times, 0.5),
        at(&times, 0.99),
        at(&times, 1.0),
        at(&control, 0.5),
        at(&control, 0.99),
    );
}

/// One question on a connection of its own, from the dial to the end of the answer.
fn probe(ask: impl Fn() -> io::Result<http::Answer>) -> Option<Duration> {
    let begun = Instant::now();
    let answer = ask().ok()?;
    (answer.code == 200).then(|| begun.elapsed())
}

/// As many descriptors as this process may have; the nodes that it starts have them too.
fn raise_limit() -> usize {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    raised.expect("the soft limit may be raised");
    maximum.map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX))
}

/// A number from the environment.
fn setting(name: &str, default: usize) -> usize {
    let Ok(value) = env::var(name) else { return default };
    value.parse().unwrap_or_else(|_| panic!("{name} is \"{value}\": give it a number"))
}
