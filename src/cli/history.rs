//! `electd history`: which member led from when to when, as all nodes together know it.

use std::time::Duration;

use clap::Args;
use electd_facts::judge::{Aspect, Colour};
use electd_facts::led::{Led, merge};
use serde_json::json;

use crate::node::moment;

use super::args::{OutputArgs, OutputFormat};
use super::ask::{AskedNode, NodeArgs, judged};
use super::error::CliError;
use super::print;
use super::screen;
use super::transition::now;
use super::watch;
use crate::trace::length;

/// How far the rest of a line that was too long is indented.
const INDENT: usize = 3;

/// Show who led from when to when, and why that changed.
///
/// It also shows for how long nobody led.
///
/// Every node keeps the last 1,000 leaderships that it knew on its disk. All nodes are asked, and their answers are
/// merged: begin and end of a leadership come from the clock of one node, that which heard the leader longest. The reason comes from the node that tells most: an operator's
/// order before what befell the leader, and that before a mere handover. A node that missed the leadership before says
/// nothing of its end. How long nobody led is the shortest time that a node saw between two leaderships; it is unknown if no
/// node saw the first one end, as after a power cut.
///
/// Exit codes: 0 done; 69 no node answers.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  electd history --config cluster.json --since 24h
  electd history --config cluster.json --node node-1  as this node alone saw it
  electd history --config cluster.json --output json | jq '.leaderships[-1]'")]
pub struct HistoryArgs {
    #[command(flatten)]
    nodes: NodeArgs,
    #[command(flatten)]
    output: OutputArgs,

    /// Only leaderships that lasted into this time, such as 24h.
    #[arg(long, value_name = "TIME", value_parser = watch::time)]
    since: Option<std::time::Duration>,
}

