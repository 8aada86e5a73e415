//! Whole nodes in this process: what they tell of themselves and what they answer.

use std::net::TcpListener;
use std::path::Path;
use std::thread;

use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use serde_json::json;
use uuid::Uuid;

use super::events::EventKind;
use super::handle::{Command, CommandError, Handle};
use super::leadership::Change;
use super::*;
use crate::config::Builder;
use crate::core::settings::Timing;
use crate::core::types::{NodeId, Role};
use crate::flight::document::Recording;
use crate::testing::within::within;

/// In which all is done.
const LIMIT: Duration = Duration::from_secs(100);

fn eventually(what: &str, holds: impl Fn() -> bool) {
    within(LIMIT, what, holds);
}

fn says(handle: &NodeHandle, command: Command) -> String {
    match handle.command(command, LIMIT) {
        Ok(outcome) => outcome.sentence,
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn a_node_tells_what_it_did_and_all_of_it_by_its_end() {
    let (config, _folder) = example::cluster().unwrap();
    let node = Node::start(&config, "a").unwrap();
    let handle = node.handle();
    eventually("a leads", || handle.history().len() == 1);
    assert!(handle.is_live() && handle.status().state == "leading");
    assert_eq!(handle.tally().leader_changes.get(), 1);

    let slowest = || handle.published.measures.pace.slowest().unwrap().as_secs_f64() * 1000.0;
    eventually("the slowest write is told", || handle.status().durable_write_ms == Some(slowest()));
    let mut registry = Registry::default();
    registry.register("writes", "", handle.tally().store_writes.clone());
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    assert!(!text.contains("writes_count 0\n"), "{text}");

    let record = handle.record();
    let leads = record.entries.iter().find(|it| it.phase.as_deref() == Some("leading"));
    let leads = leads.expect("the record has the begin of its leadership");
    assert_eq!((leads.what.as_str(), leads.leader.as_deref()), ("became", Some("a")));
    let recording = Recording::read(handle.recording().as_bytes()).unwrap();
    assert!(recording.replay().unwrap().is_same());

    let timing = Timing { failure: handle.timing().failure * 2, ..handle.timing() };
    handle.retime(timing).unwrap();
    assert_eq!((handle.timing(), handle.differs_from(&config)), (timing, None));
    let mut edited = config.clone();
    edited.members[0].address = "127.0.0.1:1".to_owned();
    let differs = handle.differs_from(&edited).unwrap();
    assert!(differs.contains("with another entry for a"), "{differs}");

    assert_eq!(says(&handle, Command::HandOut { task: Vec::new() }), says_no_task());
    assert_eq!(says(&handle, Command::Undrain), "a may lead again");
    let mut called = false;
    node.stop_meanwhile(|| called = true);
    assert!(called);
    let events = handle.events().after("1-0".parse().unwrap(), 100);
    let kinds: Vec<EventKind> = events.iter().map(|event| event.event).collect();
    assert!(kinds.contains(&EventKind::Leading));
    assert!(kinds.contains(&EventKind::Stopping), "{kinds:?}");
    assert_eq!(says(&handle, Command::Undrain), "error: this node is stopping");
    assert_eq!(history::load(&config.state_dir("a")).len(), 1);
}

fn says_no_task() -> &'static str {
    "error: only the algorithm \"halting\" hands out a task"
}

/// Two members on free ports, of which b ranks higher; both wait long before they suspect the other.
fn two_members(data_dir: &Path) -> [Node; 2] {
    let ids = ["018db8ac-db45-4792-a0b9-9560d9932c98", "6810b99e-43f6-4461-9022-87f37f50ffb1"];
    let ports = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [a, b] = ports.map(|port| port.local_addr().unwrap().to_string());
    let member = |name: &str, id: &str, address: &str, priority: i64| {
        let rank = json!({ "priority": priority });
        json!({ "name": name, "id": id, "address": address, "rank": rank })
    };
    let builder = Builder::new("two", "none", data_dir);
    let builder = builder.member_with(member("a", ids[0], &a, 10));
    let builder = builder.member_with(member("b", ids[1], &b, 20));
    let builder = builder
        .set("preempt", json!({ "after": "3600s" }))
        .set("timing", json!({ "failure": "30s", "heartbeat": "100ms" }));
    let config = builder.set("rank", json!({ "by": "priority" })).build().unwrap();
    ["a", "b"].map(|name| Node::start(&config, name).unwrap())
}

#[test]
fn an_operator_moves_the_leadership_and_sees_what_that_leaves_behind() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = two_members(folder.path());
    let [a, b] = [&nodes[0], &nodes[1]].map(Node::handle);
    let leader = |handle: &NodeHandle| handle.status().leader.map(|leader| leader.name);
    let both_name = |name: &str| {
        eventually(name, || [&a, &b].iter().all(|one| leader(one).as_deref() == Some(name)));
    };
    both_name("b");
    for member in a.status().members {
        let value = if member.name == "a" { 10 } else { 20 };
        assert_eq!((member.rank.value, member.passed_over), (json!(value), None));
        assert_eq!((member.status.as_str(), member.eligible), ("alive", true));
    }

    let round_trip = |of: &str| {
        let mut members = b.status().members.into_iter();
        members.find(|member| member.name == of).and_then(|member| member.rtt_ms)
    };
    eventually("the leader measures how long its messages take", || round_trip("a").is_some());

    // A client that waits for one answer does not get that to a later question.
    let (changes, hold) = (b.leadership_changes(), b.hold().unwrap());
    let resigning = thread::spawn({
        let b = b.clone();
        move || says(&b, Command::Resign { to: None })
    });
    while !matches!(changes.recv_timeout(LIMIT).unwrap(), Change::Ending { .. }) {}
    assert_eq!(says(&b, Command::HandOut { task: Vec::new() }), says_no_task());
    let refused = CommandError::NotNow("the leadership is about to end".to_owned());
    assert_eq!(b.hold().err(), Some(refused));
    drop(hold);
    let answer = resigning.join().unwrap();
    assert!(answer.ends_with(" handed over to a"), "{answer}");
    both_name("a");
    assert!(b.status().resigned && !a.status().resigned);
    assert_eq!(round_trip("a"), None, "it sends no heartbeats any more");

    assert_eq!(says(&b, Command::Undrain), "b may lead again");
    eventually("b is to take over", || b.status().takeover.is_some());
    let takeover = b.status().takeover.unwrap();
    assert!(takeover.from == "a" && takeover.at.is_some() && !b.status().resigned);
    eventually("a lets b take over", || a.status().takeovers.contains_key("b"));

    says(&a, Command::Switchover { to: "b".to_owned() });
    both_name("b");
    eventually("b was chosen", || {
        [&a, &b].iter().all(|one| one.status().switchover.as_deref() == Some("b"))
    });
    drop(b.hold().expect("nobody wants the end of this leadership"));
    let again = says(&b, Command::Switchover { to: "b".to_owned() });
    assert_eq!(again, "b leads already, by a switchover; nothing changed");

    let drain =
        |reason: &str| Command::Drain { length: None, reason: reason.to_owned(), force: false };
    assert_eq!(says(&a, drain("new disk")), "a does not lead from now on");
    let again = says(&a, drain(""));
    let words = "a does not lead from now on; it was drained already, since ";
    assert!(again.starts_with(words), "{again}");
    assert!(again.ends_with(", and stays so until it is undrained: new disk"), "{again}");
    nodes.into_iter().for_each(Node::stop);
}

