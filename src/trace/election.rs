//! An election of live nodes, for people and for programs.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::Line;
use super::diagram::Diagram;
use super::event::{Event, What};
use super::json::json as events;
use super::length::length;
use super::merge::{Merged, figures};
use super::svg::MOST_NODES;
use crate::core::message::Kind;
use crate::core::settings::AlgorithmKind;
use crate::core::types::Time;

/// How far what happened is indented in a line, less one.
pub const INDENT: usize = 22;

/// An election to be shown.
///
/// ```
/// use electd::trace::election::Election;
/// use electd::trace::merge::Merged;
///
/// let merged = Merged { algorithm: "bully".to_owned(), ..Merged::default() };
/// let election = Election::new(merged, "demo", "2026-01-01T00:00:00.000Z".to_owned());
/// assert_eq!(election.object()["began"], "2026-01-01T00:00:00.000Z");
/// ```
#[derive(Clone, Debug)]
pub struct Election {
    merged: Merged,
    cluster: String,
    algorithm: Option<AlgorithmKind>,
    began: String,
}

impl Election {
    /// This one, of this cluster, which began at this moment.
    #[must_use]
    pub fn new(merged: Merged, cluster: &str, began: String) -> Election {
        let algorithm = AlgorithmKind::ALL.into_iter().find(|it| it.name() == merged.algorithm);
        Election { merged, cluster: cluster.to_owned(), algorithm, began }
    }

    /// Why it cannot be drawn, if there are too many members.
    #[must_use]
    pub fn unfit(&self) -> Option<String> {
        let members = self.merged.names.len();
        (members > MOST_NODES).then(|| {
            format!(
                "{members} members do not fit a drawing; at most {MOST_NODES} do: see `electd trace --output text`"
            )
        })
    }

