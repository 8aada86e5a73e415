//! Whether a cluster is well, from what its nodes answer: for `health` and `status`.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use super::ask::{Asked, leads, newest_leader};
use super::orders;
use crate::admin::client::ClientError;
use crate::node::problems::ProblemKind;
use crate::node::status::Status;
use crate::trace::length;

/// How many names of a list are shown, if there are more than one more.
const SHOWN: usize = 2;

/// The state of a cluster, by the worst that is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing is wrong.
    #[serde(rename = "ok")]
    Well,
    /// A leader leads, and something is wrong, or no further failure is tolerated.
    Degraded,
    /// Nodes answer, and none knows a leader.
    NoLeader,
    /// No node answers.
    Unknown,
}

impl Verdict {
    /// For people.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Well => "OK",
            Verdict::Degraded => "DEGRADED",
            Verdict::NoLeader => "NO LEADER",
            Verdict::Unknown => "UNKNOWN",
        }
    }
}

/// Something that is wrong, once for all nodes that tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// The names of the nodes that tell it; none if the command itself found it.
    pub nodes: Vec<String>,
    /// As in the problems of a node; of a node that does not answer there is none.
    pub kind: String,
    /// The member that it is about, if it is about another than those that tell it.
    pub about: String,
    /// What is wrong, in words.
    pub text: String,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trouble { nodes, kind, text, .. } = self;
        match nodes.as_slice() {
            [] => f.write_str(text),
            nodes => write!(f, "{}: {kind}: {text}", some_of(nodes)),
        }
    }
}

impl Trouble {
    fn is(&self, kind: ProblemKind) -> bool {
        self.kind == kind.name()
    }
}

/// The verdict, with its reasons.
#[derive(Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// All problems.
    pub problems: Vec<Trouble>,
    /// Without a leader: why the nodes know none, once each.
    pub reasons: Vec<String>,
    /// Without a leader: for how long nobody has led, in milliseconds: the shortest time of all nodes, as each heard that
    /// leader last at its end or earlier.
    pub leaderless_ms: Option<u64>,
    /// The orders of operators that are in force, a line each. By themselves they change no verdict.
    pub orders: Vec<String>,
    /// The leader's name and epoch.
    pub leader: Option<(String, u64)>,
    /// How many nodes answer, and how many were asked.
    pub answering: (usize, usize),
    /// How many more failures are tolerated, as the leader knows; if it does not answer, the least number of the nodes
    /// that know a leader.
    pub tolerated: u64,
}

/// Judges a cluster by these answers. A node without an admin address cannot be asked, which is no problem.
pub fn judge(asked: &[Asked]) -> Judgement {
    let statuses = || asked.iter().filter_map(|asked| asked.answer.as_ref().ok());
    let problems: Vec<Trouble> = silent(asked).chain(reported(statuses())).collect();
    let asked_for =
        asked.iter().filter(|asked| asked.answer != Err(ClientError::NotServed)).count();
    let leader = newest_leader(asked).map(|leader| (leader.name.clone(), leader.epoch));
    let knows = |status: &&Status| status.leader.is_some();
    let tolerated = statuses()
        .filter(knows)
        .map(|one| (!leads(one), one.failures_tolerated, one.failures_tolerated_at_most))
        .min();
    let (_, tolerated, at_most) = tolerated.unwrap_or_default();
    let is_well = problems.is_empty() && (tolerated > 0 || at_most == 0);
    let verdict = match (&leader, is_well) {
        _ if statuses().next().is_none() => Verdict::Unknown,
        (None, _) => Verdict::NoLeader,
        (Some(_), false) => Verdict::Degraded,
        (Some(_), true) => Verdict::Well,
    };
    let answering = (statuses().count(), asked_for);
    let orders = orders::of_all(asked);
    let is_led = leader.is_some();
    let lasts = |status: &Status| Some(status.leaderless.as_ref()?.lasts_ms);
    let leaderless_ms = statuses().filter_map(lasts).min().filter(|_| !is_led);
    let reasons = if is_led { Vec::new() } else { leaderless(statuses()) };
    Judgement { verdict, problems, reasons, leaderless_ms, orders, leader, answering, tolerated }
}

/// The nodes that do not answer, or another one in their place.
fn silent(asked: &[Asked]) -> impl Iterator<Item = Trouble> {
    let trouble = |about: String, text| Trouble { nodes: vec![], kind: String::new(), about, text };
    asked.iter().filter_map(move |asked| match asked.answer.as_ref().err()? {
        ClientError::NotServed => None,
        ClientError::Other(sentence) => Some(trouble(String::new(), sentence.clone())),
        error => {
            let name = asked.name();
            Some(trouble(name.to_owned(), format!("{name} does not answer: {error}")))
        }
    })
}

/// The problems that nodes tell, with their names: what one sees, another may not.
fn reported<'a>(statuses: impl Iterator<Item = &'a Status>) -> Vec<Trouble> {
    let mut reported: Vec<Trouble> = Vec::new();
    for status in statuses {
        for found in &status.problems {
            let same =
                |known: &&mut Trouble| (&known.kind, &known.text) == (&found.kind, &found.text);
            match reported.iter_mut().find(same) {
                Some(known) => add_once(&mut known.nodes, &status.node.name),
                None => reported.push(Trouble {
                    nodes: vec![status.node.name.clone()],
                    kind: found.kind.clone(),
                    about: found.about.clone(),
                    text: found.text.clone(),
                }),
            }
        }
    }
    reported
}

