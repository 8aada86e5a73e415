//! `electd drain` and `electd undrain`: whether a member may lead.

use clap::Args;
use serde_json::json;

use crate::admin::client::{Achieved, Client, ClientError, Recipient};

use super::args::{Output, OutputArgs};
use super::ask::{Asked, NodeArgs};
use super::error::CliError;
use super::exit::Exit;
use super::order::TokenArgs;
use super::print;

/// Keep a member from leading, restarts included.
///
/// A leader hands over first, and the command ends when it has: what it ran for the leader has ended then. The
/// member goes on voting and following. It is refused for a leader that nobody could succeed; a leader hears of a
/// drained follower with the next heartbeat.
///
/// Exit codes: 0 done; 1 refused; 69 the node does not answer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd drain --config cluster.json                          the node of this host
  electd drain --config cluster.json --node node-1 --for 1h --reason 'new disk'")]
pub struct Drain {
    #[command(flatten)]
    node: OneNode,
    /// For so long, such as 1h; without it until undrained.
    #[arg(long = "for", value_name = "TIME")]
    length: Option<String>,
    /// Why, for those who look at the status: at most 200 bytes.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

/// Let a member lead again that was drained, or that has resigned.
///
/// Exit codes: 0 done; 1 refused; 69 the node does not answer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd undrain --config cluster.json
  electd undrain --config cluster.json --node node-1")]
pub struct Undrain {
    #[command(flatten)]
    node: OneNode,
}

/// Which node is told, and how.
#[derive(Args, Debug)]
struct OneNode {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    token: TokenArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Drain {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Drain { node, length, reason } = self;
        node.tell(|client, to| client.drain(to, length.as_deref(), &reason))
    }
}

impl Undrain {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        self.node.tell(Client::undrain)
    }
}

impl OneNode {
    fn tell(
        self,
        command: impl Fn(&Client, Recipient<'_>) -> Result<Achieved, ClientError>,
    ) -> Result<(), CliError> {
        let targets = self.nodes.own()?;
        let client = self.token.client(&targets)?;
        let asked = targets.ask_for_any(&client)?;
        let answer = asked.iter().find_map(|Asked { target, answer }| {
            let (address, status) = (target.admin.as_deref()?, answer.as_ref().ok()?);
            let to = Recipient { address, cluster: &status.cluster, id: &status.node.id };
            Some(command(&client, to))
        });
        let answer = answer.unwrap_or(Err(ClientError::NotServed));
        let achieved = answer.map_err(|error| match &error {
            ClientError::Refused { code: 400, .. } => CliError::new(Exit::Usage, error),
            ClientError::Refused { code: 403 | 409, .. } => CliError::new(Exit::No, error),
            _ => CliError::new(Exit::Unavailable, error),
        })?;
        match self.output.output {
            Output::Json => {
                print::json(&json!({ "result": achieved.result, "successor": achieved.successor }))
            }
            Output::Table => print::result(&format!("{}\n", achieved.result)),
        }
    }
}
