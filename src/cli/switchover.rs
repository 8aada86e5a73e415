//! `electd switchover`: an operator chooses the member that leads, whatever its rank.

use clap::Args;
use serde_json::json;

use crate::admin::client::Order;

use super::args::member_names;
use super::error::CliError;
use super::order::{OrderArgs, explained, give};
use super::resign::{await_leader, tell_leader, unseen};

/// Let a member lead, whatever its rank.
///
/// The leader hands over to the member named, once its job has ended, and nobody preempts that member: until it stops
/// leading, or `electd switchover --clear`. Then leadership goes by rank again. The command ends when the member is
/// seen to lead. It is refused if the member is down, drained, unhealthy, a witness or an observer, and while another
/// switchover is in progress. If the member leads already, nothing changes, and a member that ranks higher may still
/// preempt it: `electd pause` prevents that. Any node can be asked: it passes the command on to the leader.
///
/// Exit codes: 0 the member leads, or no switchover is in force any more; 1 refused, or the member was not seen to
/// lead in time; 75 refused for now, try again; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd switchover --config cluster.json --to node-2
  electd switchover --config cluster.json --clear  leadership goes by rank again")]
pub struct SwitchoverArgs {
    #[command(flatten)]
    order: OrderArgs,

    /// The member that is to lead.
    #[arg(long, value_name = "NAME", required_unless_present = "clear", add = member_names())]
    to: Option<String>,

    /// End the switchover: a member that ranks higher takes over again.
    #[arg(long, conflicts_with = "to")]
    clear: bool,
}

impl SwitchoverArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let SwitchoverArgs { order, to, .. } = self;
        let post = |body| Order::post("switchover", &body).ending_a_leadership();
        let Some(name) = to else { return order.tell_any(&post(json!({ "clear": true }))) };
        let (client, targets) = order.reach()?;
        let asked = targets.ask_for_any(&client)?;
        let achieved = give(&client, &asked, &post(json!({ "to": name })), &order.flags());
        let achieved = achieved.map_err(|error| explained(error, &asked, Some(&name)))?;
        let leads = await_leader(&client, &targets, |leader| leader.name == name);
        let leader = leads.ok_or_else(|| unseen(&achieved.result, &name, &order.flags()))?;
        tell_leader(&order.output, &achieved.result, &leader)
    }
}