    /// As lines for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}, {}\n\n", self.title(), self.began);
        if self.merged.left_out > 0 {
            let _ = writeln!(text, "{} earlier events are left out", self.merged.left_out);
        }
        for event in &self.merged.events {
            let _ = writeln!(text, "{}", self.line(event)); // a string takes everything
        }
        let _ = write!(text, "\n{}\n{}\n", self.who_leads(), self.counts());
        if let Some(silent) = self.silent() {
            let _ = writeln!(text, "{silent}");
        }
        text
    }

    fn line(&self, event: &Event) -> Line {
        let names = &self.merged.names;
        let mut what = event.sentence(names);
        if let What::Sends { arrives, lost: false, unseen: None, .. } = event.what {
            let travelled = arrives.since(event.time);
            let travelled = if travelled < Duration::from_micros(50) {
                "less than 0.1 ms".to_owned()
            } else {
                length(travelled)
            };
            let _ = write!(what, ", taken after {travelled}");
        }
        let node = names.get(event.node).cloned().unwrap_or_default();
        Line { time: event.time, node, what }
    }

    /// For programs: what docs/trace.md describes.
    #[must_use]
    pub fn object(&self) -> Value {
        let merged = &self.merged;
        let (kinds, others) = self.messages();
        let total =
            ("total".to_owned(), Value::from(kinds.iter().map(|(_, count)| count).sum::<u64>()));
        let named = |(kind, count): &(Kind, u64)| (kind.name().to_owned(), Value::from(*count));
        let mut object = events(&self.diagram());
        let more = json!({
            "cluster": self.cluster,
            "algorithm": merged.algorithm,
            "epoch": merged.epoch,
            "leader": merged.leader,
            "began": self.began,
            "messages": kinds.iter().map(named).chain([total]).collect::<Map<_, _>>(),
            "other_messages": others,
            "formula": self.formula().map(|(least, most)| json!({"least": least, "most": most})),
            "silent": merged.silent,
            "left_out": merged.left_out,
        });
        if let (Value::Object(object), Value::Object(more)) = (&mut object, more) {
            object.extend(more);
        }
        object
    }

    /// To be drawn.
    #[must_use]
    pub fn diagram(&self) -> Diagram<'_> {
        let silent = self.silent().map(|silent| format!("; {silent}")).unwrap_or_default();
        Diagram {
            title: format!("{}, {}", self.title(), self.began),
            counts: format!("{}{silent}", self.counts()),
            description: format!("{}. {LEGEND}", self.who_leads()),
            names: self.merged.names.clone(),
            events: &self.merged.events,
        }
    }

    fn title(&self) -> String {
        let (cluster, algorithm) = (&self.cluster, &self.merged.algorithm);
        match self.merged.epoch {
            Some(epoch) => format!("Election of epoch {epoch} in {cluster}, algorithm {algorithm}"),
            None => format!("Election under way in {cluster}, algorithm {algorithm}"),
        }
    }

    fn who_leads(&self) -> String {
        let leads = |event: &&Event| {
            matches!(&event.what, What::Becomes { phase: crate::core::Phase::Leading, .. })
        };
        let won = self.merged.events.iter().rfind(leads);
        match (self.merged.epoch, &self.merged.leader) {
            (Some(epoch), Some(leader)) => {
                let after = won.map(|won| length(won.time.since(Time(0))));
                let after = after.map(|after| format!(", {after} after the election began"));
                format!("{leader} leads in epoch {epoch}{}", after.unwrap_or_default())
            }
            _ => "nobody leads yet, as far as any node tells".to_owned(),
        }
    }

    /// How many messages it took.
    fn counts(&self) -> String {
        let (kinds, others) = self.messages();
        let total: u64 = kinds.iter().map(|(_, count)| count).sum();
        let kinds: Vec<_> =
            kinds.iter().map(|(kind, count)| format!("{count} {}", kind.title())).collect();
        let mut text = format!("{} = {total} messages", kinds.join(" + "));
        if let Some((least, most)) = self.formula() {
            let members = self.merged.members;
            let _ = if least == most {
                write!(text, ", as many as {members} members need")
            } else {
                write!(text, ", of {least} to {most} that {members} members may need")
            };
        }
        let title = |name: &str| name.to_uppercase().replace('_', "-");
        let others: Vec<_> =
            others.iter().map(|(name, count)| format!("{count} {}", title(name))).collect();
        if !others.is_empty() {
            let _ = write!(text, "; besides, {}", others.join(", "));
        }
        text
    }

    /// The messages of the algorithm, those of no kind besides, which are counted apart: LOWER only where it was sent.
    fn messages(&self) -> (Vec<(Kind, u64)>, Map<String, Value>) {
        let sent = &self.merged.messages;
        let kinds = self.algorithm.map_or(&[][..], Kind::of).iter().copied();
        let counted = kinds.map(|kind| (kind, sent.get(kind.name()).copied().unwrap_or(0)));
        let counted: Vec<_> =
            counted.filter(|(kind, count)| *kind != Kind::Lower || *count > 0).collect();
        let is_other = |name: &str| counted.iter().all(|(kind, _)| kind.name() != name);
        let others = sent.iter().filter(|(name, _)| is_other(name));
        let others = others.map(|(name, count)| (name.clone(), Value::from(*count))).collect();
        (counted, others)
    }

    /// The least and the most messages by the formulas, if the election has ended.
    fn formula(&self) -> Option<(u64, u64)> {
        self.merged.epoch?;
        Some(figures::messages(self.algorithm?, self.merged.members).into_inner())
    }

    /// The members that told nothing, in words.
    fn silent(&self) -> Option<String> {
        let silent = &self.merged.silent;
        (!silent.is_empty()).then(|| {
            format!(
                "nothing is told by {}: only what the others saw of it is shown",
                silent.join(", ")
            )
        })
    }
}

