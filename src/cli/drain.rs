//! `electd drain` and `electd undrain`: whether a member may lead.

use clap::Args;

use crate::admin::client::Client;

use super::error::CliError;
use super::exit::Exit;
use super::order::OrderArgs;

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
    order: OrderArgs,
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
    order: OrderArgs,
}

impl Drain {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let Drain { order, length, reason } = self;
        order.tell_one(Exit::Usage, |client, to| client.drain(to, length.as_deref(), &reason))
    }
}

impl Undrain {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        self.order.tell_one(Exit::Usage, Client::undrain)
    }
}
