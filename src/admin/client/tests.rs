//! What a client asks, to the last byte, and what it makes of a node that does not answer.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Instant;

use serde_json::json;

use super::*;

#[test]
fn why_a_process_cannot_attach_itself_is_told_by_its_kind() {
    let of = |kind: ErrorKind| {
        Refused::of(Path::new("/s"), Duration::from_secs(5), &io::Error::new(kind, "odd"))
    };
    let nobody = "no node runs on this host: nobody listens on /s";
    let frozen = "no answer on /s within 5s: the node may be frozen";
    for (kind, words) in [
        (ErrorKind::NotFound, nobody),
        (ErrorKind::ConnectionRefused, nobody),
        (ErrorKind::TimedOut, frozen),
        (ErrorKind::WouldBlock, frozen),
        (ErrorKind::Other, "/s: odd"),
    ] {
        assert_eq!(of(kind), Refused::NoAnswer(words.to_owned()), "{kind:?}");
    }
    let forbidden = format!("this user may not open /s: {}", control::WHO_MAY);
    assert_eq!(of(ErrorKind::PermissionDenied), Refused::Forbidden(forbidden));
    let with = |code| Refused::with(code, r#"{"error": "why"}"#);
    assert_eq!(with(409), Refused::Mismatch("why".to_owned()));
    assert_eq!(with(503), Refused::NoAnswer("why".to_owned()));
    let odd = "the node answered HTTP status 404".to_owned();
    assert_eq!(Refused::with(404, "<html>"), Refused::NoAnswer(odd));
}

#[test]
fn the_token_is_shown_over_tcp_alone() {
    let client = Client::new(Some("s3cret".to_owned()));
    let shown = client.authorization("h:1");
    assert_eq!(shown, Ok("Authorization: Bearer s3cret\r\n".to_owned()));
    assert_eq!(client.authorization("unix:/s"), Ok(String::new()), "it asks for none");
    assert_eq!(Client::new(None).authorization("h:1"), Ok(String::new()));
    let reason =
        "a header cannot hold the token: write one line of printable ASCII characters".to_owned();
    let refused = Err(ClientError::NoAnswer { address: "h:1".to_owned(), reason });
    for odd in ["a\nb", "a\u{7f}", "ä"] {
        let client = Client::new(Some(odd.to_owned()));
        assert_eq!(client.authorization("h:1"), refused, "{odd:?}");
        assert_eq!(client.authorization("unix:/s"), Ok(String::new()), "it is not sent");
    }
    let widest = Client::new(Some(" ~".to_owned())).authorization("h:1");
    assert_eq!(widest, Ok("Authorization: Bearer  ~\r\n".to_owned()));
}

/// A node carries a command out in 2 s, and waits 5 min for the end of a leadership: a client waits longer.
#[test]
fn a_client_waits_for_longer_than_the_node_that_it_asks() {
    use crate::admin::limits;

    assert!(answer_timeout(WaitsFor::Leader).0 > limits::COMMAND && SILENCE > limits::BEAT);
    assert!(answer_timeout(WaitsFor::Job).0 > Duration::from_secs(5 * 60) + limits::COMMAND);
    let seconds = Duration::from_secs;
    assert_eq!(answer_timeout(WaitsFor::Leader), (seconds(4), UNKNOWN));
    assert_eq!(answer_timeout(WaitsFor::Promises), (seconds(60), UNKNOWN));
    assert_eq!(answer_timeout(WaitsFor::Job), (seconds(310), STILL_WAITS));
    assert!(limits::MEMBER * 2 <= limits::WAIT, "one that waits for an election gets it");
}

/// What a node is asked that answers this and then ends the connection.
fn asked<T>(answer: &str, ask: impl FnOnce(&str) -> T) -> (String, T) {
    let node = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = node.local_addr().unwrap().to_string();
    thread::scope(|scope| {
        let asked = scope.spawn(move || {
            let (mut stream, _) = node.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut question = Vec::new();
            let end =
                |asked: &[u8]| if asked.starts_with(b"POST") { &b"}"[..] } else { b"\r\n\r\n" };
            while !question.ends_with(end(&question)) {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                question.extend(byte);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(question).unwrap()
        });
        let told = ask(&address);
        (asked.join().unwrap().replace(&address, "ADDRESS"), told)
    })
}

fn answer(document: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{document}", document.len())
}

#[test]
fn a_question_is_for_one_path_and_names_the_host() {
    let client = Client::within(Some(Duration::from_secs(20)), Some("s3cret".to_owned()));
    let head =
        |path: &str| format!("GET /{path} HTTP/1.1\r\nHost: ADDRESS\r\nConnection: close\r\n\r\n");
    let own = Status { epoch: 7, ..Status::default() };
    let (question, told) =
        asked(&answer(&json!(own).to_string()), |at| client.status(&format!("http://{at}/")));
    let told = told.map(|status| {
        assert!(status.asked_ms.is_some_and(|(began, ended)| 0 < began && began <= ended));
        Status { asked_ms: None, ..status }
    });
    assert_eq!((question, told), (head("status"), Ok(own)));
    let history = History { node: "a".to_owned(), leaderships: Vec::new() };
    let (question, told) = asked(&answer(&json!(history).to_string()), |at| client.history(at));
    assert_eq!((question, told), (head("history"), Ok(history)));
    let record = Record { node: "a".to_owned(), ..Record::default() };
    let (question, told) = asked(&answer(&json!(record).to_string()), |at| client.record(at));
    assert_eq!((question, told), (head("trace"), Ok(record)));
    let (question, told) = asked(&answer(r#" {"b": 1,  "a":2} "#), |at| client.recording(at));
    let as_it_is = r#"{"b": 1,  "a":2}"#.to_owned();
    assert_eq!((question, told), (head("flight"), Ok(as_it_is)));
}

#[test]
fn a_command_names_the_node_that_it_is_for_and_shows_the_token() {
    let client = Client::within(Some(Duration::from_secs(20)), Some("s3cret".to_owned()));
    let achieved = r#"{"result": "it drains", "successor": "b", "id": "7"}"#;
    let order = Order::post("drain", &json!({"for": "1h"}));
    let (question, told) = asked(&answer(achieved), |address| {
        client.command(Recipient { address, cluster: "demo", id: "node's" }, &order)
    });
    let expected = "POST /drain HTTP/1.1\r\nHost: ADDRESS\r\nConnection: close\r\nAuthorization: Bearer s3cret\r\n\
                    electd-cluster: demo\r\nelectd-node: node's\r\nContent-Type: application/json\r\n\
                    Content-Length: 12\r\n\r\n{\"for\":\"1h\"}";
    let [result, successor, id] = ["it drains", "b", "7"].map(str::to_owned);
    let told = told.unwrap();
    assert_eq!(told, Achieved { result, successor: Some(successor), id: Some(id) });
    assert_eq!(question, expected);
}

#[test]
fn a_listener_says_after_which_event_it_listens() {
    let client = Client::new(None);
    let head = "HTTP/1.1 200 OK\r\n\r\n";
    let expected = |id: &str| {
        format!("GET /events HTTP/1.1\r\nHost: ADDRESS\r\nAccept: text/event-stream\r\n{id}\r\n")
    };
    let (question, told) = asked(head, |at| client.listen(at, None).is_ok());
    assert_eq!((question, told), (expected(""), true));
    let (question, told) = asked(head, |at| client.listen(at, Some("3-17")).is_ok());
    assert_eq!((question, told), (expected("Last-Event-ID: 3-17\r\n"), true));
    let (_, refused) =
        asked("HTTP/1.1 503 No\r\n\r\n", |at| client.listen(at, None).err().unwrap().to_string());
    assert!(refused.ends_with(" tells no events: HTTP status 503"), "{refused}");
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let refused = client.listen(&nobody, None).err().unwrap().to_string();
    let expected =
        format!("no answer from {nobody}: connection refused, so nobody answers HTTP there");
    assert_eq!(refused, expected);
}

/// The usual times are 1 s for a connection, 2 s for an answer; here it has another.
#[test]
fn a_client_waits_as_long_as_it_is_told_to() {
    let node = TcpListener::bind("127.0.0.1:0").unwrap(); // it says nothing
    let address = node.local_addr().unwrap().to_string();
    let begun = Instant::now();
    let told = Client::within(Some(Duration::from_millis(50)), None).status(&address);
    assert!(begun.elapsed() >= Duration::from_millis(50));
    let reason = "connected, and silent for too long; it may be frozen".to_owned();
    assert_eq!(told, Err(ClientError::NoAnswer { address, reason }));
}
