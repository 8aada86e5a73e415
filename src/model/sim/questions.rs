//! Checks why a candidate gives up: it says that no majority of the voters answers, or counts itself as ineligible for
//! that reason, only if the voters' time to answer was over; and not because of what some of them answered.
//!
//! The checker reads the questions and answers from messages that were sent or arrived.

use std::collections::BTreeMap;
use std::time::Duration;

use super::votes::Word;
use crate::core::message::{Message, Opinion};
use crate::core::settings::Timing;
use crate::core::types::{NodeId, Time};
use crate::core::{Core, Reason};

/// The last question of a process to the voters, as far as a message of it was sent.
#[derive(Clone, Debug)]
struct LastQuestion {
    number: u64,
    /// When it was asked, by the clock of the process.
    at: Time,
    /// Whether it asks for votes, which wait for disks.
    votes: bool,
    /// For how long the process waits for answers, once that is known.
    wait: Option<Duration>,
    /// Whether each voter that answered refuses, for another reason than a promise.
    answers: BTreeMap<NodeId, bool>,
}

/// The observations of one process.
#[derive(Clone, Debug, Default)]
struct ObservedProcess {
    question: Option<LastQuestion>,
    /// It just gave up as a leader, or as one that was about to lead.
    lost_its_lease: bool,
    /// Whether it was out of reach after its last turn.
    out_of_reach: bool,
    /// Its timings after its last turn. A turn that changes them may have asked before it did.
    timing: Option<Timing>,
}

/// All processes, by their places.
#[derive(Clone, Debug)]
pub(super) struct Questions {
    seen: Vec<ObservedProcess>,
}

impl Questions {
    pub fn new(nodes: usize) -> Questions {
        Questions { seen: vec![ObservedProcess::default(); nodes] }
    }

    /// A new process has asked nothing.
    pub fn started(&mut self, at: usize) {
        self.seen[at] = ObservedProcess::default();
    }

    /// A process sends a message.
    pub fn tells(&mut self, word: &Word) {
        let (number, votes) = match *word.message {
            Message::PreVote { number, .. } => (number, false),
            Message::VoteRequest { number, .. } => (number, true),
            _ => return,
        };
        let question = &mut self.seen[word.from.0].question;
        if question.as_ref().is_none_or(|asked| asked.number != number) {
            let (at, answers) = (word.turned, BTreeMap::new());
            *question = Some(LastQuestion { number, at, votes, wait: None, answers });
        }
    }

    /// A process takes a message.
    pub fn hears(&mut self, word: &Word) {
        let (number, refuses) = match *word.message {
            Message::PreVoteReply { number, opinion, .. }
            | Message::Denial { number, opinion, .. } => {
                (number, matches!(opinion, Opinion::No { .. } | Opinion::Uninformed { .. }))
            }
            Message::Vote { number, .. } => (number, false),
            _ => return,
        };
        let question = self.seen[word.to.0].question.as_mut();
        if let Some(question) = question.filter(|asked| asked.number == number) {
            question.answers.insert(word.from.1, refuses);
        }
    }

    /// A process changes its phase.
    pub fn changed(
        &mut self,
        at: usize,
        now: Time,
        reason: &Reason,
        core: &Core,
    ) -> Result<(), String> {
        let seen = &mut self.seen[at];
        seen.lost_its_lease = *reason == Reason::LeaseEnded;
        let isolated = *reason == Reason::Isolated;
        let majority = core.members().majority();
        let timings = seen.timings(core);
        let Some(question) = seen.last_of(core).filter(|_| isolated) else { return Ok(()) };
        if question.stays_open(now, timings) {
            return Err("says that no majority answers, while a majority may answer".into());
        }
        if question.answers.len() >= majority {
            return Err("says that no majority answers, and a majority did".into());
        }
        Ok(())
    }

    /// A process has turned. Its disk is idle or not, and knows the state of the cluster or not.
    pub fn look(
        &mut self,
        at: usize,
        now: Time,
        core: &Core,
        idle_and_informed: bool,
    ) -> Result<(), String> {
        let seen = &mut self.seen[at];
        let before = std::mem::replace(&mut seen.out_of_reach, core.is_out_of_reach());
        let lost_its_lease = std::mem::take(&mut seen.lost_its_lease);
        let withdraws = seen.out_of_reach && !before && idle_and_informed && !lost_its_lease;
        let timings = seen.timings(core);
        seen.timing = Some(core.settings().timing);
        let Some(question) = seen.last_of(core) else { return Ok(()) };
        let is_open = question.stays_open(now, timings);
        let withdraws = withdraws && question.at < now; // or because of the question before
        if withdraws && is_open && !question.may_be_refused(core) {
            return Err(
                "is not eligible, as if the voters were silent, before they answered".into()
            );
        }
        Ok(())
    }
}

impl ObservedProcess {
    /// The last question of the process, unless it sent that to nobody, as it was connected with no voter.
    fn last_of(&mut self, core: &Core) -> Option<&mut LastQuestion> {
        self.question.as_mut().filter(|asked| asked.number == core.last_question())
    }

    /// Its timings before and after this turn.
    fn timings(&self, core: &Core) -> [Timing; 2] {
        let present = core.settings().timing;
        [self.timing.unwrap_or(present), present]
    }
}

impl LastQuestion {
    /// Whether voters may still answer in time.
    fn stays_open(&mut self, now: Time, timings: [Timing; 2]) -> bool {
        let votes = self.votes;
        let [before, present] =
            timings.map(|timing| if votes { timing.lease * 9 / 11 } else { timing.message * 2 });
        now < self.at + *self.wait.get_or_insert(before.min(present))
    }

    /// Whether so many voters may refuse that the others are no majority, even if no promise bound any; once a majority
    /// has answered, those that are dead do not count. The asker itself may refuse.
    fn may_be_refused(&self, core: &Core) -> bool {
        let majority = core.members().majority();
        let refuse = self.answers.values().filter(|refuses| **refuses).count() + 1;
        let is_dead = |id| core.detector().get(id).is_some_and(|peer| !peer.alive());
        let has_answered = |id| self.answers.contains_key(&id);
        let counts =
            |id: &NodeId| self.answers.len() + 1 < majority || has_answered(*id) || !is_dead(*id);
        refuse + majority > core.members().voters().filter(counts).count()
    }
}
