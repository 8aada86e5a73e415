//! `electd trace`: an election of the cluster, merged from what its nodes recorded.

pub(super) mod files;

use std::path::PathBuf;
use std::thread::{self, ScopedJoinHandle};

use clap::{Args, ValueEnum};

use super::ask::{AskedNode, NodeArgs};
use super::error::CliError;
use super::exit::Exit;
use super::{print, screen};
use crate::admin::client::{Client, ClientError};
use crate::node;
use crate::trace::election::{Election, INDENT};
use crate::trace::html::Html;
use crate::trace::merge::{TimedRecord, Which, merge};
use crate::trace::svg::Svg;

/// Show an election of the cluster, with every message of it.
///
/// Every node keeps its last elections in memory. All nodes are asked, and their answers are merged: what brought
/// something about comes before it, whatever the clocks of the hosts show. The messages of the algorithm are counted,
/// beside how many it takes by the formulas.
///
/// What no node recorded is said and not guessed: a member that is down, or was restarted, tells nothing of what it did
/// before, and its messages are shown as far as the others know them.
///
/// Exit codes: 0 done; 1 no node that answers recorded such an election; 65 a file is no record; 66 a file cannot be
/// read; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd trace --config cluster.json                why did it fail over?
  electd trace --config cluster.json --epoch 7      the election of epoch 7
  electd trace --output html > election.html        a page to step through it
  electd trace --output json | jq .messages         how many messages it took
  electd trace --node node-1                        as this node alone saw it
  electd trace --file a.json b.json                 see `electd record`

`electd history` lists the epochs.")]
pub struct TraceArgs {
    #[command(flatten)]
    nodes: NodeArgs,
    /// The last election, which is what is shown without this flag, too; while nobody leads, what the nodes do since.
    #[arg(long, conflicts_with = "epoch")]
    last: bool,
    /// The election that this epoch came of.
    #[arg(long, value_name = "E")]
    epoch: Option<u64>,
    /// Ask nobody, and read these records of nodes, of one cluster.
    #[arg(
        long, value_name = "FILE", num_args = 1..,
        conflicts_with_all = ["config", "node", "admin", "timeout"]
    )]
    file: Vec<PathBuf>,

    /// How it is shown: as lines for people, as events for programs (docs/trace.md), or as a drawing of at most 40
    /// members.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    output: TraceForm,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum TraceForm {
    /// A line for each event, and a summary.
    #[default]
    Text,
    /// The events with their causes, and the figures.
    Json,
    /// A sequence diagram.
    Svg,
    /// The diagram in a file for a browser, to step through, play, and see what caused what.
    Html,
}

impl TraceArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let which = self.epoch.map_or(Which::Last, Which::Epoch);
        let records = if self.file.is_empty() {
            let targets = self.nodes.targets()?;
            let client = targets.client(None);
            ask(&targets.ask_for_any(&client)?, &client)
        } else {
            files::read(&self.file)?
        };
        let merged = merge(&records, which).ok_or_else(|| nobody_knows(which))?;
        let cluster = records.first().map_or("", |timed| timed.record.cluster.as_str());
        let began = node::moment_of(merged.began_ns);
        let shown = Election::new(merged, cluster, began);
        let is_drawn = matches!(self.output, TraceForm::Svg | TraceForm::Html);
        if let Some(why) = shown.unfit().filter(|_| is_drawn) {
            return Err(CliError::new(Exit::Usage, why));
        }
        match self.output {
            TraceForm::Text => print::result(&screen::on_terminal(&shown.text(), INDENT)),
            TraceForm::Json => print::json(&shown.object()),
            TraceForm::Svg => print::result(&Svg(&shown.diagram()).to_string()),
            TraceForm::Html => print::result(&Html(&shown.diagram()).to_string()),
        }
    }
}

/// Asks all nodes that answer for their records, at the same time.
fn ask(asked: &[AskedNode], client: &Client) -> Vec<TimedRecord> {
    let answers: Vec<_> = thread::scope(|scope| {
        let asking = asked.iter().map(|asked| {
            let thread =
                thread::Builder::new().spawn_scoped(scope, move || record_of(asked, client));
            (asked, thread.ok())
        });
        let asking: Vec<_> = asking.collect(); // at the same time
        let answer = |(asked, thread): (_, Option<ScopedJoinHandle<'_, _>>)| {
            let answer = match thread {
                Some(thread) => thread.join().ok()?,
                None => record_of(asked, client), // the system has no more threads
            };
            Some((asked, answer))
        };
        asking.into_iter().filter_map(answer).collect()
    });
    let mut records = Vec::new();
    for (asked, answer) in answers {
        match answer {
            Ok(record) => records.push(record),
            Err(ClientError::Refused { code: 404, .. }) => print::message(&format!(
                "{}: its version of electd records no elections; upgrade it",
                asked.name()
            )),
            Err(error) => print::message(&format!("{}: {error}", asked.name())),
        }
    }
    records
}

/// The record of a node that answered.
fn record_of(asked: &AskedNode, client: &Client) -> Result<TimedRecord, ClientError> {
    asked.answer.as_ref().map_err(Clone::clone)?;
    client.timed_record(asked.target.admin.as_deref().ok_or(ClientError::NotServed)?)
}

fn nobody_knows(which: Which) -> CliError {
    let what = match which {
        Which::Last | Which::All => {
            "no node that answers has recorded an election since its start".to_owned()
        }
        Which::Epoch(epoch) => format!(
            "no node that answers has recorded the election of epoch {epoch}: `electd history` lists the epochs, and a \
             node that is restarted forgets those before"
        ),
    };
    CliError::new(Exit::No, what)
}
