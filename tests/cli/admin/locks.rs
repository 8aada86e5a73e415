//! What a node shows of the locks, and the commands that ask for that.

use std::sync::Arc;

use electd::node::handle::Command;
use electd::node::locks::{LockEntry, LockName, LockOrder, LocksUnavailable, LocksView};
use serde_json::{Value, json};

use super::cli::{Cluster, code, electd, run, stderr, stdout};
use super::fake::{FakeNode, status};
use super::peer::{get, post};

/// node-2 leads, and holds the lock "backup"; node-1 wants "vip" and cannot have it.
fn node() -> FakeNode {
    let lock = |name: &str| LockEntry { name: name.to_owned(), ..LockEntry::default() };
    let backup = LockEntry {
        holder: Some("node-2".to_owned()),
        token: Some(7),
        since_ms: Some(0),
        candidates: ["node-1", "node-2"].map(str::to_owned).into(),
        ..lock("backup")
    };
    let vip = LockEntry { reason: Some("so it is".to_owned()), ..lock("vip") };
    let coordinator = Some("node-2".to_owned());
    let view = LocksView { coordinator, locks: vec![backup, vip], ..LocksView::default() };
    let node = FakeNode::new();
    node.set(|state| {
        state.locks = Arc::new(view);
        state.status = status("leading", Some("node-2"));
    });
    node.with_number(2)
}

#[test]
fn a_node_shows_all_locks_one_of_them_and_whether_it_holds_that() {
    let node = node();
    let server = node.serve();
    let ask = |path: &str| {
        let answer = get(server.local_addr(), path);
        (answer.code, answer.json())
    };
    let names = |document: &Value| {
        let locks = document["locks"].as_array().unwrap();
        locks.iter().map(|lock| lock["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (code, all) = ask("/locks");
    assert_eq!(
        (code, names(&all), &all["next"]),
        (200, vec!["backup".into(), "vip".into()], &Value::Null)
    );
    assert_eq!(names(&ask("/locks?after=backup").1), ["vip"]);
    let (code, one) = ask("/locks/backup");
    assert_eq!(
        (code, names(&one), &one["coordinator"]),
        (200, vec!["backup".into()], &json!("node-2"))
    );
    let codes = |node: &FakeNode| {
        let server = node.serve();
        ["backup", "vip", "other"]
            .map(|name| get(server.local_addr(), &format!("/locks/{name}/leader")).code)
    };
    assert_eq!(codes(&node), [200, 503, 503]);
    assert_eq!(codes(&node.clone().with_number(1)), [503; 3], "node-2 holds it");
    let node = node.with_number(2);
    node.set(|state| state.status.stalled = true);
    assert_eq!(codes(&node), [503; 3], "it may have been replaced");
    node.set(|state| {
        state.status.stalled = false;
        Arc::make_mut(&mut state.locks).locks[0].reason = Some("nobody supports that".to_owned());
    });
    assert_eq!(codes(&node), [503; 3]);
    assert_eq!(ask("/status").1["locks_held"], json!({ "node-2": 1 }));
    for path in ["/locks/A", "/locks/..", "/locks/A/leader", "/locks?after=A", "/locks?x=1"] {
        assert_eq!(ask(path).0, 400, "{path}");
    }
}

#[test]
fn an_order_about_a_lock_is_a_command_of_its_node() {
    let node = node();
    let server = node.serve();
    let name = || LockName::new("backup").unwrap();
    for (what, body, order) in [
        ("release", "", LockOrder::Release),
        ("forget", "", LockOrder::Forget),
        ("move", r#"{"to": "b"}"#, LockOrder::Move { to: "b".to_owned() }),
    ] {
        let answer = post(server.local_addr(), &format!("/locks/backup/{what}"), &[], body);
        assert_eq!(answer.code, 200, "{answer:?}");
        assert_eq!(node.commands().pop(), Some(Command::Lock { name: name(), order }));
    }
    let nobody = post(server.local_addr(), "/locks/backup/release", &["Authorization: no"], "");
    assert_eq!(nobody.code, 403, "{nobody:?}");
}

#[test]
fn the_commands_tell_who_holds_a_lock_and_pass_orders_on() {
    let node = node();
    let server = node.serve();
    let address = server.local_addr().to_string();
    let ask = |args: &[&str]| run(electd(&[args, &["--admin", &address]].concat(), args[0]));
    let list = ask(&["lock", "list"]);
    assert_eq!(code(&list), Some(0), "{list:?}");
    let text = stdout(&list);
    assert!(text.contains("\nbackup  node-2  7      1970-01-01T00:00:00.000Z  node-1"), "{text}");
    assert!(
        text.ends_with("\n1 lock held: 1 by node-2; 1 lock is wanted and nobody holds it\n"),
        "{text}"
    );
    let all: Value =
        serde_json::from_str(&stdout(&ask(&["lock", "list", "--output", "json"]))).unwrap();
    assert_eq!(all["locks"].as_array().unwrap().len(), 2);
    let shown = ask(&["lock", "show", "vip"]);
    assert_eq!(
        (code(&shown), stdout(&shown).as_str()),
        (Some(1), "lock        vip\nstate       so it is\n")
    );
    let holder = ask(&["leader", "--lock", "backup"]);
    assert_eq!((code(&holder), stdout(&holder).as_str()), (Some(0), "node-2  token 7\n"));
    let none = ask(&["leader", "--lock", "vip"]);
    assert_eq!((code(&none), stderr(&none).as_str()), (Some(1), "so it is\n"));
    let checks = ["backup", "vip"].map(|lock| code(&ask(&["leader", "--lock", lock, "--check"])));
    assert_eq!(checks, [Some(0), Some(1)]);
    let status = ask(&["status"]);
    assert!(
        stdout(&status).contains(
            "locks       1 lock held: 1 by node-2; 1 lock is wanted and nobody holds it\n"
        ),
        "{status:?}"
    );
    for bad in [["lock", "show", ".."], ["lock", "release", "A"], ["leader", "--lock", ""]] {
        assert_eq!(code(&ask(&bad)), Some(2), "{bad:?}");
    }
    let cluster = Cluster::of(&[None, Some(server.local_addr())]);
    let file = cluster.file.to_str().unwrap();
    let moved = ["lock", "move", "backup", "--to", "node-1", "--config", file];
    let moved = run(electd(&moved, "lock"));
    assert_eq!(code(&moved), Some(0), "{moved:?}");
    let (name, order) =
        (LockName::new("backup").unwrap(), LockOrder::Move { to: "node-1".to_owned() });
    assert_eq!(node.commands(), [Command::Lock { name, order }]);
    node.set(|state| {
        let view = LocksView {
            unavailable: Some(LocksUnavailable::OlderVoter { name: "c".to_owned() }),
            ..LocksView::default()
        };
        state.locks = Arc::new(view);
    });
    let list = stdout(&ask(&["lock", "list"]));
    assert!(
        list.ends_with("\nthe voter c runs a version of electd without locks: upgrade it\n"),
        "{list}"
    );
}
