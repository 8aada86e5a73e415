//! The history of leaderships: kept by each node over its restarts, and merged by the command.

use std::fs;

use crate::support::{Cluster, Network, Node, electd, ensure, eventually, watchful};
use serde_json::Value;
use story::story;

/// What `electd history` tells programs of the whole cluster.
fn history(cluster: &Cluster) -> Result<Vec<Value>, String> {
    let output = electd(cluster, &["history", "--output", "json", "--since", "1h"]);
    let document: Value =
        serde_json::from_slice(&output.stdout).map_err(|_| format!("{output:?}"))?;
    Ok(document["leaderships"].as_array().unwrap().clone())
}

/// The line of `electd status` that says since when the leader leads, and why.
fn since(cluster: &Cluster) -> String {
    let output = electd(cluster, &["status", "--timeout", "1s"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    shown.lines().find(|line| line.starts_with("since ")).unwrap_or_default().to_owned()
}

fn leaders(history: &[Value]) -> Vec<(&str, bool)> {
    let led = |led: &Value| led["lasts"].as_bool().unwrap();
    history.iter().map(|one| (one["leader"].as_str().unwrap(), led(one))).collect()
}

/// The file that a node keeps its history in.
fn file(cluster: &Cluster, node: &Node) -> std::path::PathBuf {
    cluster.file().parent().unwrap().join("data").join(&node.name).join("history.json")
}

/// Claim: history.
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
    assert_eq!(failover["cause"], "leader_certified", "{failover}");
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

/// Claim: history.
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

/// The leader of this cluster is frozen: a member that just joins an election, or hears that the next one leads, has not
/// suspected it itself.
fn freezes(quorum: &str) {
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["timing"]["failure"] = "3s".into();
        config["quorum"] = quorum.into();
    });
    cluster.agree_on(3);
    cluster.node(3).freeze();
    cluster.agree_on(2);
    let failover = eventually("the failover is told", || {
        let history = history(&cluster)?;
        ensure(leaders(&history).last() == Some(&("node-2", true)), || format!("{history:?}"))?;
        Ok(history[history.len() - 2..].to_vec())
    });
    // It was silent for `failure`, 3 s, since its last heartbeat; a busy machine hears that later than it was sent.
    let gap = failover[1]["leaderless_ms"].as_u64().unwrap();
    assert!(gap >= 2000, "{gap}: {failover:?}");
    let ends = failover[0]["until_ms"].as_u64().unwrap();
    assert!(ends + 2000 <= failover[1]["since_ms"].as_u64().unwrap(), "{failover:?}");
    let line = since(&cluster);
    let reason = failover[1]["reason"].as_str().unwrap();
    assert!(line.contains(&format!("; before it node-3 led: {reason}; nobody led for ")), "{line}");
    // It wakes, and what it believes of that time is not what the others saw.
    cluster.node(3).thaw();
    cluster.agree_on(3);
    let begins = failover[1]["since_ms"].as_u64().unwrap();
    eventually("the history says of that time what the others saw", || {
        let history = history(&cluster)?;
        let is_last = leaders(&history).last() == Some(&("node-3", true));
        ensure(is_last, || format!("{history:?}"))?;
        let place = history.iter().position(|led| led["epoch"] == failover[1]["epoch"]);
        let place = place.ok_or_else(|| format!("{history:?}"))?;
        let (before, next) = (&history[place - 1], &history[place]);
        let ends = before["until_ms"].as_u64().is_some_and(|ends| ends <= begins - 2000);
        let gap = next["leaderless_ms"].as_u64();
        ensure(ends && gap.is_some_and(|gap| gap >= 2000), || format!("{history:?}"))
    });
    let alone = electd(&cluster, &["history", "--node", "node-3"]);
    let told = String::from_utf8_lossy(&alone.stderr);
    assert!(told.contains("as node-3 alone saw it: "), "{told}");
}

#[story]
fn a_leader_led_nobody_while_it_was_silent() {
    freezes("majority");
}

#[story]
fn a_leader_led_nobody_while_it_was_silent_without_a_majority_either() {
    freezes("none");
}

#[story]
fn how_long_nobody_led_after_a_power_cut_is_unknown() {
    let cluster = Cluster::start(3);
    cluster.agree_on(3);
    eventually("all have stored that", || {
        let stored = |node| fs::read_to_string(file(&cluster, node)).unwrap_or_default();
        let all = cluster.nodes().iter().all(|node| stored(node).contains("node-3"));
        ensure(all, || "not yet".to_owned())
    });
    cluster.nodes().iter().for_each(Node::kill_9);
    cluster.nodes().iter().for_each(Node::start);
    cluster.agree_on(3);
    let last = eventually("the next leadership is told", || {
        let history = history(&cluster)?;
        let known = history.len() > 1 && leaders(&history).last() == Some(&("node-3", true));
        ensure(known, || format!("{history:?}")).map(|()| history[1].clone())
    });
    assert_eq!((&last["before"], &last["leaderless_ms"]), (&"node-3".into(), &Value::Null));
    let output = electd(&cluster, &["history"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("once for a time that is unknown"), "{shown}");
}

#[story]
fn the_history_and_the_status_tell_of_an_order_in_the_same_words() {
    let cluster = Cluster::start(3);
    cluster.agree_on(3);
    cluster.node(3).post("/resign", "").unwrap();
    cluster.agree_on(2);
    eventually("all tell it", || {
        let last = history(&cluster)?.pop().unwrap_or_default();
        ensure(last["reason"] == "node-3: resigned", || format!("{last}"))?;
        let line = since(&cluster);
        ensure(line.contains("; before it node-3 led: node-3: resigned; "), || line)
    });
    let told = cluster.node(2).until_logged(&[" leads in epoch", "took over from node-3"]);
    assert!(told.contains("(leader node-3 handed over)"), "{told}");
}

/// Node-1 hears nothing of node-3, which leads node-2 meanwhile, and then wins the next election.
#[story]
fn a_node_that_was_cut_off_does_not_say_that_nobody_led_meanwhile() {
    let Some(network) = Network::of(3) else { return };
    let cluster = Cluster::on(network, |config| {
        watchful(config);
        config["quorum"] = "majority".into();
    });
    cluster.agree_on(3);
    cluster.node(2).post("/drain", "{}").unwrap();
    eventually("the leader hears of it", || {
        ensure(!cluster.status(3)?.members[1].eligible, || "not yet".to_owned())
    });
    cluster.network().cut_off(1);
    eventually("node-1 knows no leader for long", || {
        let status = cluster.status(1)?;
        let known = status.leader.map(|leader| leader.name);
        let lost = status.last_leadership.and_then(|led| led.until_ms);
        let long = lost.is_some_and(|lost| now_ms() > lost + 4000);
        ensure(known.is_none() && long, || format!("{known:?}, {lost:?}"))
    });
    cluster.node(3).freeze();
    cluster.network().plug(1, true);
    cluster.agree_on(1);
    let last = eventually("the failover is told", || {
        let last = history(&cluster)?.pop().unwrap_or_default();
        ensure(last["leader"] == "node-1" && last["lasts"] == true, || format!("{last}"))?;
        Ok(last)
    });
    let own = cluster.status(1).unwrap().last_leadership.unwrap().leaderless_ms;
    let gap = last["leaderless_ms"].as_u64().unwrap();
    assert!(own >= 4000 && gap + 2000 < own, "{gap} of {own}: {last}");
}

fn now_ms() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    u64::try_from(now.as_millis()).unwrap()
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
