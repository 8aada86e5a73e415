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
mod tests {
    use super::*;
    use crate::cli::ask::tests::{following, silent};
    use crate::node::status::{LeaderlessStatus, Problem};

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
    fn no_further_failure_tolerated_is_a_degradation_unless_the_cluster_never_tolerates_one() {
        let of = |tolerated, at_most| {
            let mut asked = following("a", Some(("c", 7)));
            let status = asked.answer.as_mut().unwrap();
            (status.failures_tolerated, status.failures_tolerated_at_most) = (tolerated, at_most);
            judge(&[asked])
        };
        assert_eq!(of(0, 1).verdict, Verdict::Degraded);
        assert_eq!(
            of(0, 1).headline(),
            "DEGRADED: c leads in epoch 7; no further failure tolerated"
        );
        assert_eq!((of(0, 0).verdict, of(1, 2).verdict), (Verdict::Well, Verdict::Well));
    }

    #[test]
    fn why_nobody_leads_is_said_once_by_all_who_say_it() {
        let mut asked = ["a", "b", "d"].map(|name| following(name, None));
        let mut say = |at: usize, reason: &str, lasts_ms| {
            let (since, cause, reason) = (String::new(), String::new(), reason.to_owned());
            let leaderless = Some(LeaderlessStatus { since, lasts_ms, cause, reason });
            asked[at].answer.as_mut().unwrap().leaderless = leaderless;
            judge(&asked).summary()
        };
        say(0, "its store is empty and it has not met c", 12_000);
        let words = "no leader is known: a, b: its store is empty and it has not met c; nobody has led for 11 s";
        assert_eq!(say(1, "its store is empty and it has not met c", 11_000), words);
        let words = "no leader is known: a: its store is empty and it has not met c; b: no majority \
                     of the voters answers; nobody has led for 11 s";
        assert_eq!(say(1, "no majority of the voters answers", 11_000), words);
        assert_eq!(judge(&[following("d", None)]).summary(), "no leader is known");
    }

    fn problem(kind: ProblemKind, about: &str, text: &str) -> Problem {
        let (since, kind) = (String::new(), kind.name().to_owned());
        Problem { since, kind, about: about.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn what_several_nodes_say_is_said_once() {
        let mut asked = [following("a", Some(("c", 7))), following("b", Some(("c", 7)))];
        for asked in &mut asked {
            let status = asked.answer.as_mut().unwrap();
            status.problems.push(problem(ProblemKind::PeerDown, "d", "d is down"));
        }
        let lines = |asked: &[Asked]| {
            judge(asked).problems.iter().map(Trouble::to_string).collect::<Vec<_>>()
        };
        let judgement = judge(&asked);
        assert_eq!(judgement.verdict, Verdict::Degraded);
        assert_eq!(lines(&asked), ["a, b: peer_down: d is down"]);
        assert_eq!(judgement.summary(), "c leads in epoch 7; 1 more failure tolerated");
        asked[0].answer.as_mut().unwrap().problems[0].text.push_str(": redial refused");
        let expected = ["a: peer_down: d is down: redial refused", "b: peer_down: d is down"];
        assert_eq!(lines(&asked), expected);
    }

    #[test]
    fn a_status_says_once_that_a_member_is_down_and_how_many_are_left() {
        let margin = "2 of 3 voters left, 2 are needed: no further failure is tolerated";
        let mut asked =
            [following("a", Some(("c", 7))), following("c", Some(("c", 7))), silent("b")];
        for (at, text) in [(0, "b is down: silent"), (1, "b is down: redial refused")] {
            asked[at].answer.as_mut().unwrap().problems = vec![
                problem(ProblemKind::QuorumMargin, "", margin),
                problem(ProblemKind::PeerDown, "b", text),
            ];
        }
        let judgement = judge(&asked);
        assert_eq!(judgement.headline(), format!("DEGRADED: c leads in epoch 7; {margin}"));
        assert_eq!(judgement.besides(), ["a, c: peer_down: b is down: silent"]);
        let judgement = judge(&[following("a", Some(("c", 7))), silent("b"), silent("d")]);
        assert_eq!(judgement.besides(), ["b, d do not answer"]);
    }

    #[test]
    fn a_long_list_of_names_is_cut() {
        let names = |count| (1..=count).map(|at| format!("n{at}")).collect::<Vec<_>>();
        assert_eq!(some_of(&names(3)), "n1, n2, n3");
        assert_eq!(some_of(&names(7)), "n1, n2 and 5 others");
    }

    #[test]
    fn each_verdict_has_a_word_for_people_and_one_for_programs() {
        let words = [Verdict::Well, Verdict::Degraded, Verdict::NoLeader, Verdict::Unknown]
            .map(|it| (it.word(), serde_json::json!(it)));
        let expected = [
            ("OK", "ok".into()),
            ("DEGRADED", "degraded".into()),
            ("NO LEADER", "no_leader".into()),
            ("UNKNOWN", "unknown".into()),
        ];
        assert_eq!(words, expected);
        let counts = [0, 1, 2].map(failures);
        assert_eq!(counts, ["no further failure", "1 more failure", "2 more failures"]);
    }

    /// Another node in its place says so in a whole sentence, and is no member that does not answer.
    #[test]
    fn who_answers_in_anothers_place_is_told_in_its_own_words() {
        let mut other = silent("b");
        let sentence = "127.0.0.1:1 is of cluster hc, not demo";
        other.answer = Err(ClientError::Other(sentence.to_owned()));
        let judgement = judge(&[following("a", Some(("c", 7))), other, silent("d")]);
        let told: Vec<_> =
            judgement.problems.iter().map(|it| (it.about.as_str(), it.to_string())).collect();
        let silence = "d does not answer: no answer from 127.0.0.1:1: connection refused, so no node runs there";
        assert_eq!(told, [("", sentence.to_owned()), ("d", silence.to_owned())]);
        assert_eq!(judgement.besides(), ["d does not answer", sentence]);
        assert_eq!(judgement.brief(), [sentence, silence]);
        assert_eq!((judgement.verdict, judgement.answering), (Verdict::Degraded, (1, 3)));
    }

    #[test]
    fn a_node_of_an_earlier_version_tells_its_last_change() {
        let reason = |version: &str| {
            let mut asked = following("a", None);
            let status = asked.answer.as_mut().unwrap();
            status.version = version.to_owned();
            let change = serde_json::json!({
                "number": 1, "at_ms": 1, "from": "following", "to": "electing", "halting": null, "leader": null,
                "epoch": 7, "reason": "c is silent"
            });
            status.changes = serde_json::from_value(serde_json::json!([change])).unwrap();
            judge(&[asked]).reasons
        };
        assert_eq!(reason(""), ["a: c is silent"]);
        assert_eq!(reason("0.2.0"), [""; 0]);
    }
}
