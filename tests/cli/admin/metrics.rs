//! `GET /metrics`: what Prometheus reads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use electd::node::locks::{LockEntry, LocksView};
use electd::node::problems::ProblemKind;
use electd::node::status::{HealthStatus, MemberStatus, MessageCount, PauseStatus, Problem};
use electd::node::tally::Tally;
use prometheus_client::metrics::histogram::Histogram;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::fake::{FakeNode, member, status};
use super::peer::{ask, get};

#[test]
fn a_node_is_shown_in_figures() {
    let node = FakeNode::new();
    node.set(|state| {
        state.status = status("leading", Some("node-1"));
        state.status.members = vec![member("node-2", None)];
        state.status.members[0].rtt_ms = Some(0.5);
        state.status.dropped.insert("events".to_owned(), 0);
        state.status.lease_remaining_ms = Some(250);
        state.status.failures_tolerated = 1;
        let (since, text) = ("2026-11-22T10:58:33.123Z".to_owned(), "no space".to_owned());
        state.status.problems =
            vec![Problem { since, kind: "storage".to_owned(), about: String::new(), text }];
    });
    let server = node.serve();
    let cpu = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let before = cpu();
    let answer = get(server.local_addr(), "/metrics");
    let after = cpu();
    let content = "text/plain; version=0.0.4; charset=utf-8";
    assert_eq!((answer.code, answer.header("content-type")), (200, Some(content)));
    let shown = without_labels(&answer.body);
    for line in [
        "electd_is_leader 1",
        "electd_has_leader 1",
        "electd_epoch 7",
        "electd_failures_tolerated 1",
        "electd_lease_remaining_seconds 0.25",
        "electd_peer_up{peer=\"node-2\"} 1",
        "electd_problems{kind=\"storage\"} 1",
        "electd_problems{kind=\"peer_down\"} 0",
        "electd_dropped_total{queue=\"events\"} 0",
        "electd_late_renewals_total 0",
        "electd_stalls_total 0",
        "electd_exec_running 0",
        "electd_peer_rtt_seconds{peer=\"node-2\"} 0.0005",
        "electd_leader_changes_total 0",
        "electd_store_write_seconds_count 0",
        "electd_election_duration_seconds_count 0",
        "leader_election_master_status{name=\"demo\"} 1",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line} is missing:\n{shown}");
    }
    assert!(
        shown.contains("# TYPE electd_build_info gauge\nelectd_build_info{version=\""),
        "{shown}"
    );
    for figure in ["cpu_seconds_total", "resident_memory_bytes", "open_fds", "max_fds", "threads"] {
        let line = shown.lines().find_map(|line| line.strip_prefix(&format!("process_{figure} ")));
        assert!(
            line.is_some_and(|value| value.parse::<f64>().unwrap() > 0.0),
            "{figure} in {shown}"
        );
    }
    let figure = |name: &str| -> f64 {
        let line = shown.lines().find_map(|line| line.strip_prefix(&format!("process_{name} ")));
        line.unwrap().parse().unwrap()
    };
    assert!((before..=after).contains(&figure("cpu_seconds_total")), "{before} {after}");
    assert_eq!(figure("max_fds"), getrlimit(Resource::Nofile).current.unwrap() as f64);
    is_of_this_process(&shown);
}

