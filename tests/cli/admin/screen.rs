//! What commands show on a terminal, and `electd watch` over the end of a connection.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use electd::admin::{Server, listen};
use electd::node::events::{Event, EventKind};
use serde_json::Value;

use super::cli::{Cluster, electd};
use super::fake::{FakeNode, TOKEN, event, member, status};
use super::pace::{TIMEOUT, end_of, until};
use crate::pty::{Terminal, on_terminal};

/// A process, ended with the test.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Running {
        Running(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_status_that_is_watched_is_drawn_in_place_as_far_as_the_terminal_is_high() {
    let node = FakeNode::new();
    let server = node.serve();
    let address = server.local_addr().to_string();
    let terminal = Terminal::of(4, 80);
    let mut command = electd(&["--admin", &address, "--watch"], "status");
    let _status = Running::start(on_terminal(&mut command).stdout(terminal.stdio()));
    let shows = |state: &str| until(state, || terminal.shows().contains(state));
    shows("\x1b[1m\x1b[36mfollowing\x1b[0m");
    node.set(|state| state.status = status("leading", Some("node-1")));
    shows("\x1b[1m\x1b[32mleading\x1b[0m");
    let shown = terminal.shows().replace("\r\r\n", "\r\n"); // a terminal returns by itself
    let mut frames = shown.strip_prefix("\x1b[2J\x1b[H").expect(&shown).split("\x1b[H");
    let first = frames.next().and_then(|frame| frame.strip_suffix("\x1b[K\r\n\x1b[J"));
    let first: Vec<&str> = first.expect(&shown).split("\x1b[K\r\n").collect();
    assert!(first.len() == 3 && first[0].starts_with("node        node-1"), "{first:?}");
}

/// By whichever terminal its errors go to.
#[test]
fn a_result_that_goes_into_a_pipe_has_no_colours_and_is_not_drawn_in_place() {
    let node = FakeNode::new();
    let server = node.serve();
    let address = server.local_addr().to_string();
    let piped = |args: &[&str]| {
        let terminal = Terminal::of(24, 30);
        let mut command = electd(&[&["--admin", &address], args].concat(), "status");
        let output = on_terminal(&mut command).stderr(terminal.stdio()).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, told) = piped(&[]);
    assert!(code == Some(0) && !told.contains('\x1b'), "{told}");
    assert!(told.lines().any(|line| line.chars().count() > 30), "each line is whole: {told}");
    assert_eq!(piped(&["--watch"]), (Some(2), String::new()));
    let terminal = Terminal::of(24, 200);
    let mut command = electd(&["--admin", &address], "status");
    let command = on_terminal(&mut command).stdout(terminal.stdio()).env("NO_COLOR", "1");
    assert_eq!(end_of(&mut Running::start(command).0).code(), Some(0));
    let lines: Vec<&str> = told.lines().collect();
    until("it shows all", || terminal.shows().lines().count() == lines.len());
    assert!(!terminal.shows().contains('\x1b'), "colours are not wanted: {}", terminal.shows());
}

/// The lines of an `electd watch` that runs until it is dropped.
struct Watching {
    lines: Receiver<String>,
    _watch: Running,
}

impl Watching {
    fn start(args: &[&str]) -> Watching {
        let mut watch = Running::start(electd(args, "watch").stdout(Stdio::piped()));
        let lines = BufReader::new(watch.0.stdout.take().unwrap()).lines();
        let (sender, heard) = channel();
        thread::spawn(move || lines.map_while(Result::ok).all(|line| sender.send(line).is_ok()));
        Watching { lines: heard, _watch: watch }
    }

    #[track_caller]
    fn next(&self) -> String {
        self.lines.recv_timeout(TIMEOUT).expect("a line")
    }

    /// The next lines, each as its kind, its node and its reason, in any order: some happened at once.
    #[track_caller]
    fn told(&self, count: usize) -> Vec<String> {
        let line = |line: String| {
            let line: Value = serde_json::from_str(&line).unwrap();
            let [kind, node, reason] = ["kind", "node", "reason"].map(|key| line[key].as_str());
            format!("{} {} {}", kind.unwrap(), node.unwrap_or("-"), reason.unwrap())
        };
        let mut told: Vec<String> = (0..count).map(|_| line(self.next())).collect();
        told.sort();
        told
    }
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
    let watching = Watching::start(&["--admin", &address.to_string(), "--output", "json"]);
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
    let watching = Watching::start(&["--config", file, "--output", "json"]);
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
    let watching = Watching::start(&["--config", cluster.file.to_str().unwrap()]);
    let mut lines = [(); 2].map(|()| watching.next()[24..].to_owned()); // without their time
    lines.sort();
    let now = "  node-1    following               leader node-2    epoch 7";
    let silent = "  node-200  silent                  leader -         epoch -     ";
    assert!(lines[0] == now && lines[1].starts_with(silent), "{lines:#?}");
}
