//! The commands by which an operator changes a node or a cluster. Those that give one order and print its result are
//! here as a whole: `electd drain`, `undrain`, `pause` and `resume`.

use clap::{Args, Subcommand};
use serde_json::json;

use crate::admin::client::{Order, how_long};

use super::error::CliError;
use super::exit::Exit;
use super::order::OrderArgs;
use super::{reload, resign, switchover};

// Without a doc comment: clap would show it instead of electd's own description.
#[derive(Subcommand, Debug)]
pub enum Operator {
    Reload(reload::ReloadArgs),
    Resign(resign::ResignArgs),
    Switchover(switchover::SwitchoverArgs),
    Drain(DrainArgs),
    Undrain(UndrainArgs),
    Pause(PauseArgs),
    Resume(ResumeArgs),
}

/// Keep a member from leading, restarts included.
///
/// A leader hands over first, and the command ends after that: what ran for the leader has ended then. The member
/// keeps voting and following. The node asks the leader first, which refuses to let the last member that may lead be
/// drained, also when several are drained at the same time; without a leader nobody can say so, and the command is refused
/// after a while. A member that is drained already keeps the end and the reason that a further
/// order does not give. The time of --for runs on whatever the wall clock is set to.
///
/// Exit codes: 0 done; 1 refused; 75 refused for now, try again; 69 the node does not answer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd drain --config cluster.json  the node of this host
  electd drain --config cluster.json --node node-1 --for 1h --reason 'new disk'")]
pub struct DrainArgs {
    #[command(flatten)]
    order: OrderArgs,
    /// For this long, such as 1h; without it until undrained.
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    length: Option<String>,
    /// The reason, shown in the status: at most 200 bytes.
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
    /// Even if no other member may lead, or no leader is there to say whether one may.
    #[arg(long)]
    force: bool,
}

/// Let a member lead again that was drained, or that has resigned.
///
/// Exit codes: 0 done; 1 refused; 75 refused for now, try again; 69 the node does not answer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd undrain --config cluster.json
  electd undrain --config cluster.json --node node-1")]
pub struct UndrainArgs {
    #[command(flatten)]
    order: OrderArgs,
}

/// Keep the leader of a cluster where it is, as long as it lives.
///
/// While the cluster is paused no member preempts the leader, and an unhealthy leader keeps leading. A leader that
/// dies or stops is replaced, and `resign` and `drain` still work. The pause outlives restarts and its leader, and
/// ends when its time is over or with `electd resume`. Any node can be asked: it passes the command on to the leader.
///
/// Exit codes: 0 done; 1 refused; 75 refused for now, try again; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd pause --config cluster.json --for 30m
  electd pause --config cluster.json                   until `electd resume`")]
pub struct PauseArgs {
    #[command(flatten)]
    order: OrderArgs,
    /// For this long, such as 30m; without it until resumed.
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    length: Option<String>,
}

/// End the pause of a cluster.
///
/// Exit codes: 0 done; 1 refused; 75 refused for now, try again; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd resume --config cluster.json")]
pub struct ResumeArgs {
    #[command(flatten)]
    order: OrderArgs,
}

/// A time that an order can last, as the node is to read it.
fn lasting(text: &str) -> Result<String, String> {
    how_long(text).map(|_| text.to_owned())
}

impl Operator {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        match self {
            Operator::Reload(reload) => reload.run(),
            Operator::Resign(resign) => resign.run(),
            Operator::Switchover(switchover) => switchover.run(),
            Operator::Drain(DrainArgs { order, length, reason, force }) => {
                let mut body = json!({ "for": length, "reason": reason });
                if force {
                    body["force"] = true.into(); // an earlier version does not know it
                }
                let drain = Order::post("drain", &body);
                order.tell_one(Exit::Usage, &drain.ending_a_leadership())
            }
            Operator::Undrain(UndrainArgs { order }) => {
                order.tell_one(Exit::Usage, &Order::post("undrain", &json!({})))
            }
            Operator::Pause(PauseArgs { order, length }) => {
                order.tell_any(&Order::post("pause", &json!({ "for": length })))
            }
            Operator::Resume(ResumeArgs { order }) => {
                order.tell_any(&Order::post("resume", &json!({})))
            }
        }
    }
}