/// It is the first to hand it out, unless another has a newer one.
#[test]
fn a_start_goes_over_the_task_that_the_member_was_handed_last() {
    let folder = tempfile::tempdir().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let builder = Builder::new("one", "none", folder.path()).set("algorithm", "halting");
    let config = builder.member("a", "018db8ac-db45-4792-a0b9-9560d9932c98", &address);
    let config = config.build().unwrap();
    for (task, handed_out) in [(Some("work"), "work"), (None, "work"), (Some("more"), "more")] {
        let task = task.map(|task| task.as_bytes().to_vec());
        let node = Node::start_with(&config, "a", Start { task, ..Start::default() }).unwrap();
        let handle = node.handle();
        eventually("a leads", || handle.status().state == "leading");
        eventually(handed_out, || handle.task().as_deref() == Some(handed_out.as_bytes()));
        node.stop();
    }
}

/// What is reloaded becomes the running configuration.
#[test]
fn a_node_tells_that_its_file_was_edited_until_it_is_what_runs() {
    let node = example::leader().unwrap();
    let handle = node.handle();
    let is_told = || {
        handle.published.ring();
        handle.status().problems.iter().any(|problem| problem.about == "the file")
    };
    let text = std::fs::read_to_string(node.config()).unwrap();
    let text = text.replacen('{', r#"{"timing": {"failure": "2s"},"#, 1);
    std::fs::write(node.config(), text).unwrap();
    eventually("it is a problem", is_told);
    *node.present().lock() = crate::config::load(&node.config()).unwrap();
    eventually("it is none any more", || !is_told());
}

/// Its job failed: the node stands back until somebody has looked.
#[cfg(feature = "cli")]
#[test]
fn an_operator_ends_what_failures_of_the_job_left() {
    let (config, _folder) = example::cluster().unwrap();
    let node = Node::start(&config, "a").unwrap();
    let handle = node.handle();
    eventually("a leads", || handle.status().state == "leading");
    handle.stand_back("it ended with code 1");
    assert_eq!(handle.status().failure.expect("it stands back").count, 1);
    says(&handle, Command::Undrain);
    assert_eq!(handle.status().failure, None);
    node.stop();
}

/// How many threads this process has, and the names of those that are not of the test program.
fn threads() -> Vec<String> {
    let all = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default()
    };
    let mut names: Vec<_> = all.map(name).map(|name| name.trim().to_owned()).collect();
    names.sort();
    names
}

