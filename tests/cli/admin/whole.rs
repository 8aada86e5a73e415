//! Answers of a node whole, with their headers, in each of its states.

use std::sync::Arc;

use electd::node::history::{History, HistoryEntry};
use electd::node::status::{HaltingStatus, Problem};
use serde_json::{Value, json};

use super::fake::{BEARER, FakeNode, status};
use super::peer::{answer, refusal, whole};

const OK: &str = "200 OK";
const NO: &str = "503 Service Unavailable";

#[test]
fn the_status_comes_with_the_code_of_each_path_in_each_state() {
    let node = FakeNode::new();
    let server = node.serve();
    let problem = |kind: &str| Problem {
        since: "2026-11-22T10:58:33.123Z".to_owned(),
        kind: kind.to_owned(),
        about: String::new(),
        text: "why".to_owned(),
    };
    for (state, leader, stalled, kind, [leads, follows, is_ready]) in [
        ("leading", Some("node-1"), false, "rank", [OK, NO, OK]),
        ("leading", Some("node-1"), false, "storage", [OK, NO, NO]),
        ("leading", Some("node-1"), true, "rank", [NO, NO, NO]),
        ("following", Some("node-2"), false, "rank", [NO, OK, OK]),
        ("following", Some("node-2"), false, "storage", [NO, OK, NO]),
        ("following", Some("node-2"), true, "rank", [NO, NO, NO]),
        ("following", None, false, "rank", [NO, NO, NO]),
        ("electing", None, false, "rank", [NO, NO, NO]),
        ("stopping", Some("node-2"), false, "rank", [NO, NO, OK]),
    ] {
        let mut shown = status(state, leader);
        shown.stalled = stalled;
        shown.problems = vec![problem(kind)];
        let document = serde_json::to_string(&shown).unwrap();
        node.set(|node| node.status = shown);
        for (path, code) in
            [("status", OK), ("leader", leads), ("follower", follows), ("readyz", is_ready)]
        {
            let told = whole(server.local_addr(), &format!("GET /{path}"), "");
            assert_eq!(told, answer(code, "", &document), "{path}: {state} {stalled} {kind}");
        }
    }
}

