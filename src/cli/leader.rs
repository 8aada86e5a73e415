//! `electd leader`: who leads, for people and for scripts.

use clap::Args;
use serde_json::json;

use crate::admin::client::Client;
use crate::node::status::LeaderStatus;

use super::args::{Output, OutputArgs};
use super::ask::{Asked, NodeArgs, leader_of, leads, newest_leader};
use super::error::CliError;
use super::exit::Exit;
use super::print;

/// Print who leads: its name, its address, and its epoch, the fencing token.
///
/// Without --node and --admin all members are asked. Where they disagree, as they do for a moment
/// during a failover, the greatest epoch counts, and stderr says who sees it differently.
///
/// Exit codes: 0 a leader is known; 1 nodes answer, and none knows a leader; 69 no node answers.
/// With --check: 0 the node leads, 1 it does not, 69 unknown, for it does not answer.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd leader --config cluster.json                 node-5  127.0.0.1:7105  epoch 7
  electd leader --config cluster.json --output json | jq -r .name
  electd leader --check && run-the-backup             on the leading host alone")]
pub struct Leader {
    #[command(flatten)]
    nodes: NodeArgs,

    /// Only tell, by the exit code, whether a node leads: the one named, or this host's.
    #[arg(long)]
    check: bool,

    #[command(flatten)]
    output: OutputArgs,
}

impl Leader {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        if self.check {
            return self.check();
        }
        let asked = self.nodes.targets()?.ask_for_any(&Client::new(None))?;
        let leader = newest_leader(&asked);
        dissent(&asked, leader).iter().for_each(|sentence| print::message(sentence));
        match (self.output.output, leader) {
            (Output::Json, leader) => print::json(&json!(leader))?,
            (Output::Table, Some(leader)) => print::result(&line(leader))?,
            (Output::Table, None) => print::message("no leader is known"),
        }
        leader.map(|_| ()).ok_or(CliError::silent(Exit::No))
    }

    fn check(&self) -> Result<(), CliError> {
        let asked = self.nodes.own()?.ask_for_any(&Client::new(None))?;
        let leading = asked.iter().any(|asked| asked.answer.as_ref().is_ok_and(leads));
        if let Output::Json = self.output.output {
            print::json(&json!({ "leads": leading }))?;
        }
        if leading { Ok(()) } else { Err(CliError::silent(Exit::No)) }
    }
}

fn line(leader: &LeaderStatus) -> String {
    format!("{}  {}  epoch {}\n", leader.name, leader.address, leader.epoch)
}

/// Who sees it differently, a sentence each.
fn dissent(asked: &[Asked], leader: Option<&LeaderStatus>) -> Vec<String> {
    let differs = |asked: &Asked| {
        let own = leader_of(asked.answer.as_ref().ok()?);
        let same =
            own.map(|own| (&own.id, own.epoch)) == leader.map(|leader| (&leader.id, leader.epoch));
        let sees = match own {
            Some(own) => format!("says that {} leads in epoch {}", own.name, own.epoch),
            None => "knows no leader".to_owned(),
        };
        (!same).then(|| format!("{} {sees}", asked.name()))
    };
    asked.iter().filter_map(differs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent};

    #[test]
    fn the_greatest_epoch_counts_and_dissent_is_named() {
        let asked = [
            following("node-1", Some(("node-5", 7))),
            following("node-2", Some(("node-4", 8))),
            following("node-3", None),
            silent("node-4"),
        ];
        let leader = newest_leader(&asked);
        assert_eq!(leader.map(line).as_deref(), Some("node-4  127.0.0.1:7101  epoch 8\n"));
        assert_eq!(
            dissent(&asked, leader),
            ["node-1 says that node-5 leads in epoch 7", "node-3 knows no leader"]
        );
    }

    #[test]
    fn a_stalled_node_names_no_leader() {
        let mut stalled = following("node-1", Some(("node-5", 9)));
        if let Ok(status) = &mut stalled.answer {
            status.stalled = true;
        }
        let asked = [stalled, following("node-2", Some(("node-4", 8)))];
        assert_eq!(newest_leader(&asked).map(|leader| leader.epoch), Some(8));
    }
}
