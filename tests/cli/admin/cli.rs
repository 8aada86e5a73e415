//! The commands that ask running nodes: the real binary against fake ones.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use electd::node::handle::CommandError;
use electd::node::status::MemberStatus;
use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use super::fake::{FakeNode, TOKEN, member, status};
use super::pace::{TIMEOUT, run_within};
use super::watch::Watching;

/// An address where no process listens: a socket that stays bound to it, and never listens, keeps it from all others.
pub fn nobody() -> SocketAddr {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    let address = socket.local_addr().unwrap().as_socket().unwrap();
    std::mem::forget(socket);
    address
}

/// A configuration whose members have these admin addresses.
pub struct Cluster {
    pub file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Cluster {
    pub fn of(admins: &[Option<SocketAddr>]) -> Cluster {
        let member = |(index, admin): (usize, &Option<SocketAddr>)| {
            let number = index + 1;
            let mut member = json!({
                "name": format!("node-{number}"),
                "id": format!("00000000-0000-4000-8000-00000000000{number}"),
                "address": format!("127.0.0.1:710{number}"),
            });
            if let Some(admin) = admin {
                member["admin"] = json!(admin.to_string());
            }
            member
        };
        let members: Vec<Value> = admins.iter().enumerate().map(member).collect();
        let config = json!({
            "cluster": "demo", "quorum": "none", "data_dir": "data", "members": members,
            "admin_token_file": "token",
        });
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("token"), TOKEN).unwrap();
        let file = folder.path().join("cluster.json");
        std::fs::write(&file, config.to_string()).unwrap();
        Cluster { file, _folder: folder }
    }

    pub fn electd(&self, args: &[&str]) -> Output {
        let file = self.file.to_str().unwrap();
        run(electd(&[&["--config", file], args].concat(), args[0]))
    }
}

/// The command, with no settings of the tester's own.
pub fn electd(args: &[&str], name: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_electd"));
    command.arg(name).args(args.iter().filter(|arg| **arg != name));
    for variable in ["ELECTD_CONFIG", "ELECTD_NODE", "ELECTD_ADMIN"] {
        command.env_remove(variable);
    }
    // A proxy must not be asked about admin addresses.
    command.env("http_proxy", "http://127.0.0.1:1");
    command
}

pub fn run(command: Command) -> Output {
    run_within(TIMEOUT, command)
}

pub fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn status_of_all_has_a_row_for_each() {
    let server = FakeNode::new().serve();
    let cluster = Cluster::of(&[Some(server.local_addr()), Some(nobody()), None]);
    let output = cluster.electd(&["status"]);
    let text = stdout(&output);
    assert_eq!(code(&output), Some(1), "node-2 does not answer: {text}");
    assert!(text.starts_with("DEGRADED: node-2 leads in epoch 7; "), "{text}");
    assert_eq!(text.matches("node-2 does not answer").count(), 1, "{text}");
    let rows: Vec<&str> = text.lines().skip_while(|line| !line.is_empty()).skip(1).collect();
    assert!(rows[0].starts_with("NODE") && rows[0].contains("EPOCH"), "{text}");
    assert!(rows[1].starts_with("node-1") && rows[1].contains("following"), "{text}");
    assert!(rows[2].starts_with("node-2") && rows[2].contains("connection refused"), "{text}");
    assert!(rows[3].starts_with("node-3") && rows[3].contains("no \"admin\" address"), "{text}");

    let output = cluster.electd(&["status", "--output", "json"]);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["nodes"][0]["status"]["state"], "following");
    assert_eq!(document["nodes"][1]["status"], Value::Null);
    assert!(document["nodes"][2]["error"].as_str().unwrap().contains("admin"));
}

#[test]
fn status_of_one_is_the_nodes_own_document() {
    let server = FakeNode::new().serve();
    let address = server.local_addr().to_string();
    let output = run(electd(&["--admin", &address, "--output", "json"], "status"));
    assert_eq!(
        serde_json::from_str::<Value>(&stdout(&output)).unwrap(),
        json!(status("following", Some("node-2")))
    );
    let guarantee = "one leader while all reach each other";
    let output = run(electd(&["--admin", &address], "status"));
    assert!(code(&output) == Some(0) && !stdout(&output).contains(guarantee));
    let failovers = "400 ms after a crash, 706 ms if all its processes are killed, 900 ms at worst";
    assert!(stdout(&output).contains(failovers), "{}", stdout(&output));
    let output = run(electd(&["--admin", &address, "--verbose"], "status"));
    assert!(stdout(&output).contains(guarantee));
}

