//! Answers of nodes that do not run, for tests.

use super::asked::{Asked, Silence};
use super::entry::{History, HistoryEntry};
use super::problem::ProblemKind;
use super::status::{LeaderStatus, MemberStatus, NodeRef, Problem, RankStatus, Status};
use super::tells::START;

/// A follower of this leader in this epoch; without a leader, electing.
#[must_use]
pub fn status(name: &str, leader: Option<(&str, u64)>) -> Status {
    let named = |name: &str| format!("id of {name}");
    Status {
        cluster: "demo".to_owned(),
        node: NodeRef { id: named(name), name: name.to_owned() },
        state: if leader.is_some() { "following" } else { "electing" }.to_owned(),
        leader: leader.map(|(name, epoch)| LeaderStatus {
            id: named(name),
            name: name.to_owned(),
            address: "127.0.0.1:7101".to_owned(),
            epoch,
        }),
        epoch: leader.map_or(0, |(_, epoch)| epoch),
        quorum: "none".to_owned(),
        algorithm: "bully".to_owned(),
        preempt: "always".to_owned(),
        health: None,
        rank_source: "all are equal, the id decides".to_owned(),
        guarantee: "one leader while all reach each other".to_owned(),
        worst_failover_ms: Some(900),
        incarnation: 1,
        uptime_ms: 61_000,
        age_ms: 3,
        failures_tolerated: 1,
        failures_tolerated_at_most: 1,
        version: "0.2.0".to_owned(),
        ..Status::default()
    }
}

/// A member that was asked, and its answer.
#[derive(Clone, Debug)]
pub struct AnswerSample {
    /// Its name.
    pub name: String,
    /// Its status, or why there is none.
    pub answer: Result<Status, Silence>,
}

impl AnswerSample {
    /// As whoever asked knows it.
    #[must_use]
    pub fn asked(&self) -> Asked<'_> {
        Asked { name: &self.name, answer: self.answer.as_ref().map_err(Clone::clone) }
    }
}

/// The answer of such a node.
#[must_use]
pub fn following(name: &str, leader: Option<(&str, u64)>) -> AnswerSample {
    AnswerSample { name: name.to_owned(), answer: Ok(status(name, leader)) }
}

/// A node that does not answer.
#[must_use]
pub fn silent(name: &str) -> AnswerSample {
    let words = "no answer from 127.0.0.1:1: connection refused, so nobody answers HTTP there";
    AnswerSample { name: name.to_owned(), answer: Err(Silence::None(words.to_owned())) }
}

/// This member, alive and eligible, as a node shows it.
#[must_use]
pub fn member(name: &str) -> MemberStatus {
    MemberStatus {
        id: format!("id of {name}"),
        name: name.to_owned(),
        address: "127.0.0.1:7101".to_owned(),
        admin: None,
        role: "member".to_owned(),
        eligible: true,
        status: "alive".to_owned(),
        rank: RankStatus { by: "id".to_owned(), ..RankStatus::default() },
        ..MemberStatus::default()
    }
}

/// A problem of this kind.
#[must_use]
pub fn problem(kind: ProblemKind, about: &str, text: &str) -> Problem {
    let (since, kind) = (String::new(), kind.name().to_owned());
    Problem { since, kind, about: about.to_owned(), text: text.to_owned() }
}

/// A leadership as a node tells it, after c led in epoch 1, if it did not start then; without an end it lasts.
#[must_use]
pub fn entry(
    leader: &str,
    epoch: u64,
    since_ms: u64,
    until_ms: Option<u64>,
    cause: &str,
) -> HistoryEntry {
    HistoryEntry {
        leader: leader.to_owned(),
        epoch,
        since_ms,
        until_ms,
        lasts: until_ms.is_none(),
        before: (cause != START).then(|| "c".to_owned()),
        before_epoch: (cause != START).then_some(1),
        cause: cause.to_owned(),
        reason: format!("{cause} by {since_ms}"),
        leaderless_ms: since_ms % 100,
        job_late_ms: None,
        ended: None,
    }
}

/// The history of this node.
#[must_use]
pub fn history(node: &str, leaderships: Vec<HistoryEntry>) -> History {
    History { node: node.to_owned(), leaderships }
}
