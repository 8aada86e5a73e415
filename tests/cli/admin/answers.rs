//! What commands make of answers: those of nodes that see it differently, that refuse, or that are of another version.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use electd::node::events::Event;
use electd::node::status::LeaderlessStatus;
use serde_json::{Value, json};

use super::cli::{Cluster, code, electd, nobody, run, stderr, stdout};
use super::fake::{FakeNode, event, member, status};
use super::orders::given;
use super::pace::TIMEOUT;

/// A node that shows a status, and answers all else with this code and document, or not at all without a code. It ends
/// with the test.
struct Odd {
    address: SocketAddr,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Odd {
    fn start(state: &str, code: &'static str, document: &'static str) -> Odd {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, ends) = (listener.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
        let status = serde_json::to_string(&status(state, Some("node-1"))).unwrap();
        let told = ends.clone();
        let thread = thread::spawn(move || {
            let mut held = Vec::new();
            for mut client in listener.incoming().flatten() {
                if told.load(Ordering::Acquire) {
                    return;
                }
                let mut request = [0; 4096];
                let length = client.read(&mut request).unwrap_or_default();
                let (code, body) = match request[..length].starts_with(b"GET /status ") {
                    true => ("200 OK", status.as_str()),
                    false => (code, document),
                };
                if code.is_empty() {
                    held.push(client);
                    continue;
                }
                let head = format!("HTTP/1.1 {code}\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = client.write_all((head + body).as_bytes());
            }
        });
        Odd { address, ends, thread: Some(thread) }
    }
}

impl Drop for Odd {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

const REFUSED: &str = r#"{"error": "so it is"}"#;

/// The next may run on this host, whose user it trusts.
#[test]
fn a_command_that_a_node_forbids_is_given_to_the_next() {
    let leader = Odd::start("leading", "403 Forbidden", REFUSED);
    let node = FakeNode::new().with_number(2);
    let server = node.serve();
    let cluster = Cluster::of(&[Some(leader.address), Some(server.local_addr())]);
    let given = cluster.electd(&["pause"]);
    assert_eq!((code(&given), node.commands().len()), (Some(0), 1), "{given:?}");
    let said = "node-2 resigned; node-1 was asked to lead\n";
    assert_eq!(stdout(&given), said);
    for args in [&["undrain", "--node", "node-1"][..], &["drain", "--node", "node-1"]] {
        let alone = cluster.electd(args);
        assert_eq!((code(&alone), stderr(&alone).as_str()), (Some(1), "so it is\n"), "{args:?}");
    }
    let alone = Cluster::of(&[Some(leader.address)]).electd(&["resume"]);
    assert_eq!((code(&alone), stderr(&alone).as_str()), (Some(1), "so it is\n"));
    assert_eq!(node.commands().len(), 1);
}

/// Either what was achieved, and for whom it waited; or what the silence of a node means. All of them wait at one time.
#[test]
fn a_command_that_waits_in_vain_says_for_what() {
    let (node, deaf) = (FakeNode::new(), Odd::start("leading", "", ""));
    let server = node.serve();
    let (cluster, silent) =
        (Cluster::of(&[Some(server.local_addr())]), Cluster::of(&[Some(deaf.address)]));
    let unseen = [("resign", "another member"), ("switchover --to node-1", "node-1")];
    let (job, unknown) = (
        "no answer in time: it may still be waiting for the leader's job to end, and the outcome is not known;",
        "no answer in time; it may be frozen, and whether it carried the command out is not known;",
    );
    let unanswered = [
        ("resign", job),
        ("switchover --to node-1", job),
        ("switchover --clear", job),
        ("drain --node node-1", job),
        ("member remove node-9", job),
        ("undrain --node node-1", unknown),
        ("pause", unknown),
        ("resume", unknown),
        ("member add --name node-9 --address 127.0.0.1:9", unknown),
    ];
    let words = |line: &'static str| line.split(' ').collect::<Vec<_>>();
    let (cluster, silent) = (&cluster, &silent);
    let file = cluster.file.display();
    thread::scope(|scope| {
        let waits = unseen.map(|(line, who)| {
            let leader = format!(
                "{who} was not seen to lead for 5 s: look at `electd watch --config {file}`\n"
            );
            let achieved = "node-2 resigned; node-1 was asked to lead; but ".to_owned();
            (line, 1, achieved + &leader, scope.spawn(move || given(cluster, &words(line))))
        });
        let unanswered = unanswered.map(|(line, means)| {
            let said = format!(
                "no answer from {}: connected, and {means} `electd status --config {}` shows how things stand\n",
                deaf.address,
                silent.file.display()
            );
            let words = [&words(line)[..], &["--timeout", "3s"]].concat();
            (line, 69, said, scope.spawn(move || given(silent, &words)))
        });
        for (line, exit, said, waits) in waits.into_iter().chain(unanswered) {
            let output = waits.join().unwrap();
            assert_eq!((code(&output), stderr(&output)), (Some(exit), said), "{line}");
        }
    });
}

#[test]
fn what_the_nodes_do_not_record_is_told_of_each() {
    let (old, broken) = (
        Odd::start("leading", "404 Not Found", REFUSED),
        Odd::start("leading", "500 Internal Server Error", REFUSED),
    );
    for (node, said) in [
        (&old, "node-1: its version of electd records no elections; upgrade it\n"),
        (&broken, "node-1: so it is\n"),
    ] {
        let trace = run(electd(&["--admin", &node.address.to_string()], "trace"));
        let none = "no node that answers has recorded an election since its start\n";
        assert_eq!((code(&trace), stderr(&trace)), (Some(1), format!("{said}{none}")));
    }
    let record = run(electd(&["--admin", &old.address.to_string()], "record"));
    let said = "so it is; its version of electd records nothing: upgrade it\n";
    assert_eq!((code(&record), stderr(&record).as_str()), (Some(69), said));
    let record = run(electd(&["--admin", &broken.address.to_string()], "record"));
    assert_eq!((code(&record), stderr(&record).as_str()), (Some(69), "so it is\n"));
    let odd = Odd::start("leading", "200 OK", r#"{"node": "node-1"}"#);
    let record = run(electd(&["--admin", &odd.address.to_string()], "record"));
    assert_eq!((code(&record), stdout(&record).as_str()), (Some(69), ""), "{record:?}");
    assert!(stderr(&record).starts_with("what the node answered "), "{record:?}");
}

#[test]
fn who_leads_is_told_with_who_says_otherwise() {
    let nodes = [1, 2, 3].map(|number| FakeNode::new().with_number(number));
    for (node, leader) in nodes.iter().zip([Some(("node-2", 7)), Some(("node-3", 8)), None]) {
        node.set(|state| {
            let own = state.status.node.clone();
            state.status = status("following", leader.map(|(name, _)| name));
            state.status.node = own;
            if let (Some(known), Some((_, epoch))) = (&mut state.status.leader, leader) {
                known.epoch = epoch;
            }
        });
    }
    let servers = nodes.each_ref().map(FakeNode::serve);
    let cluster = Cluster::of(&servers.each_ref().map(|server| Some(server.local_addr())));
    let dissent = "node-1 says that node-2 leads in epoch 7\nnode-3 knows no leader\n";
    let told = cluster.electd(&["leader"]);
    let line = "node-3  127.0.0.1:7102  epoch 8\n";
    assert_eq!(
        (code(&told), stdout(&told).as_str(), stderr(&told).as_str()),
        (Some(0), line, dissent)
    );
    let told = cluster.electd(&["leader", "--output", "json"]);
    let expected = json!({
        "id": "00000000-0000-4000-8000-000000000003", "name": "node-3", "address": "127.0.0.1:7102", "epoch": 8,
    });
    assert_eq!(serde_json::from_str::<Value>(&stdout(&told)).unwrap(), expected);
    let one = cluster.electd(&["leader", "--node", "node-3"]);
    let said = "no leader is known\n";
    assert_eq!((code(&one), stdout(&one).as_str(), stderr(&one).as_str()), (Some(1), "", said));
}

#[test]
fn why_nobody_leads_is_told_and_the_answer_is_no() {
    let node = FakeNode::new();
    node.set(|state| {
        state.status = status("electing", None);
        state.status.members = vec![member("node-1", None)];
        let (since, lasts_ms, cause) = ("then".to_owned(), 5, "leader_dead".to_owned());
        state.status.leaderless =
            Some(LeaderlessStatus { since, lasts_ms, cause, reason: "it died".to_owned() });
    });
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr()), Some(nobody())]);
    let why = cluster.electd(&["why", "node-1"]);
    let text = "nobody leads: node-1: it died\nnode-1 does not lead: it died; an election is under way, and ends by itself\n";
    assert_eq!((code(&why), stdout(&why).as_str()), (Some(1), text));
    let why = cluster.electd(&["why", "--output", "json"]);
    let told: Value = serde_json::from_str(&stdout(&why)).unwrap();
    assert_eq!((code(&why), &told["nobody_leads"]["cause"]), (Some(1), &json!("electing")));
    let names: Vec<&Value> =
        told["members"].as_array().unwrap().iter().map(|member| &member["name"]).collect();
    assert_eq!(names, ["node-1", "node-2"]);
    node.set(|state| state.status.cluster = "hc".to_owned());
    let why = cluster.electd(&["why"]);
    assert_eq!((code(&why), stdout(&why).as_str()), (Some(78), ""), "{why:?}");
    // What is known is told all the same, if one of them is in its place.
    let other = FakeNode::new().with_number(2);
    let second = other.serve();
    let cluster = Cluster::of(&[Some(server.local_addr()), Some(second.local_addr())]);
    let why = cluster.electd(&["why", "node-1"]);
    let address = server.local_addr();
    let found = format!(
        "node at {address} is node-1 of cluster hc (id 00000000-0000-4000-8000-000000000001), not"
    );
    assert_eq!(code(&why), Some(78), "{why:?}");
    assert!(stdout(&why).starts_with(&format!("node-1 does not lead: {found}")), "{why:?}");
    assert!(stderr(&why).starts_with(&found), "{why:?}");
}

/// Two nodes that are mistaken for one another, or one of another cluster.
#[test]
fn another_node_at_an_address_is_told_with_both_identities() {
    let id = |number| format!("00000000-0000-4000-8000-00000000000{number}");
    let stranger = FakeNode::new();
    stranger.set(|state| state.status.cluster = "hc".to_owned());
    for (node, found) in [
        (stranger, format!("node-1 of cluster hc (id {}), not node-1 of demo", id(1))),
        (
            FakeNode::new().with_number(2),
            format!("node-2 of cluster demo (id {}), not node-1 (id {}) of demo", id(2), id(1)),
        ),
    ] {
        let server = node.serve();
        let address = server.local_addr();
        let output = Cluster::of(&[Some(address)]).electd(&["leader"]);
        let said = format!("node at {address} is {found}: correct the configuration\n");
        assert_eq!((code(&output), stderr(&output)), (Some(78), said));
    }
}

/// So many lines of a running `electd watch`.
fn watched(args: &[&str], count: usize) -> Vec<String> {
    let mut command = electd(args, "watch");
    let mut watch = command.stdout(Stdio::piped()).spawn().unwrap();
    let ((sender, heard), lines) = (channel(), watch.stdout.take().unwrap());
    let reader = thread::spawn(move || {
        BufReader::new(lines).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
    });
    let lines: Vec<String> = (0..count).map_while(|_| heard.recv_timeout(TIMEOUT).ok()).collect();
    watch.kill().unwrap();
    watch.wait().unwrap();
    drop(heard);
    let _ = reader.join();
    lines
}

#[test]
fn a_watch_begins_with_the_events_of_the_time_that_is_asked_for() {
    let node = FakeNode::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
    node.tell(event("of long ago"));
    node.tell(Event { at_ms: now - 60_000, ..event("of late") });
    let server = node.serve();
    let address = server.local_addr().to_string();
    // The state that the node is found in has a line of this moment, among them.
    let reasons = |since: &str, count: usize| {
        let args = ["--admin", &address, "--output", "json", "--since", since];
        let lines = watched(&args, count + 1);
        let told = lines.iter().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let happened = told.filter(|line| line["kind"] == "change");
        happened.map(|line| line["reason"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(reasons("900000h", 2), ["of long ago", "of late"]);
    assert_eq!(reasons("1h", 1), ["of late"]);
    let lines = watched(&["--admin", &address, "--since", "900000h"], 3);
    let line = "2023-11-14T22:13:20.000Z  node-1  following -> electing   leader -       epoch 7     of long ago";
    assert!(lines.iter().any(|told| told == line), "{lines:?}");
}

#[test]
fn a_recording_goes_to_no_file_that_is_there() {
    let node = FakeNode::new();
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let out = cluster.file.with_file_name("a.json");
    fs::write(&out, "mine").unwrap();
    let path = out.to_str().unwrap();
    let output = cluster.electd(&["record", "--node", "node-1", "--out", path]);
    let said = format!("{path} cannot be written: File exists (os error 17)\n");
    assert_eq!(
        (code(&output), stderr(&output), fs::read_to_string(&out).unwrap()),
        (Some(1), said, "mine".into())
    );
    let output = cluster.electd(&["record"]);
    assert_eq!(code(&output), Some(78), "no member is said to be of this host: {output:?}");
}
