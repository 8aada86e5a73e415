//! `GET /peers/NAME/status`: another member's status, by way of this node.

use std::net::{SocketAddr, TcpListener};

use electd::node::status::MemberStatus;
use serde_json::Value;

use super::cli::nobody;
use super::fake::{FakeNode, member, status};
use super::peer::{Peer, ask, get};

/// A member whose HTTP is at this address.
fn at(number: usize, address: SocketAddr) -> MemberStatus {
    let mut member = member(&format!("node-{number}"), Some(address.to_string()));
    member.id = format!("00000000-0000-4000-8000-00000000000{number}");
    member
}

#[test]
fn a_node_shows_what_another_member_shows() {
    let (node, other) = (FakeNode::new(), FakeNode::new().with_number(2));
    let (server, far) = (node.serve(), other.serve());
    other.set(|state| state.status.epoch = 99);
    node.set(|state| state.status.members = vec![at(2, far.local_addr())]);
    let answer = get(server.local_addr(), "/peers/node-2/status");
    assert_eq!((answer.code, answer.json()["epoch"].as_u64()), (200, Some(99)), "{answer:?}");
    assert_eq!(answer.json()["node"]["name"], "node-2");
    let own = get(server.local_addr(), "/peers/node-1/status");
    assert_eq!((own.code, own.json()["epoch"].as_u64()), (200, Some(7)));
}

/// The threads of clients have small stacks, and a member may say what it likes.
#[test]
fn a_status_that_is_nested_as_deep_as_may_be_is_passed_on() {
    let (node, other) = (FakeNode::new(), FakeNode::new().with_number(2));
    let (server, far) = (node.serve(), other.serve());
    let deep = |levels| (0..levels).fold(Value::Null, |value, _| Value::from(vec![value]));
    let mut odd = at(3, nobody());
    odd.rank.value = deep(120);
    other.set(|state| state.status.members = vec![odd.clone()]);
    node.set(|state| state.status.members = vec![at(2, far.local_addr())]);
    assert_eq!(get(server.local_addr(), "/peers/node-2/status").code, 200);
    odd.rank.value = deep(200);
    other.set(|state| state.status.members = vec![odd]);
    let refused = get(server.local_addr(), "/peers/node-2/status");
    assert!(refused.code == 502 && refused.error().contains("recursion limit"), "{refused:?}");
}

#[test]
fn why_there_is_no_answer_is_told_in_words() {
    let (node, odd) = (FakeNode::new(), FakeNode::new().with_number(4));
    let (server, far) = (node.serve(), odd.serve());
    let nobody = nobody();
    let hidden = MemberStatus { admin: None, ..at(5, nobody) };
    node.set(|state| {
        let known = [3, 4].map(|number| at(number, far.local_addr()));
        state.status.members = [vec![at(2, nobody), hidden], known.to_vec()].concat();
    });
    let told = |path: &str| {
        let answer = get(server.local_addr(), path);
        (answer.code, answer.error())
    };
    let [silent, address] = [nobody, far.local_addr()];
    for (number, code, words) in [
        (
            2,
            502,
            format!("no answer from {silent}: connection refused, so nobody answers HTTP there"),
        ),
        (3, 502, format!("at {address} answers node-4 of cluster demo, and not node-3")),
        (4, 502, format!("at {address} answers node-4 of cluster other, and not node-4")),
        (5, 404, "node-5 has no \"admin\" address, so it cannot be asked".to_owned()),
        (9, 404, "there is no member node-9 here; `members` of /status lists all".to_owned()),
    ] {
        let cluster = if number == 4 { "other" } else { "demo" };
        odd.set(|state| state.status.cluster = cluster.to_owned());
        assert_eq!(told(&format!("/peers/node-{number}/status")), (code, words));
    }
    for path in ["/peers/status", "/peers//status", "/peers/a/b/status", "/peers/node-2/task"] {
        assert_eq!(told(path).0, 404, "{path}");
    }
    let post = "POST /peers/node-2/status HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(ask(server.local_addr(), post).code, 405);
}

#[test]
fn questions_to_members_that_do_not_answer_are_bounded_and_keep_nobody_else_waiting() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let node = FakeNode::new();
    let server = node.serve();
    node.set(|state| {
        state.status = status("following", Some("node-2"));
        state.status.members = vec![at(2, silent.local_addr().unwrap())];
    });
    let question = "GET /peers/node-2/status HTTP/1.1\r\nHost: n\r\n\r\n";
    let mut asking = Vec::new();
    for _ in 0..8 {
        let mut peer = Peer::connect(server.local_addr());
        peer.say(question);
        let (heard, _) = silent.accept().expect("the node asks the member");
        asking.push((peer, heard)); // which says nothing
    }
    let refused = ask(server.local_addr(), question);
    let words = "8 questions to other members are under way, which is the most: ask again";
    assert_eq!((refused.code, refused.error().as_str()), (503, words));
    assert_eq!(get(server.local_addr(), "/livez").code, 200);
    for (peer, _) in &mut asking {
        let answer = peer.answer();
        assert!(answer.code == 502 && answer.error().contains("no answer from"), "{answer:?}");
    }
    drop(silent);
    let (again, _) = &mut asking[0]; // all keep their connections, and are in nobody's way
    again.say(question);
    assert_eq!(again.answer().code, 502);
}
