//! Clusters in which something stays broken have a leader all the same, and say what is broken.

mod support;

use electd::core::settings::AlgorithmKind;
use support::{Cluster, ensure, eventually, for_each_algorithm};

for_each_algorithm! {
    the_highest_cannot_be_dialed,
}

/// Its address in the file is wrong: it dials all others, and nobody can dial it.
fn the_highest_cannot_be_dialed(algorithm: AlgorithmKind) {
    let cluster = Cluster::start_with(3, |config| {
        config["algorithm"] = algorithm.name().into();
        config["quorum"] = "majority".into();
        let highest = &mut config["members"][2];
        let true_address = highest["address"].clone();
        let host = true_address.as_str().unwrap().split(':').next().unwrap().to_owned();
        highest["listen"] = true_address;
        highest["address"] = format!("{host}:1").into(); // nobody listens there
    });
    let epoch = cluster.agree_among(&[1, 2], 2);
    for observer in [1, 2] {
        eventually("its status says why", || {
            let status = cluster.status(observer)?;
            let why = status.members.iter().find(|m| m.name == "node-3").unwrap();
            let said = why.passed_over.as_deref() == Some("heard, but cannot be dialed");
            ensure(said, || format!("{why:?}"))
        });
    }
    let heartbeats = || cluster.status(2).unwrap().messages["heartbeat"].sent;
    let before = heartbeats();
    eventually("it leads on", || ensure(heartbeats() >= before + 20, || "wait".to_owned()));
    assert_eq!(cluster.agree_among(&[1, 2], 2), epoch);
}