#[test]
fn a_flag_comes_before_the_environment() {
    let server = FakeNode::new().serve();
    let own = server.local_addr().to_string();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let file = cluster.file.to_str().unwrap();
    let ask = |args: &[&str], variable: &str, value: &str| {
        let mut command = electd(args, "status");
        command.env(variable, value);
        code(&run(command))
    };
    let nobody = nobody().to_string();
    assert_eq!(ask(&["--config", file, "--node", "node-1"], "ELECTD_ADMIN", &nobody), Some(0));
    assert_eq!(ask(&["--config", file], "ELECTD_ADMIN", &nobody), Some(0));
    assert_eq!(ask(&["--config", file], "ELECTD_CONFIG", "/nowhere"), Some(0));
    assert_eq!(ask(&["--admin", &own], "ELECTD_ADMIN", &nobody), Some(0));
    assert_eq!(ask(&["--admin", &own], "ELECTD_NODE", "node-7"), Some(0));
    assert_eq!(ask(&[], "ELECTD_ADMIN", &own), Some(0));
    assert_eq!(ask(&[], "ELECTD_CONFIG", file), Some(0));
    assert_eq!(ask(&["--config", file], "ELECTD_NODE", "node-7"), Some(78));
    assert_eq!(ask(&["--config", file], "ELECTD_NODE", ""), Some(0), "as if it were not set");
    assert_eq!(ask(&["--admin", &own, "--node", "node-1"], "ELECTD_ADMIN", ""), Some(2));
    // A user that names the member by any means does not ask another by the environment.
    for (args, name) in [(&["--node", "node-1"][..], ""), (&[], "node-1")] {
        let mut command = electd(args, "status");
        let variables = [("ELECTD_CONFIG", file), ("ELECTD_NODE", name), ("ELECTD_ADMIN", &nobody)];
        assert_eq!(
            code(&run({
                command.envs(variables);
                command
            })),
            Some(0),
            "{args:?}"
        );
    }
}

#[test]
fn leader_prints_and_checks() {
    let (node, other) = (FakeNode::new(), FakeNode::new().with_number(2));
    let (server, second) = (node.serve(), other.serve());
    let cluster = Cluster::of(&[Some(server.local_addr()), Some(second.local_addr())]);
    let output = cluster.electd(&["leader"]);
    assert_eq!(
        (code(&output), stdout(&output).as_str()),
        (Some(0), "node-2  127.0.0.1:7102  epoch 7\n")
    );
    assert_eq!(stderr(&output), "");

    let check = ["leader", "--check", "--node", "node-1"];
    assert_eq!(code(&cluster.electd(&check)), Some(1));
    node.set(|state| state.status = status("leading", Some("node-1")));
    assert_eq!(code(&cluster.electd(&check)), Some(0));
    let told = stdout(&cluster.electd(&[&check[..], &["--output", "json"]].concat()));
    assert_eq!(told, "{\n  \"leads\": true\n}\n", "people read it, too");
    assert!(
        stderr(&cluster.electd(&["leader"])).contains("says that"),
        "two leaders are worth a word"
    );

    for (number, node) in [(1, &node), (2, &other)] {
        node.set(|state| state.status = status("electing", None));
        node.clone().with_number(number);
    }
    let output = cluster.electd(&["leader", "--output", "json"]);
    assert_eq!((code(&output), stdout(&output).trim()), (Some(1), "null"));
}

#[test]
fn resign_waits_for_the_next_leader() {
    let node = FakeNode::new();
    node.on_command(|state| {
        state.status = status("leading", Some("node-1"));
        state.status.leader.as_mut().unwrap().epoch = 8;
    });
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr()), Some(nobody())]);
    let output = cluster.electd(&["resign", "--to", "node-1"]);
    assert_eq!(code(&output), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).ends_with("node-1 leads in epoch 8\n"), "{}", stdout(&output));
}

