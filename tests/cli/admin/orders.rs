//! Orders by command: which node gets them, and how the command ends.

use std::fs;

use electd::node::handle::CommandError;
use electd::node::status::MemberStatus;
use serde_json::{Value, json};

use super::cli::{Cluster, code, electd, run, stderr, stdout};
use super::fake::{FakeNode, member, status};

#[test]
fn each_refusal_has_its_exit_code() {
    let node = FakeNode::new();
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    type Failure = fn(String) -> CommandError;
    let failures: [Failure; 3] =
        [CommandError::Invalid, CommandError::Refused, CommandError::Unanswered];
    let orders: [(&[&str], [i32; 3]); 5] = [
        (&["drain", "--node", "node-1"], [2, 1, 69]),
        (&["reload", "--node", "node-1"], [78, 1, 69]),
        (&["pause"], [1, 1, 69]),
        (&["resign"], [1, 1, 69]),
        (&["switchover", "--to", "node-1"], [1, 1, 69]),
    ];
    for (args, codes) in orders {
        for (failure, expected) in failures.into_iter().zip(codes) {
            node.set(|state| state.outcome = Err(failure("so it is".to_owned())));
            let output = cluster.electd(args);
            assert_eq!(code(&output), Some(expected), "{args:?}: {output:?}");
            assert_eq!(stderr(&output), "so it is\n", "{args:?}");
        }
    }
}

#[test]
fn a_program_gets_the_result_and_who_is_to_lead_next_if_that_is_known() {
    let node = FakeNode::new();
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let told = || -> Value {
        serde_json::from_str(&stdout(&cluster.electd(&["pause", "--output", "json"]))).unwrap()
    };
    let result = "node-2 resigned; node-1 was asked to lead";
    assert_eq!(told(), json!({"result": result, "successor": "node-1"}));
    node.set(|state| state.outcome.as_mut().unwrap().successor = None);
    assert_eq!(told(), json!({"result": result}));
}

/// A reason that the member itself gives is worth more than that of the leader.
#[test]
fn a_member_that_may_not_lead_says_why() {
    let node = FakeNode::new();
    node.set(|state| {
        state.outcome = Err(CommandError::Refused("node-1 is not eligible".to_owned()));
        state.status.resigned = true;
    });
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    for (args, explained) in [
        (&["resign", "--to", "node-1"][..], true),
        (&["switchover", "--to", "node-1"], true),
        (&["resign"], false),
    ] {
        let said = stderr(&cluster.electd(args));
        assert!(said.starts_with("node-1 is not eligible"), "{said}");
        assert_eq!(said.contains("; node-1 itself says: "), explained, "{args:?}: {said}");
    }
}

#[test]
fn the_leader_gets_an_order_first_and_a_node_that_stops_gets_it_last() {
    let nodes = [1, 2, 3].map(|number| FakeNode::new().with_number(number));
    let servers = nodes.each_ref().map(FakeNode::serve);
    let cluster = Cluster::of(&servers.each_ref().map(|server| Some(server.local_addr())));
    for (states, gets) in [
        (["following", "following", "leading"], 2),
        (["stopping", "following", "electing"], 1),
        (["stopping", "stopping", "leading"], 2),
    ] {
        for (node, state) in nodes.iter().zip(states) {
            node.set(|node| {
                node.status.state = state.to_owned();
                node.commands.clear();
            });
        }
        let output = cluster.electd(&["pause"]);
        assert_eq!(code(&output), Some(0), "{states:?}: {output:?}");
        let got = nodes.each_ref().map(|node| node.commands().len());
        assert_eq!(got.iter().position(|count| *count == 1), Some(gets), "{states:?}: {got:?}");
        assert_eq!(got.iter().sum::<usize>(), 1, "{states:?}: {got:?}");
    }
}

#[test]
fn an_order_for_one_node_is_for_that_of_this_host_unless_another_is_named() {
    let nodes = [1, 2].map(|number| FakeNode::new().with_number(number));
    let servers = nodes.each_ref().map(FakeNode::serve);
    let cluster = Cluster::of(&servers.each_ref().map(|server| Some(server.local_addr())));
    let text = fs::read_to_string(&cluster.file).unwrap();
    fs::write(&cluster.file, text.replacen('{', "{\"node\": \"node-2\", ", 1)).unwrap();
    for (args, expected) in [(&["undrain"][..], [0, 1]), (&["undrain", "--node", "node-1"], [1, 1])]
    {
        assert_eq!(code(&cluster.electd(args)), Some(0));
        assert_eq!(nodes.each_ref().map(|node| node.commands().len()), expected, "{args:?}");
    }
}

