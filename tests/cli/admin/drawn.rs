//! What commands show on a terminal: lines that fit it, in colours, and a status that is drawn again and again.

use std::process::{Command, Stdio};
use std::time::Duration;

use electd::node::history::HistoryEntry;
use rustix::process::{Pid, Signal, kill_process};

use super::cli::{Cluster, electd};
use super::elections::record;
use super::fake::{FakeNode, status};
use super::pace::{Running, end_of, until, within};
use crate::pty::{Terminal, on_terminal};

/// A program that prints to a terminal of so many columns.
struct Printing {
    program: Running,
    terminal: Terminal,
}

impl Printing {
    fn run(mut command: Command, columns: u16) -> Printing {
        let terminal = Terminal::of(40, columns);
        let command = on_terminal(&mut command).stdout(terminal.stdio()).stderr(Stdio::null());
        Printing { program: Running(command.spawn().unwrap()), terminal }
    }

    fn shown(&self) -> String {
        self.terminal.shows().replace("\r\n", "\n")
    }

    /// All that it shows, when the program has ended.
    fn whole(mut self) -> String {
        end_of(&mut self.program.0);
        self.terminal.all()
    }
}

#[test]
fn a_status_that_is_watched_is_drawn_in_place_as_far_as_the_terminal_is_high() {
    let node = FakeNode::new();
    let server = node.serve();
    let address = server.local_addr().to_string();
    let terminal = Terminal::of(4, 80);
    let mut command = electd(&["--admin", &address, "--watch"], "status");
    let _status = Running(on_terminal(&mut command).stdout(terminal.stdio()).spawn().unwrap());
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
    assert_eq!(end_of(&mut Running(command.spawn().unwrap()).0).code(), Some(0));
    let lines: Vec<&str> = told.lines().collect();
    until("it shows all", || terminal.shows().lines().count() == lines.len());
    assert!(!terminal.shows().contains('\x1b'), "colours are not wanted: {}", terminal.shows());
}

#[test]
fn a_status_that_is_watched_is_drawn_again_every_second_until_it_is_interrupted() {
    let node = FakeNode::new();
    let server = node.serve();
    let args = ["--admin", &server.local_addr().to_string(), "--watch", "--verbose"];
    let mut terminal = Printing::run(electd(&args, "status"), 80);
    until("its first status is shown", || {
        terminal.shown().contains("guarantee   one leader while")
    });
    assert!(terminal.shown().contains("\x1b[Hnode        node-1, electd "), "{}", terminal.shown());
    node.set(|state| state.status = status("electing", None));
    within(Duration::from_secs(8), "the next one is shown", || {
        terminal.shown().contains("leader      none known")
    });
    kill_process(Pid::from_child(&terminal.program.0), Signal::INT).unwrap();
    assert_eq!(end_of(&mut terminal.program.0).code(), Some(0));
}

/// A line that is too long goes on below its text, which each command begins elsewhere.
#[test]
fn what_is_told_fits_the_terminal() {
    let node = FakeNode::new();
    let server = node.serve();
    let led = HistoryEntry {
        leader: "node-2".to_owned(),
        epoch: 7,
        since_ms: 1_700_000_000_000,
        until_ms: Some(1_700_000_060_000),
        lasts: false,
        before: None,
        before_epoch: None,
        cause: "start".to_owned(),
        reason: "it started".to_owned(),
        leaderless_ms: 0,
        job_late_ms: None,
        ended: None,
    };
    node.set(|state| (state.history, state.record) = (vec![led].into(), record(2)));
    let address = server.local_addr().to_string();
    let cluster = Cluster::of(&[Some(server.local_addr())]);
    let (one, all) = (["--admin", &address], ["--config", cluster.file.to_str().unwrap()]);
    let shown = |name: &str, to: [&str; 2], columns: u16| {
        let more = if name == "status" { &["--verbose"][..] } else { &[] };
        Printing::run(electd(&[&to, more].concat(), name), columns).whole()
    };
    let details = shown("status", one, 40);
    assert!(
        details.contains("\nguarantee   one leader while all reach\n            each other\n"),
        "{details}"
    );
    assert!(details.contains("\nstate       \x1b[1m\x1b[36mfollowing\x1b[0m\n"), "{details}");
    let rows = shown("status", all, 40);
    let headline = "OK: node-2 leads in epoch 7; no further\n  failure tolerated\n";
    assert!(rows.starts_with(headline), "{rows}");
    let why = "node-1 does not lead: no node that\n   answers knows more of it\n";
    assert_eq!(shown("why", one, 40), why);
    let history = "\
LEADER  EPOCH  FROM                      FOR  NOBODY BEFORE
node-2  7      2023-11-14T22:13:20.000Z  1m   -
  no leader was known before

1 leadership; between them nobody led for 0 ms in all
";
    assert_eq!(shown("history", one, 80), history);
    let trace = shown("trace", one, 50);
    let rest = " ".repeat(23);
    assert!(trace.lines().any(|line| line.starts_with(&rest)), "{trace}");
    assert!(trace.lines().all(|line| line.chars().count() <= 50), "{trace}");
}
