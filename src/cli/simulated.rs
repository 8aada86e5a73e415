//! What `electd simulate` prints of a run: as text, as JSON and as a drawing.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::print::{counted, millis};
use crate::core::settings::Quorum;
use crate::core::types::Time;
use crate::sim::{Counter, PassedRun, Scenario, ScenarioOutcome, Schedule};
use crate::trace::{Diagram, DrawnWhat, TraceLine, gap, length};

/// How far what happened is indented in a line of a trace, less one.
pub const INDENT: usize = 22;

/// The lines of a trace. Where nothing happens for longer than this, a line says for how long.
pub fn lines(trace: &[TraceLine], gap: Duration) -> String {
    let mut text = String::new();
    let mut last = None;
    for line in trace {
        let passed = last.map_or(Duration::ZERO, |last| line.time.since(last));
        if passed > gap {
            let _ = writeln!(text, "{:>12}", format!("+ {}", length(passed))); // a string takes everything
        }
        let _ = writeln!(text, "{line}");
        last = Some(line.time);
    }
    text
}

/// The trace, with what only the events know: who led before, and which waits are over.
fn whole_trace(outcome: &ScenarioOutcome) -> Vec<TraceLine> {
    let mut trace = outcome.trace.clone();
    for event in &outcome.events {
        let (DrawnWhat::Led | DrawnWhat::Waited { .. }) = event.what else { continue };
        let what = event.sentence(&[]);
        let line = TraceLine { time: event.time, node: name(event.node), what };
        // Before what the member does about it.
        let follows = |next: &TraceLine| next.time > line.time || next.node == line.node;
        let from = trace.partition_point(|before| before.time < line.time);
        let place = trace[from..].iter().position(follows).map_or(trace.len(), |at| from + at);
        trace.insert(place, line);
    }
    trace
}

/// An election, for people.
pub fn election_text(scenario: &Scenario, outcome: &ScenarioOutcome) -> String {
    let trace = lines(&whole_trace(outcome), gap(&outcome.events));
    format!("{trace}\n{}\n{}\n", who_leads(outcome), counts(scenario, outcome))
}

fn who_leads(outcome: &ScenarioOutcome) -> String {
    let ScenarioOutcome { leader, epoch, time, .. } = outcome;
    let after = length(time.since(Time(0)));
    format!("node-{leader} leads in epoch {epoch}, {after} after the start")
}

fn counts(scenario: &Scenario, outcome: &ScenarioOutcome) -> String {
    let messages = &outcome.messages;
    let kinds = messages.list(scenario.algorithm);
    let kinds = kinds.map(|(kind, count)| format!("{count} {}", kind.title()));
    let total = counted(messages.total(), "message");
    format!("{} = {total}", kinds.collect::<Vec<_>>().join(" + "))
}

/// An election, to be drawn.
pub fn diagram<'a>(scenario: &Scenario, outcome: &'a ScenarioOutcome) -> Diagram<'a> {
    let (algorithm, nodes) = (scenario.algorithm.name(), counted(scenario.nodes, "node"));
    let by = if scenario.quorum == Quorum::Majority { ", by a majority" } else { "" };
    Diagram {
        title: format!("Election of {nodes}, algorithm {algorithm}{by}"),
        counts: counts(scenario, outcome),
        description: format!("{}. {LEGEND}", who_leads(outcome)),
        names: names(scenario.nodes),
        events: &outcome.events,
    }
}

/// A random run, to be drawn.
pub fn life_diagram(schedule: Schedule, run: &PassedRun) -> Diagram<'_> {
    let Schedule { algorithm, quorum, faults, seed, .. } = schedule;
    let [algorithm, quorum, faults] = [algorithm.name(), quorum.name(), faults.name()];
    Diagram {
        title: format!(
            "{} nodes, algorithm {algorithm}, quorum {quorum}, faults {faults}, seed {seed}",
            run.nodes
        ),
        counts: format!("agreed {} after the last fault", length(run.settled)),
        description: LEGEND.to_owned(),
        names: names(run.nodes),
        events: &run.events,
    }
}

/// How to read a drawing.
const LEGEND: &str = "Arrows are messages with their round or epoch, time runs downward, a cross is a death, two \
                      strokes are a time in which nothing happens.";

fn names(nodes: usize) -> Vec<String> {
    (0..nodes).map(name).collect()
}

fn name(place: usize) -> String {
    format!("node-{}", place + 1)
}

/// The figures of an election.
pub fn election_object(scenario: &Scenario, outcome: &ScenarioOutcome) -> Value {
    let kinds = outcome.messages.list(scenario.algorithm);
    let kinds = kinds.map(|(kind, count)| (kind.name().to_owned(), Value::from(count)));
    let total = ("total".to_owned(), Value::from(outcome.messages.total()));
    json!({
        "algorithm": scenario.algorithm.name(),
        "nodes": scenario.nodes,
        "seed": scenario.seed,
        "old_leader": outcome.old_leader,
        "leader": outcome.leader,
        "epoch": outcome.epoch.0,
        "messages": kinds.chain([total]).collect::<Map<_, _>>(),
        "time_ms": millis(outcome.time.since(Time(0))),
    })
}

/// What happened in a random run, for people.
pub fn life_text(run: &PassedRun) -> String {
    let mut text = String::from("\n");
    for (what, count) in run.faults.list() {
        text += &format!("{what:<32}{count:>6}\n");
    }
    text + &format!("{:<32}{:>6}\n", "from the last fault to agreement", length(run.settled))
}

