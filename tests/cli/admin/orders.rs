//! Orders by command: which node gets them, and how the command ends.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Output;
use std::thread;
use std::time::Duration;

use electd::node::handle::{Command, CommandError};
use electd::trace::record::Entry;
use serde_json::{Value, json};

use super::cli::{Cluster, code, electd, nobody, run, stderr, stdout};
use super::fake::{FakeNode, status};

/// A command for this cluster; its own words come first, as those of `member` do not take the file themselves.
pub fn given(cluster: &Cluster, args: &[&str]) -> Output {
    let file = cluster.file.to_str().unwrap();
    run(electd(&[&args[1..], &["--config", file]].concat(), args[0]))
}

#[test]
fn each_refusal_has_its_exit_code() {
    let node = FakeNode::new();
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    type Failure = fn(String) -> CommandError;
    let failures: [Failure; 4] = [
        CommandError::Invalid,
        CommandError::Refused,
        CommandError::NotNow,
        CommandError::Unanswered,
    ];
    let orders: [(&[&str], [i32; 4]); 10] = [
        (&["drain", "--node", "node-1"], [2, 1, 75, 69]),
        (&["undrain", "--node", "node-1"], [2, 1, 75, 69]),
        (&["reload", "--node", "node-1"], [78, 1, 75, 69]),
        (&["pause"], [1, 1, 75, 69]),
        (&["resume"], [1, 1, 75, 69]),
        (&["resign"], [1, 1, 75, 69]),
        (&["switchover", "--to", "node-1"], [1, 1, 75, 69]),
        (&["switchover", "--clear"], [1, 1, 75, 69]),
        (&["member", "add", "--name", "node-9", "--address", "127.0.0.1:9"], [1, 1, 75, 69]),
        (&["member", "remove", "node-9"], [1, 1, 75, 69]),
    ];
    for (args, codes) in orders {
        for (failure, expected) in failures.into_iter().zip(codes) {
            node.set(|state| state.outcome = Err(failure("so it is".to_owned())));
            let output = given(&cluster, args);
            assert_eq!(code(&output), Some(expected), "{args:?}: {output:?}");
            let said = (stdout(&output), stderr(&output));
            assert_eq!(said, (String::new(), "so it is\n".to_owned()), "{args:?}");
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
fn a_command_for_one_node_is_for_that_of_this_host_unless_another_is_named() {
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
    for (leads, expected) in [(0, Some(1)), (1, Some(0))] {
        for (at, node) in nodes.iter().enumerate() {
            let state = if at == leads { "leading" } else { "following" };
            node.set(|node| node.status.state = state.to_owned());
        }
        assert_eq!(code(&cluster.electd(&["leader", "--check"])), expected, "whoever else leads");
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
    let commands: [&[&str]; 6] = [
        &["pause"],
        &["resign", "--to", "node-1"],
        &["switchover", "--to", "node-1"],
        &["drain", "--node", "node-1"],
        &["member", "remove", "node-9"],
        &["member", "list"],
    ];
    for args in commands {
        let output = given(&cluster, &[args, &["--token-file", "/no/such/token"]].concat());
        assert_eq!(code(&output), Some(2), "{output:?}");
        let said = "cannot read --token-file /no/such/token: ";
        assert!(stderr(&output).starts_with(said), "{output:?}");
    }
    assert!(node.commands().is_empty());
}

#[test]
fn a_token_that_is_named_is_sent_in_place_of_that_of_the_configuration() {
    let node = FakeNode::new();
    node.on_command(|state| state.status = status("leading", Some("node-1")));
    let server = node.serve();
    let (cluster, address) =
        (Cluster::of(&[Some(server.local_addr())]), server.local_addr().to_string());
    let token = cluster.file.with_file_name("token");
    let own = cluster.file.with_file_name("own");
    fs::rename(&token, &own).unwrap();
    fs::write(&token, "another").unwrap();
    let own = ["--token-file", own.to_str().unwrap()];
    let (pause, drain) = (["pause", "--for", "1h"], ["drain", "--node", "node-1"]);
    let switch = ["switchover", "--to", "node-1"];
    for (at, args) in [pause, drain, switch].into_iter().enumerate() {
        let refused = cluster.electd(&args);
        assert_eq!((code(&refused), node.commands().len()), (Some(1), at), "{refused:?}");
        let given = cluster.electd(&[&args[..], &own].concat());
        assert_eq!((code(&given), node.commands().len()), (Some(0), at + 1), "{given:?}");
    }
    let at = ["--admin", &address];
    assert_eq!(code(&run(electd(&at, "pause"))), Some(1), "without a file there is no token");
    assert_eq!(code(&run(electd(&[at, own].concat(), "pause"))), Some(0));
    assert_eq!(node.commands().len(), 4);
}

#[test]
fn each_command_of_an_operator_is_one_order() {
    let node = FakeNode::new();
    node.on_command(|state| {
        state.status = status("leading", Some("node-1"));
        state.status.leader.as_mut().unwrap().epoch += state.commands.len() as u64;
    });
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let length = |seconds| Some(Duration::from_secs(seconds));
    let remove = |force| Command::Remove { name: "node-9".to_owned(), force };
    let drain =
        Command::Drain { length: length(3600), reason: "new disk".to_owned(), force: false };
    let unlimited = Command::Drain { length: None, reason: String::new(), force: false };
    let forced = Command::Drain { length: None, reason: String::new(), force: true };
    let resign = |to: Option<&str>| Command::Resign { to: to.map(str::to_owned) };
    let orders: [(&[&str], Command); 14] = [
        (&["drain", "--node", "node-1", "--for", "1h", "--reason", "new disk"], drain),
        (&["drain", "--node", "node-1"], unlimited),
        (&["drain", "--node", "node-1", "--force"], forced),
        (&["undrain", "--node", "node-1"], Command::Undrain),
        (&["reload", "--node", "node-1"], Command::Reload),
        (&["pause", "--for", "30m"], Command::Pause { length: length(1800) }),
        (&["pause"], Command::Pause { length: None }),
        (&["resume"], Command::Resume),
        (&["resign"], resign(None)),
        (&["resign", "--to", "node-1"], resign(Some("node-1"))),
        (&["switchover", "--to", "node-1"], Command::Switchover { to: "node-1".to_owned() }),
        (&["switchover", "--clear"], Command::EndSwitchover),
        (&["member", "remove", "node-9"], remove(false)),
        (&["member", "remove", "node-9", "--force"], remove(true)),
    ];
    for (args, command) in orders {
        let output = given(&cluster, args);
        assert_eq!(code(&output), Some(0), "{args:?}: {output:?}");
        assert_eq!(node.commands().last(), Some(&command), "{args:?}");
        let result = "node-2 resigned; node-1 was asked to lead\n";
        let leader = match args.contains(&"--to") || args[0] == "resign" {
            true => format!("node-1 leads in epoch {}\n", 7 + node.commands().len()),
            false => String::new(),
        };
        assert_eq!(stdout(&output), format!("{result}{leader}"), "{args:?}");
    }
    assert_eq!(node.commands().len(), 14);
    for (args, epoch) in [(&["resign"][..], 22), (&["switchover", "--to", "node-1"], 23)] {
        let output = given(&cluster, &[args, &["--output", "json"]].concat());
        let told: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let leader = json!({
            "id": "00000000-0000-4000-8000-000000000001", "name": "node-1", "address": "127.0.0.1:7102", "epoch": epoch,
        });
        let result = "node-2 resigned; node-1 was asked to lead";
        assert_eq!(told, json!({"result": result, "leader": leader}));
    }
}

#[test]
fn a_recording_is_written_to_a_file_that_is_not_there_yet() {
    let node = FakeNode::new();
    node.set(|state| (state.record.node, state.record.cluster) = ("node-1".into(), "demo".into()));
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let out = cluster.file.with_file_name("a.json");
    let path = out.to_str().unwrap();
    let shown = cluster.electd(&["record", "--node", "node-1"]);
    assert_eq!(code(&shown), Some(0), "{shown:?}");
    let written = cluster.electd(&["record", "--node", "node-1", "--out", path]);
    assert_eq!(code(&written), Some(0), "{written:?}");
    let said = format!("{path}: 0 entries of node-1, and its flight\n");
    assert_eq!(stderr(&written), said);
    assert_eq!(fs::read_to_string(&out).unwrap(), stdout(&shown));
    let again = cluster.electd(&["record", "--node", "node-1", "--out", path]);
    node.set(|state| state.record.entries = vec![Entry::default()]);
    let other = cluster.file.with_file_name("b.json");
    let one = cluster.electd(&["record", "--node", "node-1", "--out", other.to_str().unwrap()]);
    let said = format!("{}: 1 entry of node-1, and its flight\n", other.display());
    assert_eq!((code(&one), stderr(&one)), (Some(0), said));
    assert_eq!(code(&again), Some(1), "{again:?}");
    assert!(stderr(&again).starts_with(&format!("{path} cannot be written: ")), "{again:?}");
}

/// It knows no path for that.
#[test]
fn a_node_of_an_earlier_version_has_no_recording_and_other_failures_are_told_as_they_are() {
    let body = serde_json::to_string(&status("leading", Some("node-1"))).unwrap();
    for (refusal, hint) in [("404 Not Found", true), ("500 Internal Server Error", false)] {
        let node = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = node.local_addr().unwrap().to_string();
        let status = body.clone();
        thread::spawn(move || {
            for mut client in node.incoming().flatten() {
                let mut request = [0; 4096];
                let length = client.read(&mut request).unwrap_or_default();
                let (code, body) = match request[..length].starts_with(b"GET /status ") {
                    true => ("200 OK", status.as_str()),
                    false => (refusal, "{\"error\": \"so it is\"}"),
                };
                let head = format!("HTTP/1.1 {code}\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = client.write_all((head + body).as_bytes());
            }
        });
        let output = run(electd(&["--admin", &address], "record"));
        assert_eq!(code(&output), Some(69), "{output:?}");
        let said = "; its version of electd records nothing: upgrade it\n";
        assert_eq!(stderr(&output).ends_with(said), hint, "{output:?}");
    }
}

#[test]
fn what_no_node_knows_is_told_with_the_reason_of_each() {
    let node = FakeNode::new();
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr()), Some(nobody())]);
    for (args, words) in [
        (&["trace"][..], "no node that answers has recorded an election since its start\n"),
        (&["trace", "--epoch", "9"], "no node that answers has recorded the election of epoch 9: "),
    ] {
        let output = cluster.electd(args);
        assert_eq!(code(&output), Some(1), "{output:?}");
        let said = stderr(&output);
        assert!(said.starts_with("node-2: ") && said.contains(words), "{said}");
    }
    let why = cluster.electd(&["why", "node-1"]);
    assert_eq!(code(&why), Some(0), "{why:?}");
    assert!(stdout(&why).starts_with("node-1 does not lead: "), "{why:?}");
    let stranger = cluster.electd(&["why", "node-9"]);
    let said = "there is no member \"node-9\"; there are node-1, node-2\n";
    assert_eq!((code(&stranger), stderr(&stranger).as_str()), (Some(2), said));
    let silent = Cluster::of(&[Some(nobody())]).electd(&["why"]);
    assert_eq!((code(&silent), stdout(&silent).as_str()), (Some(69), ""), "{silent:?}");
    let secured = cluster.electd(&["status", "--admin", "https://127.0.0.1:1"]);
    let said = "HTTPS needs `tls` in the configuration: it names the authorities to trust\n";
    assert_eq!((code(&secured), stderr(&secured).as_str()), (Some(78), said));
}