/// How to read a drawing.
const LEGEND: &str = "Arrows are messages with their round or epoch, time runs downward, dots are a message of which \
                      nobody recorded one end, a cross is one that nobody took, two strokes are a time in which nothing \
                      happens.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Phase;
    use crate::trace::Unseen;

    /// A member of this place leads from this time on.
    fn leads(node: usize, ms: u64) -> Event {
        let (label, reason) = ("leads".to_owned(), "won".to_owned());
        let what = What::Becomes { phase: Phase::Leading, label, reason };
        Event { time: Time(ms * 1_000_000), node, what, causes: Vec::new() }
    }

    fn event(ms: u64, what: What) -> Event {
        Event { time: Time(ms * 1_000_000), node: 0, what, causes: Vec::new() }
    }

    #[test]
    fn an_election_of_too_many_members_is_not_drawn_and_told_where_to_look() {
        let of = |members: usize| {
            let names = (0..members).map(|number| number.to_string()).collect();
            Election::new(Merged { names, ..full() }, "test", String::new()).unfit()
        };
        assert_eq!(of(40), None);
        let words =
            "41 members do not fit a drawing; at most 40 do: see `electd trace --output text`";
        assert_eq!(of(41).as_deref(), Some(words));
    }

    /// A message to b that takes so long.
    fn sends(ms: u64, micros: u64, lost: bool, unseen: Option<Unseen>) -> Event {
        let arrives = Time(ms * 1_000_000 + micros * 1000);
        let label = "ELECTION 4".to_owned();
        event(ms, What::Sends { to: 1, label, arrives, lost, unseen })
    }

    /// One with all that there may be to tell.
    fn full() -> Merged {
        let waited = What::Waited { since: Time(3_000_000), label: "T1 6 ms".to_owned() };
        let counts = [("election", 2), ("answer", 1), ("coordinator", 1), ("release", 3)];
        Merged {
            names: ["a", "b", "c"].map(str::to_owned).to_vec(),
            silent: vec!["c".to_owned()],
            algorithm: "bully".to_owned(),
            epoch: Some(4),
            leader: Some("b".to_owned()),
            members: 3,
            events: vec![
                sends(0, 30, false, None),
                sends(0, 2000, false, None),
                sends(1, 1000, true, None),
                sends(2, 1000, false, Some(Unseen::Arrival)),
                sends(3, 1000, false, Some(Unseen::Departure)),
                event(9, waited),
                leads(1, 12),
            ],
            messages: counts.map(|(kind, count)| (kind.to_owned(), count)).into(),
            left_out: 7,
            ..Merged::default()
        }
    }

    #[test]
    fn people_read_each_event_and_what_is_not_known() {
        let expected = "\
Election of epoch 4 in demo, algorithm bully, then

7 earlier events are left out
    0.000 ms  a        sends ELECTION 4 to b, taken after less than 0.1 ms
    0.000 ms  a        sends ELECTION 4 to b, taken after 2 ms
    1.000 ms  a        sends ELECTION 4 to b, which does not take it
    2.000 ms  a        sends ELECTION 4 to b, which did not record whether it arrived
    3.000 ms  a        sends ELECTION 4 to b, which alone recorded it
    9.000 ms  a        has waited for T1 6 ms
   12.000 ms  b        leads: won

b leads in epoch 4, 12 ms after the election began
2 ELECTION + 1 ANSWER + 1 COORDINATOR = 4 messages, of 2 to 8 that 3 members may need; besides, 3 RELEASE
nothing is told by c: only what the others saw of it is shown
";
        assert_eq!(Election::new(full(), "demo", "then".to_owned()).text(), expected);
        let merged = Merged { epoch: None, leader: None, ..full() };
        let text = Election::new(merged, "demo", "then".to_owned()).text();
        assert!(text.starts_with("Election under way in demo, algorithm bully, then\n"), "{text}");
        assert!(text.contains("\nnobody leads yet, as far as any node tells\n"), "{text}");
        assert!(
            text.contains(" = 4 messages; besides, "),
            "nobody knows how many it takes: {text}"
        );
        let lower = [("lower".to_owned(), 1)].into();
        let merged = Merged { messages: lower, members: 1, ..full() };
        let counts = Election::new(merged, "demo", "then".to_owned()).counts();
        assert!(counts.contains(" + 1 LOWER + ") && counts.ends_with("as many as 1 members need"));
    }

    #[test]
    fn programs_get_the_same() {
        let object = Election::new(full(), "demo", "then".to_owned()).object();
        let expected = json!({
            "cluster": "demo", "algorithm": "bully", "epoch": 4, "leader": "b", "began": "then",
            "messages": {"election": 2, "answer": 1, "coordinator": 1, "total": 4},
            "other_messages": {"release": 3}, "formula": {"least": 2, "most": 8}, "silent": ["c"], "left_out": 7,
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&object[key], value, "{key}");
        }
        let ends: Vec<_> = (2..5).map(|at| object["events"][at]["unseen"].as_str()).collect();
        assert_eq!(ends, [None, Some("arrival"), Some("departure")]);
        let waited = &object["events"][5];
        assert_eq!((&waited["at_ms"], &waited["since_ms"]), (&json!(9.0), &json!(3.0)));
    }

    /// One that led for a moment, and met a leader of a greater epoch.
    #[test]
    fn the_time_of_an_election_is_that_of_the_leader_that_remained() {
        let merged = Merged {
            names: ["a", "b"].map(str::to_owned).to_vec(),
            algorithm: "bully".to_owned(),
            epoch: Some(4),
            leader: Some("b".to_owned()),
            events: vec![leads(0, 2), leads(1, 9)],
            ..Merged::default()
        };
        let election = Election::new(merged, "demo", "then".to_owned());
        let expected = "b leads in epoch 4, 9 ms after the election began";
        assert!(election.text().contains(expected), "{}", election.text());
        assert!(election.diagram().description.starts_with(expected));
    }
}
