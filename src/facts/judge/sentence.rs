//! The verdict in one sentence.

use serde_json::{Value, json};

use super::super::hindrance::Hindrance;
use super::super::status::Status;
use super::super::words::{and, failures, some_of};
use super::{ClusterTrouble, Colour, Judgement, NodeDifference, Verdict};

impl Judgement {
    /// The leader and the tolerated failures with what lessens them, or why there is no leader and what to do, in the one
    /// sentence that every view shows.
    #[must_use]
    pub fn summary(&self) -> String {
        self.with_blindness(self.sentence())
    }

    /// The verdict as a word, and why.
    #[must_use]
    pub fn headline(&self) -> String {
        match self.verdict {
            // It begins so.
            Verdict::TwoLeaders => self.summary(),
            other => format!("{}: {}", other.word(), self.summary()),
        }
    }

    /// The sentence with what is known of nodes that hear nobody: that comes first, but for two leaders.
    fn with_blindness(&self, sentence: String) -> String {
        match (self.blindness(), self.verdict) {
            (None, Verdict::TwoLeaders) => format!("{sentence}; {}", self.apart_remedy()),
            (Some(blind), Verdict::TwoLeaders) => {
                format!("{sentence}; {blind}; {}", self.apart_remedy())
            }
            (None, _) => sentence,
            (Some(blind), _) => {
                format!("{blind} (mend {} network){}; {sentence}", self.whose(), self.others())
            }
        }
    }

    /// That nodes hear nobody.
    fn blindness(&self) -> Option<String> {
        let (hears, is) = match self.cut_off.as_slice() {
            [] => return None,
            [_] => ("hears", "is"),
            _ => ("hear", "are"),
        };
        let names = and(&self.cut_off);
        Some(format!("{names} {hears} nobody: {names} {is} probably cut off"))
    }

    /// The owner of the network that is to be mended where nodes hear nobody.
    fn whose(&self) -> &'static str {
        if self.cut_off.len() == 1 { "its" } else { "their" }
    }

    /// If only nodes answer that hear nobody, what the others do is not known.
    fn others(&self) -> &'static str {
        let known = self.answering.0 > self.cut_off.len();
        if known { "" } else { "; the others may have a leader" }
    }

    /// What to do about several leaders, and which of them to stop.
    fn apart_remedy(&self) -> String {
        let rest: Vec<String> = self.leaders.iter().skip(1).map(|(name, _)| name.clone()).collect();
        format!(
            "mend the network between them: then one of them leads alone; if two at once do harm, stop {} until then",
            and(&rest)
        )
    }

    fn sentence(&self) -> String {
        if self.verdict == Verdict::TwoLeaders {
            let each: Vec<String> = self
                .leaders
                .iter()
                .map(|(name, epoch)| format!("{name} in epoch {epoch}"))
                .collect();
            let count = count(each.len());
            return format!("{count} LEADERS: {}", and(&each));
        }
        if let Some((name, epoch)) = &self.leader {
            let tolerated = format!("{} tolerated", failures(self.tolerated));
            return match &*self.unable {
                "" => format!("{name} leads in epoch {epoch}; {tolerated}"),
                unable => format!("{name} leads in epoch {epoch}; {unable}: {tolerated}"),
            };
        }
        let time = self.leaderless();
        let time = time.map_or_else(String::new, |time| format!("; nobody has led for {time}"));
        match &self.stuck {
            Some(stuck) => format!("nobody leads: {}: {}{time}", stuck.reason, stuck.remedy),
            None if self.verdict == Verdict::CutOff => {
                let names = and(&self.cut_off);
                let knows = if self.cut_off.len() == 1 { "knows" } else { "know" };
                let for_how_long = self.leaderless().map(|time| format!(" since {time}"));
                format!("{names} {knows} no leader{}", for_how_long.unwrap_or_default())
            }
            None => {
                let why = if self.reasons.is_empty() { "" } else { ": " };
                format!("no leader is known{why}{}{time}", self.reasons.join("; "))
            }
        }
    }
}

