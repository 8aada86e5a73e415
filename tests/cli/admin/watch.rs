//! `electd watch`: what it tells, over the end of a connection as well, and when it ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{ChildStdout, Stdio};

use electd::admin::{Server, listen};
use electd::node::events::{Event, EventKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::cli::{Cluster, electd};
use super::fake::{FakeNode, TOKEN, event, member};
use super::pace::{Running, TIMEOUT, end_of};

/// An `electd watch` that runs until it is dropped, and its lines.
pub struct Watching {
    program: Running,
    lines: BufReader<ChildStdout>,
}

impl Watching {
    pub fn start(args: &[&str]) -> Watching {
        let mut program = Running(electd(args, "watch").stdout(Stdio::piped()).spawn().unwrap());
        let lines = BufReader::new(program.0.stdout.take().unwrap());
        Watching { program, lines }
    }

    /// Of the node at this address, for programs.
    fn of(server: SocketAddr) -> Watching {
        Watching::start(&["--admin", &server.to_string(), "--output", "json"])
    }

    #[track_caller]
    pub fn line(&mut self) -> String {
        if self.lines.buffer().is_empty() {
            let bound = Timespec::try_from(TIMEOUT).unwrap();
            let heard = poll(&mut [PollFd::new(self.lines.get_ref(), PollFlags::IN)], Some(&bound));
            assert_eq!(heard, Ok(1), "no line in {TIMEOUT:?}");
        }
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    #[track_caller]
    pub fn next(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    /// The next lines, each as its kind, its node and its reason, in any order: some happened at once.
    #[track_caller]
    fn told(&mut self, count: usize) -> Vec<String> {
        let words = |line: Value| {
            let [kind, node, reason] = ["kind", "node", "reason"].map(|key| line[key].as_str());
            format!("{} {} {}", kind.unwrap(), node.unwrap_or("-"), reason.unwrap())
        };
        let mut told: Vec<String> = (0..count).map(|_| words(self.next())).collect();
        told.sort();
        told
    }
}

#[test]
fn watch_tells_what_happens_until_interrupted() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut watching = Watching::of(server.local_addr());
    assert_eq!(watching.next()["kind"], "now");
    node.tell(event("node-2 is silent"));
    let change = watching.next();
    assert_eq!(
        (&change["to"], &change["reason"]),
        (&json!("electing"), &json!("node-2 is silent"))
    );
    server.stop();
    assert_eq!(watching.next()["kind"], "silent");
    let pid = rustix::process::Pid::from_child(&watching.program.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(end_of(&mut watching.program.0).code(), Some(0));
}

#[test]
fn watch_ends_when_nobody_reads_it() {
    let node = FakeNode::new();
    let server = node.serve();
    let mut watching = Watching::of(server.local_addr());
    watching.next();
    drop(watching.lines);
    // Nothing happens in the cluster; it ends all the same.
    assert_eq!(end_of(&mut watching.program.0).code(), Some(0));
}

#[test]
fn a_watch_of_leaders_passes_over_what_is_not_about_them() {
    let node = FakeNode::new();
    let server = node.serve();
    let address = server.local_addr().to_string();
    let args = ["--admin", &address, "--output", "json", "--leaders", "--since", "900000h"];
    let mut watching = Watching::start(&args);
    let leading = Event {
        event: EventKind::Leading,
        from: Some("electing".to_owned()),
        state: "leading".to_owned(),
        leader: Some("node-1".to_owned()),
        ..event("it won")
    };
    node.tell(event("node-2 is silent"));
    node.tell(leading);
    let told = [watching.next(), watching.next()];
    let kinds = told.each_ref().map(|line| (&line["kind"], &line["to"]));
    let expected = [(&json!("nobody_leads"), &Value::Null), (&json!("change"), &json!("leading"))];
    assert_eq!(kinds, expected, "{told:?}");
}

fn serve(node: &FakeNode, address: SocketAddr) -> Server {
    let socket = listen(&address.to_string()).unwrap();
    Server::start(socket, node.clone(), Some(TOKEN.to_owned())).unwrap()
}

#[test]
fn a_watch_that_loses_its_connection_goes_on_after_the_last_event_that_it_was_told() {
    let node = FakeNode::new();
    let server = node.serve();
    let address = server.local_addr();
    node.tell(event("before it watched"));
    node.set(|state| state.status.last_event = Some("1-1".to_owned()));
    let mut watching = Watching::of(address);
    assert_eq!(watching.told(1), ["now node-1 "]);
    node.tell(event("one"));
    assert_eq!(watching.told(1), ["change node-1 one"]);
    server.stop();
    assert!(watching.told(1)[0].starts_with("silent node-1 "));
    node.tell(event("meanwhile"));
    node.set(|state| state.status.last_event = Some("1-3".to_owned()));
    let _server = serve(&node, address);
    let back = ["back node-1 answers again", "change node-1 meanwhile"];
    assert_eq!(watching.told(2), back);
    node.tell(event("two"));
    assert_eq!(watching.told(1), ["change node-1 two"]);
}

#[test]
fn a_member_that_is_added_while_it_watches_is_watched_too() {
    let (old, new) = (FakeNode::new(), FakeNode::new().with_number(2));
    let (known, added) = (old.serve(), new.serve());
    let cluster = Cluster::of(&[Some(known.local_addr())]);
    let file = cluster.file.to_str().unwrap();
    let mut watching = Watching::start(&["--config", file, "--output", "json"]);
    assert_eq!(watching.told(1), ["now node-1 "]);
    let admin = added.local_addr().to_string();
    old.set(|state| state.status.members = vec![member("node-2", Some(admin))]);
    let [leader, about] = [(); 2].map(|()| Some("node-2".to_owned()));
    let up = event("it is up");
    old.tell(Event { event: EventKind::MemberUp, from: None, leader, member: about, ..up });
    assert_eq!(watching.told(2), ["member_up node-1 it is up", "now node-2 "]);
    new.tell(event("so it is"));
    assert_eq!(watching.told(1), ["change node-2 so it is"]);
}

#[test]
fn the_columns_of_a_watch_are_as_wide_as_the_longest_name() {
    let server = FakeNode::new().serve();
    let cluster = Cluster::of(&[Some(server.local_addr()), None]);
    let text = fs::read_to_string(&cluster.file).unwrap();
    fs::write(&cluster.file, text.replace("node-2", "node-200")).unwrap();
    let mut watching = Watching::start(&["--config", cluster.file.to_str().unwrap()]);
    let mut lines = [(); 2].map(|()| watching.line().trim_end_matches('\n')[24..].to_owned()); // without their time
    lines.sort();
    let now = "  node-1    following               leader node-2    epoch 7";
    let silent = "  node-200  silent                  leader -         epoch -     ";
    assert!(lines[0] == now && lines[1].starts_with(silent), "{lines:#?}");
}
