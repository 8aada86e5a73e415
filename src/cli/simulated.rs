//! What `electd simulate` prints of a run: as text, as JSON and as a drawing.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::print::{counted, millis};
use crate::core::settings::Quorum;
use crate::core::types::Time;
use crate::sim::{Counter, Outcome, Run, Scenario, Schedule};
use crate::trace::{Diagram, Line, What, gap, length};

/// How far what happened is indented in a line of a trace, less one.
pub const INDENT: usize = 22;

/// The lines of a trace. Where nothing happens for longer than this, a line says for how long.
pub fn lines(trace: &[Line], gap: Duration) -> String {
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
fn whole_trace(outcome: &Outcome) -> Vec<Line> {
    let mut trace = outcome.trace.clone();
    for event in &outcome.events {
        let (What::Led | What::Waited { .. }) = event.what else { continue };
        let what = event.sentence(&[]);
        let line = Line { time: event.time, node: name(event.node), what };
        // Before what the member does about it.
        let follows = |next: &Line| next.time > line.time || next.node == line.node;
        let from = trace.partition_point(|before| before.time < line.time);
        let place = trace[from..].iter().position(follows).map_or(trace.len(), |at| from + at);
        trace.insert(place, line);
    }
    trace
}

/// An election, for people.
pub fn election_text(scenario: &Scenario, outcome: &Outcome) -> String {
    let trace = lines(&whole_trace(outcome), gap(&outcome.events));
    format!("{trace}\n{}\n{}\n", who_leads(outcome), counts(scenario, outcome))
}

fn who_leads(outcome: &Outcome) -> String {
    let Outcome { leader, epoch, time, .. } = outcome;
    let after = length(time.since(Time(0)));
    format!("node-{leader} leads in epoch {epoch}, {after} after the start")
}

fn counts(scenario: &Scenario, outcome: &Outcome) -> String {
    let messages = &outcome.messages;
    let kinds = messages.list(scenario.algorithm);
    let kinds = kinds.map(|(kind, count)| format!("{count} {}", kind.title()));
    let total = counted(messages.total(), "message");
    format!("{} = {total}", kinds.collect::<Vec<_>>().join(" + "))
}

/// An election, to be drawn.
pub fn diagram<'a>(scenario: &Scenario, outcome: &'a Outcome) -> Diagram<'a> {
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
pub fn life_diagram(schedule: Schedule, run: &Run) -> Diagram<'_> {
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
pub fn election_object(scenario: &Scenario, outcome: &Outcome) -> Value {
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
pub fn life_text(run: &Run) -> String {
    let mut text = String::from("\n");
    for (what, count) in run.faults.list() {
        text += &format!("{what:<32}{count:>6}\n");
    }
    text + &format!("{:<32}{:>6}\n", "from the last fault to agreement", length(run.settled))
}

/// The figures of a random run.
pub fn life_object(seed: u64, run: &Run) -> Value {
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
}
