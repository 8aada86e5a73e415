//! The log of a node and its forms: the course of a failover, warnings, and lines for programs.

use crate::support::{Cluster, ensure, eventually, watchful};
use serde_json::Value;
use story::story;

fn with_majority(config: &mut Value) {
    watchful(config);
    config["quorum"] = "majority".into();
}

#[story]
fn a_failover_is_told_as_a_story() {
    let cluster = Cluster::start_with(3, with_majority);
    let epoch = cluster.agree_on(3);
    let log = cluster.node(1).log();
    let first = log.lines().next().unwrap();
    for words in ["INFO  node-1: electd ", "quorum majority", "node-1 node-2 node-3", "start 1"] {
        assert!(first.contains(words), "{words} is missing from {first}");
    }
    assert!(first.contains(cluster.file().to_str().unwrap()), "{first}");
    cluster.node(3).until_logged(&[" leads in epoch", "no leader was known since its start"]);
    cluster.node(3).kill_9();
    let next = cluster.agree_on(2);
    assert!(next > epoch);
    let told =
        cluster.node(2).until_logged(&[&format!(" leads in epoch {next}: took over from node-3")]);
    assert!(told.ends_with("s without a leader"), "{told}");
    let down =
        ["WARN", "voter node-3 is down: ", "; 2 of 3 voters left, no further failure tolerated"];
    cluster.node(2).until_logged(&down);
    cluster.node(1).kill_9();
    cluster
        .node(2)
        .until_logged(&["WARN", "the majority is lost: 1 of 3 voters left, 2 are needed"]);
    cluster.node(2).until_logged(&["WARN", "leading -> ", "no majority acknowledged it in time"]);
    cluster.node(1).start();
    cluster.node(2).until_logged(&["INFO", "the majority is back: 2 of 3 voters left"]);
    cluster.node(2).until_logged(&["INFO", "voter node-1 is up"]);
}

#[story]
#[ignore = "long"]
fn every_line_for_programs_is_a_document() {
    let cluster = Cluster::prepare(1, |_| {});
    let node = cluster.node(1);
    node.start_as(&["--log-format", "json"], &[]);
    cluster.agree_on(1);
    node.stop_term();
    assert_eq!(node.exit_code(), 0);
    node.start_in(&[("ELECTD_LOG_FORMAT", "json")]);
    cluster.agree_on(1);
    let log = node.log();
    let lines = log.lines().map(|line| serde_json::from_str(line).expect(line));
    let lines: Vec<Value> = lines.collect();
    for line in &lines {
        for key in ["time", "level", "cluster", "node", "event", "message"] {
            assert!(line[key].is_string(), "{key} is missing from {line}");
        }
    }
    let starts = lines.iter().filter(|line| line["event"] == "start");
    let starts: Vec<_> = starts.map(|line| (&line["start"], &line["cluster"])).collect();
    assert_eq!(starts.len(), 2, "{log}");
    assert!(*starts[0].0 == 1 && *starts[1].0 == 2, "{log}");
    let leads = lines.iter().find(|line| line["event"] == "leading").expect("it is told");
    assert!(leads["epoch"].is_u64() && leads["leader"] == "node-1", "{leads}");
}

#[story]
fn each_loss_of_the_majority_is_a_warning_of_its_own() {
    let cluster = Cluster::start_with(2, with_majority);
    cluster.agree_on(2);
    for times in 1..=3 {
        cluster.node(2).kill_9();
        let told =
            |words| cluster.node(1).log().lines().filter(|line| line.contains(words)).count();
        let ensure_told = |words| ensure(told(words) == times, || cluster.node(1).log_tail(20));
        eventually("the loss is told", || ensure_told("WARN  node-1: the majority is lost: "));
        cluster.node(2).start();
        cluster.agree_on(2);
        eventually("its end is told", || ensure_told("INFO  node-1: the majority is back: "));
    }
}