/// A node with a figure of each kind, all of which differ.
fn complete() -> FakeNode {
    let node = FakeNode::new();
    node.set(|state| {
        state.status = status("leading", Some("node-1"));
        let own = state.status.node.id.clone();
        let with = |name: &str, id: &str, word: &str, rtt_ms| MemberStatus {
            id: id.to_owned(),
            status: word.to_owned(),
            rtt_ms,
            ..member(name, None)
        };
        state.status.members = vec![
            with("node-1", &own, "alive", None),
            with("node-2", "2", "alive", Some(0.5)),
            with("node-3", "3", "suspected", None),
        ];
        state.status.epoch = 11;
        state.status.failures_tolerated = 12;
        state.status.failures_tolerated_at_most = 15;
        let lock = |name: &str, holder: Option<&str>| LockEntry {
            name: name.to_owned(),
            holder: holder.map(str::to_owned),
            ..LockEntry::default()
        };
        let locks = vec![lock("a", Some("node-2")), lock("b", None)];
        state.locks = LocksView { locks, ..LocksView::default() }.into();
        state.status.lease_remaining_ms = Some(250);
        state.status.pause = Some(PauseStatus { since: String::new(), until: None });
        state.status.health = Some(HealthStatus::default());
        state.status.certificate_ends = Some("2001-09-09T01:46:40Z".to_owned());
        let problem = |kind: ProblemKind| Problem {
            since: "2026-11-22T10:58:33.123Z".to_owned(),
            kind: kind.name().to_owned(),
            about: String::new(),
            text: "why".to_owned(),
        };
        state.status.problems =
            [ProblemKind::Storage, ProblemKind::PeerDown, ProblemKind::PeerDown]
                .map(problem)
                .to_vec();
        state.status.dropped.insert("events".to_owned(), 3);
        state.status.refused.insert("timeout".to_owned(), 4);
        let count = MessageCount { sent: 5, received: 6 };
        state.status.messages.insert("heartbeat".to_owned(), count);
        let tally = Tally::new(Histogram::new([0.25]));
        tally.leader_changes.inc_by(7);
        tally.elections.get_or_create(&vec![("reason", "start".to_owned())]).inc_by(8);
        tally.hooks.get_or_create(&vec![("result", "success".to_owned())]).inc_by(9);
        tally.stalls.inc_by(10);
        tally.late_renewals.inc_by(14);
        tally.exec_running.set(13);
        tally.election_duration.observe(40.5);
        [0.125, 0.5].into_iter().for_each(|time| tally.store_writes.observe(time));
        state.tally = Arc::new(tally);
    });
    node
}

/// All samples but those of the process, which the test cannot know.
#[test]
fn each_figure_is_the_one_that_its_name_says() {
    let node = complete();
    let shown = without_labels(&get(node.serve().local_addr(), "/metrics").body);
    let samples =
        shown.lines().filter(|line| !line.starts_with("process_") && !line.starts_with('#'));
    let mut samples: Vec<_> = samples.map(str::to_owned).collect();
    samples.sort();
    let kinds = ProblemKind::ALL.iter().map(|kind| {
        let count = match kind {
            ProblemKind::Storage => 1,
            ProblemKind::PeerDown => 2,
            _ => 0,
        };
        format!("electd_problems{{kind=\"{}\"}} {count}", kind.name())
    });
    let expected = include_str!("metrics.txt").lines().map(str::to_owned);
    let mut expected: Vec<_> = expected.chain(kinds).collect();
    expected
        .push(format!("electd_build_info{{version=\"{}\"}} 1", electd::core::protocol::VERSION));
    expected.sort();
    assert_eq!(samples, expected, "{shown}");
}

/// A follower has no lease, and what a node does not have is left out.
#[test]
fn what_a_node_does_not_have_is_no_figure() {
    let node = FakeNode::new();
    let shown = without_labels(&get(node.serve().local_addr(), "/metrics").body);
    let states = [
        "electd_has_leader 1",
        "electd_is_leader 0",
        "electd_paused 0",
        "leader_election_master_status{name=\"demo\"} 0",
        "electd_leaderless_seconds_total 0",
    ];
    for state in states {
        assert!(shown.lines().any(|line| line.starts_with(state)), "{state} in {shown}");
    }
    for name in ["electd_lease", "electd_healthy ", "electd_certificate", "electd_peer_up{"] {
        assert!(!shown.lines().any(|line| line.starts_with(name)), "{name} in {shown}");
    }
    node.set(|state| {
        state.status.leader = None;
        state.status.health = Some(HealthStatus { healthy: true, ..HealthStatus::default() });
        state.status.certificate_ends = Some("soon".to_owned());
    });
    let shown = without_labels(&get(node.serve().local_addr(), "/metrics").body);
    assert!(shown.contains("\nelectd_has_leader 0\n") && shown.contains("\nelectd_healthy 1\n"));
    assert!(!shown.contains("electd_certificate"), "it is no time");
}

