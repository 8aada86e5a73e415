//! State in the middle of the network: a firewall between two followers forgets their connections, on which nothing is
//! said while all is well. From then on it drops what they send on these, and carries new ones.

use std::process::Command;
use std::time::Duration;

use electd::core::settings::AlgorithmKind;

use crate::support::recorder::Recorder;
use crate::support::{Cluster, Network, ensure, eventually, watchful};

/// Rule D1.
/// Claim: epoch.
#[story::story]
fn a_forgotten_connection_makes_no_second_leader_in_an_epoch_with_the_bully() {
    no_second_leader(AlgorithmKind::Bully);
}

#[story::story]
fn a_forgotten_connection_makes_no_second_leader_in_an_epoch_with_halting() {
    no_second_leader(AlgorithmKind::Halting);
}

/// Three nodes without a majority, and their leader.
fn scene(algorithm: AlgorithmKind) -> Option<Cluster> {
    let cluster = Cluster::on(Network::of(3)?, |config| {
        config["algorithm"] = algorithm.name().into();
        watchful(config);
        config["timing"]["message"] = "300ms".into(); // a peer is dialed anew within twice that, also on a busy machine
    });
    cluster.agree_on(3);
    let idle = cluster.timing().failure * 2;
    eventually("the followers have said nothing to each other for longer than `failure`", || {
        let uptime = Duration::from_millis(cluster.status(3)?.uptime_ms);
        ensure(uptime > idle, || format!("{uptime:?}"))
    });
    Some(cluster)
}

/// The connections between two nodes, by the ports of the first and of the second.
fn connections(cluster: &Cluster, one: usize, other: usize) -> Vec<(String, String)> {
    let found = inside(
        cluster,
        one,
        "ss",
        &["-tnH", "state", "established", "dst", &format!("10.0.0.{other}")],
    );
    let port = |place: &str| place.rsplit(':').next().unwrap().to_owned();
    let ports = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (port(words[2]), port(words[3]))
    };
    found.lines().map(ports).collect()
}

fn inside(cluster: &Cluster, node: usize, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &cluster.network().home(node), program]).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The firewall between these two forgets all of their connections. Gives how many there were.
fn forget(cluster: &Cluster, one: usize, other: usize) -> usize {
    let both = connections(cluster, one, other);
    for (own, theirs) in &both {
        for (node, from, to) in [(one, own, theirs), (other, theirs, own)] {
            let rule = ["rule", "add", "ipproto", "tcp", "sport", from, "dport", to, "blackhole"];
            inside(cluster, node, "ip", &rule);
        }
    }
    both.len()
}

/// The ring is left out: neighbours probe each other, and one that is new leaves a ballot another way round. The rule for
/// it is held in `tests/protocol/paper/idle.rs`.
fn no_second_leader(algorithm: AlgorithmKind) {
    let Some(cluster) = scene(algorithm) else { return };
    let recorder = Recorder::of(cluster.nodes());
    assert_eq!(forget(&cluster, 1, 2), 2);
    cluster.node(3).kill_9();
    cluster.agree_among(&[1, 2], 2);
    let claims = recorder.claims();
    let mut epochs: Vec<u64> = claims.leaderships().map(|leadership| leadership.epoch).collect();
    println!("{claims:?}");
    epochs.sort_unstable();
    let leaderships = epochs.len();
    epochs.dedup();
    assert_eq!(epochs.len(), leaderships, "one epoch, two leaders: {claims:?}");
}

#[story::story]
fn an_idle_connection_that_was_forgotten_is_made_anew() {
    let Some(cluster) = scene(AlgorithmKind::Bully) else { return };
    let before = connections(&cluster, 1, 2);
    let since = std::time::Instant::now();
    forget(&cluster, 1, 2);
    eventually("both connections are new", || {
        let now = connections(&cluster, 1, 2);
        let dialed = |(own, theirs): &(String, String)| [own, theirs].contains(&&"7100".to_owned());
        let fresh = now.iter().filter(|it| dialed(it) && !before.contains(it)).count();
        ensure(fresh == 2, || format!("{before:?}, now {now:?}"))
    });
    let took = since.elapsed();
    println!("made anew after {took:?}");
    assert!(took < Duration::from_secs(20), "it took {took:?}"); // 55 s without probes
}
