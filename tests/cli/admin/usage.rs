//! Command lines that make no sense, and answers that do not come: what the commands say of them.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use electd::admin::client::{Client, Order, Recipient};
use serde_json::{Value, json};

use super::cli::{Cluster, code, electd, nobody, run, stderr, stdout};
use super::fake::{FakeNode, status};

#[test]
fn what_cannot_be_meant_is_an_error_of_usage_and_nobody_is_asked() {
    let node = FakeNode::new();
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    for (args, said) in [
        (&["drain", "--for", "0s", "--node", "node-1"][..], "\"0s\" is out of range: give 1ms"),
        (&["pause", "--for", "0s"], "\"0s\" is out of range: give 1ms"),
        (&["pause", "--for", "12"], "\"12\" is no time: give a number and a unit"),
        (&["status", "--timeout", "0s"], "\"0s\" leaves no time for an answer"),
        (&["status", "--watch"], "--watch draws on a terminal, and stdout is none"),
        (
            &["status", "--watch", "--output", "json"],
            "'--watch' cannot be used with '--output <FORMAT>'",
        ),
        (&["trace", "--last", "--epoch", "7"], "'--last' cannot be used with '--epoch <E>'"),
        (
            &["trace", "--file", "a.json"],
            "'--config <FILE>' cannot be used with '--file <FILE>...'",
        ),
        (&["switchover"], "--to <NAME>"),
        (
            &["switchover", "--to", "node-1", "--clear"],
            "'--to <NAME>' cannot be used with '--clear'",
        ),
        (&["watch", "--since", "yesterday"], "write a time such as 30s, 15m or 24h"),
        (&["history", "--since=-1h"], "write a time such as 30s, 15m or 24h"),
    ] {
        let output = cluster.electd(args);
        assert_eq!(code(&output), Some(2), "{args:?}: {output:?}");
        assert!(stderr(&output).contains(said), "{args:?}: {output:?}");
    }
    let health = run(electd(&["--config", "/no/such/file"], "health"));
    assert_eq!(code(&health), Some(3), "a monitoring system takes 2 for an outage: {health:?}");
    let file = cluster.file.to_str().unwrap();
    let address = server.local_addr().to_string();
    for (args, said) in [
        (&["remove", "--config", file, "../a"][..], "\"../a\" is nobody's name: use 1 to 63 of"),
        (&["list", "--admin", &address, "--output", "config"], "name it with --config"),
    ] {
        let output = run(electd(args, "member"));
        assert_eq!(code(&output), Some(2), "{args:?}: {output:?}");
        assert!(stderr(&output).contains(said), "{args:?}: {output:?}");
    }
    for (name, address, id, said) in [
        ("d", "h:1", "x", "--id \"x\" is no version 4 UUID: "),
        ("d", "h:1", "00000000-0000-1000-8000-000000000001", "is no version 4 UUID: "),
        ("a b", "h:1", "00000000-0000-4000-8000-000000000009", "\"a b\""),
        ("d", "h", "00000000-0000-4000-8000-000000000009", "\"h\""),
    ] {
        let entry = ["--name", name, "--address", address, "--id", id];
        let output = run(electd(&[&["add", "--config", file], &entry[..]].concat(), "member"));
        assert_eq!(code(&output), Some(2), "{entry:?}: {output:?}");
        assert!(stderr(&output).contains(said), "{entry:?}: {output:?}");
    }
    assert!(node.commands().is_empty());
}

