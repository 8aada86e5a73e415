//! A candidate's question to the voters, and the tally of their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lease::Lease;
use crate::core::message::{Opinion, View};
use crate::core::planted::Fault;
use crate::core::types::{Epoch, NodeId, Time};

/// The kind of question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QuestionStage {
    /// Whether the voters would vote for the candidate. It changes nothing.
    PreVote,
    /// For their votes.
    Vote,
}

/// The purpose of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum QuestionPurpose {
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
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Question {
    pub purpose: QuestionPurpose,
    pub stage: QuestionStage,
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
    /// Whether a death was proved since: a voter that said no may be free by now.
    pub is_outdated: bool,
    answers: VoterAnswers,
}

/// The voters' answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct VoterAnswers {
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
        purpose: QuestionPurpose,
        stage: QuestionStage,
        epoch: Epoch,
        number: u64,
        (sent, length): (Time, Duration),
    ) -> Question {
        let (repeats, is_outdated, answers) = (0, false, VoterAnswers::default());
        Question { purpose, stage, epoch, number, sent, length, repeats, is_outdated, answers }
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
                if matches!(self.purpose, QuestionPurpose::Preempt(view) if view.epoch == released)
                {
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

    /// Whether so many voters disagreed that those that agree or may still answer are too few, where so many voters
    /// have answered or may.
    pub fn is_hopeless(&self, majority: usize, voters: usize) -> bool {
        let against = match self.purpose {
            QuestionPurpose::Preempt(_) => self.answers.no.len() - self.answers.yes_if.len(),
            QuestionPurpose::Win | QuestionPurpose::Reclaim | QuestionPurpose::Retry => {
                self.answers.no.len()
            }
        };
        against + majority > voters
    }

    /// Whether it failed by what the voters answered, and not because too few of them did. (N2)
    pub fn is_heard(&self, majority: usize, voters: usize) -> bool {
        self.has_answers_of(majority)
            || self.is_hopeless(majority, voters) && !Fault::AnswersUnheard.is_planted()
    }

    /// Whether this many voters have answered.
    pub fn has_answers_of(&self, voters: usize) -> bool {
        self.answered() >= voters
    }

    fn answered(&self) -> usize {
        self.answers.yes.len() + self.answers.no.len()
    }

    /// Whether too few voters agree, even if no promise bound any. If the answers ended the question, the voters that
    /// have not answered yet may agree; if its time is over, they do not.
    pub fn is_opposed(&self, majority: usize, voters: usize) -> bool {
        let may_agree = if self.is_hopeless(majority, voters) { voters } else { self.answered() };
        let against = self.answers.no.len() - self.answers.bound.len();
        against + majority > may_agree
    }

    /// How long to wait before enough voters may agree, as far as they have answered.
    pub fn wait(&self, majority: usize, now: Time) -> Duration {
        if self.is_outdated {
            return Duration::ZERO;
        }
        let mut free: Vec<Time> = self.answers.no.values().copied().collect();
        free.sort_unstable();
        let missing = majority.saturating_sub(self.answers.yes.len()).min(free.len());
        let last = missing.checked_sub(1).and_then(|at| free.get(at));
        last.map_or(Duration::ZERO, |last| last.since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    const WAIT: Duration = Duration::from_millis(300);

    /// A pre-vote that so many voters answered.
    fn answered(yes: usize, bound: usize, refuse: usize) -> Question {
        let sent = (Time(0), Duration::ZERO);
        let mut question =
            Question::new(QuestionPurpose::Win, QuestionStage::PreVote, Epoch(2), 1, sent);
        let promise = Opinion::YesIf { released: Epoch(1), wait: WAIT };
        let said = [(yes, Opinion::Yes), (bound, promise), (refuse, Opinion::No { wait: WAIT })];
        let said = said.into_iter().flat_map(|(times, says)| std::iter::repeat_n(says, times));
        for (voter, says) in said.enumerate() {
            question.hear(NodeId(Uuid::from_u128(voter as u128)), says, Time(0));
        }
        question
    }

    /// Rule N2.
    #[test]
    fn a_question_that_ended_by_its_answers_was_heard_with_any_number_of_voters() {
        for voters in 2..=9 {
            let majority = voters / 2 + 1;
            let against = voters - majority + 1;
            for yes in 0..=voters - against {
                let bound = answered(yes, against, 0);
                assert!(bound.is_hopeless(majority, voters) && bound.is_heard(majority, voters));
                assert!(!bound.is_opposed(majority, voters), "promises bind them");
                assert_eq!(bound.wait(majority, Time(0)), WAIT, "{voters} voters, {yes} agree");
                let refused = answered(yes, 0, against);
                assert!(refused.is_opposed(majority, voters), "no promise binds them");
            }
            let silent = answered(majority - 1, 0, 0);
            assert!(!silent.is_heard(majority, voters), "nobody else answered");
            assert!(silent.is_opposed(majority, voters), "nor agreed in time");
        }
    }

    #[test]
    fn voters_that_have_not_answered_yet_may_agree() {
        let question = answered(0, 2, 1);
        assert!(question.is_hopeless(3, 5) && !question.is_opposed(3, 5));
        assert!(answered(2, 0, 1).is_opposed(3, 5), "the time of two voters is over");
    }
}
