//! Recordings of real nodes are behaviours of the specification (docs/spec).

use std::collections::BTreeMap;
use std::fs;

use electd::behaviour::judge;
use electd::behaviour::life::RecordedLife;
use electd::core::settings::AlgorithmKind;
use electd::flight::document::Recording;

use crate::support::trouble::Trouble;
use crate::support::{Cluster, done, electd, for_each_algorithm};

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

/// Each node is killed, frozen and cut off once, and all are recorded in between.
/// Claim: one-leader.
fn recordings_of_nodes_in_trouble_are_behaviours(algorithm: AlgorithmKind) {
    let trouble = Trouble::of(algorithm);
    let mut recordings = Recordings::default();
    for number in 1..=3 {
        recordings.judge(&trouble.cluster);
        trouble.befalls(number);
    }
    recordings.judge(&trouble.cluster);
    assert!(recordings.made >= 7, "20 of three clusters: {}", recordings.made);
}
