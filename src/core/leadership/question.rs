//! A candidate's question to the voters, and the tally of their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::lease::Lease;
use crate::core::message::{Opinion, View};
use crate::core::types::{Epoch, NodeId, Time};

/// The kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Whether the voters would vote for the candidate. It changes nothing.
    PreVote,
    /// For their votes.
    Vote,
}

/// The purpose of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// To lead after an election.
    Win,
    /// To show the leader of this view that it may hand over to this member.
    Preempt(View),
    /// To keep leading, in a greater epoch.
    Reclaim,
    /// To find out whether another election can succeed.
    Retry,
}

/// A question to the voters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Question {
    pub purpose: Purpose,
    pub stage: Stage,
    /// The epoch in which this member would lead.
    pub epoch: Epoch,
    /// Distinguishes late answers to an earlier question.
    pub number: u64,
    /// When it was sent: a lease counts from then.
    sent: Time,
    /// For how long a vote is a promise.
    length: Duration,
    /// How often the same question was asked before, without enough answers in time.
    pub repeats: u32,
    answers: Answers,
}

/// The voters' answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Answers {
    /// The voters that agree.
    yes: BTreeSet<NodeId>,
    /// The voters that would agree if the present leader released its epoch.
    yes_if: BTreeSet<NodeId>,
    /// The voters that said no or "yes if", and when they may say otherwise.
    no: BTreeMap<NodeId, Time>,
    /// Those of them that a promise binds to a leader.
    bound: BTreeSet<NodeId>,
    /// Those of them that do not know the state of the cluster.
    uninformed: BTreeSet<NodeId>,
}

impl Question {
    /// A question that is sent now, for votes that are promises of this length.
    pub fn new(
        purpose: Purpose,
        stage: Stage,
        epoch: Epoch,
        number: u64,
        (sent, length): (Time, Duration),
    ) -> Question {
        let (repeats, answers) = (0, Answers::default());
        Question { purpose, stage, epoch, number, sent, length, repeats, answers }
    }

    /// Counts a voter's answer. If the voter would agree once the leader released its epoch, it supports a candidate
    /// that asks the leader for that.
    pub fn hear(&mut self, voter: NodeId, says: Opinion, now: Time) {
        let answers = &mut self.answers;
        let wait = match says {
            Opinion::Yes => {
                answers.yes.insert(voter);
                return;
            }
            Opinion::YesIf { released, wait } => {
                answers.bound.insert(voter);
                if matches!(self.purpose, Purpose::Preempt(view) if view.epoch == released) {
                    answers.yes_if.insert(voter);
                }
                wait
            }
            Opinion::No { wait } => wait,
            Opinion::Uninformed { wait } => {
                answers.uninformed.insert(voter);
                wait
            }
        };
        answers.no.insert(voter, now + wait);
    }

    /// Whether this voter has answered.
    pub fn has_heard(&self, voter: NodeId) -> bool {
        self.answers.yes.contains(&voter) || self.answers.no.contains_key(&voter)
    }

    /// The voters that do not know the state of the cluster, if the others are too few to agree.
    pub fn uninformed(&self, majority: usize, voters: usize) -> Option<Vec<NodeId>> {
        let too_few = self.answers.uninformed.len() + majority > voters;
        too_few.then(|| self.answers.uninformed.iter().copied().collect())
    }

    /// Whether enough voters agree.
    pub fn is_carried(&self, majority: usize) -> bool {
        self.answers.yes.len() >= majority
    }

    /// The voters that agree once the present leader has released its epoch, if they are enough.
    pub fn supporters(&self, majority: usize) -> Option<Vec<NodeId>> {
        let all: BTreeSet<NodeId> = self.answers.yes.union(&self.answers.yes_if).copied().collect();
        (all.len() >= majority).then(|| all.into_iter().collect())
    }

    /// The lease of a candidate that these votes have elected.
    pub fn lease(&self) -> Lease {
        Lease::new(self.sent, self.length, self.answers.yes.iter().copied())
    }

    /// Whether so many of the voters that can answer disagreed that the rest is no majority.
    pub fn is_hopeless(&self, majority: usize, voters: usize) -> bool {
        let against = match self.purpose {
            Purpose::Preempt(_) => self.answers.no.len() - self.answers.yes_if.len(),
            Purpose::Win | Purpose::Reclaim | Purpose::Retry => self.answers.no.len(),
        };
        against + majority > voters
    }

    /// Whether too few voters agree, even if no promise bound any.
    pub fn is_opposed(&self, majority: usize) -> bool {
        self.answers.yes.len() + self.answers.bound.len() < majority
    }

    /// Whether enough voters answered.
    pub fn is_heard(&self, majority: usize) -> bool {
        self.answers.yes.len() + self.answers.no.len() >= majority
    }

    /// How long to wait before enough voters may agree.
    pub fn wait(&self, majority: usize, now: Time) -> Duration {
        let mut free: Vec<Time> = self.answers.no.values().copied().collect();
        free.sort_unstable();
        let missing = majority.saturating_sub(self.answers.yes.len());
        let last = missing.checked_sub(1).and_then(|at| free.get(at));
        last.map_or(Duration::ZERO, |last| last.since(now))
    }
}
