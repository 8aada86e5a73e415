//! Processes that freeze and resume, as after a suspend or on a starved host.

use std::process::Command;

use crate::support::script::ELECTD;
use crate::support::{Cluster, ensure, eventually, for_each_algorithm, has_joined, watchful};
use electd::core::settings::AlgorithmKind;
use electd::node::status::ChangeStatus;
use electd::trace::record::Record;
use story::story;

for_each_algorithm! {
    a_frozen_leader_is_replaced_and_thawed_counts_itself_as_failed_before_it_leads_again,
    a_frozen_follower_is_suspected_and_joins_again,
}

/// Rules D2, D6.
fn a_frozen_leader_is_replaced_and_thawed_counts_itself_as_failed_before_it_leads_again(
    algorithm: AlgorithmKind,
) {
    let cluster = Cluster::of_with(algorithm, 3, watchful);
    let first = cluster.agree_on(3);

    cluster.node(3).freeze();
    let second = cluster.agree_on(2);
    assert!(second > first);

    cluster.node(3).thaw();
    let third = cluster.agree_on(3);
    assert!(third > second);

    let changes = cluster.status(3).unwrap().changes;
    let first_after = |epoch| changes.iter().position(|change: &ChangeStatus| change.epoch > epoch);
    let failed = changes.iter().position(|change| change.reason.starts_with("stalled for"));
    assert!(failed.is_some_and(|at| changes[at].to == "starting" && changes[at].leader.is_none()));
    assert!(failed < first_after(first), "it did something before it failed: {changes:?}");
}

fn a_frozen_follower_is_suspected_and_joins_again(algorithm: AlgorithmKind) {
    let cluster = Cluster::of_with(algorithm, 3, watchful);
    let epoch = cluster.agree_on(3);

    cluster.node(1).freeze();
    for observer in [2, 3] {
        cluster.until_seen(observer, 1, "suspected");
    }
    assert_eq!(cluster.agree_on(3), epoch);

    cluster.node(1).thaw();
    for observer in [2, 3] {
        cluster.until_seen(observer, 1, "alive");
    }
    eventually("node-1 counts itself as failed", || {
        let changes = cluster.status(1)?.changes;
        let failed = changes.iter().any(|change| change.reason.starts_with("stalled for"));
        ensure(failed, || format!("{changes:?}"))
    });
    has_joined(algorithm, epoch, cluster.agree_on(3));
}

/// CLOCK_BOOTTIME alone runs on while a machine sleeps. In this time namespace it is ahead of all others, as after that.
#[story]
fn the_clock_of_a_node_counts_the_time_that_its_machine_sleeps() {
    const SLEPT: u64 = 1_000_000; // seconds
    let ahead = format!("unshare --time --fork --kill-child --boottime {SLEPT}");
    let tried = Command::new("sh").args(["-c", &format!("{ahead} true")]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        println!("skipped: a time namespace needs root, unshare, and a kernel that has them");
        return;
    }
    let cluster = Cluster::prepare(1, watchful);
    let node = cluster.node(1);
    node.runs_by(&format!("exec {ahead} {ELECTD} \"$@\""));
    node.start();
    cluster.agree_on(1);
    let before = electd::node::now().0;
    let record: Record = serde_json::from_str(&node.get("/trace").unwrap().body).unwrap();
    let passed = record.now_ns - before;
    assert!(passed >= SLEPT * 1_000_000_000, "its clock is ahead by {passed} ns");
}
