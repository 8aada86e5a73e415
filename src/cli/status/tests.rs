//! What a node shows of itself, in words.

use super::*;
use crate::cli::ask::tests;

/// A node's details, with this rank and this status of the halting algorithm.
fn ranked(by: &str, value: Value, halting: Option<&str>) -> String {
    let mut status = tests::status("node-1", Some(("node-5", 7)));
    status.rank_source = "the source".to_owned();
    status.halting = halting.map(|word| status::HaltingStatus {
        status: word.to_owned(),
        halter: Some("node-5".to_owned()),
        task_bytes: 12,
    });
    let rank = RankStatus { by: by.to_owned(), value };
    status.members = vec![MemberStatus { rank, ..tests::member("node-1") }];
    details(&status, false)
}

#[test]
fn one_node_shows_its_details_and_all_a_row_each_and_the_guarantee_if_it_is_asked_for() {
    let mut status = tests::status("node-1", Some(("node-5", 7)));
    status.guarantee = "one leader at most".to_owned();
    let answered = [Asked { answer: Ok(status), ..tests::silent("node-1") }];
    for verbose in [false, true] {
        let (one, all) = (shown(&answered, true, verbose), shown(&answered, false, verbose));
        assert!(one.contains("cluster ") && !one.contains("NODE "), "{one}");
        assert!(all.contains("NODE "), "{all}");
        assert_eq!([one, all].map(|text| text.contains("one leader at most")), [verbose; 2]);
    }
    assert!(shown(&[tests::silent("node-1")], true, true).contains("node-1 does not answer"));
}

#[test]
fn a_rank_is_shown_with_its_source() {
    assert!(ranked("id", json!("x"), None).contains("rank        id (the source)\n"));
    assert!(ranked("cpu", json!(7200), None).contains("rank        cpu 7200 (the source)\n"));
    let none = ranked("command", Value::Null, None);
    assert!(none.contains("rank        command, none (the source)\n"), "{none}");
}

#[test]
fn a_partition_is_told_of_with_how_long_there_were_two_leaders() {
    let mut status = tests::status("node-1", Some(("node-5", 7)));
    status.partition = Some(status::PartitionStatus {
        own_epoch: 6,
        other: status::OtherLeader { name: "node-5".to_owned(), epoch: 5 },
        lasted_at_most_ms: 2100,
        healed_ms_ago: 65_999,
    });
    let words = "there were two leaders until 1m 5s ago: node-5 in epoch 5 beside this node in \
                 epoch 6, for at most 2.1 s";
    let text = details(&status, false);
    assert!(text.contains(&format!("partition   {words}\n")), "{text}");
    let silent = tests::following("node-2", Some(("node-5", 7)));
    let asked = [Asked { answer: Ok(status), ..silent }];
    let text = overview(&asked, false);
    assert!(text.contains(&format!("\nnode-1: {words}\n")), "{text}");
    assert!(!ranked("id", json!("x"), None).contains("partition"));
}

#[test]
fn a_node_shows_all_that_it_knows_and_nothing_that_it_does_not() {
    let mut status = tests::status("node-1", None);
    let plain = details(&status, false);
    for absent in
        ["health", "lease", "disk", "members ", "led since", "last change", "dropped", "REFUSAL"]
    {
        assert!(!plain.contains(absent), "{absent}: {plain}");
    }
    assert!(plain.contains("leader      none known\n"), "{plain}");
    let more = json!({
        "leaderless": {"since": "then", "lasts_ms": 12_000, "cause": "isolated", "reason": "nobody answers"},
        "health": {"healthy": false, "since": "then", "output": "well", "failure": "exited with code 1"},
        "uptime_ms": 75_000, "stalled": true, "worst_failover_ms": null, "lease_remaining_ms": 350, "durable_write_ms": 2.5,
        "differs_from_file": "node-4 was added", "dropped": {"events": 0, "writer": 3},
        "problems": [{"since": "then", "kind": "rank", "about": "", "text": "no rank"}],
        "rejections": [{"peer": "node-9", "reason": "clusters differ"}],
        "last_leadership": {
            "leader": "node-2", "epoch": 7, "since_ms": 1_700_000_000_123_u64, "until_ms": null, "lasts": false,
            "before": null, "cause": "start", "reason": "no leader was known before", "leaderless_ms": 0,
        },
        "changes": [{
            "number": 1, "at_ms": 1_700_000_000_456_u64, "from": "following", "to": "electing", "halting": null,
            "leader": null, "epoch": 7, "reason": "leader node-2 is silent",
        }],
    });
    let mut all = json!(status);
    all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    status = serde_json::from_value(all).unwrap();
    let passed_over = Some("comes and goes".to_owned());
    let [one, other] = ["node-1", "node-2"].map(tests::member);
    status.members =
        vec![MemberStatus { eligible: false, ..one }, MemberStatus { passed_over, ..other }];
    let text = details(&status, false);
    for line in [
        "problem     rank, since then: no rank",
        "state       electing, stalled",
        "leader      none known for 12 s: nobody answers",
        "failover    none: nobody could take over",
        "health      unhealthy since then; exited with code 1",
        "lease       350 ms left",
        "disk        a durable write takes up to 2.5 ms",
        "members     node-4 was added",
        "led since   2023-11-14T22:13:20.123Z by node-2, as no leader was known before",
        "last change following -> electing at 2023-11-14T22:13:20.456Z",
        "because     leader node-2 is silent",
        "dropped     3 messages, writer",
        "node-9   clusters differ",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is missing from\n{text}");
    }
    let up = length(Duration::from_secs(75));
    assert!(text.contains(&format!(", up {up}\n")), "{text}");
    let row = |name: &str| text.lines().rfind(|line| line.starts_with(name)).unwrap();
    assert!(row("node-1").contains("  member, not eligible  "), "{text}");
    assert!(row("node-2").contains("  alive, passed over: comes and goes  "), "{text}");
}

#[test]
fn the_words_of_the_halting_algorithm_are_shown_where_it_runs() {
    let text = ranked("id", json!("x"), Some("reorganization"));
    for line in
        ["state       following, reorganization", "halted by   node-5", "task        12 bytes"]
    {
        assert!(text.contains(&format!("{line}\n")), "{line} is missing from\n{text}");
    }
    assert!(!ranked("id", json!("x"), None).contains("task"));
}

#[test]
fn a_health_check_is_shown_with_what_it_printed_or_why_it_failed() {
    for (healthy, output, failure, words) in [
        (true, "", None, "healthy since then"),
        (true, "all is well", None, "healthy since then: all is well"),
        (true, "no", Some("exited with code 1"), "healthy since then; exited with code 1"),
        (false, "", None, "unhealthy since then"),
    ] {
        let (since, failure) = ("then".to_owned(), failure.map(str::to_owned));
        let mut status = tests::status("node-1", None);
        let output = output.to_owned();
        status.health = Some(status::HealthStatus { healthy, since, output, failure });
        assert_eq!(own_health(&status).as_deref(), Some(words));
    }
}

#[test]
fn a_queue_that_dropped_nothing_is_not_named() {
    let mut status = tests::status("node-1", None);
    status.members = vec![tests::member("node-1"), tests::member("node-2")];
    let [events, writer] = ["events", "writer"].map(str::to_owned);
    status.dropped = [(events, 0), (writer, 1)].into();
    let text = details(&status, false);
    assert!(text.contains("dropped     1 messages, writer\n"), "{text}");
    assert!(!text.contains("events"), "{text}");
    let cluster = "cluster     demo, 2 members, algorithm bully, preempt always, quorum none\n";
    assert!(text.contains(cluster), "{text}");
}
