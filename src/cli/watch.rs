//! `electd watch`: every node's events as they happen, one line each.
//!
//! | thread | does | ends with |
//! |---|---|---|
//! | main | prints | Ctrl-C, or nobody reads stdout |
//! | `follow-NODE` | listens to the events of its node | main, once that takes no more news |
//! | `stdout` | waits until nobody reads stdout | main |
//!
//! Main does not wait for the others: one may be waiting for a frozen node.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use crossbeam::channel::{self, Receiver, Sender};
use jiff::SignedDuration;

use crate::admin::client::{Client, ClientError};
use crate::node::events::EventKind;

use super::args::{OutputArgs, OutputFormat};
use super::ask::{NodeArgs, Targets};
use super::clocks::Clocks;
use super::error::CliError;
use super::exit::Exit;
use super::follow::{PAUSE, QUEUE, ends, spawn};
use super::gaps::Gaps;
use super::lock::lock_names;
use super::nobody::Nobody;
use super::print;
use super::screen;
use super::target::NodeTarget;
use super::tracker::{Tracker, TrackerNews};
use super::transition::{Line, now};
use super::{watch_lock, why_lock};

/// For how long lines are held back, so that those of several nodes are printed in order of time.
const HELD: Duration = Duration::from_millis(100);

/// Show each change as it happens, one line each, with its reason.
///
/// The first lines show each node's present state. There are also lines when a node stops or starts to answer, when
/// members and problems come and go, when a takeover is to come, when no node that answers knows a leader, and when clocks
/// differ by more than a second. A node that
/// restarts is listened to again, and no event is lost that it keeps. Ends with Ctrl-C.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd watch --config cluster.json              all nodes
  electd watch --config cluster.json --leaders    who comes and ceases to lead
  electd watch --admin 127.0.0.1:7201 --since 1h  one node, from an hour ago
  electd watch --lock vip-7                       who comes to hold a lock
  electd watch --config cluster.json --output json \\
      | jq 'select(.to == \"leading\")'")]
pub struct WatchArgs {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,

    /// Only lines of nodes that begin or stop to lead, or are to take over; and that nobody leads, why, and for how long.
    #[arg(long)]
    leaders: bool,

    /// Begin with the events of this time, such as 1h, as far as the nodes keep them: each its latest 1,024 since its
    /// start.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Duration>,

    /// Show each change of who holds this lock, and nothing else.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["leaders", "since"], add = lock_names())]
    lock: Option<String>,
}

/// A time such as 1h.
pub fn time(text: &str) -> Result<Duration, String> {
    let what = "write a time such as 30s, 15m or 24h";
    let time: SignedDuration = text.parse().map_err(|_| what.to_owned())?;
    Duration::try_from(time).map_err(|_| what.to_owned())
}

impl WatchArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if let Some(lock) = &self.lock {
            let lock = why_lock::named(lock)?;
            return watch_lock::run(&self.nodes, &lock, self.output.output);
        }
        let targets = self.nodes.targets()?;
        if targets.nodes.iter().all(|node| node.admin.is_none()) {
            let what =
                "nobody can be watched: no entry in \"members\" has an \"admin\" address; add them";
            return Err(CliError::new(Exit::Config, what));
        }
        let ends = ends()?;
        let (sender, answers) = channel::bounded(QUEUE);
        let from = self.since.map(|since| {
            now().saturating_sub(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
        });
        let watched = WatchedNodes {
            trackers: Vec::new(),
            client: targets.client(None),
            targets,
            sender,
            from,
            output: self.output.output,
            leaders: self.leaders,
            held: Vec::new(),
            nobody: Nobody::default(),
            gaps: Gaps::default(),
            clocks: Clocks::default(),
        };
        watched.show(&answers, &ends)
    }
}

/// News of a node, by its place among those watched.
type NodeNews = (usize, TrackerNews);

/// The nodes that are watched.
struct WatchedNodes {
    targets: Targets,
    /// One for each target.
    trackers: Vec<Tracker>,
    client: Client,
    sender: Sender<NodeNews>,
    /// The time of the first events to show, if past ones are wanted.
    from: Option<u64>,
    output: OutputFormat,
    leaders: bool,
    /// Lines that wait for earlier ones of other nodes.
    held: Vec<Line>,
    nobody: Nobody,
    gaps: Gaps,
    clocks: Clocks,
}

