//! `electd pause` and `electd resume`: whether leadership may move while an operator works on a cluster.

use clap::Args;

use crate::admin::client::Client;

use super::error::CliError;
use super::order::OrderArgs;

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
    order: OrderArgs,
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
    order: OrderArgs,
}

impl Pause {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Pause { order, length } = self;
        order.tell_any(|client, to| client.pause(to, length.as_deref()))
    }
}

impl Resume {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        self.order.tell_any(Client::resume)
    }
}
