//! `electd history`: which member led from when to when, as all nodes together know it.

use clap::Args;
use serde_json::json;

use crate::node::history::Entry;
use crate::node::moment;

use super::args::{Output, OutputArgs};
use super::ask::{Asked, NodeArgs};
use super::error::CliError;
use super::merged::merge;
use super::print;
use super::transition::now;
use super::watch;

/// Show which member led from when to when, why that changed, and for how long nobody led.
///
/// Every node keeps the last 1,000 leaderships that it knew on its disk. All nodes are asked, and their answers are
/// merged: a leadership begins when the first node knew it, and ends when the last node did not know it any more; with
/// "majority", and for a node that was frozen, at the latest when the next epoch begins. The reason comes from the node
/// that tells most: an operator's order before what befell the leader, and that before a mere handover. How long nobody
/// led comes from the node that led next, if it answers.
///
/// Exit codes: 0 done; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd history --config cluster.json --since 24h
  electd history --config cluster.json --node node-1           as this node alone saw it
  electd history --config cluster.json --output json | jq '.leaderships[-1]'")]
pub struct History {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,

    /// Only leaderships that lasted into this time, such as 24h.
    #[arg(long, value_name = "TIME", value_parser = watch::time)]
    since: Option<std::time::Duration>,
}

impl History {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let client = targets.client(None);
        let (mut told, mut one_at_a_time) = (Vec::new(), false);
        for asked in &targets.ask_for_any(&client)? {
            let address = asked.target.admin.as_deref().unwrap_or_default();
            let history = asked.answer.as_ref().map_err(Clone::clone);
            match history.and_then(|_| client.history(address)) {
                Ok(history) => {
                    one_at_a_time |= by_majority(asked);
                    told.push(history);
                }
                Err(error) => print::message(&format!("{}: {error}", asked.name())),
            }
        }
        let since = self.since.map_or(0, |since| {
            now().saturating_sub(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
        });
        let mut merged = merge(&told, one_at_a_time);
        merged.retain(|led| led.lasts || led.until_ms.unwrap_or(led.since_ms) >= since);
        match self.output.output {
            Output::Json => print::json(&document(&merged)),
            Output::Table => print::result(&text(&merged, now())),
        }
    }
}

/// Whether this node is of a cluster that elects by a majority.
fn by_majority(asked: &Asked) -> bool {
    asked.answer.as_ref().is_ok_and(|status| status.quorum == "majority")
}

/// For how long nobody led in total, except for the time before a start.
fn leaderless(merged: &[Entry]) -> u64 {
    merged.iter().filter(|led| led.cause != "start").map(|led| led.leaderless_ms).sum()
}

/// For programs.
fn document(merged: &[Entry]) -> serde_json::Value {
    json!({ "leaderships": merged, "leaderless_ms": leaderless(merged) })
}

/// For people.
fn text(merged: &[Entry], now_ms: u64) -> String {
    if merged.is_empty() {
        return "no node knows of a leader in that time\n".to_owned();
    }
    let header = ["LEADER", "EPOCH", "FROM", "UNTIL", "FOR", "NOBODY BEFORE", "BECAUSE"];
    let row = |led: &Entry| {
        let end = if led.lasts { Some(now_ms) } else { led.until_ms };
        let lasted = end.map(|end| print::length(end.saturating_sub(led.since_ms)));
        let until = match (led.lasts, led.until_ms) {
            (true, _) => "now".to_owned(),
            (false, Some(until)) => moment(until),
            (false, None) => "not seen".to_owned(),
        };
        vec![
            led.leader.clone(),
            led.epoch.to_string(),
            moment(led.since_ms),
            until,
            lasted.unwrap_or_else(|| "-".to_owned()),
            print::length(led.leaderless_ms),
            led.reason.clone(),
        ]
    };
    let table = print::table(&header, merged.iter().map(row));
    let count = merged.len();
    let total = print::length(leaderless(merged));
    let noun = if count == 1 { "leadership" } else { "leaderships" };
    format!("{table}\n{count} {noun}; between them nobody led for {total} in all\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::merged::tests::{entry, told};

    #[test]
    fn nodes_that_saw_the_same_are_merged() {
        let nodes = [
            told(
                "a",
                vec![
                    entry("c", 1, 1002, Some(2000), "start"),
                    entry("b", 2, 2330, None, "leader_dead"),
                ],
            ),
            told(
                "b",
                vec![
                    entry("c", 1, 1001, Some(2010), "start"),
                    entry("b", 2, 2329, None, "leader_dead"),
                ],
            ),
            told("c", vec![entry("b", 2, 9000, None, "start")]),
        ];
        let merged = merge(&nodes, true);
        let spans: Vec<_> =
            merged.iter().map(|led| (led.leader.as_str(), led.since_ms, led.until_ms)).collect();
        assert_eq!(spans, [("c", 1001, Some(2010)), ("b", 2329, None)]);
        assert_eq!(merged[1].reason, "leader_dead by 2329", "the new leader knows best");
        assert_eq!(leaderless(&merged), 29);
        let shown = text(&merged, 3_662_329);
        assert!(shown.contains("1h 1m") && shown.contains("29 ms"), "{shown}");
        assert!(
            shown.contains("2 leaderships; between them nobody led for 29 ms in all"),
            "{shown}"
        );
    }

    #[test]
    fn who_did_not_see_the_end_says_nothing_of_it() {
        let killed = Entry { lasts: false, ..entry("c", 1, 1000, None, "start") };
        let nodes = [
            told("a", vec![killed.clone()]),
            told("b", vec![entry("c", 1, 1000, Some(5000), "start")]),
        ];
        let merged = merge(&nodes, true);
        assert_eq!(merged[0].until_ms, Some(5000));
        assert!(text(&merge(&[told("a", vec![killed])], true), 9).contains("not seen"));
        let one = merge(&[told("a", vec![entry("c", 1, 1000, Some(5000), "start")])], true);
        assert!(text(&one, 9).contains("1 leadership; "));
        assert_eq!(text(&[], 9), "no node knows of a leader in that time\n");
    }
}