#[test]
fn each_figure_says_what_it_is() {
    let node = complete();
    let shown = without_labels(&get(node.serve().local_addr(), "/metrics").body);
    let told: BTreeSet<&str> =
        shown.lines().filter_map(|line| line.strip_prefix("# HELP ")).collect();
    let expected = [
        "electd_build_info The version of electd.",
        "electd_certificate_expiry_timestamp_seconds When the certificate of this node ends, in seconds since 1970.",
        "electd_dropped_total What was dropped, by the queue that was full or closed.",
        "electd_election_duration_seconds For how long this node knew no leader, each time.",
        "electd_elections_total The same, by why the leadership before ended.",
        "electd_epoch The epoch that this node knows.",
        "electd_exec_running How many commands run here while this node leads.",
        "electd_failures_tolerated How many more members may fail before nobody can lead.",
        "electd_failures_tolerated_at_most How many it would be if all members were well.",
        "electd_has_leader Whether this node knows a leader.",
        "electd_healthy Whether the health check passes.",
        "electd_hooks_total How runs of the hook ended, and the changes that it was not told.",
        "electd_is_leader Whether this node leads.",
        "electd_late_renewals_total How often a job was ended, as no renewal of the leadership came in time.",
        "electd_leader_changes_total How often another leader or epoch became known.",
        "electd_lock 1 with the holder of each lock, 0 and no holder if it is wanted and nobody holds it; none above 256 \
         locks.",
        "electd_lock_changes_total How often a lock changed hands, or was given back.",
        "electd_lock_unheld_seconds For how long nobody held a lock, each time.",
        "electd_locks_held Locks by the member that holds them.",
        "electd_locks_unheld Locks that are wanted and that nobody holds, as far as this node knows.",
        "electd_leaderless_seconds_total For how long this node has known no leader in all.",
        "electd_lease_remaining_seconds For how long this leader may lead without another word from a majority.",
        "electd_messages_total Messages between members.",
        "electd_paused Whether the cluster is paused, as far as this node knows.",
        "electd_peer_rtt_seconds How long another member took to acknowledge a heartbeat of this leader lately.",
        "electd_peer_up Whether another member answers.",
        "electd_problems What is wrong now, by its kind.",
        "electd_refused_total Connections of peers that were refused before a hello, on either side, by cause.",
        "electd_stalls_total How often the election thread missed its turn.",
        "electd_store_write_seconds How long durable writes of the state took.",
        "leader_election_master_status Whether this node leads, under the name that Kubernetes uses.",
        "process_cpu_seconds_total The processor time of this process.",
        "process_max_fds The most file descriptors.",
        "process_open_fds The open file descriptors.",
        "process_resident_memory_bytes The memory of this process that is present.",
        "process_start_time_seconds When this node started, in seconds since 1970.",
        "process_threads The threads of this process.",
        "process_virtual_memory_bytes The address space of this process.",
    ];
    assert_eq!(told, BTreeSet::from(expected));
}

/// The kernel tells the same to the test, in whose process the node runs.
fn is_of_this_process(shown: &str) {
    let figure = |name: &str| -> f64 {
        let line = shown.lines().find_map(|line| line.strip_prefix(&format!("process_{name} ")));
        line.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("no {name} in {shown}"))
    };
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let kernel = |name: &str| -> f64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let value = line.and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in {status}"))
    };
    for (name, of_kernel) in [("resident_memory", "VmRSS"), ("virtual_memory", "VmSize")] {
        let share = figure(&format!("{name}_bytes")) / (kernel(of_kernel) * 1024.0);
        assert!((0.5..2.0).contains(&share), "{name}: {share}"); // other tests take and free memory
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let started = now - figure("start_time_seconds");
    assert!((0.9..60.0).contains(&started), "its status says a second, and not {started}");
}

/// The text without the labels that each of its lines has.
fn without_labels(body: &str) -> String {
    let labels = r#"cluster="demo",node="node-1""#;
    let is_sample = |line: &&str| !line.starts_with('#');
    let bare: Vec<_> = body.lines().filter(is_sample).filter(|it| !it.contains(labels)).collect();
    assert!(bare.is_empty(), "without labels: {bare:?}");
    body.replace(&format!("{{{labels}}}"), "").replace(&format!("{labels},"), "")
}

