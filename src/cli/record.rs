//! `electd record`: what a node recorded of late, to be kept.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::ask::NodeArgs;
use super::error::CliError;
use super::exit::Exit;
use super::print;
use crate::admin::client::ClientError;
use crate::flight::document::Recording;

/// Write down what a node recorded of late.
///
/// That is its last elections, and all that it took and put out in its last minutes.
///
/// A node forgets its record when it ends, and what is older when there is much. Keep the recordings of all nodes of
/// an incident. `electd trace --file` shows their elections together, and `electd replay` runs what one node took
/// through this electd again. There is no secret in a recording.
///
/// Exit codes: 0 done; 1 the file is there already, or cannot be written; 69 the node does not answer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd record --config cluster.json --out a.json  that of this host's node
  electd record --config cluster.json --node b > b.json
  electd trace --file a.json b.json                 shows them together
  electd replay a.json                              does this electd the same?")]
pub struct RecordArgs {
    #[command(flatten)]
    nodes: NodeArgs,

    /// The file, which must not be there yet. Without it: stdout.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl RecordArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.own()?;
        let client = targets.client(None);
        let asked = targets.ask_for_any(&client)?;
        let address = asked.iter().find_map(|asked| asked.target.admin.as_deref());
        let text = client.recording(address.unwrap_or_default()).map_err(|error| {
            let old = matches!(error, ClientError::Refused { code: 404, .. });
            let hint = if old { "; its version of electd records nothing: upgrade it" } else { "" };
            CliError::new(Exit::Unavailable, format!("{error}{hint}"))
        })?;
        let recording = Recording::read(text.as_bytes()).map_err(|why| {
            CliError::new(Exit::Unavailable, format!("what the node answered {why}"))
        })?;
        let Some(out) = self.out else { return print::result(&format!("{text}\n")) };
        let mut options = OpenOptions::new();
        let written = options.write(true).create_new(true).open(&out);
        written.and_then(|mut file| writeln!(file, "{text}")).map_err(|error| {
            CliError::new(Exit::No, format!("{} cannot be written: {error}", out.display()))
        })?;
        let (count, node) = (recording.record.entries.len(), &recording.record.node);
        let entries = if count == 1 { "entry" } else { "entries" };
        print::message(&format!("{}: {count} {entries} of {node}, and its flight", out.display()));
        Ok(())
    }
}
