//! `GET /leader?redirect` and `/locks/NAME/leader?redirect`, and what is told of a lock that changes hands.

use std::sync::Arc;

use electd::node::locks::{LockEntry, LocksView};
use electd::node::status::MemberStatus;

use super::fake::{FakeNode, member, status};
use super::peer::{Peer, ask, get};

const URL: &str = "http://10.0.7.2:8080/";

/// node-2 leads, and holds "vip" and "bare"; only for "bare" no URL is known.
fn holder() -> FakeNode {
    let lock = |name: &str, url: Option<&str>| LockEntry {
        name: name.to_owned(),
        holder: Some("node-2".to_owned()),
        token: Some(7),
        url: url.map(str::to_owned),
        ..LockEntry::default()
    };
    let locks = vec![lock("bare", None), lock("vip", Some(URL))];
    let node = FakeNode::new();
    node.set(|state| {
        state.status = status("leading", Some("node-2"));
        state.status.url = Some(URL.to_owned());
        state.locks = Arc::new(LocksView { locks, ..LocksView::default() });
    });
    node.with_number(2)
}

/// node-1 follows node-2, whose HTTP is here, and knows of the same locks.
fn follower(of: &FakeNode, admin: Option<String>) -> FakeNode {
    let (node, held) = (FakeNode::new(), of.0.lock().unwrap());
    let (id, mut locks) = (held.status.node.id.clone(), (*held.locks).clone());
    locks.locks.iter_mut().for_each(|lock| lock.url = None);
    node.set(|state| {
        state.status.members = vec![MemberStatus { id, ..member("node-2", admin) }];
        state.locks = Arc::new(locks);
    });
    node
}

#[test]
fn any_node_sends_a_client_to_where_the_holder_is_reached() {
    let holder = holder();
    let server = holder.serve();
    let there = server.local_addr();
    let here = follower(&holder, Some(there.to_string())).serve();
    let sent = |address, path: &str| {
        let answer = get(address, path);
        (answer.code, answer.header("location").map(str::to_owned))
    };
    for address in [there, here.local_addr()] {
        for path in ["/leader?redirect", "/locks/vip/leader?redirect"] {
            assert_eq!(sent(address, path), (307, Some(URL.to_owned())), "{path}");
        }
        let bare = get(address, "/locks/bare/leader?redirect");
        let words = "node-2 holds the lock bare, and what runs there was given no --url";
        assert_eq!((bare.code, bare.error().as_str()), (404, words));
        let free = get(address, "/locks/free/leader?redirect");
        let words = "nobody holds the lock free now";
        assert_eq!((free.code, free.error().as_str()), (503, words));
    }
    let mut peer = Peer::connect(here.local_addr());
    peer.say("HEAD /leader?redirect HTTP/1.1\r\nHost: node\r\n\r\n");
    let head = peer.header();
    assert_eq!((head.code, head.header("location")), (307, Some(URL)));
    assert_eq!(get(here.local_addr(), "/leader").code, 503, "without the query as ever");
    // A header has one line, and this would be two.
    holder.set(|state| state.status.url = Some("http://h/\r\nX: y".to_owned()));
    assert_eq!(get(here.local_addr(), "/leader?redirect").code, 404);
    holder.set(|state| {
        Arc::make_mut(&mut state.locks).locks[1].reason = Some("nobody supports it".to_owned());
        state.status.state = "following".to_owned();
    });
    for path in ["/leader?redirect", "/locks/vip/leader?redirect"] {
        let answer = get(here.local_addr(), path);
        assert_eq!(answer.code, 503, "{path}");
        assert!(answer.error().contains("node-2 does not hold the "), "{}", answer.error());
    }
}

#[test]
fn a_holder_that_cannot_be_asked_is_named() {
    let holder = holder();
    for (admin, words) in [
        (None, "node-2 holds the leadership: node-2 has no \"admin\" address"),
        (Some("127.0.0.1:1".to_owned()), "node-2 holds the leadership: no answer from 127.0.0.1:1"),
    ] {
        let server = follower(&holder, admin).serve();
        let answer = get(server.local_addr(), "/leader?redirect");
        assert_eq!(answer.code, 503);
        assert!(answer.error().starts_with(words), "{}", answer.error());
    }
}

#[test]
fn a_bad_name_has_no_events() {
    let server = holder().serve();
    let line = "GET /events?lock=A HTTP/1.1\r\nHost: node\r\n\r\n";
    let answer = ask(server.local_addr(), line);
    assert_eq!(answer.code, 400);
    assert!(answer.error().starts_with("\"A\" is no name of a lock: "), "{}", answer.error());
}