impl WatchedNodes {
    /// Prints lines until an end is signalled.
    fn show(mut self, answers: &Receiver<NodeNews>, ends: &Receiver<()>) -> Result<(), CliError> {
        let mut due = None;
        loop {
            let lines = self.watch()?;
            self.held.extend(lines);
            if due.is_some_and(|due| due <= Instant::now()) {
                self.print()?;
                due = None;
            }
            if due.is_none() && !self.held.is_empty() {
                due = Some(Instant::now() + HELD);
            }
            let wait = due.map_or(channel::never(), channel::at);
            channel::select! {
                recv(ends) -> _ => return self.print(),
                recv(wait) -> _ => {}
                recv(answers) -> answer => {
                    let Ok((place, news)) = answer else { return Ok(()) };
                    if let TrackerNews::Silent(ClientError::Other(sentence)) = &news {
                        return Err(CliError::new(Exit::Config, sentence));
                    }
                    self.watch_added(&news);
                    let mut lines = self.trackers[place].observe(&news);
                    lines.extend(self.clocks.look(place, &news));
                    self.held.extend(lines);
                }
            }
        }
    }

    /// Starts one thread for each target that has none yet and can be asked; returns the lines of the others.
    fn watch(&mut self) -> Result<Vec<Line>, CliError> {
        let mut lines = Vec::new();
        for (place, target) in self.targets.nodes.iter().enumerate().skip(self.trackers.len()) {
            let mut tracker = Tracker::new(target.name(), target.admin.is_some());
            lines.extend(tracker.introduce());
            self.trackers.push(tracker);
            let Some(address) = target.admin.clone() else { continue };
            let (client, sender, from) = (self.client.clone(), self.sender.clone(), self.from);
            let (target, name) = (target.clone(), format!("follow-{}", target.name()));
            let follower = Follower { place, target, address, client, from, last: None, sender };
            spawn(&name, move || follower.run())?;
        }
        Ok(lines)
    }

    /// Watches members that were added to the cluster from now on.
    fn watch_added(&mut self, news: &TrackerNews) {
        if let TrackerNews::Status(status) = news {
            let added: Vec<NodeTarget> = self.targets.added(status).collect();
            self.targets.nodes.extend(added);
        }
    }

    /// Prints the lines that were held back.
    fn print(&mut self) -> Result<(), CliError> {
        let lines = self.due();
        let names = self.trackers.iter().map(|tracker| tracker.name().len());
        let width = names.max().unwrap_or(0);
        for line in lines {
            match self.output {
                OutputFormat::Table => print::result(&line.within(screen::width(), width))?,
                OutputFormat::Json => print::result(&format!("{}\n", line.json()))?,
            }
        }
        Ok(())
    }

    /// The lines that were held back, in order of time, and what follows from them.
    fn due(&mut self) -> Vec<Line> {
        let mut held = std::mem::take(&mut self.held);
        held.sort_by_key(Line::at_ms);
        let is_complete = self.trackers.iter().all(Tracker::is_known);
        held.iter().for_each(|line| self.gaps.note(line));
        let mut lines = Vec::new();
        for line in held {
            let follows = self.nobody.observe(&line, is_complete);
            // A watch of one node has a line for its change already.
            let follows = follows.filter(|_| self.leaders || !self.targets.one);
            let settled = [line].into_iter().chain(follows).map(|line| self.gaps.settle(line));
            lines.extend(settled);
        }
        lines.retain(|line| !self.leaders || line.is_about_leadership());
        lines
    }
}

/// Listens to one node.
struct Follower {
    place: usize,
    target: NodeTarget,
    address: String,
    client: Client,
    from: Option<u64>,
    /// The id of the last event that was sent.
    last: Option<String>,
    sender: Sender<NodeNews>,
}

/// Nobody reads the news any more.
struct Unwanted;

impl Follower {
    fn run(mut self) {
        loop {
            let sent = self.listen().and_then(|error| self.tell(TrackerNews::Silent(error)));
            if sent.is_err() {
                return;
            }
            thread::sleep(PAUSE);
        }
    }

