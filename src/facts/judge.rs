//! The one verdict on a cluster, from what each member that was asked answered, or why it did not.

mod boxes;
mod margin;
mod sentence;

use std::fmt;
use std::time::Duration;

use electd_record::trace::length;
use serde::Serialize;
use strum::IntoStaticStr;

use super::asked::{Asked, Silence, answers, newest_leader};
use super::clocks::{self, NodeClock, apart};
use super::hindrance::Hindrance;
use super::hint::ClusterFlags;
use super::led::Led;
use super::orders;
use super::status::Status;
use super::versions;

pub use boxes::ClusterTrouble;
use margin::SeenMembers;
pub use margin::{How, Stuck};

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
    /// Two or more nodes lead.
    TwoLeaders,
    /// Only nodes answer that hear nobody and know no leader: what the others do is not known.
    CutOff,
    /// No node answers.
    Unknown,
}

/// How bad a verdict is, as a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Colour {
    /// Green.
    Good,
    /// Yellow.
    Fair,
    /// Red.
    Bad,
}

impl Verdict {
    /// For people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Well => "OK",
            Verdict::Degraded => "DEGRADED",
            Verdict::NoLeader => "NO LEADER",
            Verdict::TwoLeaders => "TWO LEADERS",
            Verdict::CutOff => "CUT OFF",
            Verdict::Unknown => "UNKNOWN",
        }
    }

    /// As plugins of monitoring systems end: 0 well, 1 a warning, 2 critical, 3 unknown.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Verdict::Well => 0,
            Verdict::Degraded => 1,
            Verdict::NoLeader | Verdict::TwoLeaders | Verdict::CutOff => 2,
            Verdict::Unknown => 3,
        }
    }

    /// As a banner shows it.
    #[must_use]
    pub fn colour(self) -> Colour {
        match self {
            Verdict::Well => Colour::Good,
            Verdict::Degraded => Colour::Fair,
            _ => Colour::Bad,
        }
    }
}

/// The verdict, with its reasons.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// All problems, each once.
    pub problems: Vec<ClusterTrouble>,
    /// Without a leader: why the nodes know none, once each.
    pub reasons: Vec<String>,
    /// Without a leader: for how long nobody has led, in milliseconds: the shortest time of all nodes, as each heard
    /// that leader last at its end or earlier.
    pub leaderless_ms: Option<u64>,
    /// The orders of operators that are in force, a line each. By themselves they change no verdict.
    pub orders: Vec<String>,
    /// The leader's name and epoch: of several the one of the greatest epoch, and then of the greatest id.
    pub leader: Option<(String, u64)>,
    /// That leadership, as the nodes that know it tell it together.
    pub leadership: Option<Led>,
    /// How the nodes differ, where that changes no verdict: in their versions, and in their clocks, as elections measure
    /// lengths of time.
    pub differences: Vec<NodeDifference>,
    /// The nodes that lead, each with its epoch, the newest first. Two or more lead at the same time.
    pub leaders: Vec<(String, u64)>,
    /// The nodes that answer and hear nobody.
    pub cut_off: Vec<String>,
    /// Without a leader: what keeps the members from electing one, if waiting does not end it.
    pub stuck: Option<Stuck>,
    /// What hinders each member that something hinders from voting or leading, the worst first.
    pub hindrances: Vec<(String, Vec<Hindrance>)>,
    /// With a leader: what lessens the failures that are tolerated, in words.
    pub unable: String,
    /// How many nodes answer, and how many were asked.
    pub answering: (usize, usize),
    /// How many more failures are tolerated, as the leader knows; if it does not answer, the least number of the nodes
    /// that know a leader. A voter that cannot vote does not count.
    pub tolerated: u64,
    /// Those of whoever reads it: the commands that it names repeat them.
    pub flags: ClusterFlags,
}

/// In what nodes differ. The names are part of electd's interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Aspect {
    /// In their versions of electd.
    Versions,
    /// In what their clocks show.
    Clocks,
}

/// How nodes differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeDifference {
    /// In what.
    pub of: Aspect,
    /// How, in words.
    pub text: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl fmt::Display for NodeDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of: &str = self.of.into();
        write!(f, "{of} differ: {}: {}", self.text, self.remedy)
    }
}

/// How the nodes that answer differ.
fn differences(asked: &[Asked]) -> Vec<NodeDifference> {
    let by =
        |of, text: Option<String>, remedy| text.map(|text| NodeDifference { of, text, remedy });
    let apart = apart(answers(asked).filter_map(NodeClock::of));
    let versions = by(Aspect::Versions, versions::words(answers(asked)), versions::REMEDY);
    let clocks = by(Aspect::Clocks, clocks::words(&apart), clocks::REMEDY);
    versions.into_iter().chain(clocks).collect()
}

/// Judges a cluster by these answers, for a reader who reaches it by these flags. A node without an admin address cannot be asked, which is no problem.
#[must_use]
pub fn judge(asked: &[Asked], flags: &ClusterFlags) -> Judgement {
    let leader = newest_leader(answers(asked)).map(|it| (it.name.clone(), it.epoch));
    let mut leading: Vec<&Status> =
        answers(asked).filter(|one| one.leads() && !one.is_outlasted()).collect();
    leading.sort_by_key(|one| (std::cmp::Reverse(one.epoch), &one.node.name));
    let leaders = leading.iter().map(|one| (one.node.name.clone(), one.epoch)).collect();
    let cut_off: Vec<String> =
        answers(asked).filter(|one| one.is_cut_off()).map(|one| one.node.name.clone()).collect();
    let problems = boxes::of(asked);
    let members = SeenMembers::of(asked);
    let margin = margin::of(asked, members.as_ref());
    let is_blind = answers(asked).all(Status::is_cut_off);
    let is_well =
        problems.is_empty() && (margin.tolerated > 0 || margin.at_most == 0) && cut_off.is_empty();
    let verdict = match &leader {
        _ if answers(asked).next().is_none() => Verdict::Unknown,
        _ if leading.len() > 1 => Verdict::TwoLeaders,
        None if is_blind => Verdict::CutOff,
        None => Verdict::NoLeader,
        Some(_) if is_well => Verdict::Well,
        Some(_) => Verdict::Degraded,
    };
    let is_led = leader.is_some();
    let lasts = |status: &Status| Some(status.leaderless.as_ref()?.lasts_ms);
    Judgement {
        verdict,
        problems,
        reasons: if is_led { Vec::new() } else { sentence::reasons(answers(asked)) },
        leaderless_ms: answers(asked).filter_map(lasts).min().filter(|_| !is_led),
        orders: orders::of_all(asked, flags),
        stuck: members
            .as_ref()
            .filter(|_| !is_led && !is_blind)
            .and_then(|it| margin::stuck(asked, it, flags)),
        leadership: leader
            .as_ref()
            .and_then(|(name, epoch)| Led::known(answers(asked), name, *epoch)),
        differences: differences(asked),
        leader,
        leaders,
        cut_off,
        hindrances: members.as_ref().map(SeenMembers::hindrances).unwrap_or_default(),
        unable: margin.unable,
        answering: (
            answers(asked).count(),
            asked.iter().filter(|it| !matches!(it.answer, Err(Silence::NotServed))).count(),
        ),
        tolerated: margin.tolerated,
        flags: flags.clone(),
    }
}

impl Judgement {
    /// For how long nobody has led, in words, if nobody leads.
    fn leaderless(&self) -> Option<String> {
        self.leaderless_ms.map(|ms| length(Duration::from_millis(ms)))
    }
}

#[cfg(test)]
mod tests;
