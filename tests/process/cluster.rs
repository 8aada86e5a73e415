//! Elections of real processes: who leads, and in which epoch, when members come and go.

use std::collections::BTreeSet;
use std::net::SocketAddrV4;
use std::time::{Duration, UNIX_EPOCH};

use crate::support::{
    Cluster, Node, ensure, eventually, for_each_algorithm, has_joined, the_highest_comes_back,
    watchful,
};
use electd::core::settings::AlgorithmKind;
use serde_json::json;
use story::story;

for_each_algorithm! {
    a_cluster_that_starts_together_holds_one_election,
    killed_one_by_one_the_next_highest_leads_down_to_the_last_survivor,
    members_may_be_named_by_their_hosts,
    a_lone_node_leads,
    the_highest_takes_over_when_it_is_back,
    who_takes_over_is_ready_to_lead_though_another_is_down,
    a_lower_member_joins_under_the_leader_that_it_finds,
    without_preemption_the_highest_follows_when_it_is_back,
    the_epoch_outlives_the_death_of_all_nodes,
}

/// Where no message takes longer than `message`. A busy machine may need another try.
fn a_cluster_that_starts_together_holds_one_election(algorithm: AlgorithmKind) {
    let mut held = Vec::new();
    while held.last() != Some(&1) {
        assert!(held.len() < 5, "the starts held so many elections: {held:?}");
        held.push(elections_of_a_start(algorithm));
    }
}

/// Starts five together. Gives how many leaderships they ever heard of.
fn elections_of_a_start(algorithm: AlgorithmKind) -> usize {
    let cluster = Cluster::of(algorithm, 5);
    let mut leaderships = BTreeSet::from([("node-5".to_owned(), cluster.agree_on(5))]);
    for (number, node) in (1..).zip(cluster.nodes()) {
        let changes = cluster.status(number).unwrap().changes;
        // A late caller hears of the present leader: the same leader again, in the same epoch.
        leaderships.extend(changes.iter().filter_map(|c| Some((c.leader.clone()?, c.epoch))));
        let (leads, follows) = if number == 5 { (200, 503) } else { (503, 200) };
        let code = |path| node.get(path).unwrap().code;
        assert_eq!((code("/leader"), code("/follower")), (leads, follows), "{}", node.name);
        assert_eq!((code("/livez"), code("/readyz")), (200, 200), "{}", node.name);
    }
    leaderships.len()
}

/// Claim: survivor.
fn killed_one_by_one_the_next_highest_leads_down_to_the_last_survivor(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 5);
    let mut epoch = cluster.agree_on(5);
    for survivor in (1..5).rev() {
        cluster.node(survivor + 1).kill_9();
        let next = cluster.agree_on(survivor);
        assert!(next > epoch, "node-{survivor} leads in {next}, after {epoch}");
        epoch = next;
    }
}

fn members_may_be_named_by_their_hosts(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, |config| {
        for member in config["members"].as_array_mut().unwrap() {
            let listen: SocketAddrV4 = member["address"].as_str().unwrap().parse().unwrap();
            // The system takes it for a host's name, and resolves it without asking anybody.
            let name = format!("0x{:08x}", u32::from(*listen.ip()));
            member["address"] = format!("{name}:{}", listen.port()).into();
            member["listen"] = listen.to_string().into();
        }
    });
    let epoch = cluster.agree_on(3);
    cluster.node(3).kill_9();
    assert!(cluster.agree_on(2) > epoch);
    cluster.until_seen(1, 3, "dead"); // by proof: it was redialed where it had been reached
}

fn a_lone_node_leads(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 1, watchful);
    assert_eq!(cluster.agree_on(1), 1);
}

fn the_highest_takes_over_when_it_is_back(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    the_highest_comes_back(&cluster);
    let incarnation = cluster.status(3).unwrap().incarnation;
    assert_eq!(incarnation, 2, "its second life");
}

/// A member discovers the others before it asks for the leadership: after the handover nobody leads
/// until it does.
fn who_takes_over_is_ready_to_lead_though_another_is_down(algorithm: AlgorithmKind) {
    // A busy host needs longer than usual to connect over TLS, and whoever meets nobody within `failure` leads alone.
    let cluster = Cluster::of_with(algorithm, 4, |config| {
        config["timing"] = json!({"failure": "4s", "heartbeat": "200ms", "message": "400ms"});
    });
    cluster.agree_on(4);
    cluster.node(1).kill_9();
    cluster.node(4).kill_9();
    cluster.agree_on(3);
    cluster.node(4).start();
    cluster.agree_on(4);
    let changes = cluster.status(4).unwrap().changes;
    let handed_over = changes.iter().find(|change| change.reason == "leader node-3 handed over");
    assert!(handed_over.is_some_and(|change| change.to != "starting"), "{changes:?}");
}

fn a_lower_member_joins_under_the_leader_that_it_finds(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    let epoch = cluster.agree_on(3);
    cluster.node(1).kill_9();
    cluster.until_seen(3, 1, "dead");
    cluster.node(1).start();
    has_joined(algorithm, epoch, cluster.agree_on(3));
}

fn without_preemption_the_highest_follows_when_it_is_back(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, |config| config["preempt"] = "never".into());
    cluster.agree_on(3);
    cluster.node(3).kill_9();
    let epoch = cluster.agree_on(2);
    cluster.node(3).start();
    let joined = cluster.agree_on(2); // nobody is deposed
    has_joined(algorithm, epoch, joined);
    cluster.until_seen(1, 3, "alive"); // or node-1 would not ask it
    cluster.node(2).kill_9();
    assert!(cluster.agree_on(3) > joined, "an election still takes the highest");
}

/// Claim: epoch.
fn the_epoch_outlives_the_death_of_all_nodes(algorithm: AlgorithmKind) {
    let cluster = Cluster::of(algorithm, 3);
    for _ in 0..3 {
        cluster.agree_on(3);
        let before = cluster.greatest_epoch();
        cluster.nodes().iter().for_each(Node::kill_9);
        cluster.nodes().iter().for_each(Node::start);
        let after = cluster.agree_on(3);
        assert!(after > before, "epoch {after} after {before}");
    }
}

/// They keep trying, with the same result every 400 ms (T2); in the ring there is more to log.
#[story]
fn where_nobody_is_left_that_may_lead_that_is_said_once() {
    for algorithm in [AlgorithmKind::Bully, AlgorithmKind::Halting] {
        let cluster = Cluster::of_with(algorithm, 3, |config| {
            for member in [0, 1] {
                config["members"][member]["role"] = "observer".into();
            }
        });
        cluster.agree_on(3);
        cluster.node(3).kill_9();
        eventually("node-1 has said nothing for three seconds", || {
            let status = cluster.status(1)?;
            let last = status.changes.last().ok_or("no change yet")?;
            let since = UNIX_EPOCH + Duration::from_millis(last.at_ms);
            let silent = since.elapsed().is_ok_and(|time| time > Duration::from_secs(3));
            ensure(silent && last.reason == "no eligible member is left to lead", || {
                format!("{:?}", status.changes)
            })
        });
    }
}