    fn tell(&self, news: TrackerNews) -> Result<(), Unwanted> {
        self.sender.send((self.place, news)).map_err(|_| Unwanted)
    }

    /// Sends the state of the node and then its events, until the connection ends; returns why it did.
    fn listen(&mut self) -> Result<ClientError, Unwanted> {
        let status = match self.target.status(&self.client) {
            Ok(status) => status,
            Err(error) => return Ok(error),
        };
        let last = self.last.take().or_else(|| match self.from {
            Some(_) => Some(format!("{}-0", status.incarnation)),
            None => status.last_event.clone(),
        });
        self.last.clone_from(&last);
        self.tell(TrackerNews::Status(Box::new(status)))?;
        let mut listener = match self.client.listen(&self.address, last.as_deref()) {
            Ok(listener) => listener,
            Err(error) => return Ok(error),
        };
        loop {
            let event = match listener.wait() {
                Ok(event) => event,
                Err(error) => return Ok(error),
            };
            self.last = Some(event.id.clone());
            if self.from.is_some_and(|from| event.at_ms < from) {
                continue;
            }
            let is_new_member = event.event == EventKind::MemberUp;
            self.tell(TrackerNews::Event(Box::new(event)))?;
            if is_new_member && let Ok(status) = self.target.status(&self.client) {
                self.tell(TrackerNews::Status(Box::new(status)))?; // the node may have been added just now
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::ask::tests::status;
    use crate::cli::transition::Kind;

    #[test]
    fn a_time_is_written_with_its_unit_and_is_not_past() {
        let what = Err("write a time such as 30s, 15m or 24h".to_owned());
        assert_eq!(time("90m"), Ok(Duration::from_secs(5400)));
        assert_eq!((time("-1h"), time("yesterday")), (what.clone(), what));
    }

    #[derive(clap::Parser)]
    struct Arguments {
        #[command(flatten)]
        nodes: NodeArgs,
    }

    /// A watch of these nodes, of which something is known if so.
    fn watched(one: bool, leaders: bool, known: bool) -> WatchedNodes {
        let asked = Arguments::parse_from(["electd", "--admin", "127.0.0.1:1"]).nodes.targets();
        let mut targets = asked.unwrap();
        targets.one = one;
        let mut trackers = vec![Tracker::new("a", true), Tracker::new("b", true)];
        let found = TrackerNews::Status(Box::new(status("a", None)));
        trackers.iter_mut().filter(|_| known).for_each(|tracker| drop(tracker.observe(&found)));
        WatchedNodes {
            trackers,
            client: targets.client(None),
            targets,
            sender: channel::bounded(1).0,
            from: None,
            output: OutputFormat::Json,
            leaders,
            held: Vec::new(),
            nobody: Nobody::default(),
            gaps: Gaps::default(),
            clocks: Clocks::default(),
        }
    }

    #[test]
    fn lines_are_told_in_order_of_time_with_what_follows_from_them() {
        let change = |at_ms, node: &str, to: &str| Line {
            node: Some(node.to_owned()),
            to: Some(to.to_owned()),
            leader: (to == "leading").then(|| node.to_owned()),
            ..Line::of_all(Kind::Change, at_ms)
        };
        let told = |one, leaders, known| {
            let mut watched = watched(one, leaders, known);
            watched.held = vec![
                change(3, "b", "leading"),
                change(1, "a", "electing"),
                change(2, "b", "electing"),
            ];
            let lines = watched.due();
            assert!(watched.held.is_empty(), "each is told once");
            lines.into_iter().map(|line| (line.at_ms, line.kind)).collect::<Vec<_>>()
        };
        let (all, nobody) = ([1, 2, 3].map(|at| (at, Kind::Change)), (1, Kind::NobodyLeads));
        assert_eq!(told(false, false, true), [all[0], nobody, all[1], all[2]]);
        assert_eq!(told(false, true, true), [nobody, all[2]]);
        assert_eq!(told(true, false, true), all, "its own line says so");
        assert_eq!(told(true, true, true), [nobody, all[2]]);
        assert_eq!(told(false, false, false), all, "not all nodes are known yet");
    }
}
