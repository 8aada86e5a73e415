//! What `health`, `history` and `tune` say of fake nodes, whole, and how they end.

use std::net::{SocketAddr, TcpListener};

use electd::node::delays::{DelaySlot, MeasuredDelays};
use electd::node::history::HistoryEntry;
use electd::node::status::{LeaderlessStatus, Problem};
use serde_json::{Value, json};

use super::cli::{Cluster, code, nobody, stderr, stdout};
use super::fake::{FakeNode, member};

/// The exit code of a command, what it prints, and what it says.
fn told(cluster: &Cluster, args: &[&str]) -> (Option<i32>, String, String) {
    let output = cluster.electd(args);
    (code(&output), stdout(&output), stderr(&output))
}

fn refused(address: SocketAddr) -> String {
    format!("no answer from {address}: connection refused, so nobody answers HTTP there")
}

/// Each once, in the order of those that tell of them, however long one takes to answer.
#[test]
fn members_that_no_file_names_are_told_in_one_order() {
    let nodes = [1, 2, 4].map(|number| FakeNode::new().with_number(number));
    let servers = nodes.each_ref().map(FakeNode::serve);
    let [first, second, quick] = servers.each_ref().map(|server| server.local_addr());
    let frozen = TcpListener::bind("127.0.0.1:0").unwrap(); // it takes no connection
    let added = [("node-3", frozen.local_addr().unwrap()), ("node-4", quick)];
    let added = added.map(|(name, admin)| member(name, Some(admin.to_string())));
    nodes.iter().for_each(|node| node.set(|state| state.status.members = added.to_vec()));
    let cluster = Cluster::of(&[Some(first), Some(second)]);
    let args = ["status", "--output", "json", "--timeout", "1s"];
    let document: Value = serde_json::from_str(&told(&cluster, &args).1).unwrap();
    let names = document["nodes"].as_array().unwrap().iter().map(|node| node["name"].clone());
    let expected = ["node-1", "node-2", "node-3", "node-4"];
    assert_eq!(names.collect::<Vec<_>>(), expected, "{document}");
}

#[test]
fn health_has_a_line_and_an_exit_code_for_each_verdict() {
    let node = FakeNode::new();
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let health = |cluster: &Cluster| told(cluster, &["health"]);
    let silent = String::new;
    let well = "ELECTD OK: node-2 leads in epoch 7; no further failure tolerated; 1 of 1 node answers | \
                failures_tolerated=0 answering=1;;;0;1 problems=0 epoch=7c\n";
    assert_eq!(health(&cluster), (Some(0), well.to_owned(), silent()));
    node.set(|state| {
        let (kind, about) = ("disk".to_owned(), String::new());
        let problem = Problem { kind, about, text: "it is slow".to_owned(), since: String::new() };
        state.status.problems = vec![problem];
    });
    let degraded = "ELECTD DEGRADED: node-2 leads in epoch 7; no further failure tolerated; 1 of 1 node answers; \
                    node-1: disk: it is slow | failures_tolerated=0 answering=1;;;0;1 problems=1 epoch=7c\n";
    assert_eq!(health(&cluster), (Some(1), degraded.to_owned(), silent()));
    node.set(|state| {
        state.status.problems.clear();
        state.status.leader = None;
        let reason = "node-2 is silent".to_owned();
        state.status.leaderless =
            Some(LeaderlessStatus { lasts_ms: 2000, reason, ..LeaderlessStatus::default() });
    });
    let none = "ELECTD NO LEADER: no leader is known: node-1: node-2 is silent; nobody has led for 2 s; 1 of 1 node \
                answers | failures_tolerated=0 answering=1;;;0;1 problems=0 epoch=0c\n";
    assert_eq!(health(&cluster), (Some(2), none.to_owned(), silent()));
    let (exit, shown, said) = told(&cluster, &["health", "--output", "json"]);
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((exit, &shown["verdict"], said), (Some(2), &json!("no_leader"), silent()));
    let address = nobody();
    let unknown = format!(
        "ELECTD UNKNOWN: no leader is known; 0 of 1 node answers; node-1 does not answer: {} | failures_tolerated=0 \
         answering=0;;;0;1 problems=1 epoch=0c\n",
        refused(address)
    );
    assert_eq!(health(&Cluster::of(&[Some(address)])), (Some(3), unknown, silent()));
}

