//! Whether a cluster is well, from what its nodes answer: for `health` and `status`.

use super::ask::{Asked, newest_leader};
use super::orders;
use crate::admin::client::ClientError;
use crate::node::status::Status;

/// The state of a cluster, by the worst that is known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is wrong.
    Well,
    /// A leader leads, and something is wrong.
    Degraded,
    /// Nodes answer, and none knows a leader.
    NoLeader,
    /// No node answers.
    Unknown,
}

/// The verdict, with its reasons.
#[derive(Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// All problems, once each, after the names of the nodes that tell them.
    pub problems: Vec<String>,
    /// Without a leader: why the nodes know none, once each.
    pub reasons: Vec<String>,
    /// The orders of operators that are in force, a line each. They change no verdict.
    pub orders: Vec<String>,
    /// The leader's name and epoch.
    pub leader: Option<(String, u64)>,
    /// How many nodes answer, and how many were asked.
    pub answering: (usize, usize),
    /// How many more failures are tolerated: the least number of the nodes that know a leader.
    pub tolerated: u64,
}

/// The causes of a change that say why nobody leads.
const HINDRANCES: [&str; 6] = [
    "uninformed",
    "voters_uninformed",
    "isolated",
    "no_majority",
    "may_not_lead",
    "no_coordinator",
];

/// Judges a cluster by these answers. A node without an admin address cannot be asked, which is no problem.
pub fn judge(asked: &[Asked]) -> Judgement {
    let mut problems: Vec<String> = asked.iter().filter_map(silence).collect();
    problems.extend(told(asked));
    let statuses = || asked.iter().filter_map(|asked| asked.answer.as_ref().ok());
    let asked_for =
        asked.iter().filter(|asked| asked.answer != Err(ClientError::NotServed)).count();
    let leader = newest_leader(asked).map(|leader| (leader.name.clone(), leader.epoch));
    let knows = |status: &&Status| status.leader.is_some();
    let tolerated = statuses().filter(knows).map(|status| status.failures_tolerated).min();
    let verdict = match (&leader, problems.is_empty()) {
        _ if statuses().next().is_none() => Verdict::Unknown,
        (None, _) => Verdict::NoLeader,
        (Some(_), false) => Verdict::Degraded,
        (Some(_), true) => Verdict::Well,
    };
    let answering = (statuses().count(), asked_for);
    let (orders, tolerated) = (orders::of_all(asked), tolerated.unwrap_or_default());
    let reasons = if leader.is_none() { leaderless(asked) } else { Vec::new() };
    Judgement { verdict, problems, reasons, orders, leader, answering, tolerated }
}

/// That a node does not answer, or another one in its place.
fn silence(asked: &Asked) -> Option<String> {
    match asked.answer.as_ref().err()? {
        ClientError::NotServed => None,
        ClientError::Other(sentence) => Some(sentence.clone()),
        error => Some(format!("{} does not answer: {error}", asked.name())),
    }
}

/// The problems that nodes tell, with their names: what one sees, another may not.
fn told(asked: &[Asked]) -> Vec<String> {
    let answers = asked.iter().filter_map(|asked| asked.answer.as_ref().ok());
    let told = answers.flat_map(|status| {
        let name = status.node.name.as_str();
        status.problems.iter().map(move |it| (name, format!("{}: {}", it.kind, it.text)))
    });
    let told: Vec<(&str, String)> = told.collect();
    by_text(told.iter().map(|(name, text)| (*name, text.as_str())))
}

/// Why no leader is known, as each node tells it.
fn leaderless(asked: &[Asked]) -> Vec<String> {
    let answers = asked.iter().filter_map(|asked| asked.answer.as_ref().ok());
    let told = answers.filter_map(|status| Some((status.node.name.as_str(), hindrance(status)?)));
    by_text(told)
}

/// What keeps this node from a leader: of the changes since it knew one, the last that says so, as the beginning of
/// the next try says nothing.
fn hindrance(status: &Status) -> Option<&str> {
    let since = || status.changes.iter().rev().take_while(|change| change.leader.is_none());
    let telling = since().find(|change| HINDRANCES.contains(&change.cause.as_str()));
    telling.or_else(|| since().next()).map(|change| change.reason.as_str())
}

