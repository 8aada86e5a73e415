//! Nodes of one process, whose programs want names.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

mod killed;
mod placed;

use super::*;
use crate::config::{Builder, Config};
use crate::core::message::Kind;
use crate::node::Node;
use crate::node::command::{Command, CommandError};
use crate::node::handle::Handle;
use crate::node::leadership::Change;
use crate::testing::within::within;

/// In which all is done.
const LIMIT: Duration = Duration::from_secs(100);

const NAMES: [&str; 3] = ["a", "b", "c"];

/// Addresses that are free.
fn addresses() -> Vec<String> {
    let ports = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    ports.iter().map(|port| port.local_addr().unwrap().to_string()).collect()
}

fn config(folder: &Path, quorum: &str, addresses: &[String]) -> Config {
    config_with(folder, quorum, addresses, &json!({ "failure": "1s" }))
}

fn config_with(
    folder: &Path,
    quorum: &str,
    addresses: &[String],
    timing: &serde_json::Value,
) -> Config {
    let ids = [
        "018db8ac-db45-4792-a0b9-9560d9932c98",
        "6810b99e-43f6-4461-9022-87f37f50ffb1",
        "e221bfb7-6f2b-4e19-916e-ada26e47ceab",
    ];
    let builder = Builder::new("three", quorum, folder).set("timing", timing.clone());
    let members = NAMES.into_iter().zip(ids).zip(addresses);
    let add = |builder: Builder, ((name, id), address): ((&str, &str), &String)| {
        builder.member(name, id, address)
    };
    members.fold(builder, add).build().unwrap()
}

fn name(text: &str) -> LockName {
    LockName::new(text).unwrap()
}

const WANT: LockWant = LockWant { weight: 1, prefer: 0 };

/// The one of these that holds its name, and its token, if one does.
fn found(wanted: &[WantedLock]) -> Option<(usize, u64)> {
    let holds = |(at, one): (usize, &WantedLock)| Some((at, one.leadership()?));
    let all: Vec<_> = wanted.iter().enumerate().filter_map(holds).collect();
    // It may have passed from one to the other between two looks; what ended never holds again.
    let all: Vec<_> = all.into_iter().filter(|(_, held)| held.is_valid()).collect();
    assert!(all.len() < 2, "{all:?} hold {}", wanted[0].name());
    all.first().map(|(at, held)| (*at, held.epoch()))
}

/// The same, once one does.
fn holder(wanted: &[WantedLock]) -> (usize, u64) {
    within(LIMIT, "one holds it", || found(wanted).is_some());
    let LockEntry { holder, token, .. } = entry(wanted);
    found(wanted).unwrap_or_else(|| panic!("{holder:?} held it, under {token:?}"))
}

/// What the first of these nodes shows of the name.
fn entry(wanted: &[WantedLock]) -> LockEntry {
    let locks = wanted[0].node.locks().locks.clone();
    let own = wanted[0].name().as_str();
    locks.into_iter().find(|lock| lock.name == own).unwrap_or_default()
}

#[test]
fn a_name_that_is_given_back_or_whose_node_stops_comes_to_another_under_a_greater_token() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "majority", &addresses());
    let mut nodes: Vec<Node> =
        NAMES.iter().map(|name| Node::start(&config, name).unwrap()).collect();
    let lock = |node: &Node, text| node.handle().lock(name(text), WANT).unwrap();
    let mut backup: Vec<WantedLock> = nodes.iter().map(|node| lock(node, "backup")).collect();
    let report: Vec<WantedLock> = nodes.iter().map(|node| lock(node, "report")).collect();
    let twice = nodes[0].handle().lock(name("backup"), WANT).unwrap_err();
    assert_eq!(twice, LockRefused::Wanted);

    let (first, token) = holder(&backup);
    holder(&report);
    within(LIMIT, "all nodes show it", || entry(&backup[2..]).token == Some(token));
    assert_eq!(entry(&backup[2..]).holder.as_deref(), Some(NAMES[first]));
    assert_eq!(nodes[2].handle().locks().unavailable, None);

    // Its program holds on to it, so that nobody else has it before.
    let changes = backup[first].changes();
    let hold = backup[first].hold_for(LIMIT).unwrap();
    backup[first].give_back();
    assert_eq!(changes.recv_timeout(LIMIT), Ok(Change::Ending { within: LIMIT }));
    assert!(backup[first].hold_for(LIMIT).is_err(), "it ends");
    assert_eq!(holder(&backup), (first, token));
    drop(hold);
    assert_eq!(changes.recv_timeout(LIMIT), Ok(Change::NotLeading));
    let (second, next) = holder(&backup);
    assert!(second != first && next > token, "{second} {next}");

    let order = Command::Lock {
        name: name("backup"),
        order: LockOrder::Move { to: NAMES[first].to_owned() },
    };
    let said = nodes[second].handle().command(order, LIMIT).unwrap().sentence;
    let (third, last) = holder(&backup);
    assert!(third == first && last > next, "{third} {last}: {said}");

    // A program that is done has no part in it any more.
    drop(backup.remove(third));
    let (_, after) = holder(&backup);
    assert!(after > last);
    // Nor has a node that stops.
    let at = nodes.iter().position(|node| node.handle().status().state == "leading").unwrap();
    let (mut backup, mut report) = (backup, report);
    backup.retain(|one| one.node.published.own() != nodes[at].handle.published.own());
    report.remove(at);
    nodes.remove(at).stop();
    holder(&backup);
    holder(&report);
}