/// Whatever it knows of a leader.
#[test]
fn a_node_lives_while_its_election_thread_does() {
    let node = FakeNode::new();
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr()), Some(nobody())]);
    let live = |name: &str| told(&cluster, &["health", "--live", "--node", name]);
    node.set(|state| state.status.leader = None);
    assert_eq!(live("node-1"), (Some(0), "live\n".to_owned(), String::new()));
    node.set(|state| state.status.stalled = true);
    let hangs = "not live: its election thread hangs\n";
    assert_eq!(live("node-1"), (Some(1), String::new(), hangs.to_owned()));
    let (exit, shown, said) = live("node-2");
    assert_eq!((exit, shown.as_str()), (Some(1), ""));
    assert!(said.starts_with("not live: no answer from 127.0.0.1:"), "{said}");
    let both = ["health", "--live", "--node", "node-1", "--output", "json"];
    assert_eq!(told(&cluster, &both).0, Some(3), "it has one line");
}

/// A leadership of which this node saw the end, and whether it lasts.
fn led(
    leader: &str,
    epoch: u64,
    since_ms: u64,
    until_ms: Option<u64>,
    lasts: bool,
) -> HistoryEntry {
    HistoryEntry {
        leader: leader.to_owned(),
        epoch,
        since_ms,
        until_ms,
        lasts,
        before: None,
        before_epoch: None,
        cause: "start".to_owned(),
        reason: "this node started".to_owned(),
        leaderless_ms: 0,
        job_late_ms: None,
        ended: None,
    }
}

#[test]
fn history_merges_what_all_nodes_tell_and_names_those_that_tell_nothing() {
    let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap();
    let hours = |count: u64| now - count * 3_600_000;
    let (one, two) = (FakeNode::new(), FakeNode::new().with_number(2));
    let entries = vec![
        led("node-1", 1, hours(9), Some(hours(8)), false),
        led("node-2", 2, hours(8), Some(hours(6)), false),
        led("node-3", 3, hours(6), None, false), // a power cut
        led("node-4", 4, hours(2), None, true),
    ];
    one.set(|state| state.history = entries.clone().into());
    // It did not hear that node-1 was replaced.
    two.set(|state| state.history = vec![led("node-1", 1, hours(9), Some(hours(5)), false)].into());
    let (first, second, address) = (one.serve(), two.serve(), nobody());
    let places = [Some(first.local_addr()), Some(second.local_addr()), Some(address)];
    let cluster = Cluster::of(&places);
    let shown = |args: &[&str]| {
        let args = [&["history", "--output", "json"], args].concat();
        let (exit, shown, said) = told(&cluster, &args);
        assert_eq!(exit, Some(0), "{said}");
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let all = shown["leaderships"].as_array().unwrap().clone();
        let ends = all.iter().map(|led| (led["epoch"].as_u64().unwrap(), led["until_ms"].as_u64()));
        (ends.collect::<Vec<_>>(), said)
    };
    let silence = format!("node-3: {}\n", refused(address));
    let last = [(2, Some(hours(6))), (3, None), (4, None)];
    let simultaneous = [&[(1, Some(hours(5)))], &last[..]].concat();
    assert_eq!(shown(&[]), (simultaneous.clone(), silence.clone()));
    assert_eq!(shown(&["--since", "7h"]).0, simultaneous);
    let own = ["--node", "node-1", "--since"];
    assert_eq!(shown(&[&own[..], &["7h"]].concat()), (last.to_vec(), String::new()));
    assert_eq!(shown(&[&own[..], &["1h"]].concat()).0, [(4, None)], "it lasts");
    for node in [&one, &two] {
        // One that answers and elects by a majority is enough: then one led at a time.
        node.set(|state| state.status.quorum = "majority".to_owned());
        let one_at_a_time = [&[(1, Some(hours(8)))], &last[..]].concat();
        assert_eq!(shown(&[]).0, one_at_a_time);
    }
    let (exit, text, said) = told(&cluster, &["history", "--since", "3h"]);
    assert_eq!((exit, said), (Some(0), silence));
    assert!(text.starts_with("LEADER ") && text.contains("\nnode-4  4 "), "{text}");
    let (exit, shown, said) = told(&Cluster::of(&[Some(address)]), &["history"]);
    assert_eq!((exit, shown.as_str()), (Some(69), ""));
    assert_eq!(said, format!("no node answers\n  node-1: {}\n", refused(address)));
}

