//! `electd why`: each situation with its real cause; the sentence names it, and what to do.

use std::fs;

use serde_json::{Value, json};
use story::story;

use crate::problems::with_disk;
use crate::support::{
    Cluster, Finished, Held, command, done, electd, ensure, eventually, watchful,
};

fn with_majority(config: &mut Value) {
    watchful(config);
    config["quorum"] = "majority".into();
}

/// What `electd why` says, and its exit code.
fn why(cluster: &Cluster) -> Result<(Option<i32>, Value), String> {
    let output = command(cluster, &["why", "--output", "json"]).finished();
    let answer = serde_json::from_slice(&output.stdout).map_err(|_| format!("{output:?}"))?;
    Ok((output.status.code(), answer))
}

/// Waits until a member has this cause, and these words in the reason or the remedy.
#[track_caller]
fn until_why(cluster: &Cluster, member: &str, cause: &str, words: &[&str]) {
    eventually(&format!("{member}: {cause}, {words:?}"), || {
        let (_, answer) = why(cluster)?;
        let members = answer["members"].as_array().ok_or("no list")?;
        let found = members.iter().find(|found| found["name"] == member).ok_or("not there")?;
        let [reason, remedy] = ["reason", "remedy"].map(|key| found[key].as_str().unwrap_or("-"));
        let text = format!("{reason} => {remedy}");
        let holds = found["cause"] == cause && words.iter().all(|word| text.contains(word));
        ensure(holds, || format!("{answer:#}"))
    });
}

#[story]
fn a_rank_a_role_a_death_a_freeze_and_no_majority() {
    let cluster = Cluster::start_with(5, |config| {
        with_majority(config);
        config["members"][0]["role"] = "witness".into();
    });
    cluster.agree_on(5);
    until_why(&cluster, "node-5", "leads", &["in epoch", "none ranks higher"]);
    until_why(
        &cluster,
        "node-4",
        "rank",
        &["node-5 ranks higher", "`electd switchover --config ", " --to node-4`"],
    );
    until_why(&cluster, "node-1", "role", &["it is a witness, which only votes => -"]);
    assert_eq!(why(&cluster).unwrap().0, Some(0));
    let text = done(&electd(&cluster, &["why", "node-1"]));
    assert_eq!(text, "node-1 does not lead: it is a witness, which only votes\n");
    let unknown = electd(&cluster, &["why", "node-9"]);
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");

    cluster.node(3).kill_9();
    until_why(
        &cluster,
        "node-3",
        "down",
        &[
            "node-5 does not hear it; the last dial: ",
            "start node-3 on its host (`electd run --config ",
        ],
    );
    cluster.node(2).freeze();
    until_why(&cluster, "node-2", "down", &["node-5 does not hear it", "frozen"]);
    cluster.node(4).kill_9();
    eventually("nobody leads, and why says so", || {
        let (code, answer) = why(&cluster)?;
        let nobody = &answer["nobody_leads"];
        let remedy = nobody["remedy"].as_str().unwrap_or_default();
        let holds = code == Some(1)
            && nobody["cause"] == "no_majority"
            && remedy.starts_with("start 1 of node-3, node-4;");
        ensure(holds, || format!("{code:?} {answer:#}"))
    });
    until_why(&cluster, "node-5", "no_majority", &["it hears 2 of 5 voters, and 3 are needed"]);
    cluster.node(5).kill_9();
    cluster.node(1).kill_9();
    let output = electd(&cluster, &["why", "--timeout", "500ms"]);
    assert_eq!(output.status.code(), Some(69), "{output:?}");
}

#[story]
fn a_drain_a_failing_check_and_a_stall() {
    let folder = tempfile::tempdir().unwrap();
    let ill = folder.path().join("ill");
    let script = format!("test ! -e {}-$ELECTD_NODE || {{ echo ill; exit 1; }}", ill.display());
    let cluster = Cluster::start_with(3, |config| {
        with_majority(config);
        config["health"] =
            json!({"command": ["sh", "-c", script], "every": "200ms", "timeout": "190ms"});
    });
    cluster.agree_on(3);
    fs::write(folder.path().join("ill-node-3"), "").unwrap();
    cluster.agree_on(2);
    let words = ["it is unhealthy: ", "ill", "`electd check --config ", " --node node-3`"];
    until_why(&cluster, "node-3", "unhealthy", &words);
    done(&electd(&cluster, &["drain", "--node", "node-1", "--reason", "new <disk>"]));
    let words = ["it is drained since ", "new <disk>", " --node node-1` ends that"];
    until_why(&cluster, "node-1", "drained", &words);
    let held = Held::hold(cluster.node(3), "election");
    until_why(
        &cluster,
        "node-3",
        "stalled",
        &["its election thread missed its turn", "the host of node-3"],
    );
    drop(held);
}

#[story]
fn a_leader_that_stays_and_one_that_was_chosen() {
    let cluster = Cluster::start_with(3, |config| {
        watchful(config);
        config["preempt"] = "never".into();
        config["rank"] = json!({"by": "priority"});
        for (member, priority) in [(0, 7), (1, 8), (2, 9)] {
            config["members"][member]["rank"] = json!({"priority": priority});
        }
    });
    cluster.agree();
    done(&electd(&cluster, &["switchover", "--to", "node-1"]));
    cluster.agree_on(1);
    let words = ["an operator chose node-1, whatever its rank", "--clear` ends that"];
    until_why(&cluster, "node-3", "switchover", &words);
    until_why(&cluster, "node-1", "leads", &["An operator chose it", "--clear"]);

    done(&electd(&cluster, &["switchover", "--clear"]));
    let words = ["it ranks higher than node-1, which stays while it lives", " --to node-3`"];
    until_why(&cluster, "node-3", "preempt", &words);
    until_why(&cluster, "node-1", "leads", &["node-2, node-3 would rank higher"]);

    cluster.node(1).kill_9();
    cluster.agree_on(3);
    cluster.node(1).start();
    let words = ["node-3 ranks higher: priority 9, against priority 7"];
    until_why(&cluster, "node-1", "rank", &words);
}

#[story]
fn a_lost_state_and_another_cluster() {
    let cluster = Cluster::start_with(3, with_majority);
    cluster.agree_on(3);
    cluster.lose_state_of_first();
    let words = [
        "it and another member refuse each other",
        "its state was lost",
        "replace it: `electd member remove ",
    ];
    until_why(&cluster, "node-1", "rejected", &words);
    cluster.node(1).kill_9();
    let stranger = cluster.stranger(2, |config| config["cluster"] = "other".into());
    cluster.node(2).kill_9();
    stranger.start();
    until_why(&cluster, "node-2", "rejected", &["clusters differ", "give both the same file"]);
}

#[story]
fn a_start_and_a_full_disk() {
    let alone = Cluster::prepare(3, |config| {
        config["timing"] = json!({"failure": "60s", "message": "1s", "heartbeat": "1s"});
    });
    alone.node(1).start();
    until_why(&alone, "node-1", "starting", &["looks for the others"]);
    assert_eq!(why(&alone).unwrap().0, Some(1), "nobody leads");
    let Some((cluster, disk)) = with_disk(1) else { return };
    disk.fill();
    until_why(
        &cluster,
        "node-1",
        "storage",
        &["has room for 0 bytes", "free space on node-1, or mend its disk"],
    );
    cluster.nodes().iter().for_each(|node| node.kill_9()); // before their disk is gone
}