#[test]
fn each_view_is_answered_whole() {
    let node = FakeNode::new();
    let server = node.serve();
    let get = |path: &str| whole(server.local_addr(), &format!("GET {path}"), "");
    assert_eq!(get("/livez"), answer(OK, "", r#"{"live":true}"#));
    node.set(|node| node.live = false);
    let hangs = "the election thread has missed its turn; if this lasts, restart the node";
    assert_eq!(get("/livez"), answer(NO, "", &json!({"live": false, "error": hangs}).to_string()));
    let entry: HistoryEntry = serde_json::from_value(json!({
        "leader": "node-2", "epoch": 7, "since_ms": 5, "until_ms": null, "lasts": true, "before": "node-1",
        "leaderless_ms": 250, "cause": "leader_dead", "reason": "node-1 is dead",
    }))
    .unwrap();
    node.set(|node| node.history = Arc::new(vec![entry.clone()]));
    let history = History { node: "node-1".to_owned(), leaderships: vec![entry] };
    assert_eq!(get("/history"), answer(OK, "", &serde_json::to_string(&history).unwrap()));
    let delays = r#"{"node":"node-1","slot_ms":10000,"slots":[{"late_us":70,"round_trips_us":{"node-2":400}}]}"#;
    node.set(|node| node.delays = serde_json::from_str(delays).unwrap());
    assert_eq!(get("/delays"), answer(OK, "", delays));
    for query in ["epoch=", "epoch=-1", "last", "Epoch=7"] {
        let sentence = format!("\"{query}\" is not known here; say epoch=NUMBER or nothing");
        assert_eq!(get(&format!("/trace?{query}")), refusal("400 Bad Request", &sentence));
    }
    let sentence =
        "only the algorithm \"halting\" hands out a task, and this cluster has \"bully\"";
    assert_eq!(get("/task"), refusal("404 Not Found", sentence));
    node.set(|node| {
        let status = "normal".to_owned();
        node.status.halting = Some(HaltingStatus { status, halter: None, task_bytes: 0 });
    });
    let sentence =
        "no task has been handed out; POST one at the leader, or start it with --task FILE";
    assert_eq!(get("/task"), refusal("404 Not Found", sentence));
    node.set(|node| node.task = Some(b"work".to_vec()));
    let bytes = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 4\r\n\
                 Cache-Control: no-store\r\nConnection: close\r\n\r\nwork";
    assert_eq!(get("/task"), bytes);
    node.set(|node| node.status.halting = None);
    assert!(get("/task").starts_with("HTTP/1.1 404 "), "it is of no use any more");
}

/// All paths, as the node lists them itself.
fn paths(node: &FakeNode) -> Value {
    let server = node.serve();
    let told = whole(server.local_addr(), "OPTIONS *", "");
    let body: Value = serde_json::from_str(told.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    body["paths"].clone()
}

#[test]
fn what_can_be_done_at_a_path_is_told_whole() {
    let node = FakeNode::new();
    let (server, paths) = (node.serve(), paths(&node));
    assert_eq!(paths.as_array().map(Vec::len), Some(37));
    let told = |line: &str| whole(server.local_addr(), line, "");
    let all = json!({ "paths": paths }).to_string();
    let methods = "Allow: GET, HEAD, POST, DELETE, OPTIONS\r\n";
    assert_eq!(told("OPTIONS *"), answer(OK, methods, &all));
    assert_eq!(told("OPTIONS /resign"), answer(OK, "Allow: POST, OPTIONS\r\n", &all));
    assert_eq!(told("OPTIONS /members/a"), answer(OK, "Allow: DELETE, OPTIONS\r\n", &all));
    let live = answer(OK, "Allow: GET, HEAD, OPTIONS\r\n", r#"{"live":true}"#);
    assert_eq!(told("OPTIONS /livez"), live);
    let unknown = |path: &str| {
        let sentence = format!("there is no {path} here; ask for one of the paths listed");
        let body = json!({ "error": sentence, "paths": paths });
        answer("404 Not Found", "", &body.to_string())
    };
    for (line, path) in [
        ("GET /stauts", "/stauts"),
        ("GET *", "*"),
        ("POST /exec", "/exec"),
        ("OPTIONS /exec", "/exec"),
        ("GET /peers//status", "/peers//status"),
    ] {
        assert_eq!(told(line), unknown(path), "{line}");
    }
    for (line, path, method, methods) in [
        ("DELETE /status", "/status", "DELETE", "GET, HEAD, OPTIONS"),
        ("POST /events", "/events", "POST", "GET, HEAD, OPTIONS"),
        ("GET /resign", "/resign", "GET", "POST, OPTIONS"),
        ("HEAD /resign", "/resign", "HEAD", "POST, OPTIONS"),
        ("PUT /task", "/task", "PUT", "GET, HEAD, POST, OPTIONS"),
        ("GET /members/a", "/members/a", "GET", "DELETE, OPTIONS"),
        ("POST /peers/a/status", "/peers/a/status", "POST", "GET, HEAD, OPTIONS"),
        ("DELETE /elections/7", "/elections/7", "DELETE", "GET, HEAD, OPTIONS"),
    ] {
        let sentence = format!("{path} does not take {method}; it takes {methods}");
        let body = json!({ "error": sentence }).to_string();
        let expected = answer("405 Method Not Allowed", &format!("Allow: {methods}\r\n"), &body);
        let expected = if method == "HEAD" {
            expected.split_inclusive("\r\n\r\n").next().unwrap().to_owned()
        } else {
            expected
        };
        assert_eq!(told(line), expected, "{line}");
    }
    for (path, content) in [
        ("/events", "text/event-stream"),
        ("/peers/a/status", "application/json"),
        ("/elections/last", "application/json"),
        ("/elections/7", "application/json"),
    ] {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {content}\r\nContent-Length: 0\r\nCache-Control: no-store\r\n\
             Connection: close\r\n\r\n"
        );
        assert_eq!(told(&format!("HEAD {path}")), head, "{path}: it costs others nothing");
    }
    assert!(node.commands().is_empty());
}

#[test]
fn the_outcome_of_a_command_is_answered_whole() {
    let node = FakeNode::new();
    let server = node.serve();
    let told = |line: &str, headers: &str| whole(server.local_addr(), line, headers);
    let result = "node-2 resigned; node-1 was asked to lead";
    let body = json!({"result": result, "successor": "node-1"}).to_string();
    assert_eq!(told("POST /resign", BEARER), answer(OK, "", &body));
    assert_eq!(told("DELETE /members/a", BEARER), answer(OK, "", &body));
    let forbidden = "commands over TCP need the header \"Authorization: Bearer TOKEN\": send the token of \
                     admin_token_file; on the node's own host electd needs none, run as the node's user";
    assert_eq!(told("POST /resign", ""), refusal("403 Forbidden", forbidden));
    let id = "00000000-0000-4000-8000-000000000001";
    let other = "this node is node-1 of cluster demo (id 00000000-0000-4000-8000-000000000001), and the command is for \
                 id 8 of cluster ?: correct the configuration";
    let meant = format!("{BEARER}Electd-Node: 8\r\n");
    assert_eq!(told("POST /resign", &meant), refusal("409 Conflict", other));
    let meant = format!("{BEARER}Electd-Node: {id}\r\nElectd-Cluster: demo\r\n");
    assert_eq!(told("POST /resign", &meant), answer(OK, "", &body));
    assert_eq!(node.commands().len(), 3);
    let attach = "Upgrade: electd-exec\r\nElectd-Node: 8\r\n";
    assert_eq!(told("GET /exec", attach), refusal("409 Conflict", other));
    let attached = "processes attach by the control socket alone";
    assert_eq!(told("GET /exec", "Upgrade: a\r\n"), refusal("403 Forbidden", attached));
}