#[test]
fn without_a_majority_no_name_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "none", &addresses());
    let node = Node::start(&config, "a").unwrap();
    let refused = node.handle().lock(name("backup"), WANT).unwrap_err();
    assert_eq!(refused, LockRefused::QuorumNone);
    assert_eq!(node.handle().locks().unavailable, Some(LocksUnavailable::QuorumNone));
    let order = Command::Lock { name: name("backup"), order: LockOrder::Release };
    let refused = node.handle().command(order, LIMIT).unwrap_err();
    assert!(matches!(refused, CommandError::Refused(_)));
}

#[test]
fn no_more_orders_wait_than_may() {
    let folder = tempfile::tempdir().unwrap();
    // Nobody else is there, so that no order is done.
    let config = config(folder.path(), "majority", &addresses());
    let node = Node::start(&config, "a").unwrap();
    let held = node.handle();
    let order = |text: &str| {
        let (answer, answered) = crossbeam::channel::bounded(1);
        let (name, order, timeout) = (name(text), LockOrder::Move { to: "b".to_owned() }, LIMIT);
        let request = request::LockRequest::Order { name, order, timeout, answer };
        assert!(held.events.send(crate::node::inbox::InboxEvent::Lock(request)));
        answered
    };
    let waiting: Vec<_> = (0..orders::MOST_ORDERS).map(|at| order(&format!("n-{at}"))).collect();
    let refused = order("late").recv_timeout(LIMIT).unwrap();
    assert!(matches!(refused, Err(CommandError::NotNow(_))), "{refused:?}");
    assert!(waiting.iter().all(crossbeam::channel::Receiver::is_empty), "these wait");
}

/// How many messages about locks these nodes sent, and how many heartbeats.
fn sent(nodes: &[Node]) -> [u64; 2] {
    let of = |kind| {
        let all = nodes.iter().map(|node| {
            let counters = node.handle.published.measures.counters.clone();
            counters.messages().filter(|(of, ..)| *of == kind).map(|(_, sent, _)| sent).sum::<u64>()
        });
        all.sum()
    };
    [of(Kind::Lock), of(Kind::Heartbeat)]
}

/// The same for some rounds of heartbeats from now on.
fn sent_meanwhile(nodes: &[Node]) -> [u64; 2] {
    let before = sent(nodes);
    within(LIMIT, "they beat", || sent(nodes)[1] >= before[1] + 20);
    let after = sent(nodes);
    [after[0] - before[0], after[1] - before[1]]
}

#[test]
fn a_cluster_without_locks_says_nothing_of_them_and_with_many_no_more_than_with_one() {
    let folder = tempfile::tempdir().unwrap();
    let config = config(folder.path(), "majority", &addresses());
    let nodes: Vec<Node> = NAMES.iter().map(|name| Node::start(&config, name).unwrap()).collect();
    assert_eq!(sent_meanwhile(&nodes)[0], 0);

    let lock = |text: &str| nodes[0].handle().lock(name(text), WANT).unwrap();
    let one = lock("backup");
    within(LIMIT, "it is held", || one.leadership().is_some());
    let [few, beats] = sent_meanwhile(&nodes);
    assert!(few > 0);
    let many: Vec<WantedLock> = (0..100).map(|number| lock(&format!("name-{number}"))).collect();
    within(LIMIT, "all are held", || many.iter().all(|one| one.leadership().is_some()));
    // Once nothing changes any more.
    within(LIMIT, "they say as much as with one", || {
        let [more, rounds] = sent_meanwhile(&nodes);
        more * beats * 10 <= few * rounds * 12
    });

    drop((one, many));
    let quiet = |[locks, _]: [u64; 2]| locks == 0;
    within(LIMIT, "nobody speaks of them any more", || quiet(sent_meanwhile(&nodes)));
}