/// Why no leader is known, once for all nodes that say the same.
fn leaderless<'a>(statuses: impl Iterator<Item = &'a Status>) -> Vec<String> {
    let mut reasons: Vec<(Vec<String>, &str)> = Vec::new();
    for status in statuses {
        // A node of an earlier version tells its changes alone.
        let change = status.changes.last().filter(|_| status.version.is_empty());
        let reason = status.leaderless.as_ref().map(|it| it.reason.as_str());
        let Some(reason) = reason.or(change.map(|change| change.reason.as_str())) else { continue };
        match reasons.iter_mut().find(|(_, known)| *known == reason) {
            Some((nodes, _)) => add_once(nodes, &status.node.name),
            None => reasons.push((vec![status.node.name.clone()], reason)),
        }
    }
    reasons.iter().map(|(nodes, reason)| format!("{}: {reason}", some_of(nodes))).collect()
}

/// That these nodes do not answer, if there are any.
fn no_answer(names: &[String]) -> Option<String> {
    match names {
        [] => None,
        [one] => Some(format!("{one} does not answer")),
        several => Some(format!("{} do not answer", some_of(several))),
    }
}

/// Adds a name, once.
fn add_once(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// These names, or the first of them and how many others there are.
pub fn some_of(names: &[String]) -> String {
    if names.len() <= SHOWN + 1 {
        return names.join(", ");
    }
    let (shown, others) = names.split_at(SHOWN);
    format!("{} and {} others", shown.join(", "), others.len())
}

impl Judgement {
    /// The leader and the tolerated failures, or why there is none, in one sentence.
    pub fn summary(&self) -> String {
        self.sentence(&format!("{} tolerated", failures(self.tolerated)), &self.reasons)
    }

    /// The verdict and the summary, with how many voters are left, if that is a problem.
    pub fn headline(&self) -> String {
        let margin = self.problems.iter().find(|it| it.is(ProblemKind::QuorumMargin));
        let summary = match (margin, &self.leader) {
            (None, _) => self.summary(),
            (Some(margin), Some(_)) => self.sentence(&margin.text, &[]),
            (Some(margin), None) => {
                let reasons =
                    [std::slice::from_ref(&margin.text), self.reasons.as_slice()].concat();
                self.sentence("", &reasons)
            }
        };
        format!("{}: {summary}", self.verdict.word())
    }

    fn sentence(&self, tolerated: &str, reasons: &[String]) -> String {
        let Some((name, epoch)) = &self.leader else {
            let why = if reasons.is_empty() { "" } else { ": " };
            let time = self.leaderless_ms.map(|ms| length(Duration::from_millis(ms)));
            let time = time.map_or_else(String::new, |time| format!("; nobody has led for {time}"));
            return format!("no leader is known{why}{}{time}", reasons.join("; "));
        };
        format!("{name} leads in epoch {epoch}; {tolerated}")
    }

    /// The problems that this command found itself, and those that nodes told.
    fn by_source(&self) -> (Vec<&Trouble>, Vec<&Trouble>) {
        self.problems.iter().partition(|it| it.nodes.is_empty())
    }

    /// What is wrong, for one line: the shortest first, so that as much as possible finds room. Why a member does not answer
    /// is said once: by those that miss it, or else by the command.
    pub fn brief(&self) -> Vec<String> {
        let (silent, reported) = self.by_source();
        let is_reported = |about: &str| reported.iter().any(|it| it.about == about);
        let unheard: Vec<String> =
            silent.iter().map(|it| it.about.clone()).filter(|about| !about.is_empty()).collect();
        let is_short = unheard.len() > 1 || unheard.iter().any(|about| is_reported(about));
        let short = no_answer(&unheard).filter(|_| is_short);
        let whole = silent.iter().filter(|it| !is_short || it.about.is_empty());
        let mut reported: Vec<String> = reported.iter().map(ToString::to_string).collect();
        reported.sort_by_key(String::len);
        short.into_iter().chain(whole.map(ToString::to_string)).chain(reported).collect()
    }

    /// What is wrong besides what the headline says, each once: that a member is down, whoever tells it, and not again
    /// that it does not answer.
    pub fn besides(&self) -> Vec<String> {
        let (silent, reported) = self.by_source();
        let is_down = |about: &str| {
            reported.iter().any(|it| it.is(ProblemKind::PeerDown) && it.about == about)
        };
        let unheard = silent.iter().filter(|it| !it.about.is_empty() && !is_down(&it.about));
        let unheard: Vec<String> = unheard.map(|it| it.about.clone()).collect();
        let mut lines: Vec<String> = no_answer(&unheard).into_iter().collect();
        let others = silent.iter().filter(|it| it.about.is_empty());
        lines.extend(others.map(|it| it.text.clone()));
        let mut once: Vec<Trouble> = Vec::new();
        for trouble in reported.into_iter().filter(|it| !it.is(ProblemKind::QuorumMargin)) {
            let same = |known: &&mut Trouble| {
                trouble.is(ProblemKind::PeerDown)
                    && (&known.kind, &known.about) == (&trouble.kind, &trouble.about)
            };
            match once.iter_mut().find(same) {
                Some(known) => {
                    trouble.nodes.iter().for_each(|name| add_once(&mut known.nodes, name))
                }
                None => once.push(trouble.clone()),
            }
        }
        lines.extend(once.iter().map(Trouble::to_string));
        lines
    }
}

/// How many failures are tolerated, in words.
pub fn failures(count: u64) -> String {
    match count {
        0 => "no further failure".to_owned(),
        1 => "1 more failure".to_owned(),
        count => format!("{count} more failures"),
    }
}

#[cfg(test)]
mod tests;