#[test]
fn a_counter_is_described_under_the_name_that_each_format_gives_it() {
    let node = FakeNode::new();
    let server = node.serve();
    let plain = get(server.local_addr(), "/metrics");
    assert!(plain.body.contains("# TYPE electd_stalls_total counter\nelectd_stalls_total{"));
    assert!(plain.body.contains("# HELP electd_stalls_total How often"), "{}", plain.body);
    assert!(!plain.body.contains("# EOF"));
    let asked = "GET /metrics HTTP/1.1\r\nHost: node\r\nAccept: application/openmetrics-text;version=1.0.0,\
                 text/plain;version=0.0.4;q=0.5\r\n\r\n";
    let open = ask(server.local_addr(), asked);
    let content = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(open.header("content-type"), Some(content));
    assert!(open.body.contains("# TYPE electd_stalls counter\nelectd_stalls_total{"));
    assert!(open.body.ends_with("# EOF\n"));
}

#[test]
fn a_stalled_leader_is_none() {
    let node = FakeNode::new();
    node.set(|state| {
        state.status = status("leading", Some("node-1"));
        state.status.stalled = true;
    });
    let server = node.serve();
    let body = without_labels(&get(server.local_addr(), "/metrics").body);
    assert!(
        body.contains("\nelectd_is_leader 0\n") && body.contains("\nelectd_has_leader 0\n"),
        "{body}"
    );
}

/// The names of metrics in a text.
fn names(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words
        .filter(|word| {
            ["electd_", "leader_election_", "process_"].iter().any(|it| word.starts_with(it))
        })
        .collect()
}

#[test]
fn rules_and_dashboard_use_names_that_exist() {
    let node = complete();
    let body = get(node.serve().local_addr(), "/metrics").body;
    let shown = names(&body);
    let dashboard = include_str!("../../../examples/prometheus/electd-dashboard.json");
    let rules = include_str!("../../../examples/prometheus/electd-rules.yml");
    serde_json::from_str::<serde_json::Value>(dashboard).expect("Grafana reads JSON");
    for text in [dashboard, rules] {
        let used = names(text);
        assert!(used.len() > 2, "{used:?}");
        let unknown: Vec<_> = used.difference(&shown).collect();
        assert!(unknown.is_empty(), "{unknown:?} are no names of\n{body}");
    }
}

/// What promtool compares, where it is not there.
#[test]
fn the_tests_of_the_alerts_expect_what_the_rules_say() {
    let value = |line: &str, key: &str| {
        let (_, value) = line.split_once(key)?;
        Some(value.trim().trim_matches('"').to_owned())
    };
    let (mut rules, mut alert) = (BTreeMap::new(), String::new());
    for line in include_str!("../../../examples/prometheus/electd-rules.yml").lines() {
        alert = value(line, "- alert: ").unwrap_or(alert);
        rules.extend(value(line, " description: ").map(|it| (alert.clone(), it)));
    }
    let (mut compared, mut labels) = (0, String::new());
    for line in include_str!("../../../examples/prometheus/electd-rules-test.yml").lines() {
        alert = value(line, "alertname: ").unwrap_or(alert);
        labels = value(line, "- exp_labels: ").unwrap_or(labels);
        let Some(expected) = value(line, " description: ") else { continue };
        let mut said = rules[&alert].clone();
        let labels = labels.trim_matches(['{', '}']).split(", ");
        for (label, value) in labels.filter_map(|label| label.split_once(": ")) {
            said = said.replace(&format!("{{{{ $labels.{label} }}}}"), value);
        }
        assert_eq!(expected, said, "{alert}");
        compared += 1;
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn each_alert_comes_when_it_is_due_and_not_before() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/prometheus");
    let mut promtool = Command::new("promtool");
    promtool.args(["test", "rules", "electd-rules-test.yml"]).current_dir(folder);
    match promtool.output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => println!("skipped: promtool, of the package prometheus: {error}"),
    }
}