/// The first leads on a calm host; the timers of the second are late now and then.
#[test]
fn tune_proposes_what_the_worst_host_bears_and_says_what_is_missing() {
    let (one, two) = (FakeNode::new(), FakeNode::new().with_number(2));
    let (first, second) = (one.serve(), two.serve());
    let cluster = Cluster::of(&[Some(first.local_addr()), Some(second.local_addr())]);
    let measured = |number: u64, slots: u64, trips: &[(&str, u64)]| {
        let slot = |at: u64| DelaySlot {
            late_us: number * number * (900 + at % 7 * 40),
            round_trips_us: trips.iter().map(|(name, it)| ((*name).to_owned(), *it)).collect(),
        };
        let slots = (0..slots).map(slot).collect();
        MeasuredDelays { node: format!("node-{number}"), slot_ms: 10_000, slots }
    };
    one.set(|state| state.delays = measured(1, 60, &[("node-2", 700)]));
    two.set(|state| state.delays = measured(2, 60, &[]));
    let (exit, text, said) = told(&cluster, &["tune"]);
    assert_eq!((exit, said.as_str()), (Some(0), ""));
    assert_eq!(text, TUNED);
    let (_, document, _) = told(&cluster, &["tune", "--for", "2m", "--output", "json"]);
    let document: Value = serde_json::from_str(&document).unwrap();
    let said = |key: &str| document[key].clone();
    assert_eq!((said("measured_ms"), said("proposed_ms")), (json!(120_000), json!(20)));
    assert_eq!(said("nodes")[1], json!({"node": "node-2", "late_ms": 4.56, "round_trip_ms": 0.7}));
    assert_eq!(said("failures")[2]["failure_ms"], 20);
    assert!(said("failures")[0]["false_changes_a_month"].as_f64().unwrap() > 1000.0);
    one.set(|state| state.delays = measured(1, 60, &[]));
    let (exit, _, said) = told(&cluster, &["tune"]);
    let silent = "no node that was asked led meanwhile, so that no round trip was measured: ask all of them\n";
    assert_eq!((exit, said.as_str()), (Some(69), silent));
    let (exit, _, said) = told(&cluster, &["tune", "--for", "61m"]);
    assert_eq!(exit, Some(2));
    assert!(said.contains("give 2m to 1h"), "{said}");
}

const TUNED: &str = r#"The last 10m, as the nodes measured them:
NODE    TIMERS LATE BY AT MOST  ROUND TRIP AT MOST
node-1  1.1 ms                  leads
node-2  4.6 ms                  0.7 ms

What each `failure` means, if hosts and network stay as they were:
FAILURE  SILENT HOST REPLACED WITHIN  FALSE CHANGES A MONTH
5ms      5.5 ms                       again and again
10ms     11 ms                        again and again
20ms     22 ms                        none                   proposed
500ms    550 ms                       none                   as now

500ms holds; 20ms would, too: "timing": {"failure": "20ms"} in the file of each node, then `electd reload`.
It decides how long a host that is silent leads on. The end of a process is certified, and needs no time-out.
"#;
