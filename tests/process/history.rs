//! The history of leaderships: kept by each node over its restarts, and merged by the command.

use std::fs;
use std::process::Command;

use crate::support::{Cluster, Node, ensure, eventually, watchful};
use serde_json::Value;
use story::story;

/// What `electd history` tells programs of the whole cluster.
fn history(cluster: &Cluster) -> Result<Vec<Value>, String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.args(["history", "--output", "json", "--since", "1h", "--config"]).arg(cluster.file());
    let output = command.env_remove("ELECTD_ADMIN").output().unwrap();
    let document: Value =
        serde_json::from_slice(&output.stdout).map_err(|_| format!("{output:?}"))?;
    Ok(document["leaderships"].as_array().unwrap().clone())
}

fn leaders(history: &[Value]) -> Vec<(&str, bool)> {
    let led = |led: &Value| led["lasts"].as_bool().unwrap();
    history.iter().map(|one| (one["leader"].as_str().unwrap(), led(one))).collect()
}

/// The file that a node keeps its history in.
fn file(cluster: &Cluster, node: &Node) -> std::path::PathBuf {
    cluster.file().parent().unwrap().join("data").join(&node.name).join("history.json")
}

#[story]
fn the_history_of_all_nodes_is_one_and_outlives_them() {
    let cluster = Cluster::start_with(3, watchful);
    cluster.agree_on(3);
    cluster.node(3).kill_9();
    cluster.agree_on(2);
    let failover = eventually("the failover is told", || {
        let history = history(&cluster)?;
        let found = leaders(&history) == [("node-3", false), ("node-2", true)];
        ensure(found, || format!("{history:?}")).map(|()| history[1].clone())
    });
    assert_eq!(failover["before"], "node-3", "{failover}");
    assert_eq!(failover["cause"], "leader_dead", "{failover}");
    for number in [1, 2] {
        cluster.node(number).stop_term();
        assert_eq!(cluster.node(number).exit_code(), 0);
    }
    cluster.node(1).start();
    eventually("node-1 leads, and knows who led before", || {
        let history = history(&cluster)?;
        let leaders = leaders(&history);
        let known = leaders[..2] == [("node-3", false), ("node-2", false)];
        ensure(known && leaders.last() == Some(&("node-1", true)), || format!("{history:?}"))
    });
}

#[story]
fn a_leader_that_was_frozen_did_not_lead_beside_the_next() {
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
    cluster.agree_on(3);
    cluster.node(3).freeze();
    cluster.agree_on(2);
    cluster.node(3).thaw();
    cluster.agree_on(3);
    let history = eventually("all three leaderships are told", || {
        let history = history(&cluster)?;
        let last = leaders(&history).last() == Some(&("node-3", true));
        let known = leaders(&history).starts_with(&[("node-3", false), ("node-2", false)]);
        ensure(last && known, || format!("{history:?}")).map(|()| history)
    });
    let (ends, begins) = (&history[0]["until_ms"], &history[1]["since_ms"]);
    assert!(ends.as_u64() <= begins.as_u64(), "{history:?}");
    assert_eq!(history[1]["before"], "node-3", "{history:?}");
}

#[story]
#[ignore = "long"]
fn a_damaged_history_costs_nothing_but_itself() {
    let cluster = Cluster::start(1);
    let epoch = cluster.agree_on(1);
    let node = cluster.node(1);
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    let path = file(&cluster, node);
    assert!(fs::read_to_string(&path).unwrap().contains("node-1"));
    fs::write(&path, "{\"format\": 1, \"leader").unwrap();
    node.start();
    assert!(cluster.agree_on(1) > epoch, "the state is whole");
    let log = node.log();
    assert!(
        log.contains("history.json cannot be read") && log.contains("history.json.damaged"),
        "{log}"
    );
    eventually("the history begins anew", || {
        let history = history(&cluster)?;
        ensure(leaders(&history) == [("node-1", true)], || format!("{history:?}"))
    });
}
