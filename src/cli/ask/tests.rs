//! Which nodes a command asks, and in which order their answers stand; and statuses for the tests of the commands.

use std::io::{Read, Write as _};
use std::net::{Shutdown, TcpListener};
use std::path::{Path, PathBuf};

use super::*;
use crate::config;

pub use electd_facts::samples::{member, status};

/// The answer of such a node.
pub fn following(name: &str, leader: Option<(&str, u64)>) -> AskedNode {
    AskedNode { target: target(name), answer: Ok(status(name, leader)) }
}

/// A node that does not answer.
pub fn silent(name: &str) -> AskedNode {
    let reason = "connection refused, so nobody answers HTTP there".to_owned();
    let answer = Err(ClientError::NoAnswer { address: "127.0.0.1:1".to_owned(), reason });
    AskedNode { target: target(name), answer }
}

fn target(name: &str) -> NodeTarget {
    let admin = Some("127.0.0.1:1".to_owned());
    NodeTarget { name: Some(name.to_owned()), admin, ..NodeTarget::default() }
}

#[test]
fn silence_of_all_names_each_reason() {
    let error = any_answer(&[silent("node-1"), silent("node-2")]).unwrap_err();
    let words = "no node answers\n  node-1: no answer from 127.0.0.1:1: connection refused, so nobody answers HTTP there\n  \
                 node-2: no answer from 127.0.0.1:1: connection refused, so nobody answers HTTP there";
    assert_eq!(error, CliError::new(Exit::Unavailable, words));
    assert_eq!(any_answer(&[silent("node-1"), following("node-2", None)]), Ok(()));
    let mut other = silent("node-3");
    other.answer = Err(ClientError::Other("it is another".to_owned()));
    let error = any_answer(&[following("node-1", None), silent("node-2"), other]).unwrap_err();
    assert_eq!(error, CliError::new(Exit::Config, "it is another"));
}

#[test]
fn a_node_that_answers_is_called_as_it_says_itself_and_takes_commands() {
    let mut asked = following("a", None);
    asked.target.name = Some("of the file".to_owned());
    let Recipient { address, cluster, id } = asked.recipient().unwrap();
    assert_eq!((address, cluster, id), ("127.0.0.1:1", "demo", "id of a"));
    assert_eq!(asked.name(), "a");
    asked.target.admin = None;
    assert!(asked.recipient().is_none());
    assert!(silent("b").recipient().is_none());
    assert_eq!(silent("b").name(), "b");
}

#[test]
fn the_leader_is_who_has_the_greatest_epoch_and_does_not_hang() {
    let of = |state: &str, stalled| {
        let state = state.to_owned();
        Status { state, stalled, ..status("a", Some(("a", 7))) }
    };
    let told = [("leading", false), ("leading", true), ("following", false), ("following", true)]
        .map(|(state, stalled)| of(state, stalled))
        .map(|status| (status.leads(), status.named_leader().is_some()));
    assert_eq!(told, [(true, true), (false, false), (false, true), (false, false)]);
    let asked = [following("a", Some(("b", 7))), following("b", Some(("c", 8))), silent("c")];
    let newest = |asked: &[AskedNode]| newest_leader(asked).map(|leader| leader.name.clone());
    assert_eq!(newest(&asked).as_deref(), Some("c"));
    let mut hangs = following("d", Some(("d", 9)));
    hangs.answer.as_mut().unwrap().stalled = true;
    assert_eq!(
        newest(&[hangs, following("a", Some(("b", 7))), following("e", None)]).as_deref(),
        Some("b")
    );
    assert_eq!(newest(&[silent("a")]), None);
}

