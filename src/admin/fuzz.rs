//! Input for the fuzzer of HTTP, to a node and to the commands that ask one, and the checks that must hold.

use std::io::Cursor;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::core::types::Task;
use crate::node::NodeHandle;
use crate::node::events::Event;
use crate::node::handle::Command;
use crate::node::history::History;
use crate::node::status::Status;

use super::exchange::read_answer;
use super::inbound::{ClientInput, ClientRequest, RequestRead};
use super::limits;
use super::listener::EventListener;
use super::response::{Delivery, Response};
use super::routes::Route;

/// Requests as clients send them: each alone, and all in one go.
pub fn requests() -> Vec<Vec<u8>> {
    let post = |path: &str, body: &str| {
        let length = body.len();
        format!("POST {path} HTTP/1.1\r\nHost: n\r\nContent-Length: {length}\r\n\r\n{body}")
    };
    let entry = r#"{"name": "n4", "address": "h:1", "admin": "[::1]:2", "role": "witness"}"#;
    let mut all = vec![
        "GET /status HTTP/1.1\r\nHost: n\r\nAccept: */*\r\nUser-Agent: curl/8\r\n\r\n".to_owned(),
        "HEAD http://n:7201/leader?x=1#y HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".to_owned(),
        "\r\nOPTIONS * HTTP/1.1\r\nHost: n\r\nConnection: close\r\n\r\n".to_owned(),
        "GET /events HTTP/1.1\r\nHost: n\r\nLast-Event-ID: 3-17\r\n\r\n".to_owned(),
        "DELETE /members/n4?force=true HTTP/1.1\r\nHost: n\r\nAuthorization: Bearer s\r\n\r\n"
            .to_owned(),
        "POST /task HTTP/1.1\r\nHost: n\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\nwork"
            .to_owned(),
        "POST /task HTTP/1.1\r\nHost: n\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_owned(),
        post("/resign", r#"{"to": "node-2"}"#),
        post("/drain", r#"{"for": "1h 30m", "reason": "a new disk"}"#),
        post("/pause", r#"{"for": "30m"}"#),
        post("/undrain", "{}"),
        post("/elections", ""),
        post("/members", entry),
    ];
    all.push(all.concat());
    all.into_iter().map(String::into_bytes).collect()
}

/// A client's bytes. What it asks does not depend on how they are cut; a refusal may have to wait for the end of a
/// line.
pub fn check_request(bytes: &[u8]) {
    let size = bytes.first().map_or(1, |byte| 1 + usize::from(byte % 16));
    let (at_once, in_pieces) = (heard(bytes, usize::MAX), heard(bytes, size));
    assert_eq!(at_once.asked, in_pieces.asked, "in pieces of {size} bytes");
    if let (Some(one), Some(other)) = (at_once.refusal, in_pieces.refusal) {
        assert_eq!(one, other, "in pieces of {size} bytes");
    }
}

/// The requests of a client, in words.
#[derive(Default)]
struct Said {
    asked: Vec<String>,
    refusal: Option<String>,
}

/// All requests in these bytes, and the refusal that ends them, if any.
fn heard(bytes: &[u8], piece: usize) -> Said {
    let (mut inbound, mut rest, mut found) = (ClientInput::default(), bytes, Said::default());
    while !rest.is_empty() {
        let room = inbound.room();
        assert!(room > 0, "the client waits for us, and we for the client");
        let (now, later) = rest.split_at(rest.len().min(piece).min(room));
        inbound.hear(now);
        rest = later;
        loop {
            match inbound.next() {
                RequestRead::Part => break,
                RequestRead::BodyWanted => {}
                RequestRead::Asked(asked) => found.asked.push(taken(&asked)),
                RequestRead::Refused(refusal) => {
                    is_an_answer(&refusal);
                    found.refusal = Some(format!("{refusal:?}"));
                    return found;
                }
            }
        }
    }
    found
}

/// The result of a request, in words.
fn taken(asked: &ClientRequest) -> String {
    let ClientRequest { request, body } = asked;
    assert_eq!(body.len(), request.body_length);
    assert!(body.len() <= limits::BODY_BYTES);
    match Route::<NodeHandle>::commanded(request).map(|takes| takes.command(request, body)) {
        Some(Ok(command)) => {
            match &command {
                Command::Add(member) => assert!(member.judge().is_ok(), "{member:?}"),
                Command::HandOut { task } => assert!(task.len() <= Task::LONGEST),
                _ => {}
            }
            // A member without an id gets a fresh one each time.
            let given = !matches!(command, Command::Add(_));
            format!("{request:?} {}", if given { format!("{command:?}") } else { String::new() })
        }
        Some(Err(refusal)) => {
            is_an_answer(&refusal);
            format!("{request:?} {refusal:?}")
        }
        None => format!("{request:?}"),
    }
}

/// A client understands the answer, and finds its end.
fn is_an_answer(response: &Response) {
    let bytes = response.encode(Delivery { head_only: false, close: true, old: false });
    let mut slots = [httparse::EMPTY_HEADER; 16];
    let mut head = httparse::Response::new(&mut slots);
    let length = match head.parse(&bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        other => panic!("{other:?}"),
    };
    assert_eq!(head.code, Some(response.code));
    let declared = head.headers.iter().find(|header| header.name == "Content-Length");
    let declared = declared.and_then(|header| std::str::from_utf8(header.value).ok()?.parse().ok());
    assert_eq!(declared, Some(bytes.len() - length));
    let body: serde_json::Value = serde_json::from_slice(&bytes[length..]).expect("it is JSON");
    assert!(body.get("error").is_some(), "{body}");
}

/// Answers of nodes: a status, a history, and events.
pub fn answers() -> Vec<Vec<u8>> {
    let leaderships = Vec::new();
    let status = serde_json::to_vec(&Status::default());
    let history = serde_json::to_vec(&History { node: "node-1".to_owned(), leaderships });
    let event = concat!(
        r#"{"id": "3-17", "at_ms": 5, "event": "leading", "node": "a", "from": "electing", "state": "leading","#,
        r#" "halting": null, "leader": "a", "epoch": 7, "member": null, "reason": "it won"}"#,
    );
    let stream = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nid: 3-17\ndata: {event}\n\n: nothing new\n\n"
    );
    let mut answers = vec![stream.into_bytes()];
    answers.extend(status);
    answers.extend(history);
    answers
}

/// An answer of anything at the address of a node.
pub fn check_answer(bytes: &[u8]) {
    if let Ok((_, body)) = read_answer(&mut Cursor::new(bytes)) {
        assert!(body.len() <= bytes.len());
    }
    if let Ok(mut events) =
        EventListener::<Event>::hear("node:1", Box::new(Cursor::new(bytes.to_vec())))
    {
        while let Ok(event) = events.wait() {
            comes_back::<Event>(&serde_json::to_vec(&event).expect("it was read as JSON"));
        }
    }
    comes_back::<Status>(bytes);
    comes_back::<History>(bytes);
}

/// What was read can be written, and read again. (A float may differ in its last bit.)
fn comes_back<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    if let Ok(read) = serde_json::from_slice::<T>(bytes) {
        let again = serde_json::to_vec(&read).expect("it was read as JSON");
        assert!(serde_json::from_slice::<T>(&again).is_ok());
    }
}
