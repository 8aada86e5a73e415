//! `electd record`: what a node recorded of its last elections, to be kept.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::ask::NodeArgs;
use super::error::CliError;
use super::exit::Exit;
use super::print;

/// Write down what a node recorded of its last elections.
///
/// A node forgets its record when it ends, and its older elections when there are many. Keep the records of all nodes of
/// an incident, and show them together by `electd trace --file`. There is no secret in a record.
///
/// Exit codes: 0 done; 1 the file is there already, or cannot be written; 69 the node does not answer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd record --config cluster.json --out a.json  that of this host's node
  electd record --config cluster.json --node b > b.json
  electd trace --file a.json b.json                 shows them together")]
pub struct Record {
    #[command(flatten)]
    nodes: NodeArgs,

    /// The file, which must not be there yet. Without it: stdout.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl Record {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.own()?;
        let client = targets.client(None);
        let asked = targets.ask_for_any(&client)?;
        let address = asked.iter().find_map(|asked| asked.target.admin.as_deref());
        let told = client.record(address.unwrap_or_default());
        let record = told.map_err(|error| CliError::new(Exit::Unavailable, error))?;
        let text =
            serde_json::to_string(&record).map_err(|error| CliError::new(Exit::Internal, error))?;
        let Some(out) = self.out else { return print::result(&format!("{text}\n")) };
        let mut options = OpenOptions::new();
        let written = options.write(true).create_new(true).open(&out);
        written.and_then(|mut file| writeln!(file, "{text}")).map_err(|error| {
            CliError::new(Exit::No, format!("{} cannot be written: {error}", out.display()))
        })?;
        let (count, node) = (record.entries.len(), &record.node);
        print::message(&format!("{}: {count} entries of {node}", out.display()));
        Ok(())
    }
}