fn count(leaders: usize) -> String {
    match leaders {
        2 => "TWO".to_owned(),
        3 => "THREE".to_owned(),
        many => many.to_string(),
    }
}

impl Judgement {
    /// For programs, whole.
    #[must_use]
    pub fn json(&self) -> Value {
        let problem = |it: &ClusterTrouble| {
            let about = Some(&it.about).filter(|about| !about.is_empty());
            let kind = Some(&it.kind).filter(|kind| !kind.is_empty());
            json!({ "nodes": it.nodes, "kind": kind, "about": about, "text": it.text })
        };
        let leads = |(name, epoch): &(String, u64)| json!({ "name": name, "epoch": epoch });
        let mut object = json!({
            "verdict": self.verdict,
            "summary": self.summary(),
            "leader": self.leader.as_ref().map(leads),
            "leaderless_ms": self.leaderless_ms,
            "reasons": self.reasons,
            "failures_tolerated": self.tolerated,
            "answering": self.answering.0,
            "asked": self.answering.1,
            "problems": self.problems.iter().map(problem).collect::<Vec<_>>(),
            "orders": self.orders,
        });
        if !self.differences.is_empty() {
            object["differences"] = self.differences.iter().map(ToString::to_string).collect();
        }
        if self.verdict == Verdict::TwoLeaders {
            object["leaders"] = self.leaders.iter().map(leads).collect();
        }
        object
    }

    /// The same for a page: also its colour, its sentence, what is wrong with what to do, and what hinders each member.
    #[must_use]
    pub fn page(&self) -> Value {
        let remedied = |it: &ClusterTrouble| {
            json!({
                "nodes": it.nodes, "kind": it.kind, "text": it.text, "since": it.since, "remedy": self.remedy_of(it),
            })
        };
        let badge = |it: &Hindrance| {
            let is_bad = it.silences() && !matches!(it, Hindrance::NotKnown(_));
            let colour: &str = if is_bad { Colour::Bad } else { Colour::Fair }.into();
            json!({ "kind": it.name(), "text": it.badge(), "colour": colour })
        };
        let badges = self.hindrances.iter().map(|(name, found)| {
            (name.clone(), found.iter().map(badge).collect::<Vec<_>>().into())
        });
        let mut object = self.json();
        let colour: &str = self.verdict.colour().into();
        object["colour"] = colour.into();
        object["code"] = self.verdict.code().into();
        object["leadership"] = json!(self.leadership);
        object["banner"] = self.summary().into();
        let differs = |NodeDifference { of, text, remedy }: &NodeDifference| {
            let (none, kind): ([&str; 0], &str) = ([], of.into());
            json!({ "nodes": none, "kind": kind, "text": text, "since": "", "remedy": remedy })
        };
        let differ = self.differences.iter().map(differs);
        object["boxes"] = self.boxes().iter().map(remedied).chain(differ).collect();
        object["badges"] = Value::Object(badges.collect());
        object
    }
}

/// Why no leader is known, once for all nodes that say the same.
pub(super) fn reasons<'a>(statuses: impl Iterator<Item = &'a Status>) -> Vec<String> {
    let mut reasons: Vec<(Vec<String>, &str)> = Vec::new();
    for status in statuses {
        // A node of an earlier version tells its changes alone.
        let change = status.changes.last().filter(|_| status.version.is_empty());
        let reason = status.leaderless.as_ref().map(|it| it.reason.as_str());
        let Some(reason) = reason.or(change.map(|change| change.reason.as_str())) else { continue };
        match reasons.iter_mut().find(|(_, known)| *known == reason) {
            Some((nodes, _)) => super::boxes::add_once(nodes, &status.node.name),
            None => reasons.push((vec![status.node.name.clone()], reason)),
        }
    }
    reasons.iter().map(|(nodes, reason)| format!("{}: {reason}", some_of(nodes))).collect()
}
