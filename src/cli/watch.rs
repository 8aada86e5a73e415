//! `electd watch`: every node's changes as they happen, a line each.
//!
//! | thread | does | ends with |
//! |---|---|---|
//! | main | prints | Ctrl-C, or nobody reads stdout |
//! | `ask-NODE` | asks its node ten times a second | main, which it has nothing to tell any more |
//! | `stdout` | waits until nobody reads stdout | main |
//!
//! Main does not wait for the others: one may be waiting for a frozen node.

use std::io;
use std::thread;
use std::time::Duration;

use clap::Args;
use crossbeam::channel::{self, Receiver, Sender};
use rustix::event::{PollFd, PollFlags, poll};

use crate::admin::client::{Client, ClientError};
use crate::node::status::Status;

use super::args::{Output, OutputArgs};
use super::ask::{NodeArgs, Target, Targets};
use super::error::CliError;
use super::exit::Exit;
use super::print;
use super::transition::{Line, Tracker};

/// Between two questions to a node. Changes between them are not lost: nodes keep the latest.
const PAUSE: Duration = Duration::from_millis(100);
/// Answers that wait to be printed.
const QUEUE: usize = 64;

/// Show each change of state as it happens, a line each, with its reason.
///
/// The first lines tell each node's state now. Nodes that stop or start to answer have lines too.
/// Ends with Ctrl-C.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd watch --config cluster.json                          all nodes
  electd watch --admin 127.0.0.1:7201                         one node
  electd watch --config cluster.json --output json | jq 'select(.to == \"leading\")'")]
pub struct Watch {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Watch {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        if targets.nodes.iter().all(|node| node.admin.is_none()) {
            let what =
                "nobody can be watched: no entry in \"members\" has an \"admin\" address; add them";
            return Err(CliError::new(Exit::Config, what));
        }
        let ends = ends()?;
        let (sender, answers) = channel::bounded(QUEUE);
        let watched = Watched { targets, trackers: Vec::new(), client: Client::new(None), sender };
        watched.show(&answers, &ends, self.output.output)
    }
}

/// What a node answered, by its place among those watched.
type Answer = (usize, Result<Status, ClientError>);

/// The nodes that are watched.
struct Watched {
    targets: Targets,
    /// One for each target.
    trackers: Vec<Tracker>,
    client: Client,
    sender: Sender<Answer>,
}

impl Watched {
    /// Prints lines until an end is signalled.
    fn show(
        mut self,
        answers: &Receiver<Answer>,
        ends: &Receiver<()>,
        output: Output,
    ) -> Result<(), CliError> {
        loop {
            for line in self.watch()? {
                self.print(&line, output)?;
            }
            channel::select! {
                recv(ends) -> _ => return Ok(()),
                recv(answers) -> answer => {
                    let Ok((place, answer)) = answer else { return Ok(()) };
                    self.note_added(&answer);
                    for line in self.trackers[place].observe(answer) {
                        self.print(&line, output)?;
                    }
                }
            }
        }
    }

    /// One thread for each target that has none yet and can be asked; what is to be told of the others.
    fn watch(&mut self) -> Result<Vec<Line>, CliError> {
        let mut lines = Vec::new();
        for (place, target) in self.targets.nodes.iter().enumerate().skip(self.trackers.len()) {
            let mut tracker = Tracker::new(target.name(), target.admin.is_some());
            lines.extend(tracker.introduce());
            self.trackers.push(tracker);
            let Some(address) = target.admin.clone() else { continue };
            let (client, sender) = (self.client.clone(), self.sender.clone());
            spawn(&format!("ask-{}", target.name()), move || {
                while sender.send((place, client.status(&address))).is_ok() {
                    thread::sleep(PAUSE);
                }
            })?;
        }
        Ok(lines)
    }

    /// Whoever was added to the cluster is watched from now on.
    fn note_added(&mut self, answer: &Result<Status, ClientError>) {
        if let Ok(status) = answer {
            let added: Vec<Target> = self.targets.added(status).collect();
            self.targets.nodes.extend(added);
        }
    }

    fn print(&self, line: &Line, output: Output) -> Result<(), CliError> {
        let names = self.trackers.iter().map(|tracker| tracker.name().len());
        match output {
            Output::Table => print::result(&format!("{}\n", line.text(names.max().unwrap_or(0)))),
            Output::Json => print::result(&format!("{}\n", line.json())),
        }
    }
}

/// Signals Ctrl-C, and that nobody reads stdout any more.
fn ends() -> Result<Receiver<()>, CliError> {
    let (end, ends) = channel::bounded(1);
    let interrupt = end.clone();
    // A signal that finds the channel full is one too many.
    let on_interrupt = move || {
        let _ = interrupt.try_send(());
    };
    ctrlc::set_handler(on_interrupt).map_err(|error| {
        CliError::new(Exit::Internal, format!("cannot watch for Ctrl-C: {error}"))
    })?;
    spawn("stdout", move || {
        // With no events asked for, poll returns on an error or a hang-up alone. Without this, the
        // watch of a quiet cluster would outlive its reader.
        let stdout = io::stdout();
        while poll(&mut [PollFd::new(&stdout, PollFlags::empty())], None)
            == Err(rustix::io::Errno::INTR)
        {}
        let _ = end.try_send(());
    })?;
    Ok(ends)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), CliError> {
    let thread = thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| CliError::new(Exit::Internal, format!("no thread: {error}")))
}