/// The figures of a random run.
pub fn life_object(seed: u64, run: &PassedRun) -> Value {
    let faults = run.faults;
    json!({
        "seed": seed,
        "starts": faults[Counter::Starts],
        "kills": faults[Counter::Kills],
        "vanished": faults[Counter::Vanished],
        "stops": faults[Counter::Stops],
        "elected": faults[Counter::Elected],
        "settled_ms": millis(run.settled),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::screen::fitted;
    use crate::core::settings::AlgorithmKind;
    use crate::sim::FaultSet;

    #[test]
    fn a_terminal_shows_lines_that_fit_and_a_pipe_an_event_a_line() {
        for algorithm in AlgorithmKind::ALL {
            let crashed = vec![5];
            let (detected, trace) = (true, true);
            let scenario = Scenario { algorithm, crashed, detected, trace, ..Scenario::new(5) };
            let text = election_text(&scenario, &scenario.run().unwrap());
            assert!(text.lines().any(|line| line.len() > 80), "{text}");
            assert_eq!(fitted(&text, None, INDENT), text);
            let narrow = fitted(&text, Some(80), INDENT);
            assert!(narrow.lines().all(|line| line.len() <= 80), "{narrow}");
            let words = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(words(&narrow), words(&text));
        }
    }

    #[test]
    fn a_time_in_which_nothing_happens_has_a_line_if_it_is_longer_than_others() {
        let line = |ms: u64, what: &str| TraceLine {
            time: Time(ms * 1_000_000),
            node: "a".to_owned(),
            what: what.to_owned(),
        };
        let trace = [line(0, "one"), line(10, "two"), line(10, "three"), line(31, "four")];
        let text = "    0.000 ms  a        one\n   10.000 ms  a        two\n   10.000 ms  a        three\n     + 21 ms\n   \
                    31.000 ms  a        four\n";
        assert_eq!(lines(&trace, Duration::from_millis(10)), text);
        assert_eq!(lines(&trace, Duration::from_millis(21)), text.replace("     + 21 ms\n", ""));
    }

    #[test]
    fn an_election_is_told_whole() {
        let scenario = |nodes| Scenario {
            crashed: vec![nodes],
            detected: true,
            trace: true,
            ..Scenario::new(nodes)
        };
        let two = scenario(2);
        let outcome = two.run().unwrap();
        let drawn = diagram(&two, &outcome);
        assert_eq!(drawn.title, "Election of 2 nodes, algorithm bully");
        assert_eq!(drawn.counts, "0 ELECTION + 0 ANSWER + 0 COORDINATOR = 0 messages");
        let description = "node-1 leads in epoch 1, 0 ms after the start. Arrows are messages with their round or epoch, time \
                           runs downward, a cross is a death, two strokes are a time in which nothing happens.";
        assert_eq!(
            (drawn.description.as_str(), drawn.names),
            (description, ["node-1", "node-2"].map(str::to_owned).to_vec())
        );
        let text = election_text(&two, &outcome);
        let end = "\n\nnode-1 leads in epoch 1, 0 ms after the start\n0 ELECTION + 0 ANSWER + 0 COORDINATOR = 0 messages\n";
        assert!(text.ends_with(end), "{text}");
        let three = Scenario { quorum: Quorum::Majority, seed: 5, ..scenario(3) };
        let outcome = three.run().unwrap();
        let drawn = diagram(&three, &outcome);
        assert_eq!(drawn.title, "Election of 3 nodes, algorithm bully, by a majority");
        let figures = election_object(&three, &outcome);
        let expected = json!({
            "algorithm": "bully", "nodes": 3, "seed": 5, "old_leader": 3, "leader": 2, "epoch": 1,
            "messages": figures["messages"], "time_ms": figures["time_ms"],
        });
        assert_eq!(figures, expected);
        assert_eq!(figures["time_ms"], millis(outcome.time.since(Time(0))));
        let one = Scenario::new(1);
        let outcome = one.run().unwrap();
        assert_eq!(diagram(&one, &outcome).title, "Election of 1 node, algorithm bully");
    }

    #[test]
    fn a_random_run_is_told_whole() {
        let (algorithm, quorum, faults) = (AlgorithmKind::Ring, Quorum::Majority, FaultSet::Model);
        let schedule = Schedule { algorithm, quorum, faults, seed: 7, trace: true };
        let run = schedule.run().unwrap();
        let (nodes, settled) = (run.nodes, length(run.settled));
        let drawn = life_diagram(schedule, &run);
        assert_eq!(
            drawn.title,
            format!("{nodes} nodes, algorithm ring, quorum majority, faults model, seed 7")
        );
        assert_eq!(drawn.counts, format!("agreed {settled} after the last fault"));
        assert_eq!((drawn.description.as_str(), drawn.names.len()), (LEGEND, nodes));
        let text = life_text(&run);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines.len()), ("", run.faults.list().count() + 2));
        let (what, count) = run.faults.list().next().unwrap();
        assert_eq!(lines[1], format!("{what:<32}{count:>6}"));
        assert_eq!(lines.last(), Some(&&*format!("from the last fault to agreement{settled:>6}")));
        assert_eq!(life_object(7, &run)["settled_ms"], millis(run.settled));
    }
}
