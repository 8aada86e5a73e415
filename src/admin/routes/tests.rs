//! Every path with its methods, and every body that a command may have or may not.

use super::*;
use crate::node::NodeHandle;
use crate::node::locks::{LockName, LockOrder};

type Routes = Route<NodeHandle>;

/// What is wrong with a name of a lock.
const NAME: &str =
    "use 1 to 63 of the characters a-z 0-9 . _ -, the first of them a letter or a digit";

fn request(line: &str) -> Request {
    let text = format!("{line} HTTP/1.1\r\nHost: n\r\n\r\n");
    Request::parse(text.as_bytes()).unwrap().unwrap().0
}

#[test]
fn all_paths_are_listed_with_what_can_be_done_there() {
    let expected = [
        "GET /",
        "GET /status",
        "GET /leader",
        "GET /follower",
        "GET /livez",
        "GET /readyz",
        "GET /events",
        "GET /history",
        "GET /delays",
        "GET /peers/NAME/status",
        "GET /verdict",
        "GET /trace",
        "GET /flight",
        "GET /metrics",
        "GET /elections/last",
        "GET /elections/EPOCH",
        "GET /locks",
        "GET /locks/NAME",
        "GET /locks/NAME/leader",
        "GET /locks/rebalance",
        "POST /locks/rebalance",
        "POST /elections",
        "POST /drain",
        "POST /undrain",
        "POST /pause",
        "POST /resume",
        "POST /reload",
        "POST /resign",
        "POST /switchover",
        "GET /task",
        "POST /task",
        "POST /members",
        "POST /entries",
        "DELETE /members/NAME",
        "POST /locks/NAME/release",
        "POST /locks/NAME/move",
        "POST /locks/NAME/forget",
    ];
    assert_eq!(Routes::lines(), expected);
}

#[test]
fn a_path_has_its_methods_and_one_with_a_name_is_any_of_its_kind() {
    let (shows, takes, both) = ("GET, HEAD, OPTIONS", "POST, OPTIONS", "GET, HEAD, POST, OPTIONS");
    for (path, methods) in [
        ("/status", Some(shows)),
        ("/events", Some(shows)),
        ("/peers/node-2/status", Some(shows)),
        ("/elections/last", Some(shows)),
        ("/elections/7", Some(shows)),
        ("/elections", Some(takes)),
        ("/drain", Some(takes)),
        ("/members", Some(takes)),
        ("/task", Some(both)),
        ("/members/node-2", Some("DELETE, OPTIONS")),
        ("/locks", Some(shows)),
        ("/locks/vip-7", Some(shows)),
        ("/locks/rebalance", Some(both)),
        ("/locks/vip-7/leader", Some(shows)),
        ("/locks/vip-7/release", Some(takes)),
        ("/locks/vip-7/move", Some(takes)),
        ("/locks/vip-7/forget", Some(takes)),
        ("/locks/vip-7/take", None),
        ("/locks/vip-7/leader/x", None),
        ("/members/", None),
        ("/members/a/b", None),
        ("/peers/a/b/status", None),
        ("/elections/first", None),
        ("/statu", None),
        ("", None),
    ] {
        assert_eq!(Routes::of(path).map(Route::methods), methods, "{path}");
    }
    for (line, method) in [
        ("POST /drain", Some("POST")),
        ("GET /drain", None),
        ("DELETE /drain", None),
        ("POST /task", Some("POST")),
        ("GET /task", None),
        ("DELETE /members/a", Some("DELETE")),
        ("POST /members/a", None),
        ("POST /status", None),
        ("POST /nowhere", None),
    ] {
        assert_eq!(Routes::commanded(&request(line)).map(Takes::method), method, "{line}");
    }
}

/// The command that a body is at this path, or the words of the refusal.
fn commanded(path: &str, body: &str) -> Result<Command, String> {
    let request = request(&format!("POST {path}"));
    let takes = Routes::commanded(&request).expect("it takes commands");
    takes.command(&request, body.as_bytes()).map_err(|refused| {
        assert_eq!(refused.code, 400);
        let told: serde_json::Value = serde_json::from_slice(&refused.body).unwrap();
        told["error"].as_str().unwrap().to_owned()
    })
}

