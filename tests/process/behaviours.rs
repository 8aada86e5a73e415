//! Recordings of real nodes are behaviours of the specification (docs/spec).

use std::collections::BTreeMap;
use std::fs;

use electd::behaviour::judge;
use electd::behaviour::life::RecordedLife;
use electd::core::settings::AlgorithmKind;
use electd::flight::document::Recording;
use serde_json::Value;

use crate::support::{
    Cluster, Network, done, electd, ensure, eventually, for_each_algorithm, watchful,
};

for_each_algorithm! { recordings_of_nodes_in_trouble_are_behaviours }

/// The latest recording of each life, by the name of the node and the number of its start.
#[derive(Default)]
struct Recordings {
    lives: BTreeMap<(String, u64), Vec<RecordedLife>>,
    made: usize,
}

impl Recordings {
    /// Records all nodes that run, and judges all that was recorded so far together. A node that is killed takes along what
    /// it did after its last recording.
    fn judge(&mut self, cluster: &Cluster) {
        let folder = tempfile::tempdir().unwrap();
        for node in cluster.running() {
            let file = folder.path().join(&node.name);
            let out = file.to_str().unwrap();
            done(&electd(cluster, &["record", "--node", &node.name, "--out", out]));
            let recording = Recording::read(&fs::read(&file).unwrap()).unwrap();
            let lives = RecordedLife::read(&recording.segments().unwrap()).unwrap();
            let life = (recording.record.node.clone(), recording.record.incarnation);
            self.lives.insert(life, lives);
            self.made += 1;
        }
        let lives: Vec<RecordedLife> = self.lives.values().flatten().cloned().collect();
        let judged = judge(&lives).unwrap_or_else(|refused| panic!("{refused}"));
        println!("{} recordings: {judged:?}", self.made);
    }
}

/// The two others agree on one of them while this one is cut off.
fn cut_off(cluster: &Cluster, number: usize) {
    cluster.network().plug(number, false);
    let others: Vec<usize> = (1..=3).filter(|other| *other != number).collect();
    eventually("the others agree", || {
        let leader = |number: &usize| cluster.status(*number).map(|shown| shown.leader);
        let leaders = others.iter().map(leader).collect::<Result<Vec<_>, _>>()?;
        let cut = &cluster.node(number).name;
        let led = leaders[0].as_ref().is_some_and(|leader| leader.name != *cut);
        ensure(led && leaders[0] == leaders[1], || format!("{leaders:?}"))
    });
    cluster.network().plug(number, true);
    cluster.agree();
}

/// Each node is killed, frozen and cut off once, and all are recorded in between.
/// Claim: one-leader.
fn recordings_of_nodes_in_trouble_are_behaviours(algorithm: AlgorithmKind) {
    let change = |config: &mut Value| {
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = "majority".into();
        watchful(config);
    };
    let network = Network::of(3);
    let cuts = network.is_some();
    let cluster = match network {
        Some(network) => Cluster::on(network, change),
        None => Cluster::start_with(3, change),
    };
    cluster.agree();
    let mut recordings = Recordings::default();
    for number in 1..=3 {
        recordings.judge(&cluster);
        let node = cluster.node(number);
        node.kill_9();
        cluster.agree();
        node.start();
        cluster.agree();
        node.freeze();
        cluster.agree();
        node.thaw();
        cluster.agree();
        if cuts {
            cut_off(&cluster, number);
        }
    }
    recordings.judge(&cluster);
    assert!(recordings.made >= 7, "20 of three clusters: {}", recordings.made);
}