impl HistoryArgs {
    /// Runs the command.
    pub fn run(self) -> Result<(), CliError> {
        let targets = self.nodes.targets()?;
        let client = targets.client(None);
        let (mut histories, mut one_at_a_time) = (Vec::new(), false);
        let asked = targets.ask_for_any(&client)?;
        let judgement = judged(&asked, &self.nodes.flags());
        if !targets.one && judgement.verdict.colour() == Colour::Bad {
            print::message(&judgement.headline()); // the table does not show how things stand
        }
        let clocks = judgement.differences.iter().find(|it| it.of == Aspect::Clocks);
        clocks.into_iter().for_each(|differ| print::message(&differ.to_string()));
        for asked in &asked {
            if let Some(history) = asked.further(|address| client.history(address)) {
                one_at_a_time |= by_majority(asked);
                histories.push(history);
            }
        }
        if let ([alone], OutputFormat::Table) = (histories.as_slice(), self.output.output)
            && asked.iter().any(|it| it.answer.as_ref().is_ok_and(|one| one.members.len() > 1))
        {
            let node = &alone.node;
            print::message(&format!(
                "as {node} alone saw it: of what it missed, as while it was frozen or cut off, it learned late"
            ));
        }
        let since = self.since.map_or(0, |since| {
            now().saturating_sub(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
        });
        let mut merged = merge(&histories, one_at_a_time);
        merged.retain(|led| led.lasts || led.until_ms.unwrap_or(led.since_ms) >= since);
        match self.output.output {
            OutputFormat::Json => print::json(&document(&merged)),
            OutputFormat::Table => print::result(&text(&merged, now(), screen::width())),
        }
    }
}

/// Whether this node is of a cluster that elects by a majority.
fn by_majority(asked: &AskedNode) -> bool {
    asked.answer.as_ref().is_ok_and(|status| status.by_majority())
}

/// For how long nobody led in total, as far as that is known.
fn leaderless(merged: &[Led]) -> u64 {
    merged.iter().filter_map(|led| led.leaderless_ms).sum()
}

/// How many leaderships began after a time without a leader of which nobody knows the length.
fn unknown(merged: &[Led]) -> usize {
    merged.iter().filter(|led| led.before.is_some() && led.leaderless_ms.is_none()).count()
}

/// For programs.
fn document(merged: &[Led]) -> serde_json::Value {
    json!({
        "leaderships": merged, "leaderless_ms": leaderless(merged), "leaderless_unknown": unknown(merged)
    })
}

/// How long nobody led before this leadership.
fn gap(led: &Led) -> String {
    match (&led.before, led.leaderless_ms) {
        (_, Some(ms)) => length(Duration::from_millis(ms)),
        (Some(_), None) => "unknown".to_owned(),
        (None, None) => "-".to_owned(),
    }
}

/// Why the leadership before ended, and whether the job of this one was ended early.
fn because(led: &Led) -> String {
    let late = led.job_late_ms.map(|at| {
        format!(
            "; its job was ended at {}, as no renewal of this leadership came in time",
            moment(at)
        )
    });
    format!("{}{}", led.reason, late.unwrap_or_default())
}

/// For how long nobody led in all, in words.
fn total(merged: &[Led]) -> String {
    let known = length(Duration::from_millis(leaderless(merged)));
    let nobody_saw = match unknown(merged) {
        0 => return format!("{known} in all"),
        1 => "once".to_owned(),
        times => format!("{times} times"),
    };
    format!("at least {known}; {nobody_saw} for a time that is unknown, as no node saw its begin")
}

/// For people: a table; on a terminal that is too narrow for it the reasons stand below their rows.
fn text(merged: &[Led], now_ms: u64, width: Option<u16>) -> String {
    if merged.is_empty() {
        return "no node knows of a leader in that time\n".to_owned();
    }
    let header = ["LEADER", "EPOCH", "FROM", "UNTIL", "FOR", "NOBODY BEFORE", "BECAUSE"];
    let row = |led: &Led| {
        let until = match (led.lasts, led.until_ms) {
            (true, _) => "now".to_owned(),
            (false, Some(until)) => moment(until),
            (false, None) => "not seen".to_owned(),
        };
        let [leader, epoch, from, lasted, gap] = cells(led, now_ms);
        vec![leader, epoch, from, until, lasted, gap, because(led)]
    };
    let mut table = print::long_table(&header, merged.iter().map(row));
    let fits = |line: &str| width.is_none_or(|width| line.chars().count() <= width.into());
    if !table.lines().all(fits) {
        table = narrow(merged, now_ms);
    }
    let count = merged.len();
    let noun = if count == 1 { "leadership" } else { "leaderships" };
    let total = total(merged);
    let text = format!("{table}\n{count} {noun}; between them nobody led for {total}\n");
    screen::fitted(&text, width, INDENT)
}

/// A row and a line for each leadership. When it ended follows from how long it lasted.
fn narrow(merged: &[Led], now_ms: u64) -> String {
    let header = ["LEADER", "EPOCH", "FROM", "FOR", "NOBODY BEFORE"];
    let row = |led: &Led| {
        let [leader, epoch, from, lasted, gap] = cells(led, now_ms);
        let lasted = if led.lasts { format!("{lasted} so far") } else { lasted };
        vec![leader, epoch, from, lasted, gap]
    };
    let table = print::long_table(&header, merged.iter().map(row));
    let mut lines = table.lines();
    let header = lines.next().unwrap_or_default().to_owned();
    let of_each = lines.zip(merged).map(|(row, led)| format!("\n{row}\n  {}", led.reason));
    format!("{header}{}\n", of_each.collect::<String>())
}

/// The leader, its epoch, since when and for how long it led, and for how long nobody did before.
fn cells(led: &Led, now_ms: u64) -> [String; 5] {
    let end = if led.lasts { Some(now_ms) } else { led.until_ms };
    let lasted = end.map(|end| length(Duration::from_millis(end.saturating_sub(led.since_ms))));
    let lasted = lasted.unwrap_or_else(|| "-".to_owned());
    [led.leader.clone(), led.epoch.to_string(), moment(led.since_ms), lasted, gap(led)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::history::HistoryEntry;
    use electd_facts::samples::{entry, history};

    #[test]
    fn nodes_that_saw_the_same_are_merged() {
        let nodes = [
            history(
                "a",
                vec![
                    entry("c", 1, 1002, Some(2000), "start"),
                    entry("b", 2, 2330, None, "leader_dead"),
                ],
            ),
            history(
                "b",
                vec![
                    entry("c", 1, 1001, Some(2010), "start"),
                    entry("b", 2, 2329, None, "leader_dead"),
                ],
            ),
            history("c", vec![entry("b", 2, 9000, None, "start")]),
        ];
        let merged = merge(&nodes, true);
        let spans: Vec<_> =
            merged.iter().map(|led| (led.leader.as_str(), led.since_ms, led.until_ms)).collect();
        assert_eq!(spans, [("c", 1001, Some(2010)), ("b", 2329, None)]);
        assert_eq!(merged[1].reason, "leader_dead by 2329", "the new leader knows best");
        assert_eq!(leaderless(&merged), 29);
        let shown = text(&merged, 3_662_329, None);
        let expected = "\
LEADER  EPOCH  FROM                      UNTIL                     FOR    NOBODY BEFORE  BECAUSE
c       1      1970-01-01T00:00:01.001Z  1970-01-01T00:00:02.010Z  1 s    -              no leader was known before
b       2      1970-01-01T00:00:02.329Z  now                       1h 1m  29 ms          leader_dead by 2329

2 leaderships; between them nobody led for 29 ms in all
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn who_did_not_see_the_end_says_nothing_of_it() {
        let killed = HistoryEntry { lasts: false, ..entry("c", 1, 1000, None, "start") };
        let nodes = [
            history("a", vec![killed.clone()]),
            history("b", vec![entry("c", 1, 1000, Some(5000), "start")]),
        ];
        let merged = merge(&nodes, true);
        assert_eq!(merged[0].until_ms, Some(5000));
        let unseen = "\
LEADER  EPOCH  FROM                      UNTIL     FOR  NOBODY BEFORE  BECAUSE
c       1      1970-01-01T00:00:01.000Z  not seen  -    -              no leader was known before

1 leadership; between them nobody led for 0 ms in all
";
        assert_eq!(text(&merge(&[history("a", vec![killed])], true), 9, None), unseen);
        let again = entry("c", 2, 9000, None, "start");
        let dark = merge(
            &[history(
                "a",
                vec![HistoryEntry { lasts: false, ..entry("c", 1, 1000, None, "start") }, again],
            )],
            true,
        );
        let shown = text(&dark, 10_000, Some(70));
        let expected = "\
LEADER  EPOCH  FROM                      FOR         NOBODY BEFORE
c       1      1970-01-01T00:00:01.000Z  -           -
  no leader was known before
c       2      1970-01-01T00:00:09.000Z  1 s so far  unknown
  no node that answers saw how c ceased to lead

2 leaderships; between them nobody led for at least 0 ms; once for a
    time that is unknown, as no node saw its begin
";
        assert_eq!(shown, expected);
        let twice = [dark.clone(), dark.clone()].concat();
        let words = "at least 0 ms; 2 times for a time that is unknown, as no node saw its begin";
        assert_eq!(total(&twice), words);
        let told = document(&dark);
        assert_eq!(told["leaderships"][1]["leaderless_ms"], serde_json::Value::Null);
        assert_eq!((&told["leaderless_ms"], &told["leaderless_unknown"]), (&json!(0), &json!(1)));
        assert_eq!(text(&[], 9, None), "no node knows of a leader in that time\n");
    }

    #[test]
    fn on_a_narrow_terminal_no_time_is_broken_and_the_reason_stands_below() {
        let reason = "its connection was lost, and then nobody heard it for longer than the failure time allows";
        let first = entry("node-3", 1, 1_000, Some(2_000), "start");
        let last = entry("node-2", 12, 2_400, None, "leader_dead");
        let mut merged = merge(&[history("node-2", vec![first, last])], true);
        merged[0].reason = reason.to_owned();
        let wide = text(&merged, 3_662_400, Some(300));
        assert_eq!(wide, text(&merged, 3_662_400, None), "there is room");
        let shown = text(&merged, 3_662_400, Some(80));
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        assert!(lines[1].starts_with("node-3  1      1970-01-01T00:00:01.000Z  1 s"), "{shown}");
        assert!(lines[2].starts_with("  its connection was lost, and then"), "{shown}");
        assert!(
            lines[4].starts_with("node-2  12 ") && lines[4].contains("1h 1m so far"),
            "{shown}"
        );
    }

    #[test]
    fn a_table_has_a_row_for_each_leadership_and_breaks_only_if_it_does_not_fit() {
        let first = entry("c", 1, 1_000, Some(2_000), "start");
        let last = entry("b", 2, 2_330, None, "leader_dead");
        let merged = merge(&[history("b", vec![first, last])], true);
        let wide = "\
LEADER  EPOCH  FROM                      UNTIL                     FOR  NOBODY BEFORE  BECAUSE
c       1      1970-01-01T00:00:01.000Z  1970-01-01T00:00:02.000Z  1 s  -              no leader was known before
b       2      1970-01-01T00:00:02.330Z  now                       2 s  30 ms          leader_dead by 2330

2 leaderships; between them nobody led for 30 ms in all
";
        let narrow = "\
LEADER  EPOCH  FROM                      FOR         NOBODY BEFORE
c       1      1970-01-01T00:00:01.000Z  1 s         -
  no leader was known before
b       2      1970-01-01T00:00:02.330Z  2 s so far  30 ms
  leader_dead by 2330

2 leaderships; between them nobody led for 30 ms in all
";
        let longest = wide.lines().map(str::len).max().unwrap();
        let longest = u16::try_from(longest).unwrap();
        assert_eq!(text(&merged, 4_330, None), wide);
        assert_eq!(text(&merged, 4_330, Some(longest)), wide);
        assert_eq!(text(&merged, 4_330, Some(longest - 1)), narrow);
    }

    #[test]
    fn a_program_gets_the_leaderships_and_how_long_nobody_led() {
        let first = HistoryEntry { lasts: false, ..entry("c", 1, 1_000, None, "start") };
        let last = entry("b", 2, 2_330, None, "leader_dead");
        let told = document(&merge(&[history("b", vec![first, last])], true));
        let last = json!({
            "leader": "b", "epoch": 2, "since_ms": 2_330, "until_ms": null, "lasts": true, "before": "c",
            "cause": "leader_dead", "reason": "leader_dead by 2330", "leaderless_ms": 30
        });
        assert_eq!(told["leaderships"][1], last);
        let first = told["leaderships"][0].clone();
        let expected = json!({
            "leaderships": [first, last], "leaderless_ms": 30, "leaderless_unknown": 0
        });
        assert_eq!(told, expected);
    }

    #[test]
    fn a_quorum_of_a_majority_has_one_leader_at_a_time() {
        use crate::cli::ask::tests::{following, silent};
        let of = |quorum: &str| {
            let mut asked = following("a", None);
            asked.answer.as_mut().unwrap().quorum = quorum.to_owned();
            by_majority(&asked)
        };
        assert!(of("majority") && !of("none") && !by_majority(&silent("a")));
    }
}
