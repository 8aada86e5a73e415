//! What commands show on a terminal: lines that fit it, in colours, and a status that is drawn again and again.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use electd::node::history::Entry;
use rustix::process::{Pid, Signal, kill_process};

use super::cli::{Cluster, electd};
use super::elections::record;
use super::fake::{FakeNode, status};
use super::pace::{end_of, until, within};
use crate::pty::{Terminal, on_terminal};

/// A program that prints to a terminal of so many columns. It ends with the test.
struct Printing {
    program: Child,
    terminal: Terminal,
}

impl Printing {
    fn run(mut command: Command, columns: u16) -> Printing {
        let terminal = Terminal::of(40, columns);
        let command = on_terminal(&mut command).stdout(terminal.stdio()).stderr(Stdio::null());
        Printing { program: command.spawn().unwrap(), terminal }
    }

    fn shown(&self) -> String {
        self.terminal.shows().replace("\r\n", "\n")
    }

    /// All that it shows, when the program has ended.
    fn whole(mut self) -> String {
        end_of(&mut self.program);
        self.terminal.all()
    }
}

impl Drop for Printing {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
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
    kill_process(Pid::from_child(&terminal.program), Signal::INT).unwrap();
    assert_eq!(end_of(&mut terminal.program).code(), Some(0));
}

/// A line that is too long goes on below its text, which each command begins elsewhere.
#[test]
fn what_is_told_fits_the_terminal() {
    let node = FakeNode::new();
    let server = node.serve();
    let led = Entry {
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