/// Each text once, after the names of all who say it.
fn by_text<'a>(told: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut texts: Vec<(Vec<&str>, &str)> = Vec::new();
    for (name, text) in told {
        match texts.iter_mut().find(|(_, known)| *known == text) {
            Some((names, _)) if names.contains(&name) => {}
            Some((names, _)) => names.push(name),
            None => texts.push((vec![name], text)),
        }
    }
    texts.iter().map(|(names, text)| format!("{}: {text}", names.join(", "))).collect()
}

impl Judgement {
    /// The leader and the tolerated failures, in one sentence.
    pub fn summary(&self) -> String {
        match &self.leader {
            Some((name, epoch)) => {
                let left = failures(self.tolerated);
                format!("{name} leads in epoch {epoch}; {left} tolerated")
            }
            None if self.reasons.is_empty() => "no leader is known".to_owned(),
            None => format!("no leader is known: {}", self.reasons.join("; ")),
        }
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
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent};
    use crate::node::status::{ChangeStatus, Problem};

    #[test]
    fn the_worst_decides() {
        let well = || following("a", Some(("c", 7)));
        let judged = |asked: &[Asked]| judge(asked).verdict;
        assert_eq!(judged(&[well(), well()]), Verdict::Well);
        assert_eq!(judged(&[well(), silent("b")]), Verdict::Degraded);
        assert_eq!(judged(&[following("a", None), silent("b")]), Verdict::NoLeader);
        assert_eq!(judged(&[silent("a"), silent("b")]), Verdict::Unknown);
        let mut unserved = silent("b");
        unserved.answer = Err(ClientError::NotServed);
        assert_eq!(judged(&[well(), unserved]), Verdict::Well);
    }

    #[test]
    fn why_nobody_leads_is_said_once_by_all_who_say_it() {
        let change = |number, cause: &str, reason: &str| ChangeStatus {
            number,
            at_ms: 1,
            from: "electing".to_owned(),
            to: "starting".to_owned(),
            halting: None,
            leader: None,
            epoch: 0,
            reason: reason.to_owned(),
            cause: cause.to_owned(),
            silent_ms: 0,
        };
        let changes = vec![
            change(1, "isolated", "no majority of the voters answers"),
            change(2, "uninformed", "its store is empty and it has not met c"),
            change(3, "nobody_leads", "no leader showed up within the failure time"),
        ];
        let mut asked = ["a", "b", "d"].map(|name| following(name, None));
        asked[0].answer.as_mut().unwrap().changes.clone_from(&changes);
        asked[1].answer.as_mut().unwrap().changes.clone_from(&changes);
        let words = "no leader is known: a, b: its store is empty and it has not met c";
        assert_eq!(judge(&asked).summary(), words);
        asked[1].answer.as_mut().unwrap().changes.drain(1..);
        let words = "no leader is known: a: its store is empty and it has not met c; b: no majority \
                     of the voters answers";
        assert_eq!(judge(&asked).summary(), words);
        assert_eq!(judge(&[following("d", None)]).summary(), "no leader is known");
    }

    #[test]
    fn what_several_nodes_say_is_said_once() {
        let mut asked = [following("a", Some(("c", 7))), following("b", Some(("c", 7)))];
        for (at, asked) in asked.iter_mut().enumerate() {
            let Ok(status) = &mut asked.answer else { panic!("it answers") };
            let (since, kind, text) = (at.to_string(), "peer_down".into(), "d is down".into());
            status.problems.push(Problem { since, kind, text });
        }
        let judgement = judge(&asked);
        assert_eq!(judgement.verdict, Verdict::Degraded);
        assert_eq!(judgement.problems, ["a, b: peer_down: d is down"]);
        assert_eq!(judgement.summary(), "c leads in epoch 7; 1 more failure tolerated");
        let Ok(status) = &mut asked[0].answer else { panic!("it answers") };
        status.problems[0].text.push_str(": redial refused");
        let told = ["a: peer_down: d is down: redial refused", "b: peer_down: d is down"];
        assert_eq!(judge(&asked).problems, told);
    }
}
