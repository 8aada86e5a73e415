//! A node reads its configuration again: what takes effect, what is named, and that a bad file changes
//! nothing.

use std::fs;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::{Cluster, ensure, eventually};

fn by_priority(config: &mut Value) {
    config["rank"] = json!({"by": "priority", "priority": 1});
}

/// Writes the cluster's file anew.
fn write(cluster: &Cluster, change: impl FnOnce(&mut Value)) {
    let mut config = cluster.config().clone();
    change(&mut config);
    fs::write(cluster.file(), config.to_string()).unwrap();
}

fn reload(cluster: &Cluster, name: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.args(["reload", "--node", name, "--config"]).arg(cluster.file());
    command.env_remove("ELECTD_ADMIN").output().unwrap()
}

fn until_priority(cluster: &Cluster, number: usize, priority: i64) {
    eventually(&format!("node-{number} has priority {priority}"), || {
        let shown = cluster.status(number)?.members[number - 1].rank.value.clone();
        ensure(shown == priority, || shown.to_string())
    });
}

#[test]
fn a_rank_takes_effect_at_once_and_what_needs_a_restart_is_named() {
    let cluster = Cluster::start_with(2, |config| {
        by_priority(config);
        config["preempt"] = "never".into();
    });
    let epoch = cluster.agree_on(2);
    write(&cluster, |config| {
        by_priority(config);
        config["preempt"] = "never".into();
        config["members"][0]["rank"] = json!({"priority": 7});
        config["timing"]["failure"] = "6s".into();
    });
    let output = reload(&cluster, "node-1");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(said, "changed at once: rank; needs a restart of this node: timing\n");
    until_priority(&cluster, 1, 7);
    assert_eq!(cluster.agree_on(2), epoch, "nobody lost its leadership");
}

#[test]
fn hup_reloads_and_ends_nobody() {
    let cluster = Cluster::start_with(1, by_priority);
    let epoch = cluster.agree_on(1);
    write(&cluster, |config| config["rank"] = json!({"by": "priority", "priority": 3}));
    cluster.node(1).hang_up();
    // A leader keeps the rank that it was elected with until the next election.
    eventually("the file is read again", || {
        let log = cluster.node(1).log();
        ensure(log.contains("was read again: changed at once: rank"), || log)
    });
    fs::write(cluster.file(), "{").unwrap();
    cluster.node(1).hang_up();
    eventually("the bad file is refused", || {
        let log = cluster.node(1).log();
        ensure(log.contains("was not taken, and nothing changed"), || log)
    });
    assert_eq!(cluster.agree_on(1), epoch);
    cluster.node(1).stop_term();
    assert_eq!(cluster.node(1).exit_code(), 0);
}

#[test]
fn a_bad_file_changes_nothing_and_each_problem_is_named() {
    let cluster = Cluster::start_with(1, by_priority);
    cluster.agree_on(1);
    write(&cluster, |config| {
        config["rank"] = json!({"by": "priority", "priority": 9});
        config["timing"]["failure"] = "soon".into();
        config["no_such_key"] = 1.into();
    });
    let answer = cluster.node(1).post("/reload", "{}").unwrap();
    assert_eq!(answer.code, 400);
    let error = answer.error();
    assert!(error.contains("soon") && error.contains("no_such_key"), "{error}");
    assert_eq!(cluster.status(1).unwrap().members[0].rank.value, 1);
}

#[test]
fn an_edited_file_is_a_problem_until_all_of_it_counts() {
    let cluster = Cluster::start_with(1, by_priority);
    cluster.agree_on(1);
    let until_told = |words: &[&str]| {
        eventually(&format!("the problem is {words:?}"), || {
            let problems = cluster.status(1)?.problems;
            let told = |word: &&&str| problems.iter().any(|problem| problem.text.contains(**word));
            let found = words.iter().filter(told).count() == words.len();
            ensure(found && problems.is_empty() == words.is_empty(), || format!("{problems:?}"))
        });
    };
    until_told(&[]);
    write(&cluster, |config| {
        config["rank"] = json!({"by": "priority", "priority": 3});
        config["preempt"] = "never".into();
    });
    until_told(&[
        "was edited",
        "`electd reload` takes the rank",
        "a restart of this node takes preempt",
    ]);
    cluster.node(1).hang_up();
    until_told(&["not all of it is taken: a restart of this node takes preempt"]);
    fs::write(cluster.file(), "{").unwrap();
    until_told(&["was edited and cannot be used"]);
    write(&cluster, |config| config["rank"] = json!({"by": "priority", "priority": 3}));
    until_told(&[]);
    let log = cluster.node(1).log();
    assert!(
        log.contains("WARN  node-1: config_differs: ") && log.contains("no problem any more"),
        "{log}"
    );
}

#[test]
fn a_token_is_replaced_without_a_restart() {
    let cluster = Cluster::start_with(1, |config| config["admin_token_file"] = "token".into());
    let token = cluster.file().with_file_name("token");
    assert_eq!(cluster.node(1).exit_code(), 78, "there is none yet");
    fs::write(&token, "first").unwrap();
    cluster.node(1).start();
    cluster.agree_on(1);
    fs::write(&token, "second").unwrap();
    let reloaded = || cluster.node(1).post("/reload", "").unwrap().json()["result"].clone();
    assert_eq!(reloaded(), "changed at once: token");
    assert_eq!(reloaded(), "nothing to change at once");
}
