//! `electd resign`: the leader hands over.

use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use electd_facts::hint::{ClusterFlags, Hint};
use electd_facts::majority;
use serde_json::json;

use crate::admin::client::{Client, Order};
use crate::node::status::{LeaderStatus, Status};

use super::args::{OutputArgs, OutputFormat, member_names};
use super::ask::{AskedNode, NodeArgs, Targets, answers, newest_leader};
use super::error::CliError;
use super::exit::Exit;
use super::order::{TokenArgs, explained, give};
use super::print;

/// How long to wait for the next leader.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The interval of looking who leads.
const PAUSE: Duration = Duration::from_millis(20);

/// Let the leader hand over to another member.
///
/// Any node can be asked: it passes the command on to the leader. Nodes take commands by their control socket from
/// their own user and root, and over TCP with the token of admin_token_file. The command ends when another leader leads
/// and most nodes follow it, and prints it; a command that the old leader ran has ended then. The old leader does not
/// lead again while another eligible member lives, until it restarts or `electd undrain` lets it; with "preempt": "never"
/// also until the next leader is steady, which is after 16 * failure.
///
/// Exit codes: 0 another leads; 1 refused, or no other leader in time; 75 refused for now, try again;
/// 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd resign --config cluster.json  the leader chooses who is next
  electd resign --config cluster.json --to node-2
  electd resign --admin 127.0.0.1:7201 --output json | jq .leader.name")]
pub struct ResignArgs {
    #[command(flatten)]
    nodes: NodeArgs,

    /// The member that is to lead next. It must be the highest of the others that may lead, as a higher one would
    /// win; the command fails if it is not.
    #[arg(long, value_name = "NAME", add = member_names())]
    to: Option<String>,

    #[command(flatten)]
    token: TokenArgs,

    #[command(flatten)]
    output: OutputArgs,
}

impl ResignArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let client = self.token.client(&targets)?;
        let asked = targets.ask_for_any(&client)?;
        let order = Order::post("resign", &json!({ "to": self.to })).ending_a_leadership();
        let achieved = give(&client, &asked, &order, &self.nodes.flags())
            .map_err(|error| explained(error, &asked, self.to.as_deref()))?;
        let before = newest_leader(&asked).map(|leader| leader.epoch);
        let later = await_leader(&client, &targets, |leader| Some(leader.epoch) > before);
        let leader =
            later.ok_or_else(|| unseen(&achieved.result, "another member", &self.nodes.flags()))?;
        tell_leader(&self.output, &achieved.result, &leader)
    }
}

/// The result of a command, and the leader that was seen after it.
pub fn tell_leader(
    output: &OutputArgs,
    achieved: &str,
    leader: &LeaderStatus,
) -> Result<(), CliError> {
    match output.output {
        OutputFormat::Json => print::json(&json!({ "result": achieved, "leader": leader })),
        OutputFormat::Table => {
            print::result(&format!("{achieved}\n{} leads in epoch {}\n", leader.name, leader.epoch))
        }
    }
}

/// A command was carried out, but no leader was seen after it.
pub fn unseen(achieved: &str, who: &str, flags: &ClusterFlags) -> CliError {
    let seconds = TIMEOUT.as_secs();
    let what = format!(
        "{achieved}; but {who} was not seen to lead for {seconds} s: look at {}",
        Hint::Watch.by(flags)
    );
    CliError::new(Exit::No, what)
}

/// The first steady leader that fits. All nodes are asked again and again: most have to follow it, and no node has an event
/// for that.
pub fn await_leader(
    client: &Client,
    targets: &Targets,
    fits: impl Fn(&LeaderStatus) -> bool,
) -> Option<LeaderStatus> {
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        let asked = targets.ask(client);
        if let Some(leader) = steady_leader(&asked).filter(|leader| fits(leader)) {
            return Some(leader.clone());
        }
        thread::sleep(PAUSE);
    }
    None
}

/// The newest leader, if it says itself that it leads, or does not answer, and most nodes that answer follow it: one that
/// only the old leader names may yet fail to lead.
fn steady_leader(asked: &[AskedNode]) -> Option<&LeaderStatus> {
    let leader = newest_leader(asked)?;
    let answers = || answers(asked);
    let names = |one: &&Status| {
        one.named_leader().is_some_and(|own| (&own.id, own.epoch) == (&leader.id, leader.epoch))
    };
    let itself = answers().find(|one| one.node.id == leader.id);
    let is_named = majority::is_reached(answers().filter(names).count(), answers().count());
    let is_steady = itself.is_none_or(Status::leads) && is_named;
    is_steady.then_some(leader)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent};

    #[test]
    fn a_leader_is_steady_when_it_leads_and_most_follow_it() {
        let new = Some(("b", 8));
        let mut asked = [following("a", Some(("c", 7))), following("b", new), following("c", new)];
        let found = |asked: &[AskedNode]| steady_leader(asked).map(|leader| leader.name.clone());
        assert_eq!(found(&asked), None, "b itself does not say so");
        asked[1].answer.as_mut().unwrap().state = "leading".to_owned();
        assert_eq!(found(&asked).as_deref(), Some("b"));
        asked[2] = following("c", None);
        assert_eq!(found(&asked), None, "only b says so");
        let all = [silent("b"), following("c", new)];
        assert_eq!(found(&all).as_deref(), Some("b"), "all that answer");
    }

    /// By its id and its epoch: a leader that lost and won again is not the same leadership.
    #[test]
    fn who_follows_an_earlier_leadership_does_not_follow_this_one() {
        let mut asked = [
            following("b", Some(("b", 8))),
            following("a", Some(("b", 7))),
            following("c", Some(("b", 8))),
        ];
        asked[0].answer.as_mut().unwrap().state = "leading".to_owned();
        assert_eq!(steady_leader(&asked[..2]), None, "half of two are not most");
        assert_eq!(steady_leader(&asked).map(|leader| leader.epoch), Some(8));
        asked[0].answer.as_mut().unwrap().stalled = true;
        assert_eq!(steady_leader(&asked), None);
        assert_eq!(steady_leader(&[silent("a"), following("c", None)]), None);
    }

    #[test]
    fn an_order_after_which_no_leader_was_seen_is_told_with_what_it_achieved() {
        let CliError { exit, message } = unseen("a resigned", "b", &ClusterFlags::default());
        let words = "a resigned; but b was not seen to lead for 5 s: look at `electd watch`";
        assert_eq!((exit, message.as_str()), (Exit::No, words));
    }
}
