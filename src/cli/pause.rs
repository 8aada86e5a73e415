//! `electd pause` and `electd resume`: whether leadership may move while an operator works on a cluster.

use clap::Args;
use serde_json::json;

use crate::admin::client::{Achieved, Client, ClientError, Recipient};

use super::args::{Output, OutputArgs};
use super::ask::NodeArgs;
use super::error::CliError;
use super::order::{TokenArgs, give};
use super::print;

/// Keep the leader of a cluster where it is, as long as it lives.
///
/// While the cluster is paused no member preempts the leader, and an unhealthy leader leads on. A leader that dies or
/// stops is replaced, and `resign` and `drain` count. The pause outlives restarts and its leader, and ends when its time is
/// over or with `electd resume`. Any node can be asked: it passes the command on to the leader.
///
/// Exit codes: 0 done; 1 refused; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd pause --config cluster.json --for 30m
  electd pause --config cluster.json                   until `electd resume`")]
pub struct Pause {
    #[command(flatten)]
    cluster: Cluster,
    /// For so long, such as 30m; without it until resumed.
    #[arg(long = "for", value_name = "TIME")]
    length: Option<String>,
}

/// End the pause of a cluster.
///
/// Exit codes: 0 done; 1 refused; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd resume --config cluster.json")]
pub struct Resume {
    #[command(flatten)]
    cluster: Cluster,
}

/// Which cluster is told, and how.
#[derive(Args, Debug)]
struct Cluster {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    token: TokenArgs,
    #[command(flatten)]
    output: OutputArgs,
}

impl Pause {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Pause { cluster, length } = self;
        cluster.tell(|client, to| client.pause(to, length.as_deref()))
    }
}

impl Resume {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        self.cluster.tell(Client::resume)
    }
}

impl Cluster {
    fn tell(
        self,
        command: impl Fn(&Client, Recipient<'_>) -> Result<Achieved, ClientError>,
    ) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let client = self.token.client(&targets)?;
        let asked = targets.ask_for_any(&client)?;
        let achieved = give(&asked, |to| command(&client, to))?;
        match self.output.output {
            Output::Json => print::json(&json!({ "result": achieved.result })),
            Output::Table => print::result(&format!("{}\n", achieved.result)),
        }
    }
}
