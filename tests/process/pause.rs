//! A paused cluster keeps its leader, whichever member comes back, and replaces it only when it is
//! gone.

use electd::core::settings::AlgorithmKind;
use serde_json::Value;
use story::story;

use crate::support::{Cluster, done, electd, ensure, eventually, for_each_algorithm};

for_each_algorithm! {
    a_higher_member_that_comes_back_to_a_paused_cluster_follows_until_it_is_resumed,
}

/// Waits until this node knows whether the cluster is paused.
#[track_caller]
fn await_pause(cluster: &Cluster, node: usize, paused: bool) {
    eventually("the node knows whether the cluster is paused", || {
        let status = cluster.status(node)?;
        ensure(status.pause.is_some() == paused, || format!("{status:?}"))
    });
}

fn a_higher_member_that_comes_back_to_a_paused_cluster_follows_until_it_is_resumed(
    algorithm: AlgorithmKind,
) {
    let cluster = Cluster::start_with(3, |config: &mut Value| {
        config["algorithm"] = algorithm.name().into();
    });
    cluster.agree_on(3);
    cluster.node(3).kill_9();
    cluster.agree_on(2);
    assert_eq!(done(&electd(&cluster, &["pause"])), "the cluster is paused\n");
    await_pause(&cluster, 1, true);
    // The one that is down may be a problem by now.
    let shown =
        String::from_utf8(electd(&cluster, &["status", "--node", "node-1"]).stdout).unwrap();
    assert!(shown.contains("paused") && shown.contains("nobody preempts"), "{shown}");
    let all = String::from_utf8(electd(&cluster, &["status"]).stdout).unwrap();
    assert!(all.contains("\npaused: since ") && all.contains("nobody preempts"), "{all}");

    cluster.node(3).start();
    await_pause(&cluster, 3, true);
    cluster.agree_on(2);
    cluster.node(1).restart();
    await_pause(&cluster, 1, true);
    cluster.agree_on(2);

    let said = done(&electd(&cluster, &["resume"]));
    assert_eq!(said, "the cluster is not paused any more\n");
    cluster.agree_on(3);
    [1, 2, 3].into_iter().for_each(|node| await_pause(&cluster, node, false));
}

#[story]
fn a_dead_leader_of_a_paused_cluster_is_replaced_and_the_pause_outlives_it_and_ends_by_itself() {
    let cluster = Cluster::start_with(3, |config: &mut Value| {
        config["quorum"] = "majority".into();
    });
    cluster.agree_on(3);
    assert_eq!(cluster.node(1).post("/pause", "").unwrap().code, 200);
    [1, 2, 3].into_iter().for_each(|node| await_pause(&cluster, node, true));
    let figures = cluster.node(2).metrics().unwrap();
    assert!(figures.contains("electd_paused 1"), "{figures}");

    cluster.node(3).kill_9();
    cluster.agree_on(2);
    cluster.node(3).start();
    cluster.agree_on(2);
    await_pause(&cluster, 3, true);

    done(&electd(&cluster, &["pause", "--for", "1ms"]));
    cluster.agree_on(3);
    [1, 2, 3].into_iter().for_each(|node| await_pause(&cluster, node, false));
    cluster.node(2).until_logged(&["the cluster is paused until it is resumed"]);
    cluster.node(2).until_logged(&["the cluster is not paused any more"]);
}

#[story]
fn a_pause_that_makes_no_sense_is_refused_and_so_is_one_that_no_leader_could_carry_out() {
    let cluster = Cluster::start_with(2, |config: &mut Value| {
        config["quorum"] = "majority".into();
    });
    cluster.agree_on(2);
    for (text, said) in [
        ("12", "\"12\" is no time: give a number and a unit"),
        ("0s", "\"0s\" is out of range: give 1ms to 87600h"),
        ("99999999999999h", "is out of range"),
    ] {
        let refused = electd(&cluster, &["pause", "--for", text]);
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
        let why = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(why.contains(said), "{why}");
    }
    await_pause(&cluster, 1, false);

    cluster.node(2).kill_9();
    eventually("node-1 has no leader", || {
        ensure(cluster.status(1)?.leader.is_none(), || "not yet".to_owned())
    });
    let refused = electd(&cluster, &["pause"]);
    assert_eq!(refused.status.code(), Some(75), "{refused:?}");
    await_pause(&cluster, 1, false);
}
