//! The views of a node: the bodies, and the codes that load balancers and probes rely on.

use std::net::SocketAddr;
use std::process::Command;

use electd::flight::document::Recording;
use electd::node::status::{HaltingStatus, Problem, Status};
use electd::trace::record::{Entry, Record};
use serde_json::json;

use super::cli::nobody;
use super::fake::{FakeNode, status};
use super::peer::{Peer, ask, get};

/// The codes of /leader, /follower and /readyz, in this order.
fn codes(node: &FakeNode) -> [u16; 3] {
    let server = node.serve();
    ["/leader", "/follower", "/readyz"].map(|path| get(server.local_addr(), path).code)
}

#[test]
fn status_is_the_snapshot() {
    let node = FakeNode::new();
    let server = node.serve();
    let answer = get(server.local_addr(), "/status");
    assert_eq!((answer.code, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let shown: Status = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(shown, status("following", Some("node-2")));
}

#[test]
fn the_recording_is_a_file_with_the_record_in_it() {
    let node = FakeNode::new();
    let record = Record { node: "node-1".to_owned(), ..Record::default() };
    node.set(|state| state.record = record.clone());
    let answer = get(node.serve().local_addr(), "/flight");
    assert_eq!(answer.code, 200, "{answer:?}");
    assert_eq!(Recording::read(answer.body.as_bytes()).unwrap().record, record);
}

#[test]
fn the_record_is_told_whole_or_of_one_epoch() {
    let node = FakeNode::new();
    let became = |phase: &str, epoch| Entry {
        what: "became".to_owned(),
        phase: Some(phase.to_owned()),
        number: Some(epoch),
        ..Entry::default()
    };
    let entries =
        [("following", 1), ("electing", 1), ("leading", 2), ("electing", 2), ("leading", 3)];
    let entries = entries.map(|(phase, epoch)| became(phase, epoch)).to_vec();
    node.set(|state| state.record = Record { entries, ..Record::default() });
    let server = node.serve();
    let told = |query: &str| -> Vec<(String, u64)> {
        let answer = get(server.local_addr(), &format!("/trace{query}"));
        assert_eq!(answer.code, 200, "{answer:?}");
        let record: Record = serde_json::from_str(&answer.body).unwrap();
        let entries = record.entries.into_iter();
        entries.map(|entry| (entry.phase.unwrap(), entry.number.unwrap())).collect()
    };
    assert_eq!(told("").len(), 5);
    let of_2 = [("electing".to_owned(), 1), ("leading".to_owned(), 2)];
    assert_eq!(told("?epoch=2"), of_2, "the election, and not the end of the leadership");
    assert_eq!(told("?epoch=9"), []);
    for query in ["?epoch=", "?epoch=-1", "?epoch=1&epoch=2", "?last"] {
        let answer = get(server.local_addr(), &format!("/trace{query}"));
        assert_eq!(answer.code, 400, "{query}");
        assert!(answer.error().contains("epoch=NUMBER"), "{answer:?}");
    }
}

#[test]
fn the_codes_tell_leader_from_follower() {
    let node = FakeNode::new();
    assert_eq!(codes(&node), [503, 200, 200]);
    node.set(|state| state.status = status("leading", Some("node-1")));
    assert_eq!(codes(&node), [200, 503, 200]);
    node.set(|state| state.status = status("electing", None));
    assert_eq!(codes(&node), [503, 503, 503]);
    node.set(|state| state.status = status("following", None));
    assert_eq!(codes(&node), [503, 503, 503]);
}

#[test]
fn a_stalled_node_vouches_for_no_leader() {
    let node = FakeNode::new();
    for state in ["leading", "following"] {
        node.set(|fake| {
            fake.status = status(state, Some("node-1"));
            fake.status.stalled = true;
        });
        assert_eq!(codes(&node), [503, 503, 503]);
    }
}

#[test]
fn a_node_that_cannot_write_its_state_is_not_ready() {
    let node = FakeNode::new();
    let problem = |kind: &str| Problem {
        since: "2026-11-22T10:58:33.123Z".to_owned(),
        kind: kind.to_owned(),
        about: String::new(),
        text: "why".to_owned(),
    };
    node.set(|state| state.status.problems = vec![problem("peer_down")]);
    assert_eq!(codes(&node), [503, 200, 200]);
    node.set(|state| state.status.problems = vec![problem("storage")]);
    assert_eq!(codes(&node), [503, 200, 503]);
}

#[test]
fn leader_has_the_body_of_status_whatever_the_code() {
    let node = FakeNode::new();
    let server = node.serve();
    let answer = get(server.local_addr(), "/leader");
    assert_eq!(answer.code, 503);
    assert_eq!(answer.body, get(server.local_addr(), "/status").body);
}

#[test]
fn livez_follows_the_election_thread() {
    let node = FakeNode::new();
    let server = node.serve();
    let answer = get(server.local_addr(), "/livez");
    assert_eq!((answer.code, answer.json()), (200, json!({"live": true})));
    node.set(|state| state.live = false);
    let answer = get(server.local_addr(), "/livez");
    assert_eq!(answer.code, 503);
    assert!(answer.error().contains("restart"), "{answer:?}");
}

#[test]
fn head_is_get_without_a_body() {
    let node = FakeNode::new();
    let server = node.serve();
    let full = get(server.local_addr(), "/leader");
    let mut peer = Peer::connect(server.local_addr());
    peer.say("HEAD /leader HTTP/1.1\r\nHost: n\r\n\r\nGET /livez HTTP/1.1\r\nHost: n\r\n\r\n");
    let head = peer.header();
    assert_eq!(head.code, 503);
    assert_eq!(head.header("content-length"), full.header("content-length"));
    assert_eq!(peer.answer().json(), json!({"live": true}));
}

#[test]
fn options_is_get_that_names_the_methods() {
    let node = FakeNode::new();
    let server = node.serve();
    let options = |path: &str| {
        ask(server.local_addr(), &format!("OPTIONS {path} HTTP/1.1\r\nHost: n\r\n\r\n"))
    };
    let answer = options("/leader");
    assert_eq!((answer.code, answer.header("allow")), (503, Some("GET, HEAD, OPTIONS")));
    assert_eq!(options("/resign").header("allow"), Some("POST, OPTIONS"));
    assert_eq!(options("/task").header("allow"), Some("GET, HEAD, POST, OPTIONS"));
    assert_eq!(options("/members/node-1").header("allow"), Some("DELETE, OPTIONS"));
    assert_eq!(options("*").code, 200);
    assert!(node.commands().is_empty());
}

#[test]
fn a_task_is_given_back_byte_by_byte() {
    let node = FakeNode::new();
    let server = node.serve();
    assert!(get(server.local_addr(), "/task").error().starts_with("only the algorithm"));
    node.set(|state| {
        let word = "normal".to_owned();
        state.status.halting = Some(HaltingStatus { status: word, halter: None, task_bytes: 0 });
    });
    let answer = get(server.local_addr(), "/task");
    assert_eq!(answer.code, 404);
    assert!(answer.error().contains("POST one at the leader"), "{answer:?}");

    node.set(|state| state.task = Some(b"\0\xff\r\n{".to_vec()));
    let mut peer = Peer::connect(server.local_addr());
    peer.say("GET /task HTTP/1.1\r\nHost: n\r\n\r\n");
    let head = peer.header();
    assert_eq!((head.code, head.header("content-type")), (200, Some("application/octet-stream")));
    assert_eq!(peer.bytes(5), b"\0\xff\r\n{");
}

#[test]
fn an_unknown_path_lists_the_known_ones() {
    let node = FakeNode::new();
    let server = node.serve();
    let answer = get(server.local_addr(), "/stauts");
    assert_eq!(answer.code, 404);
    assert!(answer.error().contains("/stauts"));
    let paths = answer.json()["paths"].to_string();
    assert!(paths.contains("GET /status") && paths.contains("POST /resign"), "{paths}");
}

#[test]
fn a_wrong_method_is_told_the_right_ones() {
    let node = FakeNode::new();
    let server = node.serve();
    let answer = ask(server.local_addr(), "DELETE /status HTTP/1.1\r\nHost: n\r\n\r\n");
    assert_eq!((answer.code, answer.header("allow")), (405, Some("GET, HEAD, OPTIONS")));
    let answer = get(server.local_addr(), "/resign");
    assert_eq!((answer.code, answer.header("allow")), (405, Some("POST, OPTIONS")));
    assert!(answer.error().contains("POST"));
}

#[test]
fn queries_and_absolute_targets_name_the_same_path() {
    let node = FakeNode::new();
    let server = node.serve();
    for target in ["/status?pretty=1", "http://node:7201/status", "/status#top"] {
        assert_eq!(get(server.local_addr(), target).code, 200, "{target}");
    }
}

/// The health check of a container restarts what it says is dead.
#[test]
fn a_node_without_a_leader_lives_and_one_that_hangs_does_not() {
    let node = FakeNode::new();
    let server = node.serve();
    let live = |address: SocketAddr| {
        let (mut electd, address) =
            (Command::new(env!("CARGO_BIN_EXE_electd")), address.to_string());
        let output = electd.args(["health", "--live", "--admin", &address]).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    node.set(|state| state.status = status("waiting", None));
    assert_eq!(live(server.local_addr()), (Some(0), "live\n".to_owned()));
    node.set(|state| state.status.stalled = true);
    let hangs = "not live: its election thread hangs\n".to_owned();
    assert_eq!(live(server.local_addr()), (Some(1), hangs));
    let (code, said) = live(nobody());
    assert!(code == Some(1) && said.starts_with("not live: no answer from "), "{said}");
}
