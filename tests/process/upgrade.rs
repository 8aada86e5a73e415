//! A cluster that is upgraded member by member, the leader last, and taken back, under a client that asks all the time who
//! leads.
//!
//! `ELECTD_OLD=PATH cargo test --test process upgrade::` upgrades from that build of electd. Without it both versions
//! are this build, and the members are just restarted one after the other.

use std::collections::BTreeMap;
use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;

use electd::core::settings::AlgorithmKind;
use serde_json::Value;

use crate::support::enough::Enough;
use crate::support::{
    Cluster, breathe, done, electd, ensure, eventually, for_each_algorithm, http,
};

for_each_algorithm! {
    #[ignore = "long"]
    an_upgrade_host_by_host_and_the_way_back_cost_no_leadership_but_the_handovers_of_the_leader,
}

/// The leader of each epoch, as a client saw it.
type Leaders = BTreeMap<u64, String>;

/// The epoch and the leader that the node at this address names.
fn leader_of(admin: SocketAddr) -> Option<(u64, String)> {
    let answer = http::ask(admin, "GET", "/status", "").ok()?;
    let status: Value = serde_json::from_str(&answer.body).ok()?;
    let leader = &status["leader"];
    Some((leader["epoch"].as_u64()?, leader["name"].as_str()?.to_owned()))
}

/// Continually asks all nodes, and once more at the end, and notes each leader that one of them names.
fn ask_all(admins: [SocketAddr; 3], enough: &Enough) -> Leaders {
    let mut leaders = Leaders::new();
    loop {
        let is_last = enough.is_said();
        for (epoch, leader) in admins.into_iter().filter_map(leader_of) {
            let first = leaders.entry(epoch).or_insert_with(|| leader.clone());
            assert_eq!(*first, leader, "epoch {epoch} has two leaders");
        }
        if is_last {
            return leaders;
        }
        breathe();
    }
}

/// Waits until all nodes that run name this leader.
fn all_name(cluster: &Cluster, leader: &str) {
    eventually(&format!("all name {leader}"), || {
        let named: Vec<_> = cluster.running().map(|node| leader_of(node.admin)).collect();
        let first = named[0].as_ref().filter(|(_, name)| name == leader);
        let agree = first.is_some() && named.iter().all(|other| other.as_ref() == first);
        ensure(agree, || format!("{named:?}"))
    });
}

/// Stops a node cleanly and restarts it, in the version installed meanwhile: that build, or this one; this node leads
/// until then.
fn install(cluster: &Cluster, number: usize, build: Option<&PathBuf>, meanwhile: &str) {
    let node = cluster.node(number);
    node.stop_term();
    assert_eq!(node.exit_code(), 0, "{}", node.log_tail(10));
    all_name(cluster, meanwhile);
    node.build.replace(build.cloned());
    node.start();
    all_name(cluster, "node-3");
}

/// Claim: upgrade.
fn an_upgrade_host_by_host_and_the_way_back_cost_no_leadership_but_the_handovers_of_the_leader(
    algorithm: AlgorithmKind,
) {
    let old = env::var_os("ELECTD_OLD").map(PathBuf::from);
    let cluster = Cluster::prepare(3, |config| {
        config["quorum"] = "majority".into();
        config["algorithm"] = algorithm.name().into();
    });
    for node in cluster.nodes() {
        node.build.replace(old.clone());
        node.start();
    }
    all_name(&cluster, "node-3");
    let enough = Enough::default();
    let admins = [1, 2, 3].map(|number| cluster.node(number).admin);
    let leaders = thread::scope(|scope| {
        let client = scope.spawn(|| ask_all(admins, &enough));
        let asks = enough.at_end();
        for number in [1, 2] {
            install(&cluster, number, None, "node-3");
        }
        // A leader of a version that knows no pause refuses it, and says why; any other does it.
        let paused = electd(&cluster, &["pause", "--node", "node-1"]);
        let said = String::from_utf8_lossy(&paused.stderr);
        let refused = old.is_some() && said.contains("node-3, runs an earlier version");
        if !refused {
            done(&paused);
            done(&electd(&cluster, &["resume", "--node", "node-1"]));
        }
        install(&cluster, 3, None, "node-2");
        for (number, meanwhile) in [(1, "node-3"), (2, "node-3"), (3, "node-2")] {
            install(&cluster, number, old.as_ref(), meanwhile);
        }
        drop(asks);
        client.join().unwrap()
    });
    let mut names: Vec<&str> = leaders.values().map(String::as_str).collect();
    names.dedup();
    assert_eq!(names, ["node-3", "node-2", "node-3", "node-2", "node-3"], "{leaders:?}");
}
