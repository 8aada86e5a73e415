//! A node that lies, or a file that somebody sent: what people read of it moves no cursor, turns no text and begins no line.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Output;
use std::thread;

use electd::flight::document::Recording;
use electd::node::history::HistoryEntry;
use electd::trace::record::Record;
use serde_json::Value;

use super::cli::{electd, run, stderr, stdout};
use super::elections::record;
use super::fake::{FakeNode, event, member};
use super::peer::{Peer, get};

/// It clears a terminal, by both forms of the escape, turns the text, goes back, and begins a line.
const ODD: &str = "\u{1b}[2J\u{9b}2J\u{202e}\r\nforged";

/// All words of a document with that behind them.
fn spoil(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(ODD),
        Value::Array(list) => list.iter_mut().for_each(spoil),
        Value::Object(fields) => fields.values_mut().for_each(spoil),
        _ => {}
    }
}

/// What a node answers there, spoilt.
fn spoilt(server: SocketAddr, path: &str) -> String {
    let mut told = get(server, path).json();
    spoil(&mut told);
    told.to_string()
}

/// A node that answers so, all of whose events are odd.
fn liar() -> SocketAddr {
    let node = FakeNode::new();
    node.set(|state| {
        state.record = record(1);
        state.status.members = ["node-1", "node-2"].map(|name| member(name, None)).to_vec();
        state.history = std::sync::Arc::new(vec![HistoryEntry {
            leader: "node-2".to_owned(),
            epoch: 7,
            since_ms: 1_700_000_000_000,
            until_ms: None,
            lasts: true,
            before: None,
            before_epoch: None,
            cause: "start".to_owned(),
            reason: "it won".to_owned(),
            leaderless_ms: 3,
            job_late_ms: None,
            ended: None,
        }]);
    });
    let server = node.serve();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It lives as long as the test.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = answer(stream.unwrap(), server.local_addr());
        }
    });
    address
}

fn answer(mut stream: TcpStream, server: SocketAddr) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
    let path = first.split(' ').nth(1).unwrap_or_default();
    if path == "/events" {
        let mut told = serde_json::to_value(event("node-2 is silent")).unwrap();
        told["node"] = "node-1".into();
        for key in ["reason", "leader", "member", "state", "from", "halting"] {
            told[key] = format!("x{ODD}").into();
        }
        told["id"] = "1-1".into();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        stream.write_all(format!("{head}data: {told}\n\n").as_bytes())?;
        return Ok(());
    }
    let (code, body) = match first.starts_with("GET") {
        true => (200, spoilt(server, path)),
        false => (409, serde_json::json!({ "error": format!("no{ODD}") }).to_string()),
    };
    let head =
        format!("HTTP/1.1 {code} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all((head + &body).as_bytes())
}

/// That a command printed nothing odd.
#[track_caller]
fn assert_plain(what: &str, text: &str) {
    let odd = |c: char| {
        (c.is_control() && c != '\n' && c != '\t') || ('\u{202a}'..='\u{202e}').contains(&c)
    };
    assert!(!text.contains(odd), "{what}: {text:?}");
    let forged = text.lines().find(|line| line.starts_with("forged"));
    assert_eq!(forged, None, "{what}: {text}");
}

#[track_caller]
fn check(what: &str, output: &Output) {
    let (out, error) = (stdout(output), stderr(output));
    assert_plain(what, &out);
    assert_plain(what, &error);
    let shown = [out, error].concat();
    assert!(shown.contains(r"\u001b[2J"), "{what} shows it, escaped: {shown}");
}

#[test]
fn what_a_node_says_is_shown_without_what_would_disguise_it() {
    let address = liar().to_string();
    for command in [
        "status",
        "status --verbose",
        "status --output json",
        "why",
        "why --output json",
        "history",
        "history --output json",
        "leader",
        "leader --output json",
        "health",
        "health --output json",
        "member list",
        "member list --output json",
        "trace",
        "trace --output json",
        "trace --output svg",
        "trace --output html",
        "undrain",
        "pause",
        "switchover --to node-1",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let args = [&words[1..], &["--admin", &address]].concat();
        check(command, &run(electd(&args, words[0])));
    }
}

#[test]
fn what_an_event_says_is_shown_without_what_would_disguise_it() {
    let mut watching =
        super::watch::Watching::start(&["--admin", &liar().to_string(), "--since", "900000h"]);
    for _ in 0..3 {
        assert_plain("watch", &watching.line());
    }
}

#[test]
fn a_recording_that_somebody_sent_is_shown_without_what_would_disguise_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sent.json");
    let name = file.to_str().unwrap().to_owned();
    let mut odd = serde_json::to_value(record(1)).unwrap();
    spoil(&mut odd);
    let odd: Record = serde_json::from_value(odd).unwrap();
    let records =
        [serde_json::to_string(&odd).unwrap(), Recording::new::<Vec<u8>>(odd, &[]).written()];
    for (text, is_recording) in records.into_iter().zip([false, true]) {
        std::fs::write(&file, text).unwrap();
        for output in ["text", "json", "svg", "html"] {
            let shown = run(electd(&["--file", &name, "--output", output], "trace"));
            check(&format!("trace --output {output}"), &shown);
        }
        for output in ["text", "json", "html"].into_iter().filter(|_| is_recording) {
            let shown = run(electd(&[&name, "--output", output], "replay"));
            assert_plain("replay", &stdout(&shown));
            assert_plain("replay", &stderr(&shown));
        }
    }
}

/// Nor does a page of the node show it: it gets it from the node that asked.
#[test]
fn a_node_passes_on_nothing_that_would_disguise() {
    let own = FakeNode::new();
    let liar = liar();
    own.set(|state| state.status.members = vec![member("node-2", Some(liar.to_string()))]);
    let server = own.serve();
    let mut peer = Peer::connect(server.local_addr());
    peer.say("GET /peers/node-2/status HTTP/1.1\r\nHost: n\r\n\r\n");
    assert_plain("/peers", &peer.answer().body);
}