/// Whoever embeds a node and stops it goes on without anything of it.
#[test]
fn a_node_that_has_stopped_leaves_no_thread() {
    let test = "node::tests::a_node_that_has_stopped_leaves_no_thread";
    if crate::testing::alone::alone(test).is_some() {
        return;
    }
    let before = threads();
    let folder = tempfile::tempdir().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let member = json!({
        "name": "a", "id": "018db8ac-db45-4792-a0b9-9560d9932c98", "address": address,
        "rank": {"command": ["/bin/echo", "3"], "every": "1h"},
        "health": {"command": ["/bin/true"], "every": "1h"},
    });
    let builder = Builder::new("one", "none", folder.path()).member_with(member);
    let config = builder.set("rank", json!({ "by": "command" })).build().unwrap();
    let node = Node::start(&config, "a").unwrap();
    let handle = node.handle();
    eventually("a leads", || handle.status().state == "leading");
    let status = handle.status();
    assert_eq!(
        (status.members[0].rank.value.clone(), status.version.is_empty()),
        (json!(3), false)
    );
    let running = threads();
    for name in ["election", "watch"] {
        assert!(running.iter().any(|thread| thread == name), "{running:?}");
    }
    assert_eq!(handle.events.urgent.capacity(), Some(256));
    node.stop();
    assert_eq!(threads(), before);
    assert_eq!(handle.status().state, "stopping");
}

/// A member alone, whose programs tell what they hear: its rank is above this by the epoch.
fn asks_programs(folder: &Path, address: &str, above: i64) -> Config {
    let shell = |script: &str| json!({"command": ["/bin/sh", "-c", script], "every": "500ms", "timeout": "499ms"});
    let member = json!({
        "name": "a", "id": "018db8ac-db45-4792-a0b9-9560d9932c98", "address": address,
        "rank": shell(&format!("echo $(({above} + ELECTD_EPOCH))")),
        "health": shell(&format!("echo {above} $ELECTD_NODE $ELECTD_STATE $ELECTD_LEADER $ELECTD_EPOCH")),
    });
    let builder = Builder::new("one", "none", folder).member_with(member);
    builder.set("rank", json!({ "by": "command" })).build().unwrap()
}

/// Such as a check that is stricter while its node leads.
#[test]
fn the_programs_of_a_node_hear_where_it_stands_now() {
    let folder = tempfile::tempdir().unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let node = Node::start(&asks_programs(folder.path(), &address, 5), "a").unwrap();
    let handle = node.handle();
    let shows = |rank: &str, health: &str| {
        eventually(health, || {
            let status = handle.status();
            let told = status.health.expect("it has a check").output;
            status.rank_source.starts_with(rank) && told == health
        });
    };
    shows("6, printed by ", "5 a leading a 1");
    let other = asks_programs(folder.path(), &address, 8).members.remove(0);
    node.ranks().replace(&other).unwrap();
    node.checks().replace(other.health.as_ref()).unwrap();
    shows("9, printed by ", "8 a leading a 1");
    node.stop();
}

#[test]
fn a_start_with_a_file_that_does_not_count_says_so() {
    let (mut config, _folder) = example::cluster().unwrap();
    let starts = |config: &Config| {
        let mut node = None;
        let lines = logged::logged(|| node = Some(Node::start(config, "a").unwrap()));
        let node = node.unwrap();
        eventually("a leads", || node.handle().history().last().is_some_and(|it| it.lasts));
        node.stop();
        let short = |line: &String| line.chars().take(60).collect::<String>();
        lines.iter().map(short).collect::<Vec<_>>()
    };
    let begin = "INFO start: electd ";
    let first = starts(&config);
    assert!(first.len() == 1 && first[0].starts_with(begin), "{first:?}");
    let mut other = config.members[0].clone();
    (other.name, other.role) = ("b".to_owned(), Role::Observer);
    other.id = NodeId(Uuid::new_v4());
    config.members.push(other);
    let again = starts(&config);
    let differs = "WARN config_differs: the members of the file do not count";
    assert!(again.len() == 2 && again[0].starts_with(begin), "{again:?}");
    assert!(again[1].starts_with(differs), "{again:?}");
}

/// A restart does not make a node lead whose job failed just before, while another can.
#[test]
fn a_node_whose_job_failed_before_a_restart_stands_back() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("a");
    std::fs::create_dir_all(&state).unwrap();
    let since_ms = clock::wall_clock_ms();
    let until_ms = since_ms + 3_600_000;
    let failure =
        failures::JobFailure { count: 2, since_ms, until_ms, reason: "code 1".to_owned() };
    std::fs::write(state.join("failures.json"), serde_json::to_vec(&failure).unwrap()).unwrap();
    let nodes = two_members(folder.path());
    let a = nodes[0].handle();
    let failure = a.status().failure.expect("it stands back");
    assert_eq!((failure.count, failure.reason.as_str()), (2, "code 1"));
    eventually("b leads", || a.status().leader.is_some_and(|leader| leader.name == "b"));
    let own = a.status().members.into_iter().find(|member| member.name == "a").unwrap();
    assert!(!own.eligible, "it was not eligible from its start");
    nodes.into_iter().for_each(Node::stop);
}
