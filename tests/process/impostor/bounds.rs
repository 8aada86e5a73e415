//! Names, lists and numbers that no cluster has: refused before anything is made of them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use story::story;

use crate::support::impostor::{Impostor, ends, read, write};
use crate::support::{Cluster, ensure, eventually, watchful};

/// Three members of which the lowest is down.
fn scene(change: fn(&mut Value)) -> Cluster {
    let cluster = Cluster::prepare(3, |config| {
        watchful(config);
        change(config);
    });
    cluster.nodes()[1..].iter().for_each(|node| node.start());
    cluster
}

/// A list that is newer than that of the cluster, with one more member.
fn with_one_more(hello: &mut Value, change: impl FnOnce(&mut Value)) {
    hello["list"]["version"] = json!([3, 1]);
    let mut member = json!({"id": uuid::Uuid::new_v4(), "name": "node-4",
        "address": "127.0.0.1:9", "admin": null, "role": "observer"});
    change(&mut member);
    hello["list"]["members"].as_array_mut().unwrap().push(member);
}

#[story]
fn a_list_with_a_zero_character_in_a_name_ends_no_process() {
    let cluster = scene(|_| {});
    cluster.agree_among(&[2, 3], 3);
    let impostor = Impostor::of(&cluster, 1);
    for odd in ["a\0b", "", "../x", "a\n2026 forged line", &"x".repeat(100_000)] {
        for to in [2, 3] {
            let mut hello = impostor.hello(to);
            with_one_more(&mut hello, |member| member["name"] = odd.into());
            assert!(impostor.greet(to, &hello).is_err(), "{odd:.20?} is answered");
        }
    }
    cluster.agree_among(&[2, 3], 3);
    for node in &cluster.nodes()[1..] {
        let log = node.log();
        assert!(!log.contains("panicked") && !log.contains("forged line"), "{log}");
        assert!(node.threads("writer-node-").len() <= 2, "{:?}", node.threads("writer-"));
    }
}

/// Rule X1.
#[story]
fn a_list_of_very_many_ids_leaves_nothing_behind() {
    let cluster = scene(|_| {});
    cluster.agree_among(&[2, 3], 3);
    let impostor = Impostor::of(&cluster, 1);
    let (status, log) = (cluster.node(2).get("/status").unwrap().body.len(), 64 * 1024);
    let ids = |count| (0..count).map(|_| uuid::Uuid::new_v4()).collect::<Vec<_>>();
    for _ in 0..64 {
        let mut hello = impostor.hello(2);
        hello["list"]["version"] = json!([3, 1]);
        hello["list"]["removed"] = json!(ids(5_000));
        assert!(impostor.greet(2, &hello).is_err(), "it is answered");
    }
    let mut stream = impostor.welcomed(2);
    let report =
        |id| json!({"id": id, "incarnation": 1, "status": "alive", "stands": true, "value": 0});
    let members: Vec<Value> = ids(1_000).into_iter().map(report).collect();
    let rank = json!({"value": 0, "id": cluster.id(1)});
    let heartbeat = json!({"heartbeat": {"epoch": 1, "number": 1, "rank": rank, "lease_ns": 1,
        "settled": [0, 0], "members": members}});
    write(&mut stream, &impostor.message(1, &heartbeat)).unwrap();
    assert!(ends(&mut stream), "a heartbeat about a thousand members is no message");
    cluster.agree_among(&[2, 3], 3);
    let grown = cluster.node(2).get("/status").unwrap().body.len();
    assert!(grown < status + 4096, "the status grew from {status} to {grown} bytes");
    assert!(cluster.node(2).log().len() < log, "{}", cluster.node(2).log().len());
    let state = std::fs::metadata(cluster.state_file(2)).unwrap().len();
    assert!(state < 4096, "the state file has {state} bytes");
}

/// Claim: bounds.
#[story]
fn numbers_that_leave_none_above_them_change_nothing() {
    let cluster = scene(|_| {});
    let epoch = cluster.agree_among(&[2, 3], 3);
    let impostor = Impostor::of(&cluster, 1);
    let changes: [(&str, Value); 5] = [
        ("incarnation", u64::MAX.into()),
        ("round", u64::MAX.into()),
        ("view", json!({"epoch": u64::MAX, "leader": null})),
        ("timing", json!([u64::MAX, 1, 1, 1])),
        ("cluster", "a\u{1b}[2J".into()),
    ];
    for (key, value) in changes {
        let mut hello = impostor.hello(2);
        hello[key] = value;
        assert!(impostor.greet(2, &hello).is_err(), "{key} is taken");
    }
    assert_eq!(cluster.agree_among(&[2, 3], 3), epoch);
    cluster.node(1).start();
    cluster.agree_on(3);
}

const HOUR: u64 = 3_600_000_000_000;

/// A voter promised its vote for an hour, or until the end of time, restarts included.
#[story]
fn a_claim_for_all_time_binds_no_voter() {
    let cluster = scene(|config| config["quorum"] = "majority".into());
    cluster.nodes()[0].start(); // a voter with an empty store has to meet all others once
    let epoch = cluster.agree_on(3);
    cluster.node(1).kill_9();
    cluster.node(3).kill_9();
    let impostor = Impostor::of(&cluster, 1);
    let lease = cluster.timing().lease;
    let begun = Instant::now();
    eventually("the impostor has claimed while no promise runs", || {
        for lease in [HOUR, u64::MAX] {
            let mut stream = impostor.greet(2, &impostor.hello(2)).map_err(|e| e.to_string())?.0;
            let claim = json!({"claim": {"number": 1, "epoch": epoch + 1000, "lease_ns": lease,
                "list": [0, 0]}});
            write(&mut stream, &impostor.message(epoch, &claim)).map_err(|e| e.to_string())?;
            stream.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
            let _ = read(&mut stream); // its end, or nothing for a while
        }
        ensure(begun.elapsed() > lease * 4, || "too early".to_owned())
    });
    // Its promise would be durable.
    cluster.node(2).restart();
    cluster.node(3).start();
    eventually("node-3 leads with the vote of node-2", || {
        let status = cluster.node(3).status()?;
        ensure(status.state == "leading", || format!("it is {}", status.state))
    });
}