#[test]
fn a_refused_resignation_is_told_in_the_nodes_words() {
    let node = FakeNode::new();
    node.set(|state| state.outcome = Err(CommandError::Refused("node-3 is dead".to_owned())));
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let output = cluster.electd(&["resign"]);
    assert_eq!((code(&output), stderr(&output).as_str()), (Some(1), "node-3 is dead\n"));
}

/// Every command that has a configuration says so, and does nothing.
#[test]
fn another_clusters_node_is_not_taken_for_ones_own() {
    let (other, namesake) = (FakeNode::new(), FakeNode::new().with_number(2));
    other.set(|state| state.status.cluster = "hc".to_owned());
    let meant = ["of cluster hc (id 00000000-", "not node-1 (id 00000000-"];
    for (node, meant) in [&other, &namesake].into_iter().zip(meant) {
        let server = node.serve();
        let cluster = Cluster::of(&[Some(server.local_addr())]);
        for args in [
            ["leader"].as_slice(),
            &["leader", "--check", "--node", "node-1"],
            &["status"],
            &["watch"],
            &["resign"],
            &["reload", "--node", "node-1"],
        ] {
            let output = cluster.electd(args);
            let told = stderr(&output);
            assert_eq!(code(&output), Some(78), "{args:?}: {told}");
            assert!(told.contains(meant), "{args:?}: {told}");
        }
        assert!(node.commands().is_empty());
    }
}

/// A host that takes connections and never answers.
#[test]
fn a_leader_on_which_a_majority_agrees_is_told_without_the_dead() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (one, two) = (FakeNode::new(), FakeNode::new().with_number(2));
    for node in [&one, &two] {
        let with_id = |number: usize| MemberStatus {
            id: format!("00000000-0000-4000-8000-00000000000{number}"),
            ..member(&format!("node-{number}"), Some("127.0.0.1:1".to_owned()))
        };
        node.set(|state| state.status.members = (1..=3).map(with_id).collect());
    }
    let (first, second) = (one.serve(), two.serve());
    let places = [first.local_addr(), second.local_addr(), silent.local_addr().unwrap()];
    let cluster = Cluster::of(&places.map(Some));
    let (begun, patience) = (Instant::now(), Duration::from_millis(300));
    cluster.electd(&["leader", "--timeout", "300ms"]);
    assert!(begun.elapsed() >= patience, "without a majority the third may know another leader");
    let text = std::fs::read_to_string(&cluster.file).unwrap();
    let text = text.replace("\"quorum\":\"none\"", "\"quorum\":\"majority\"");
    std::fs::write(&cluster.file, text).unwrap();
    // It would hang for as long as the timeout.
    let output = cluster.electd(&["leader", "--timeout", "1000000s"]);
    assert_eq!(
        (code(&output), stdout(&output)),
        (Some(0), "node-2  127.0.0.1:7102  epoch 7\n".into())
    );
    let output = cluster.electd(&["status", "--timeout", "100ms"]);
    assert!(stdout(&output).contains("silent for too long"), "{}", stdout(&output));
}

/// They were added to the cluster since the file was written.
#[test]
fn members_that_the_file_does_not_name_are_asked_as_well() {
    let (old, new) = (FakeNode::new(), FakeNode::new());
    let added = new.serve();
    let admin = added.local_addr().to_string();
    old.set(|state| state.status.members = vec![member("node-2", Some(admin))]);
    let _new = new.with_number(2);
    let known = old.serve();
    let cluster = Cluster::of(&[Some(known.local_addr())]);

    let text = stdout(&cluster.electd(&["status"]));
    let rows = text.lines().skip_while(|line| !line.starts_with("NODE ")).skip(1);
    let states = rows.take(2).map(|row| row.split_whitespace().take(2));
    let states: Vec<Vec<&str>> = states.map(Iterator::collect).collect();
    assert_eq!(states, [["node-1", "following"], ["node-2", "following"]], "{text}");
    let text = stdout(&cluster.electd(&["status", "--node", "node-1"]));
    assert!(text.starts_with("node        node-1"), "it alone: {text}");

    let file = cluster.file.to_str().unwrap();
    let mut watching = Watching::start(&["--config", file, "--output", "json"]);
    let names = [watching.next(), watching.next()].map(|line| line["node"].clone());
    assert_eq!(names, ["node-1", "node-2"]);
}
