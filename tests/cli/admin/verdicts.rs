//! One verdict on a cluster, whichever command tells it.

use electd::node::status::{MemberStatus, Problem};
use serde_json::Value;

use super::cli::{Cluster, code, stderr, stdout};
use super::fake::{FakeNode, member, status};
use super::peer::get;

/// The exit code of a command, what it prints, and what it says.
fn told(cluster: &Cluster, args: &[&str]) -> (Option<i32>, String, String) {
    let output = cluster.electd(args);
    (code(&output), stdout(&output), stderr(&output))
}

/// Two that lead in these epochs: node-1 and node-2.
fn leaders(epochs: [u64; 2]) -> [FakeNode; 2] {
    let of = |number: usize, epoch: u64| {
        let name = format!("node-{number}");
        let node = FakeNode::new();
        node.set(|state| {
            state.status = status("leading", Some(&name));
            state.status.epoch = epoch;
            state.status.leader.as_mut().unwrap().epoch = epoch;
        });
        node.with_number(number)
    };
    [of(1, epochs[0]), of(2, epochs[1])]
}

#[test]
fn two_leaders_are_named_by_every_command() {
    let nodes = leaders([2, 1]);
    let servers = nodes.each_ref().map(FakeNode::serve);
    let [first, second] = servers.each_ref().map(|server| server.local_addr());
    let cluster = Cluster::of(&[Some(first), Some(second)]);
    let words = "TWO LEADERS: node-1 in epoch 2 and node-2 in epoch 1; mend the network between them: then one of \
                 them leads alone; if two at once do harm, stop node-2 until then";
    let (code, line, _) = told(&cluster, &["health"]);
    assert!(code == Some(2) && line.starts_with(&format!("ELECTD {words}; 2 of 2")), "{line}");
    let (code, object, _) = told(&cluster, &["health", "--output", "json"]);
    let object: Value = serde_json::from_str(&object).unwrap();
    assert_eq!(
        (code, &object["verdict"], &object["summary"]),
        (Some(2), &"two_leaders".into(), &words.into())
    );
    assert_eq!(object["leaders"][1]["name"], "node-2");
    let (code, text, _) = told(&cluster, &["status"]);
    assert!(code == Some(2) && text.starts_with(&format!("{words}\n")), "{text}");
    let (code, text, _) = told(&cluster, &["why"]);
    assert!(code == Some(2) && text.starts_with(&format!("{words}\n")), "{text}");
    let (code, text, said) = told(&cluster, &["leader"]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((code, lines.len()), (Some(1), 2), "{text}");
    assert!(lines[0].starts_with("node-1") && lines[1].ends_with("epoch 1"), "{text}");
    assert!(said.contains(words), "{said}");
}

/// Whichever answers first.
#[test]
fn of_two_leaders_in_one_epoch_all_commands_name_the_same_first() {
    let nodes = leaders([3, 3]);
    let servers = nodes.each_ref().map(FakeNode::serve);
    let [first, second] = servers.each_ref().map(|server| server.local_addr());
    let cluster = Cluster::of(&[Some(first), Some(second)]);
    let object = told(&cluster, &["health", "--output", "json"]).1;
    let object: Value = serde_json::from_str(&object).unwrap();
    assert_eq!(object["leader"]["name"], "node-2", "the greater id");
}

/// What a node shows that hears none of the others.
fn deaf(node: &FakeNode) {
    node.set(|state| {
        state.status = status("waiting", None);
        let silent = |name| MemberStatus { status: "suspected".to_owned(), ..member(name, None) };
        state.status.members = vec![member("node-1", None), silent("node-2"), silent("node-3")];
        let (kind, since, about) = ("cut_off".to_owned(), String::new(), String::new());
        let text = "this node hears nobody".to_owned();
        state.status.problems = vec![Problem { since, kind, about, text }];
    });
}

#[test]
fn who_hears_nobody_says_so_first_in_every_command() {
    let node = FakeNode::new();
    deaf(&node);
    let server = node.serve();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let words = "node-1 hears nobody: node-1 is probably cut off (mend its network); the others may have a leader; node-1 knows no leader";
    let begins = |args: &[&str], expected: Option<i32>, begin: &str| {
        let (code, text, _) = told(&cluster, args);
        assert!(
            code == expected && text.starts_with(&format!("{begin}{words}")),
            "{code:?} {text}"
        );
    };
    begins(&["health"], Some(2), "ELECTD CUT OFF: ");
    begins(&["status"], Some(1), "CUT OFF: ");
    begins(&["status", "--node", "node-1"], Some(1), "verdict     CUT OFF: ");
    begins(&["why"], Some(1), "CUT OFF: ");
    let (code, text, said) = told(&cluster, &["leader"]);
    assert_eq!((code, &*text), (Some(1), ""), "{said}");
    assert!(said.contains(words) && !said.contains("no leader is known"), "{said}");
}

/// The page and programs ask one node, which asks the others.
#[test]
fn a_node_gives_the_verdict_with_what_to_do() {
    let nodes = leaders([2, 1]);
    let servers = nodes.each_ref().map(FakeNode::serve);
    let [first, second] = servers.each_ref().map(|server| server.local_addr());
    nodes[0].set(|state| {
        state.status.members = [("node-1", first), ("node-2", second)]
            .map(|(name, admin)| {
                let id = format!("00000000-0000-4000-8000-00000000000{}", &name[5..]);
                MemberStatus { id, ..member(name, Some(admin.to_string())) }
            })
            .to_vec();
        state.status.resigned = true;
    });
    for (node, clock_ms) in nodes.iter().zip([5, 60_000_000]) {
        node.set(|state| state.status.clock_ms = Some(clock_ms));
    }
    let answer = get(first, "/verdict");
    let verdict: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(answer.code, 200);
    let banner = verdict["banner"].as_str().unwrap();
    assert!(
        banner.starts_with("TWO LEADERS: node-1 in epoch 2 and node-2 in epoch 1; "),
        "{banner}"
    );
    assert_eq!((&verdict["colour"], &verdict["code"]), (&"bad".into(), &2.into()));
    assert_eq!(verdict["badges"]["node-1"][0]["text"], "resigned");
    let boxes = verdict["boxes"].as_array().unwrap();
    let clocks = boxes.iter().find(|found| found["kind"] == "clocks").unwrap();
    let text = clocks["text"].as_str().unwrap();
    assert!(text.starts_with("the clock of node-2 is at least "), "{text}");
}

#[test]
fn a_node_that_hears_nobody_says_so_on_its_page() {
    let node = FakeNode::new();
    deaf(&node);
    let verdict: Value =
        serde_json::from_str(&get(node.serve().local_addr(), "/verdict").body).unwrap();
    assert_eq!(verdict["verdict"], "cut_off");
    assert_eq!(verdict["boxes"][0]["remedy"], "mend the network of node-1");
    assert_eq!(verdict["badges"]["node-1"][0]["text"], "cut off");
}
