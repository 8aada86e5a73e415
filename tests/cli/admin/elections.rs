//! `GET /elections/last` and `/elections/EPOCH`: an election, merged from what the members recorded.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use electd::admin::client::Client;
use electd::node::status::MemberStatus;
use electd::trace::record::{Entry, Record};
use serde_json::{Value, json};

use super::cli::{code, electd, nobody, run, stderr, stdout};
use super::fake::{FakeNode, member};
use super::peer::{Answer, Peer, ask, get};

fn name(number: usize) -> String {
    format!("node-{number}")
}

/// Node-2 has led since epoch 7, as it and node-1 recorded it.
pub fn record(number: usize) -> Record {
    let became = |n, phase: &str| Entry {
        n,
        at_ns: n * 1_000_000,
        what: "became".to_owned(),
        label: phase.to_owned(),
        phase: Some(phase.to_owned()),
        number: Some(7),
        leader: Some(name(2)),
        reason: Some("<b>node-3</b> is dead".to_owned()),
        ..Entry::default()
    };
    let message = |n, what: &str, peer: usize| Entry {
        n,
        at_ns: n * 1_000_000,
        what: what.to_owned(),
        label: "COORDINATOR 7".to_owned(),
        peer: Some(name(peer)),
        kind: Some("coordinator".to_owned().into()),
        number: Some(7),
        place: Some(0),
        incarnation: Some(1),
        causes: vec![n - 1],
        ..Entry::default()
    };
    let entries = match number {
        2 => vec![became(1, "electing"), became(2, "leading"), message(3, "sent", 1)],
        _ => vec![became(1, "electing"), message(2, "got", 2), became(3, "following")],
    };
    Record {
        cluster: "demo".to_owned(),
        node: name(number),
        incarnation: 1,
        algorithm: "bully".to_owned(),
        now_ns: 5_000_000,
        members: vec![name(1), name(2), name(3)],
        entries,
        ..Record::default()
    }
}

/// A member whose HTTP is at this address.
fn at(number: usize, address: SocketAddr) -> MemberStatus {
    member(&name(number), Some(address.to_string()))
}

/// A node that recorded its part of the election.
fn node(number: usize) -> FakeNode {
    let node = FakeNode::new().with_number(number);
    node.set(|state| state.record = record(number));
    node
}

fn browse(address: SocketAddr, path: &str) -> Answer {
    let question = format!("GET {path} HTTP/1.1\r\nHost: n\r\nAccept: text/html,*/*;q=0.8\r\n\r\n");
    ask(address, &question)
}

fn labels(election: &Value) -> Vec<&str> {
    let events = election["events"].as_array().expect("a list");
    events.iter().map(|event| event["label"].as_str().unwrap_or_default()).collect()
}

#[test]
fn an_election_is_what_the_members_recorded_together() {
    let (own, other) = (node(1), node(2));
    let (server, far) = (own.serve(), other.serve());
    own.set(|state| state.status.members = vec![at(2, far.local_addr()), at(3, nobody())]);
    for path in ["/elections/last", "/elections/7"] {
        let answer = get(server.local_addr(), path);
        let told = answer.json();
        assert_eq!(
            (answer.code, &told["epoch"], &told["leader"]),
            (200, &7.into(), &"node-2".into())
        );
        assert_eq!(
            labels(&told),
            ["electing", "electing", "leading", "COORDINATOR 7", "following"]
        );
        assert_eq!(told["messages"]["total"], 1, "sent here and taken there: {told:#}");
        assert_eq!(told["silent"], json!(["node-3"]));
    }
    let unknown = get(server.local_addr(), "/elections/8");
    assert!(unknown.code == 404 && unknown.error().contains("epoch 8"), "{unknown:?}");
    for path in [
        "/elections/",
        "/elections/+7",
        "/elections/first",
        "/elections/7/8",
        "/elections/99999999999999999999",
    ] {
        assert_eq!(get(server.local_addr(), path).code, 404, "{path}");
    }
    let post = "POST /elections/last HTTP/1.1\r\nHost: n\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(ask(server.local_addr(), post).code, 405);
    own.set(|state| state.record = Record::default());
    own.set(|state| state.status.members = vec![at(3, nobody())]);
    let none = get(server.local_addr(), "/elections/6");
    assert!(none.code == 404 && none.error().contains("epoch 6"), "{none:?}");
}

