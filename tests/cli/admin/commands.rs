//! Commands: what reaches the node, what it answers, and who may command.

use std::io::{Read, Write};
use std::time::Duration;

use electd::admin::ControlServer;
use electd::admin::client::{Client, ClientError, Order, Recipient, Refused};
use electd::admin::control::{self, ControlSocket, Reach};
use electd::core::types::Role;
use electd::node::handle::{Command, CommandError};
use serde_json::json;

use super::fake::{FakeNode, TOKEN};
use super::peer::{ask, post};

fn resign_to(name: &str) -> Command {
    Command::Resign { to: Some(name.to_owned()) }
}

#[test]
fn a_resignation_reaches_the_node() {
    let node = FakeNode::new();
    let server = node.serve();
    let answer = post(server.local_addr(), "/resign", &[], r#"{"to": "node-1"}"#);
    assert_eq!(answer.code, 200);
    let outcome =
        json!({"result": "node-2 resigned; node-1 was asked to lead", "successor": "node-1"});
    assert_eq!(answer.json(), outcome);
    for body in ["", "{}", r#"{"to": null}"#] {
        assert_eq!(post(server.local_addr(), "/resign", &[], body).code, 200, "{body:?}");
    }
    let anybody = Command::Resign { to: None };
    assert_eq!(node.commands(), [resign_to("node-1"), anybody.clone(), anybody.clone(), anybody]);
}

#[test]
fn a_task_reaches_the_node_as_it_is() {
    let node = FakeNode::new();
    let server = node.serve();
    for body in ["", "{\"not\": \"json", "\r\n\0"] {
        assert_eq!(post(server.local_addr(), "/task", &[], body).code, 200);
    }
    let task = |body: &str| Command::HandOut { task: body.as_bytes().to_vec() };
    assert_eq!(node.commands(), [task(""), task("{\"not\": \"json"), task("\r\n\0")]);
    let stranger = ["Authorization: Bearer none"];
    assert_eq!(post(server.local_addr(), "/task", &stranger, "work").code, 403);
    let long = "x".repeat(65_537);
    assert_eq!(post(server.local_addr(), "/task", &[], &long).code, 413);
    assert_eq!(node.commands().len(), 3);
}

#[test]
fn a_change_of_the_members_reaches_the_node() {
    let node = FakeNode::new();
    let server = node.serve();
    let at = server.local_addr();
    let entry = r#"{"name": "node-4", "address": "10.0.0.4:7101", "role": "witness"}"#;
    let answer = post(at, "/members", &[], entry);
    assert_eq!(answer.code, 200);
    let commands = node.commands();
    let [Command::Add(member)] = &commands[..] else { panic!("{commands:?}") };
    assert_eq!(answer.json()["id"], member.id.to_string(), "one was drawn");
    assert_eq!((member.name.as_str(), member.role), ("node-4", Role::Witness));

    let delete_with = |path: &str, headers: &str| {
        ask(at, &format!("DELETE {path} HTTP/1.1\r\nHost: node\r\n{headers}\r\n")).code
    };
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let delete = |path: &str| delete_with(path, &token);
    assert_eq!(delete("/members/node-4"), 200);
    assert_eq!(delete("/members/node-4?force=true"), 200);
    let remove = |force| Command::Remove { name: "node-4".to_owned(), force };
    assert_eq!(node.commands()[1..], [remove(false), remove(true)]);

    for (path, code) in [("/members/node-4?forced=yes", 400), ("/members/a%2fb", 404)] {
        assert_eq!(delete(path), code, "{path}");
    }
    assert_eq!(delete("/members"), 405);
    assert_eq!(post(at, "/members/node-4", &[], "").code, 405);
    assert_eq!(post(at, "/members", &[], r#"{"name": "node 4", "address": "h:1"}"#).code, 400);
    assert_eq!(delete_with("/members/node-4", ""), 403);
    assert_eq!(node.commands().len(), 3);
}

#[test]
fn an_election_is_called() {
    let node = FakeNode::new();
    let server = node.serve();
    assert_eq!(post(server.local_addr(), "/elections", &[], "").code, 200);
    assert_eq!(node.commands(), [Command::Elect]);
}

#[test]
fn a_body_that_cannot_be_used_commands_nothing() {
    let node = FakeNode::new();
    let server = node.serve();
    for body in ["{", "[]7", r#"{"too": "node-1"}"#, r#"{"to": 7}"#, "{} {}"] {
        let answer = post(server.local_addr(), "/resign", &[], body);
        assert_eq!(answer.code, 400, "{body}");
        assert!(answer.error().contains(r#"{"to": "NAME"}"#), "{answer:?}");
    }
    assert_eq!(post(server.local_addr(), "/elections", &[], r#"{"to": "node-1"}"#).code, 400);
    for both in ["{}", r#"{"to": "node-1", "clear": true}"#, r#"{"clear": false}"#] {
        assert_eq!(post(server.local_addr(), "/switchover", &[], both).code, 400, "{both}");
    }
    for (path, body) in [("/drain", r#"{"for": "0s"}"#), ("/pause", r#"{"for": "1"}"#)] {
        let answer = post(server.local_addr(), path, &[], body);
        assert!(answer.code == 400 && answer.error().starts_with("\"for\": "), "{answer:?}");
    }
    assert!(node.commands().is_empty());
}

#[test]
fn each_order_of_an_operator_reaches_the_node() {
    let node = FakeNode::new();
    let server = node.serve();
    let seconds = |length: Option<u64>| length.map(Duration::from_secs);
    let drain = |length, reason: &str| Command::Drain {
        length: seconds(length),
        reason: reason.to_owned(),
        force: false,
    };
    let pause = |length| Command::Pause { length: seconds(length) };
    let orders = [
        ("/drain", r#"{"for": "1h 30m", "reason": "new disk"}"#, drain(Some(5400), "new disk")),
        ("/drain", "", drain(None, "")),
        (
            "/drain",
            r#"{"force": true}"#,
            Command::Drain { length: None, reason: String::new(), force: true },
        ),
        ("/undrain", "{}", Command::Undrain),
        ("/pause", r#"{"for": "87600h"}"#, pause(Some(87_600 * 3600))),
        ("/pause", "", pause(None)),
        ("/resume", "", Command::Resume),
        ("/reload", "", Command::Reload),
        ("/switchover", r#"{"to": "node-1"}"#, Command::Switchover { to: "node-1".to_owned() }),
        ("/switchover", r#"{"clear": true}"#, Command::EndSwitchover),
    ];
    for (path, body, command) in orders {
        assert_eq!(post(server.local_addr(), path, &[], body).code, 200, "{path} {body}");
        assert_eq!(node.commands().last(), Some(&command), "{path} {body}");
    }
}

#[test]
fn each_failure_has_its_code_and_the_nodes_words() {
    let node = FakeNode::new();
    let server = node.serve();
    type Failure = fn(String) -> CommandError;
    let failures: [(Failure, u16); 4] = [
        (CommandError::Invalid, 400),
        (CommandError::Refused, 409),
        (CommandError::NotNow, 409),
        (CommandError::Unanswered, 503),
    ];
    for (failure, code) in failures {
        node.set(|state| state.outcome = Err(failure("no leader to resign".to_owned())));
        let answer = post(server.local_addr(), "/resign", &[], "");
        assert_eq!((answer.code, answer.error().as_str()), (code, "no leader to resign"));
        let passes = matches!(failure(String::new()), CommandError::NotNow(_));
        assert_eq!(answer.json()["try_again"] == true, passes, "{answer:?}");
    }
}

#[test]
fn nobody_commands_over_tcp_without_the_token_from_this_host_neither() {
    let node = FakeNode::new();
    let strangers: [&[&str]; 2] =
        [&["Authorization: none"], &["Authorization: none", "Origin: http://127.0.0.1:7201"]];
    for token in [None, Some(TOKEN)] {
        let server = node.serve_with(token);
        for headers in strangers {
            let answer = post(server.local_addr(), "/resign", headers, "");
            assert_eq!(answer.code, 403, "{headers:?}");
            assert!(answer.error().contains("on the node's own host"), "{answer:?}");
        }
    }
    assert!(node.commands().is_empty());
}

#[test]
fn whoever_may_open_the_control_socket_commands() {
    let node = FakeNode::new();
    let folder = tempfile::tempdir().unwrap();
    let server = ControlServer::start(
        ControlSocket::listen(folder.path(), None).unwrap(),
        node.clone(),
        drop,
    );
    let client = Client::new(None);
    let address = control::address(folder.path());
    let own = client.status(&address).unwrap();
    let to = Recipient { address: &address, cluster: &own.cluster, id: &own.node.id };
    client.command(to, &Order::post("resign", &json!({"to": "node-1"}))).unwrap();
    assert_eq!(node.commands(), [resign_to("node-1")]);
    let other = Recipient { cluster: "other", ..to };
    let anybody = Order::post("resign", &json!({}));
    let Err(ClientError::Refused { code: 409, sentence, .. }) = client.command(other, &anybody)
    else {
        panic!("another cluster's command was taken");
    };
    assert!(sentence.contains("node-1 of cluster demo"), "{sentence}");
    assert_eq!(node.commands().len(), 1);
    let attached = other.upgrade("electd-exec", Duration::from_secs(60));
    assert!(matches!(attached, Err(Refused::Mismatch(_))), "{attached:?}");
    assert!(to.upgrade("electd-exec", Duration::from_secs(60)).is_err(), "it is hung up on");
    server.unwrap().stop();
    assert_eq!(control::reach(folder.path()), Reach::Absent);
}

#[test]
fn the_token_opens_for_whoever_bears_it() {
    let node = FakeNode::new();
    let server = node.serve_with(Some("s3cret\n"));
    let from_afar = "Origin: http://dashboard.example";
    for (credentials, code) in [
        ("Authorization: Bearer s3cret", 200),
        ("Authorization: bearer s3cret", 200),
        ("Authorization: Bearer s3cre", 403),
        ("Authorization: Bearer s3cretly", 403),
        ("Authorization: Basic s3cret", 403),
        ("Authorization: Bearer ", 403),
        ("X-Nothing: here", 403),
    ] {
        let headers = [from_afar, credentials, "Authorization: none"];
        let headers = &headers[..if credentials.starts_with("X-") { 3 } else { 2 }];
        let answer = post(server.local_addr(), "/resign", headers, "");
        assert_eq!(answer.code, code, "{credentials}");
    }
}

#[test]
fn an_empty_token_is_no_token() {
    let node = FakeNode::new();
    let server = node.serve_with(Some(" \n"));
    let headers = ["Origin: http://evil.example", "Authorization: Bearer "];
    assert_eq!(post(server.local_addr(), "/resign", &headers, "").code, 403);
}

/// A job would run beside a node by a connection that anybody can make.
#[test]
fn a_process_attaches_by_the_control_socket_alone_and_asks_for_that() {
    let node = FakeNode::new();
    let server = node.serve();
    let exec =
        "GET /exec HTTP/1.1\r\nHost: n\r\nConnection: Upgrade\r\nUpgrade: electd-exec\r\n\r\n";
    let refused = ask(server.local_addr(), exec);
    assert_eq!(
        (refused.code, refused.error().as_str()),
        (403, "processes attach by the control socket alone")
    );
    let folder = tempfile::tempdir().unwrap();
    let control = ControlSocket::listen(folder.path(), None).unwrap();
    let _server = ControlServer::start(control, node, drop).unwrap();
    let mut stream = control::dial(&control::path(folder.path()), Duration::from_secs(60)).unwrap();
    stream.write_all(b"GET /exec HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("Upgrade header"), "{answer}");
}

/// The name of a page of his leads to a node by now, so to the browser its answers are his.
#[test]
fn a_stranger_whose_name_leads_to_a_node_reads_and_commands_nothing() {
    let node = FakeNode::new();
    let server = node.serve();
    let asked = |line: &str, host: &str| {
        let token = format!("Authorization: Bearer {TOKEN}");
        let text =
            format!("{line} HTTP/1.1\r\nHost: {host}\r\n{token}\r\nContent-Length: 0\r\n\r\n");
        ask(server.local_addr(), &text).code
    };
    for line in [
        "GET /",
        "GET /status",
        "GET /events",
        "GET /peers/b/status",
        "GET /nothing",
        "POST /drain",
    ] {
        assert_eq!(asked(line, "evil.example:7201"), 403, "{line}");
    }
    assert!(node.commands().is_empty());
    for host in ["127.0.0.1:7201", "localhost", "electd"] {
        assert_eq!(asked("GET /status", host), 200, "{host}");
    }
    let old = ask(server.local_addr(), "GET /status HTTP/1.0\r\n\r\n");
    assert_eq!(old.code, 200, "the probe of a load balancer");
}