#[test]
fn nobody_answers() {
    let cluster = Cluster::of(&[Some(nobody()), None]);
    for (args, begin) in [
        (
            &["status"][..],
            "UNKNOWN: no leader is known\nproblem: node-1 does not answer\n  => look whether ",
        ),
        (&["status", "--output", "json"], "{\n  \"nodes\": ["),
        (&["status", "--node", "node-1"], ""),
        (&["status", "--node", "node-1", "--output", "json"], ""),
        (&["leader"], ""),
        (&["leader", "--check", "--node", "node-1"], ""),
        (&["resign"], ""),
    ] {
        let output = cluster.electd(args);
        let shown = stdout(&output);
        assert_eq!(code(&output), Some(69), "{args:?}");
        assert!(stderr(&output).contains("connection refused"), "{args:?}: {}", stderr(&output));
        assert!(shown.starts_with(begin) && shown.is_empty() == begin.is_empty(), "{shown}");
    }
    // A member that is not named is one of all, if it is alone.
    let server = FakeNode::new().serve();
    for (alone, exit, begin, document) in [
        (nobody(), 69, "UNKNOWN: ", json!([null])),
        (server.local_addr(), 0, "OK: ", json!(["node-1"])),
    ] {
        let cluster = Cluster::of(&[Some(alone)]);
        let text = cluster.electd(&["status"]);
        assert_eq!(code(&text), Some(exit), "{text:?}");
        assert!(stdout(&text).starts_with(begin) && stdout(&text).contains("\nNODE "), "{text:?}");
        let shown = stdout(&cluster.electd(&["status", "--output", "json"]));
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let nodes = shown["nodes"].as_array().unwrap().iter();
        let names = nodes.map(|node| node["status"]["node"]["name"].clone()).collect::<Vec<_>>();
        assert_eq!(json!(names), document, "{shown:#}");
    }
}

#[test]
fn the_outcome_of_a_command_that_is_not_answered_is_not_known() {
    // It accepts connections, and says nothing.
    let node = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = node.local_addr().unwrap().to_string();
    let client = Client::within(Some(Duration::from_millis(50)), None);
    let to = Recipient { address: &address, cluster: "demo", id: "x" };
    let told = |order: Order| client.command(to, &order).unwrap_err().to_string();
    let pause = told(Order::post("pause", &json!({})));
    assert!(pause.contains("whether it carried the command out is not known"), "{pause}");
    let drain = told(Order::post("drain", &json!({})).ending_a_leadership());
    assert!(drain.contains("may still be waiting for the leader's job to end"), "{drain}");
    assert!(drain.contains("the outcome is not known"), "{drain}");
    let asked = client.status(&address).unwrap_err().to_string();
    assert!(asked.contains("silent for too long; it may be frozen"), "{asked}");
}

/// It may have been carried out all the same: another node would carry it out once more.
#[test]
fn a_command_that_is_not_answered_is_given_to_no_other_node() {
    // It says that it leads, and hangs up on every command.
    let leader = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = FakeNode::new().with_number(2);
    let (server, address) = (other.serve(), leader.local_addr().unwrap());
    let cluster = Cluster::of(&[Some(address), Some(server.local_addr())]);
    let body = serde_json::to_string(&status("leading", Some("node-1"))).unwrap();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    thread::spawn(move || {
        for mut client in leader.incoming().flatten() {
            let mut request = [0; 4096];
            let length = client.read(&mut request).unwrap();
            if request[..length].starts_with(b"GET") {
                client.write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    let output = cluster.electd(&["pause"]);
    assert_eq!(code(&output), Some(69), "{output:?}");
    assert!(other.commands().is_empty(), "{:?}", other.commands());
}

#[test]
fn a_token_that_no_header_can_hold_is_told() {
    let server = FakeNode::new().serve();
    let address = server.local_addr().to_string();
    let client = Client::new(Some("a\nb".to_owned()));
    let to = Recipient { address: &address, cluster: "demo", id: "x" };
    let told = client.command(to, &Order::post("pause", &json!({}))).unwrap_err().to_string();
    assert!(told.contains("a header cannot hold the token"), "{told}");
}

#[test]
fn an_address_that_hangs_up_may_be_that_of_a_peer() {
    let peer = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = peer.local_addr().unwrap().to_string();
    thread::spawn(move || peer.incoming().for_each(drop));
    let output = run(electd(&["--admin", &address], "status"));
    assert_eq!(code(&output), Some(69), "{output:?}");
    let said = "is it the `address` of a member? give its `admin`";
    assert!(stderr(&output).contains(said), "{output:?}");
}

#[test]
fn an_address_without_a_port_is_an_error_of_usage() {
    let output = run(electd(&["--admin", "127.0.0.1"], "status"));
    assert_eq!(code(&output), Some(2));
    assert!(stderr(&output).contains("has no port"), "{}", stderr(&output));
    let mut command = electd(&[], "leader");
    command.env("ELECTD_ADMIN", "localhost");
    let output = run(command);
    assert_eq!(code(&output), Some(2));
    let begin = "ELECTD_ADMIN=\"localhost\" is no address: it has no port: ";
    assert!(stderr(&output).starts_with(begin), "{}", stderr(&output));
}