#[test]
fn a_browser_gets_the_drawing_which_runs_its_own_script_alone() {
    let own = node(1);
    let server = own.serve();
    let page = browse(server.local_addr(), "/elections/last");
    assert_eq!((page.code, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").expect("there is a policy");
    let own_script = electd::trace::html::policy();
    let expected = format!(
        "{own_script}; base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts"
    );
    assert_eq!(policy, expected);
    assert!(page.body.contains("Election of epoch 7 in demo"), "{}", page.body);
    let unseen = "<line class=\"arrow unseen\" ";
    assert!(page.body.contains(unseen), "node-2 does not tell that it sent it: {}", page.body);
    assert!(
        page.body.contains("&lt;b&gt;node-3&lt;/b&gt; is dead") && !page.body.contains("<b>"),
        "{}",
        page.body
    );
    own.set(|state| state.record.members = (1..=41).map(name).collect());
    let wide = browse(server.local_addr(), "/elections/7");
    assert!(wide.code == 404 && wide.error().contains("do not fit a drawing"), "{wide:?}");
    assert_eq!(get(server.local_addr(), "/elections/7").code, 200, "as JSON it can be had");
}

/// The clock of another host began at another boot.
#[test]
fn the_clock_of_a_node_is_compared_with_ones_own() {
    let node = node(2);
    let server = node.serve();
    let now = || i128::from(electd::node::now().0);
    let before = now();
    let timed = Client::new(None).timed_record(&server.local_addr().to_string()).unwrap();
    let read = i128::from(timed.record.now_ns);
    assert!((before - read..=now() - read).contains(&timed.ahead_ns), "{}", timed.ahead_ns);
}

/// What this member tells is not believed; the others tell what they know.
#[test]
fn a_member_that_lies_is_left_out() {
    let lies: [fn(&mut Record); 5] = [
        |record| record.node = name(3),
        |record| record.cluster = "another".to_owned(),
        |record| record.members = (0..600).map(name).collect(),
        |record| record.entries = vec![Entry::default(); 40_000],
        |record| {
            record.entries = (0..4000)
                .map(|n| Entry { n, label: "a".repeat(900), ..Entry::default() })
                .collect();
        },
    ];
    for (at_lie, lie) in lies.into_iter().enumerate() {
        let (own, liar) = (node(1), node(2));
        liar.set(|state| lie(&mut state.record));
        let (server, far) = (own.serve(), liar.serve());
        own.set(|state| state.status.members = vec![at(2, far.local_addr())]);
        let told = get(server.local_addr(), "/elections/last").json();
        assert_eq!(told["silent"], json!(["node-2", "node-3"]), "lie {at_lie}: {told:#}");
    }
}

#[test]
fn those_who_ask_at_one_time_share_what_the_members_told() {
    let slow = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = node(1);
    let server = own.serve();
    own.set(|state| state.status.members = vec![at(2, slow.local_addr().unwrap())]);
    let address = slow.local_addr().unwrap();
    let member = thread::spawn(move || {
        let mut questions = Vec::new();
        loop {
            let (mut question, _) = slow.accept().unwrap();
            let lines = BufReader::new(question.try_clone().unwrap()).lines().map(Result::unwrap);
            let asked: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            if asked.is_empty() {
                return questions.len();
            }
            assert_eq!(asked[0], "GET /trace HTTP/1.1");
            let body = serde_json::to_string(&record(2)).unwrap();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            question.write_all((head + &body).as_bytes()).unwrap();
            questions.push(question);
        }
    });
    let mut peers: Vec<_> = (0..16).map(|_| Peer::connect(server.local_addr())).collect();
    peers.iter_mut().for_each(|peer| peer.say("GET /elections/last HTTP/1.1\r\nHost: n\r\n\r\n"));
    for peer in &mut peers {
        assert_eq!(peer.answer().json()["silent"], json!(["node-3"]));
    }
    drop(TcpStream::connect(address).unwrap()); // the member stops
    // One, unless this host is so busy that they did not come at one time.
    let questions = member.join().unwrap();
    assert!((1..=4).contains(&questions), "{questions} questions");
}

/// The moment is that of the hosts, and not of the reader of the files.
#[test]
fn a_command_shows_an_election_in_each_form_that_fits_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |number: usize, members: usize| {
        let members = (1..=members).map(name).collect();
        let record = Record { wall_ms: 1_700_000_000_000, members, ..record(number) };
        let file = folder.path().join(format!("{number}-{}.json", record.members.len()));
        std::fs::write(&file, serde_json::to_string(&record).unwrap()).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let [one, two] = [1, 2].map(|number| write(number, 40));
    let trace = |args: &[&str]| run(electd(args, "trace"));
    let shown = |form: &str| {
        let output = trace(&["--epoch", "7", "--output", form, "--file", &one, &two]);
        assert_eq!(code(&output), Some(0), "{output:?}");
        stdout(&output)
    };
    for (form, begin) in [("svg", "<svg "), ("html", "<!doctype html>")] {
        assert!(shown(form).starts_with(begin), "{form}: {}", shown(form));
    }
    assert!(shown("text").contains(", 2023-11-14T22:13:"), "{}", shown("text"));
    let document: Value = serde_json::from_str(&shown("json")).unwrap();
    assert!(document["began"].as_str().unwrap().starts_with("2023-11-14T22:13:"), "{document:#}");
    let facts = ["cluster", "algorithm", "epoch", "leader"].map(|key| document[key].clone());
    assert_eq!(facts, [json!("demo"), json!("bully"), json!(7), json!("node-2")]);
    assert_eq!(document["messages"]["coordinator"], 1, "both tell of it: {document:#}");
    let phases = |member: &str| {
        let events = document["events"].as_array().unwrap().iter();
        let own = events.filter(|event| event["member"] == member && event["phase"].is_string());
        own.map(|event| event["phase"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        [name(1), name(2)].map(|name| phases(&name).pop()),
        [Some(json!("following")), Some(json!("leading"))]
    );
    let other = trace(&["--epoch", "8", "--file", &one, &two]);
    assert_eq!((code(&other), stdout(&other).as_str()), (Some(1), ""), "{other:?}");
    let many = write(2, 41);
    let unfit =
        "41 members do not fit a drawing; at most 40 do: see `electd trace --output text`\n";
    for (form, exit, said) in
        [("svg", 2, unfit), ("html", 2, unfit), ("text", 0, ""), ("json", 0, "")]
    {
        let output = trace(&["--output", form, "--file", &many]);
        assert_eq!((code(&output), stderr(&output).as_str()), (Some(exit), said), "{form}");
    }
}
