//! `electd resign`: the leader hands over.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;

use crate::admin::client::{Achieved, Client, ClientError};
use crate::node::status::LeaderStatus;

use super::args::{Output, OutputArgs};
use super::ask::{Asked, NodeArgs, Targets, newest_leader};
use super::error::CliError;
use super::exit::Exit;
use super::print;

/// How long the next leader is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at who leads.
const PAUSE: Duration = Duration::from_millis(20);

/// Let the leader hand over to another member.
///
/// Any node can be asked: it passes the command on to the leader. Nodes take commands from their
/// own host, and from elsewhere with the token of admin_token_file. The command ends when another
/// leader is seen, and says which. Where members take over by rank ("preempt": "always"), a higher
/// one that lives may do so again at once.
///
/// Exit codes: 0 another leads; 1 refused, or no other leader in time; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd resign --config cluster.json                  the leader chooses who is next
  electd resign --config cluster.json --to node-2
  electd resign --admin 127.0.0.1:7201 --output json | jq .leader.name")]
pub struct Resign {
    #[command(flatten)]
    nodes: NodeArgs,

    /// The member that is to lead next.
    #[arg(long, value_name = "NAME")]
    to: Option<String>,

    /// The file with the token. Without it: admin_token_file of the configuration.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,
}

impl Resign {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let client = Client::new(self.token(&targets)?);
        let asked = targets.ask_for_any(&client)?;
        let achieved = command(&client, &asked, self.to.as_deref())?;
        let leader = successor(&client, &targets, newest_leader(&asked)).ok_or_else(|| {
            let seconds = PATIENCE.as_secs();
            let sentence = &achieved.result;
            CliError::new(
                Exit::No,
                format!("{sentence}; but no other leader was seen for {seconds} s: look at `electd watch`"),
            )
        })?;
        match self.output.output {
            Output::Json => print::json(&json!({ "result": achieved.result, "leader": leader })),
            Output::Table => print::result(&format!(
                "{}\n{} leads in epoch {}\n",
                achieved.result, leader.name, leader.epoch
            )),
        }
    }

    fn token(&self, targets: &Targets) -> Result<Option<String>, CliError> {
        let configured =
            targets.config.as_ref().and_then(|config| config.admin_token_file.as_deref());
        match (&self.token_file, configured) {
            (Some(file), _) => read_token(file).map(Some),
            // Not everybody may read it, and on a node's own host nobody needs it.
            (None, Some(file)) => Ok(read_token(file).ok()),
            (None, None) => Ok(None),
        }
    }
}

fn read_token(file: &Path) -> Result<String, CliError> {
    let token = std::fs::read_to_string(file).map_err(|error| {
        CliError::new(
            Exit::Usage,
            format!("--token-file {}: {error}; name a file that you may read", file.display()),
        )
    })?;
    Ok(token.trim().to_owned())
}

/// Gives the command to the first node that takes it from here.
fn command(client: &Client, asked: &[Asked], to: Option<&str>) -> Result<Achieved, CliError> {
    let mut refusal = CliError::new(Exit::Unavailable, "no node answers");
    for Asked { target, answer } in asked {
        let (Some(address), Ok(_)) = (&target.admin, answer) else {
            continue;
        };
        match client.resign(address, to) {
            Ok(achieved) => return Ok(achieved),
            // This one does not take commands from here; the next may be on this host.
            Err(error @ ClientError::Refused { code: 403, .. }) => {
                refusal = CliError::new(Exit::No, error)
            }
            Err(error @ ClientError::Refused { .. }) => return Err(CliError::new(Exit::No, error)),
            // It may have been carried out all the same, so nobody else is asked.
            Err(error) => return Err(CliError::new(Exit::Unavailable, error)),
        }
    }
    Err(refusal)
}

/// The leader after this one, once it is seen.
fn successor(
    client: &Client,
    targets: &Targets,
    before: Option<&LeaderStatus>,
) -> Option<LeaderStatus> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let asked = targets.ask(client);
        let leader = newest_leader(&asked);
        if let Some(leader) =
            leader.filter(|leader| Some(leader.epoch) > before.map(|before| before.epoch))
        {
            return Some(leader.clone());
        }
        thread::sleep(PAUSE);
    }
    None
}