/// With a control socket nobody needs a token, so one that this user may not read is no reason to give up.
#[test]
fn a_token_that_cannot_be_read_is_not_sent() {
    let node = FakeNode::new();
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    fs::remove_file(cluster.file.with_file_name("token")).unwrap();
    let output = cluster.electd(&["pause"]);
    assert_eq!(code(&output), Some(1), "{output:?}");
    assert!(stderr(&output).contains("on the node's own host"), "{output:?}");
    let output = cluster.electd(&["pause", "--token-file", "/no/such/token"]);
    assert_eq!(code(&output), Some(2), "{output:?}");
    assert!(stderr(&output).starts_with("cannot read --token-file /no/such/token: "), "{output:?}");
    assert!(node.commands().is_empty());
}

#[test]
fn a_member_is_absent_unless_all_that_is_said_of_it_is_so() {
    let node = FakeNode::new();
    let present = member("node-9", Some("127.0.0.1:9".to_owned()));
    let id = "0f5b1c0e-6c1a-4a53-8d5e-3c1f7a9b2d41";
    node.set(|state| {
        state.status.members = vec![member("node-1", None), present];
        state.status.members[1].id = id.to_owned();
    });
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let file = cluster.file.to_str().unwrap();
    let same = ["--name", "node-9", "--address", "127.0.0.1:7101", "--member-admin", "127.0.0.1:9"];
    let add = |more: &[&str]| {
        let args = [&["add", "--output", "json", "--config", file], &same[..], more].concat();
        let output = run(electd(&args, "member"));
        assert_eq!(code(&output), Some(0), "{output:?}");
        let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let given = !node.commands().is_empty();
        node.set(|state| state.commands.clear());
        (told["result"] != "node-9 is a member already", given)
    };
    assert_eq!(add(&["--if-absent"]), (false, false));
    assert_eq!(add(&["--if-absent", "--id", id]), (false, false));
    for more in [
        &[][..],
        &["--if-absent", "--id", "00000000-0000-4000-8000-000000000009"],
        &["--if-absent", "--role", "witness"],
    ] {
        assert_eq!(add(more), (true, true), "{more:?}");
    }
    let elsewhere: [fn(&mut MemberStatus); 2] =
        [|it| it.address = "127.0.0.1:7109".to_owned(), |it| it.admin = None];
    for change in elsewhere {
        node.set(|state| {
            state.status.members[1] = member("node-9", Some("127.0.0.1:9".to_owned()));
            change(&mut state.status.members[1]);
        });
        assert_eq!(add(&["--if-absent"]), (true, true));
    }
}

/// A node that has no leader may have an old list.
#[test]
fn the_members_are_listed_as_the_node_with_the_latest_view_knows_them() {
    let nodes = [1, 2].map(|number| FakeNode::new().with_number(number));
    let servers = nodes.each_ref().map(FakeNode::serve);
    let cluster = Cluster::of(&servers.each_ref().map(|server| Some(server.local_addr())));
    let file = cluster.file.to_str().unwrap();
    let listed = || {
        let args = ["list", "--output", "json", "--config", file];
        let output = run(electd(&args, "member"));
        let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
        told["members"].as_array().unwrap().iter().map(|it| it["name"].clone()).collect::<Vec<_>>()
    };
    let knows = |at: usize, leader: Option<&str>, epoch: u64| {
        let name = format!("of-{}", at + 1);
        nodes[at].set(|state| {
            let node = state.status.node.clone();
            state.status = status("following", leader);
            (state.status.node, state.status.epoch) = (node, epoch);
            state.status.members = vec![member(&name, None)];
        });
    };
    knows(0, Some("node-2"), 8);
    knows(1, Some("node-2"), 7);
    assert_eq!(listed(), ["of-1"]);
    knows(0, None, 8);
    assert_eq!(listed(), ["of-2"], "the one that knows a leader");
    assert!(nodes.iter().all(|node| node.commands().is_empty()));
}