/// A file of three members in this folder, two of them with an admin address.
fn file(folder: &Path, keys: &str) -> PathBuf {
    let member = |at: usize, more: &str| {
        let id = format!("00000000-0000-4000-8000-00000000000{at}");
        format!(r#"{{"name": "n{at}", "id": "{id}", "address": "127.0.0.1:710{at}"{more}}}"#)
    };
    let admin = |at: usize| format!(r#", "admin": "127.0.0.1:720{at}""#);
    let members = [member(1, &admin(1)), member(2, &admin(2)), member(3, "")].join(", ");
    let text = format!(
        r#"{{"cluster": "hc", "quorum": "none", "data_dir": "data", {keys} "members": [{members}]}}"#
    );
    let file = folder.join("cluster.json");
    std::fs::write(&file, text).unwrap();
    file
}

#[derive(clap::Parser)]
struct Flags {
    #[command(flatten)]
    nodes: NodeArgs,
}

/// The arguments as a command reads them.
fn flags(file: &Path, words: &[&str]) -> NodeArgs {
    let words = [&["x", "--config", file.to_str().unwrap()], words].concat();
    <Flags as clap::Parser>::parse_from(words).nodes
}

#[test]
fn all_nodes_or_the_one_that_is_meant_are_asked() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "");
    let member = |at: usize| NodeTarget {
        name: Some(format!("n{at}")),
        admin: (at < 3).then(|| format!("127.0.0.1:720{at}")),
        cluster: Some("hc".to_owned()),
        id: Some(format!("00000000-0000-4000-8000-00000000000{at}")),
    };
    let told = |targets: Result<Targets, CliError>| {
        targets.map(|it| (it.nodes, it.one, it.config.map(|config| config.cluster), it.timeout))
    };
    let (hc, time) = (Some("hc".to_owned()), Some(Duration::from_secs(3)));
    let all = flags(&file, &["--timeout", "3s"]);
    let members = [1, 2, 3].map(member).to_vec();
    assert_eq!(told(all.targets()), Ok((members, false, hc.clone(), time)));
    let one = flags(&file, &["--timeout", "3s", "--node", "n2"]);
    for targets in [one.targets(), one.own()] {
        assert_eq!(told(targets), Ok((vec![member(2)], true, hc.clone(), time)));
    }
    let at = flags(&file, &["--timeout", "3s", "--admin", "h:1"]);
    for targets in [at.targets(), at.own()] {
        let target = NodeTarget { admin: Some("h:1".to_owned()), ..NodeTarget::default() };
        assert_eq!(told(targets), Ok((vec![target], true, None, time)));
    }
    assert_eq!(told(flags(&file, &["--node", "n2"]).targets()).unwrap().3, None);
    let state = folder.path().join("data/n3/control.sock");
    let unserved = format!(
        "n3 cannot be asked: it does not run on this host (nobody listens on {}), and its entry in \"members\" has no \
         \"admin\" address; add one",
        state.display()
    );
    let unknown =
        "no member is called \"n4\": name one of n1, n2, n3 with --node or ELECTD_NODE".to_owned();
    for (name, words) in [("n3", unserved), ("n4", unknown)] {
        let named = flags(&file, &["--node", name]);
        for error in [named.targets().unwrap_err(), named.own().unwrap_err()] {
            assert_eq!(error, CliError::new(Exit::Config, &words));
        }
    }
}

#[test]
fn https_needs_the_authorities_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "");
    let at = |address| flags(&file, &["--admin", address]);
    let none = "HTTPS needs `tls` in the configuration: it names the authorities to trust";
    assert_eq!(at("https://h:1").targets().unwrap_err(), CliError::new(Exit::Config, none));
    assert!(at("http://h:1").targets().is_ok_and(|targets| targets.trust.is_none()));
    let nowhere = flags(Path::new("/no/such/file"), &["--admin", "h:1"]);
    assert!(nowhere.targets().is_ok(), "no file is needed for HTTP");
}

/// The address of a node that gives this answer to each that asks.
fn serve(status: &Status) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let body = serde_json::to_string(status).unwrap();
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let _ = client.read(&mut [0; 4096]);
            let _ = client.write_all(answer.as_bytes());
            let _ = client.shutdown(Shutdown::Write);
        }
    });
    address
}

/// Those without an address have their answer, that they cannot be asked, before all others.
#[test]
fn answers_stand_in_the_order_of_the_file_and_then_in_that_of_the_members_that_it_does_not_name() {
    let folder = tempfile::tempdir().unwrap();
    let config = config::load(&file(folder.path(), "")).unwrap();
    let node = |name: &str, admin: Option<String>| NodeTarget {
        name: Some(name.to_owned()),
        admin,
        cluster: Some("hc".to_owned()),
        id: None,
    };
    let known = |name: &str, admin: Option<String>| MemberStatus { admin, ..member(name) };
    let answering = |name: &str, members: &[MemberStatus]| {
        let members = members.to_vec();
        serve(&Status { cluster: "hc".to_owned(), members, ..status(name, None) })
    };
    let added = answering("d", &[]);
    let first = [known("d", Some(added.clone())), known("e", None), known("b", None)];
    let [a, c] = [answering("a", &first), answering("c", &[known("f", None), known("e", None)])];
    let nodes = vec![node("a", Some(a)), node("b", None), node("c", Some(c))];
    let mut targets =
        Targets { nodes, one: false, config: Some(config), timeout: None, trust: None };
    let client = Client::within(Some(Duration::from_secs(60)), None);
    let asked = targets.ask(&client);
    let more = [node("d", Some(added)), node("e", None), node("f", None)];
    let order: Vec<&NodeTarget> = targets.nodes.iter().chain(&more).collect();
    assert_eq!(asked.iter().map(|asked| &asked.target).collect::<Vec<_>>(), order);
    let answer = asked.iter().map(|asked| asked.answer.is_ok()).collect::<Vec<_>>();
    assert_eq!(answer, [true, false, true, true, false, false], "{asked:?}");
    for many in [1, 2, 4, 5] {
        assert_eq!(targets.ask_until(&client, |asked| asked.len() == many).len(), many);
    }
    let status = asked[0].answer.as_ref().unwrap();
    assert_eq!(targets.added(status).collect::<Vec<_>>(), more[..2]);
    targets.one = true;
    assert_eq!(targets.added(status).count(), 0, "one node was meant");
    assert_eq!(targets.ask_for_any(&client).unwrap().len(), 3);
    targets.nodes.remove(0);
    targets.nodes.pop();
    let error = targets.ask_for_any(&client).unwrap_err();
    let words = format!("no node answers\n  b: {}", ClientError::NotServed);
    assert_eq!(error, CliError::new(Exit::Unavailable, words));
}
