//! `electd member`: what it adds, and what it lists.

use electd::node::handle::{Command, CommandError};
use electd::node::status::MemberStatus;
use serde_json::{Value, json};

use super::cli::{Cluster, code, electd, nobody, run, stderr, stdout};
use super::fake::{FakeNode, member, status};
use super::orders::given;

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
    let same = ["--name", "node-9", "--address", "127.0.0.1:7101", "--member-admin", "127.0.0.1:9"];
    let add = |more: &[&str]| {
        let args = [&["member", "add", "--output", "json"], &same[..], more].concat();
        let output = given(&cluster, &args);
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

#[test]
fn a_member_that_is_removed_already_is_no_error_if_that_is_asked_for() {
    let node = FakeNode::new();
    node.set(|state| state.status.members = vec![member("node-1", None)]);
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let remove = |name: &str, more: &[&str]| {
        let output = given(&cluster, &[&["member", "remove", name], more].concat());
        let commands = node.commands().len();
        node.set(|state| state.commands.clear());
        (code(&output).unwrap(), commands, stdout(&output))
    };
    let absent = || "node-9 is no member\n".to_owned();
    assert_eq!(remove("node-9", &["--if-present"]), (0, 0, absent()));
    assert_eq!(remove("node-1", &["--if-present"]).1, 1);
    node.set(|state| {
        state.outcome = Err(CommandError::Invalid("no member is named so".to_owned()))
    });
    assert_eq!(remove("node-9", &[]), (1, 1, String::new()));
    assert_eq!(remove("node-1", &["--if-present"]).0, 1, "it is one still");
    // Another removed it in that moment.
    node.on_command(|state| state.status.members.clear());
    assert_eq!(remove("node-1", &["--if-present"]), (0, 1, "node-1 is no member\n".to_owned()));
    // A node that knows no leader may have an old list.
    node.set(|state| state.status.leader = None);
    assert_eq!(remove("node-9", &["--if-present"]).0, 1);
}

/// Without --id the node draws one, which the operator needs for the file of the new member.
#[test]
fn a_member_that_is_added_is_told_with_its_id() {
    let node = FakeNode::new();
    let (id, drawn) = ("0f5b1c0e-6c1a-4a53-8d5e-3c1f7a9b2d41", "of node-8");
    node.set(|state| {
        state.outcome.as_mut().unwrap().sentence = "node-9 belongs to the cluster now".to_owned();
        let known = member("node-8", Some("127.0.0.1:9".to_owned()));
        state.status.members = vec![MemberStatus { id: drawn.to_owned(), ..known }];
    });
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let add = |name: &str, more: &[&str]| {
        let args = ["member", "add", "--name", name, "--address", "127.0.0.1:7101"];
        let args = [&args[..], &["--member-admin", "127.0.0.1:9"], more].concat();
        let (text, shown) =
            (given(&cluster, &args), given(&cluster, &[&args[..], &["--output", "json"]].concat()));
        assert_eq!((code(&text), code(&shown)), (Some(0), Some(0)), "{text:?} {shown:?}");
        (stdout(&text), serde_json::from_str::<Value>(&stdout(&shown)).unwrap())
    };
    let result = "node-9 belongs to the cluster now";
    for more in [&[][..], &["--id", id, "--role", "observer"]] {
        let (text, shown) = add("node-9", more);
        let commands = node.commands();
        let [.., Command::Add(one), Command::Add(other)] = &commands[..] else {
            panic!("{commands:?}")
        };
        assert_eq!(text, format!("{result}\nits id is {}\n", one.id));
        assert_eq!(shown, json!({"result": result, "id": other.id.to_string()}));
        let own = (&*one.name, &*one.address, one.admin.as_deref(), one.role.name());
        let role = if more.is_empty() { "member" } else { "observer" };
        assert_eq!(own, ("node-9", "127.0.0.1:7101", Some("127.0.0.1:9"), role));
        assert!(more.is_empty() || one.id.to_string() == id, "{commands:?}");
    }
    let (text, shown) = add("node-8", &["--if-absent"]);
    let result = "node-8 is a member already";
    assert_eq!(text, format!("{result}\nits id is {drawn}\n"));
    assert_eq!(shown, json!({"result": result, "id": drawn}));
    assert_eq!(node.commands().len(), 4);
}

/// A node that has no leader may have an old list.
#[test]
fn the_members_are_listed_as_the_node_with_the_latest_view_knows_them() {
    let nodes = [1, 2].map(|number| FakeNode::new().with_number(number));
    let servers = nodes.each_ref().map(FakeNode::serve);
    let cluster = Cluster::of(&servers.each_ref().map(|server| Some(server.local_addr())));
    let listed = || {
        let output = given(&cluster, &["member", "list", "--output", "json"]);
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
    let table = given(&cluster, &["member", "list"]);
    let text = "\
MEMBER  STATUS  ROLE    ADDRESS         ADMIN  ID
of-2    alive   member  127.0.0.1:7101  -      id of of-2
";
    assert_eq!((code(&table), stdout(&table).as_str()), (Some(0), text));
    let config = given(&cluster, &["member", "list", "--output", "config"]);
    assert_eq!((code(&config), stdout(&config).as_str()), (Some(78), ""), "its id is none");
    assert!(stderr(&config).contains("id of of-2"), "{config:?}");
    assert!(nodes.iter().all(|node| node.commands().is_empty()));
}

/// No member at all would look like a cluster without any.
#[test]
fn a_list_that_no_node_tells_is_a_failure() {
    let cluster = Cluster::of(&[Some(nobody()), None]);
    for output in ["table", "json", "config"] {
        let listed = given(&cluster, &["member", "list", "--output", output]);
        assert_eq!((code(&listed), stdout(&listed).as_str()), (Some(69), ""), "{listed:?}");
        assert!(stderr(&listed).starts_with("no node answers\n  node-1: "), "{listed:?}");
    }
    let server = FakeNode::new().serve();
    let address = server.local_addr().to_string();
    let listed = run(electd(&["list", "--admin", &address, "--output", "config"], "member"));
    let words = "the other keys come from the file: name it with --config\n";
    assert_eq!((code(&listed), stderr(&listed).as_str()), (Some(2), words));
}

/// It would be part of a path.
#[test]
fn a_name_that_nobody_may_have_is_not_asked_for() {
    let cluster = Cluster::of(&[Some(nobody())]);
    let output = given(&cluster, &["member", "remove", "../a"]);
    assert_eq!(code(&output), Some(2), "{output:?}");
    assert!(stderr(&output).starts_with("\"../a\" is nobody's name: "), "{output:?}");
}