#[test]
fn each_body_is_a_command() {
    let hour = Some(Duration::from_secs(3600));
    let drain =
        |length, reason: &str| Command::Drain { length, reason: reason.to_owned(), force: false };
    let to = || "b".to_owned();
    let lock = |order| Command::Lock { name: LockName::new("vip-7").unwrap(), order };
    for (path, body, command) in [
        ("/elections", "", Command::Elect),
        ("/elections", " {} ", Command::Elect),
        ("/undrain", "{}", Command::Undrain),
        ("/resume", "\n", Command::Resume),
        ("/reload", "", Command::Reload),
        ("/drain", "", drain(None, "")),
        ("/drain", r#"{"reason": "disk", "for": "1h"}"#, drain(hour, "disk")),
        ("/drain", r#"{"reason": "disk"}"#, drain(None, "disk")),
        ("/drain", r#"{"for": "1h"}"#, drain(hour, "")),
        ("/pause", "{}", Command::Pause { length: None }),
        ("/pause", r#"{"for": "1h"}"#, Command::Pause { length: hour }),
        ("/resign", "", Command::Resign { to: None }),
        ("/resign", r#"{"to": "b"}"#, Command::Resign { to: Some(to()) }),
        ("/switchover", r#"{"to": "b"}"#, Command::Switchover { to: to() }),
        ("/switchover", r#"{"to": "b", "clear": false}"#, Command::Switchover { to: to() }),
        ("/switchover", r#"{"clear": true}"#, Command::EndSwitchover),
        ("/task", " a\n", Command::HandOut { task: b" a\n".to_vec() }),
        ("/locks/vip-7/release", "", lock(LockOrder::Release)),
        ("/locks/vip-7/forget", "{}", lock(LockOrder::Forget)),
        ("/locks/vip-7/move", r#"{"to": "b"}"#, lock(LockOrder::Move { to: to() })),
    ] {
        assert_eq!(commanded(path, body), Ok(command), "{path} {body}");
    }
}

#[test]
fn a_body_that_cannot_be_used_is_told_what_can_be_sent() {
    let unused = |why: &str, example: &str| {
        format!("the body cannot be used: {why}; send {example} or nothing")
    };
    let switchover = r#"{"to": "NAME"} or {"clear": true}"#;
    let neither = format!("the body names no member: send {switchover}");
    let unknown = |key: &str, end: usize, known: &str| {
        format!("unknown field `{key}`, {known} at line 1 column {end}")
    };
    let none = "it is no object";
    let range = "\"for\": \"0s\" is out of range: give 1ms to 87600h, or leave it out for no end";
    let no_time = "\"for\": \"soon\" is no time: give a number and a unit, such as 1h";
    for (path, body, words) in [
        ("/elections", "7", unused(none, "{}")),
        (
            "/reload",
            r#"{"a": 1}"#,
            unused(&unknown("a", 4, "there are no fields"), "{}"),
        ),
        ("/drain", "[]", unused(none, r#"{"for": "1h", "reason": "TEXT"}"#)),
        (
            "/drain",
            r#"{"a": 1}"#,
            unused(&unknown("a", 4, "expected one of `for`, `reason`, `force`"), r#"{"for": "1h", "reason": "TEXT"}"#),
        ),
        ("/drain", r#"{"for": "0s"}"#, range.to_owned()),
        ("/pause", r#"{"for": "soon"}"#, no_time.to_owned()),
        ("/pause", r#"{"a": 1}"#, unused(&unknown("a", 4, "expected `for`"), r#"{"for": "30m"}"#)),
        ("/resign", r#"{"a": 1}"#, unused(&unknown("a", 4, "expected `to`"), r#"{"to": "NAME"}"#)),
        (
            "/switchover",
            r#"{"a": 1}"#,
            unused(&unknown("a", 4, "expected `to` or `clear`"), switchover),
        ),
        ("/switchover", "", neither.clone()),
        ("/switchover", r#"{"clear": false}"#, neither.clone()),
        ("/switchover", r#"{"to": "b", "clear": true}"#, neither),
        ("/locks/a/move", "", r#"the body names no member: send {"to": "NAME"}"#.to_owned()),
        ("/locks/a/release", "7", unused(none, "{}")),
        ("/locks/A/release", "", format!("\"A\" is no name of a lock: {NAME}")),
        ("/locks//move", "", format!("\"\" is no name of a lock: {NAME}")),
        (
            "/members",
            "",
            "no member's entry: it is no object; send one, such as {\"name\": \"node-4\", \"address\": \
             \"10.0.0.4:7101\"}"
                .to_owned(),
        ),
    ] {
        assert_eq!(commanded(path, body), Err(words), "{path} {body}");
    }
}

#[test]
fn a_member_is_removed_by_its_name_and_by_force_where_that_is_said() {
    let removed = |target: &str| {
        let request = request(&format!("DELETE {target}"));
        Routes::commanded(&request).expect("it takes commands").command(&request, b"")
    };
    let remove = |force| Ok(Command::Remove { name: "node-2".to_owned(), force });
    assert_eq!(removed("/members/node-2"), remove(false));
    assert_eq!(removed("/members/node-2?force=false"), remove(false));
    assert_eq!(removed("/members/node-2?force=true"), remove(true));
    let sentence = "\"force\" is not known here; say force=true or nothing";
    assert_eq!(removed("/members/node-2?force"), Err(Response::error(400, sentence)));
}
