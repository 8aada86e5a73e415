//! An election of live nodes, for people and for programs.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use super::TraceLine;
use super::diagram::Diagram;
use super::differing;
use super::event::{DrawnEvent, DrawnWhat};
use super::json::json as events;
use super::length::length;
use super::listed::and;
use super::merge::{Merged, figures};
use super::record::MessageKind;
use super::svg::MOST_NODES;
use crate::core::message::Kind;
use crate::core::settings::AlgorithmKind;
use crate::core::types::Time;

/// How far what happened is indented in a line, less one.
pub const INDENT: usize = 22;

/// How many messages there are of each kind.
type Counted<K> = Vec<(K, u64)>;

/// An election to be shown.
///
/// ```
/// use electd_record::trace::election::Election;
/// use electd_record::trace::merge::Merged;
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

    fn line(&self, event: &DrawnEvent) -> TraceLine {
        let names = &self.merged.names;
        let mut what = event.sentence(names);
        if let DrawnWhat::Sends { arrives, lost: false, unseen: None, .. } = event.what {
            let travelled = arrives.since(event.time);
            let travelled = if travelled < Duration::from_micros(50) {
                "less than 0.1 ms".to_owned()
            } else {
                length(travelled)
            };
            let _ = write!(what, ", taken after {travelled}");
        }
        let node = names.get(event.node).cloned().unwrap_or_default();
        TraceLine { time: event.time, node, what }
    }

    /// For programs: what docs/trace.md describes.
    #[must_use]
    pub fn object(&self) -> Value {
        let merged = &self.merged;
        let (kinds, others) = self.messages();
        let total =
            ("total".to_owned(), Value::from(kinds.iter().map(|(_, count)| count).sum::<u64>()));
        let named = |(kind, count): &(Kind, u64)| (kind.name().to_owned(), Value::from(*count));
        let other = |(kind, count): (&MessageKind, u64)| (kind.name().to_owned(), count.into());
        let mut object = events(&self.diagram());
        let more = json!({
            "cluster": self.cluster,
            "algorithm": merged.algorithm,
            "epoch": merged.epoch,
            "leader": merged.leaders.first(),
            "leaders": merged.leaders,
            "began": self.began,
            "messages": kinds.iter().map(named).chain([total]).collect::<Map<_, _>>(),
            "other_messages": others.into_iter().map(other).collect::<Map<_, _>>(),
            "formula": self.formula().map(|(least, most)| json!({"least": least, "most": most})),
            "differs": self.formula().and_then(|formula| differing::why(merged, self.algorithm?, formula)),
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
        let leads = |event: &&DrawnEvent| {
            matches!(&event.what, DrawnWhat::Becomes { phase: crate::core::Phase::Leading, .. })
        };
        let won = self.merged.events.iter().rfind(leads);
        let after = won.map(|won| length(won.time.since(Time(0))));
        let after = after.map(|after| format!(", {after} after the election began"));
        let after = after.unwrap_or_default();
        match (self.merged.epoch, &self.merged.leaders[..]) {
            (Some(epoch), leaders @ [_, others @ ..]) => {
                let lead = if others.is_empty() { "leads" } else { "lead" };
                format!("{} {lead} in epoch {epoch}{after}", and(leaders))
            }
            _ => "nobody leads yet, as far as any node recorded".to_owned(),
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
        let differs = self.formula().zip(self.algorithm);
        let differs = differs.and_then(|(formula, of)| differing::why(&self.merged, of, formula));
        if let Some(why) = differs {
            let _ = write!(text, " ({why})");
        }
        let others: Vec<_> =
            others.iter().map(|(kind, count)| format!("{count} {}", kind.title())).collect();
        if !others.is_empty() {
            let _ = write!(text, "; besides, {}", others.join(", "));
        }
        text
    }

    /// The messages of the algorithm, those of no kind besides, which are counted apart: LOWER only where it was sent.
    fn messages(&self) -> (Counted<Kind>, Counted<&MessageKind>) {
        let sent = &self.merged.messages;
        let kinds = self.algorithm.map_or(&[][..], Kind::of);
        let count = |kind: Kind| sent.get(&kind.into()).copied().unwrap_or(0);
        let counted = kinds.iter().map(|kind| (*kind, count(*kind)));
        let counted = counted.filter(|(kind, count)| *kind != Kind::Lower || *count > 0).collect();
        let is_other = |kind: &MessageKind| kind.known().is_none_or(|kind| !kinds.contains(&kind));
        let others = sent.iter().filter(|(kind, _)| is_other(kind));
        let mut others: Vec<_> = others.map(|(kind, count)| (kind, *count)).collect();
        others.sort_by_key(|(kind, _)| kind.name());
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
mod tests;
