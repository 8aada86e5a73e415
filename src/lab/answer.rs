//! What was seen of a run, as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::core::message::Kind;
use crate::core::types::Time;
use crate::sim::{Delays, Elected, ExperimentOutcome};
use crate::trace::json::json as events_of;
use crate::trace::svg::Svg;
use crate::trace::{Diagram, DrawnEvent, DrawnWhat};

use super::formula;
use super::question::LabQuestion;

/// The answer to a question.
pub fn object(question: &LabQuestion, observed: &ExperimentOutcome) -> Value {
    let names: Vec<String> = (1..=question.nodes).map(name).collect();
    let places = places(&observed.events);
    let (events, kept) = without_checks(&observed.events);
    let (algorithm, nodes) = (question.algorithm.name(), question.nodes);
    let diagram = Diagram {
        title: format!("{algorithm}, {nodes} members"),
        counts: String::new(),
        description: String::new(),
        names: names.clone(),
        events: &events,
    };
    let mut answer = events_of(&diagram);
    for (at, event) in events.iter().enumerate() {
        answer["events"][at]["sentence"] = event.sentence(&names).into();
        if let Some(place) = places.get(&kept[at]) {
            answer["events"][at]["place"] = (*place).into();
        }
    }
    let end = observed.members.iter().enumerate();
    let states = end.map(|(at, member)| {
        json!({
            "member": names[at],
            "state": member.phase.map_or("down", |phase| phase.name()),
            "frozen": member.frozen,
            "leader": member.leader.map(name),
            "epoch": member.epoch.0,
        })
    });
    let elections = elections(question, observed, &events);
    let more = json!({
        "algorithm": algorithm,
        "nodes": nodes,
        "quorum": question.quorum.name(),
        "delays": if question.delays == Delays::Random { "random" } else { "lockstep" },
        "seed": question.seed,
        "until_ms": millis(question.until),
        "leader": leader(observed).map(name),
        "states": states.collect::<Vec<_>>(),
        "elections": elections,
        "leaderless_ms": millis(observed.leaderless),
        "rivalled_ms": millis(observed.rivalled),
        "svg": Svg(&diagram).to_string(),
    });
    if let (Value::Object(answer), Value::Object(more)) = (&mut answer, more) {
        answer.extend(more);
    }
    answer
}

fn name(number: usize) -> String {
    format!("node-{number}")
}

fn millis(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1e6
}

/// The leader that all name whose processes run and are not frozen, if they agree.
fn leader(observed: &ExperimentOutcome) -> Option<usize> {
    let awake = observed.members.iter().filter(|member| member.phase.is_some() && !member.frozen);
    let mut named = awake.map(|member| member.leader);
    let first = named.next()??;
    named.all(|other| other == Some(first)).then_some(first)
}

fn elections(
    question: &LabQuestion,
    observed: &ExperimentOutcome,
    events: &[DrawnEvent],
) -> Vec<Value> {
    let mut from = None;
    let elections = observed.elections.iter().map(|elected| {
        let own: Vec<&DrawnEvent> = events
            .iter()
            .skip(1) // who led before
            .filter(|event| from.is_none_or(|from| event.time > from) && event.time <= elected.at)
            .collect();
        from = Some(elected.at);
        election(question, elected, &own, events)
    });
    elections.collect()
}

fn election(
    question: &LabQuestion,
    elected: &Elected,
    own: &[&DrawnEvent],
    all: &[DrawnEvent],
) -> Value {
    let kinds = elected.messages.list(question.algorithm);
    let kinds = kinds.map(|(kind, count)| (kind.name().to_owned(), Value::from(count)));
    let total = ("total".to_owned(), Value::from(elected.messages.total()));
    let formula = elected.is_new.then(|| formula::object(question, elected, own, all));
    json!({
        "at_ms": millis(elected.at.since(Time(0))),
        "leader": elected.leader.map(|(leader, _)| name(leader)),
        "epoch": elected.leader.map(|(_, epoch)| epoch.0),
        "alive": elected.alive.len(),
        "messages": kinds.chain([total]).collect::<Map<_, _>>(),
        "formula": formula,
    })
}

/// The place of each message among those that its sender sent to its receiver, by which it can be dropped.
fn places(events: &[DrawnEvent]) -> BTreeMap<usize, u64> {
    let mut sent = BTreeMap::<(usize, usize), u64>::new();
    let mut places = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        let DrawnWhat::Sends { to, .. } = event.what else { continue };
        let place = sent.entry((event.node, to)).or_default();
        *place += 1;
        places.insert(at, *place);
    }
    places
}

/// The events without the regular questions of a coordinator, and the replies to these, unless something came of them.
/// Tells where each was before.
fn without_checks(events: &[DrawnEvent]) -> (Vec<DrawnEvent>, Vec<usize>) {
    let is_check = |event: &DrawnEvent| event.what.kind() == Some(Kind::AreYouNormal);
    let is_quiet = |event: &DrawnEvent| {
        let is_reply = event.what.kind() == Some(Kind::Reply);
        is_check(event)
            || (is_reply && event.causes.first().is_some_and(|cause| is_check(&events[*cause])))
    };
    let mut stays: Vec<bool> = events.iter().map(|event| !is_quiet(event)).collect();
    for at in (0..events.len()).rev() {
        if stays[at] {
            events[at].causes.iter().for_each(|cause| stays[*cause] = true);
        }
    }
    let kept: Vec<usize> = (0..events.len()).filter(|at| stays[*at]).collect();
    let now = |before: &usize| kept.binary_search(before).ok();
    let moved = kept.iter().map(|at| {
        let event = &events[*at];
        DrawnEvent { causes: event.causes.iter().filter_map(now).collect(), ..event.clone() }
    });
    let moved = moved.collect();
    (moved, kept)
}
