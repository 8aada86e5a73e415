//! What a node shows of itself, in words.

use super::*;
use crate::cli::ask::tests;

fn details(status: &status::Status, verbose: bool) -> String {
    super::details(status, verbose, &ClusterFlags::default())
}

fn shown(asked: &[AskedNode], is_one: bool, verbose: bool) -> String {
    super::shown(asked, is_one, verbose, &ClusterFlags::default())
}

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
    let other = RankStatus { by: "other".to_owned(), value: json!(9) };
    status.members = vec![
        MemberStatus { rank: other, ..tests::member("node-0") },
        MemberStatus { rank, ..tests::member("node-1") },
    ];
    details(&status, false)
}

#[test]
fn one_node_shows_its_details_and_all_a_row_each_and_the_guarantee_if_it_is_asked_for() {
    let mut status = tests::status("node-1", Some(("node-5", 7)));
    status.guarantee = "one leader at most".to_owned();
    let answered = [AskedNode { answer: Ok(status), ..tests::silent("node-1") }];
    for verbose in [false, true] {
        let (one, all) = (shown(&answered, true, verbose), shown(&answered, false, verbose));
        assert!(one.contains("cluster ") && !one.contains("NODE "), "{one}");
        assert!(all.contains("NODE "), "{all}");
        assert_eq!([one, all].map(|text| text.contains("one leader at most")), [verbose; 2]);
    }
    assert!(shown(&[tests::silent("node-1")], true, true).contains("node-1 does not answer"));
}

#[test]
fn a_status_that_is_watched_is_as_old_as_the_help_says() {
    let command = crate::cli::command();
    let help = command.find_subcommand("status").unwrap().clone().render_long_help().to_string();
    assert!(help.contains("every second"), "{help}");
    assert_eq!(REDRAW, Duration::from_secs(1));
}

#[test]
fn a_rank_is_shown_with_its_source() {
    for (by, value, expected) in [
        ("id", json!("x"), "id"),
        ("cpu", json!(7200), "cpu 7200"),
        ("address", json!("10.0.0.1"), "address 10.0.0.1"),
        ("command", Value::Null, "command, none"),
    ] {
        let text = ranked(by, value, None);
        assert_eq!(
            text.lines().nth(5),
            Some(&*format!("rank        {expected} (the source)")),
            "{text}"
        );
    }
}

#[test]
fn the_longest_failovers_are_told_from_the_quickest_on() {
    assert_eq!(
        failovers(900, Some(400), Some(706)),
        "400 ms after a crash, 706 ms if all its processes are killed, 900 ms at worst"
    );
    assert_eq!(
        failovers(900, None, Some(706)),
        "706 ms if all its processes are killed, 900 ms at worst"
    );
    assert_eq!(failovers(900, Some(400), None), "400 ms after a crash, 900 ms at worst");
    assert_eq!(failovers(900, None, None), "900 ms at worst");
}

#[test]
fn a_program_gets_the_status_of_each_node_or_its_error() {
    let answered = tests::following("node-1", Some(("node-5", 7)));
    let mut unserved = tests::silent("node-2");
    unserved.target.admin = None;
    let error = unserved.answer.as_ref().unwrap_err().to_string();
    let status = json!(answered.answer.as_ref().unwrap());
    let expected = json!({"nodes": [
        {"name": "node-1", "admin": "127.0.0.1:1", "status": status, "error": null},
        {"name": "node-2", "admin": null, "status": null, "error": error},
    ]});
    assert_eq!(document(&[answered, unserved]), expected);
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
    let asked = [AskedNode { answer: Ok(status), ..silent }];
    let text = overview(&asked, false, &ClusterFlags::default());
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
        "pause": {"since": "then", "until": null}, "uptime_ms": 75_000, "stalled": true, "worst_failover_ms": null, "lease_remaining_ms": 350, "durable_write_ms": 2.5,
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
    status.members[1].rtt_ms = Some(0.42);
    status.members[1].version = Some("0.3.0".to_owned());
    status.guarantee = "one leader at most".to_owned();
    let text = "\
problem     rank, since then: no rank
            => mend what `rank` of node-1 reads: `electd check --node node-1` on its host takes a sample
node        node-1, electd 0.2.0, start 1, up 1m 15s
cluster     demo, 2 members, algorithm bully, preempt always, quorum none
paused      since then: nobody preempts the leader; `electd resume` ends that
state       electing, stalled
leader      none known for 12 s: nobody answers
epoch       0
rank        id (all are equal, the id decides)
tolerates   1 more failure
failover    none: nobody could take over
age         3 ms
guarantee   one leader at most
health      unhealthy since then; exited with code 1
lease       350 ms left
disk        a durable write takes up to 2.5 ms
members     node-4 was added
led since   2023-11-14T22:13:20.123Z by node-2, as no leader was known before
last change following -> electing at 2023-11-14T22:13:20.456Z
because     leader node-2 is silent
dropped     3 messages, writer

MEMBER  STATUS                              RTT     VERSION  ROLE                  RANK  ADDRESS         ID
node-1  alive                               -       -        member, not eligible  id    127.0.0.1:7101  id of node-1
node-2  alive, passed over: comes and goes  0.4 ms  0.3.0    member                id    127.0.0.1:7101  id of node-2

REFUSAL  REASON
node-9   clusters differ
";
    assert_eq!(details(&status, true), text);
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
    assert!(text.contains("dropped     1 message, writer\n"), "{text}");
    assert!(!text.contains("events"), "{text}");
    let cluster = "cluster     demo, 2 members, algorithm bully, preempt always, quorum none\n";
    assert!(text.contains(cluster), "{text}");
}
