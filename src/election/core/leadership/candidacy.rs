//! This member's candidacy: the parked nomination, what it asks the voters, and how they answered.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::lease::Lease;
use super::question::{Question, QuestionPurpose, QuestionStage};
use crate::core::back_off::BackOff;
use crate::core::types::{Epoch, Time};

/// The step of an algorithm that a nomination is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum NominationAim {
    /// It calls all others to the round. With a majority enough voters first say in a pre-vote that they would vote
    /// for this member: otherwise it would disturb the others for nothing.
    Call,
    /// It has the others stop their work. The round has to be durable too.
    Halt,
    /// It leads. With a majority enough voters have voted for this member.
    Lead,
}

/// Why too few voters agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum TooFewVotes {
    /// Too few voters answered, or this member's own vote does not count yet: this member is not eligible.
    Unheard,
    /// Too many said no, or not yet.
    Refused,
    /// Too many have said no for longer than any promise of an earlier incarnation can last: this member is not
    /// eligible.
    Opposed,
}

/// Too few voters agreed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Denial {
    why: TooFewVotes,
    /// Since when too few would agree even if no promise bound any voter.
    opposed_since: Option<Time>,
}

/// What this member asks the voters, and what became of that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
enum Inquiry {
    /// It asks them nothing.
    #[default]
    Idle,
    /// It awaits their answers. After a denial it has that until enough of them agree.
    Asking { question: Question, denial: Option<Denial> },
    /// Enough of them agreed.
    Agreed(Question),
    /// Too few of them agreed: it asks them again before it calls another election.
    Denied(Denial),
}

/// The state of the candidacy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Candidacy {
    /// The next step and its round, which waits until the round is durable and the voters agree.
    pub(super) parked: Option<(NominationAim, Epoch)>,
    inquiry: Inquiry,
    /// Counts the questions.
    questions: u64,
    /// A nomination waited too long for this member's own disk, which has written nothing since.
    pub(super) disk_lags: bool,
    /// The epoch whose leader handed over to this member, until this member has asked for votes.
    designated_in: Option<Epoch>,
    /// This member does not ask the voters before then whether it may take over.
    pub(super) next_takeover_poll: Time,
    /// How often this member was to take over and did not come to lead.
    pub(super) takeovers: BackOff,
    /// How often too few voters answered this member's request for votes in time.
    lost_elections: BackOff,
    /// How often, while this member led, a third member reported another leader that it did not hear itself.
    overruled: BackOff,
}

impl Candidacy {
    /// Whether a nomination is parked.
    pub fn is_parked(&self) -> bool {
        self.parked.is_some()
    }

    /// Whether the voters did not agree last; this member asks again later.
    pub fn is_denied(&self) -> bool {
        self.inquiry.denial().is_some()
    }

    /// The epoch in which this member leads as soon as the epoch is durable and the voters agree.
    pub fn next_epoch(&self) -> Option<Epoch> {
        self.parked.filter(|(aim, _)| *aim != NominationAim::Call).map(|(_, round)| round)
    }

    /// Whether this member may not be nominated at present: its disk or its voters do not respond. (N3)
    pub fn is_out_of_reach(&self) -> bool {
        let denial = self.inquiry.denial();
        self.disk_lags || denial.is_some_and(|denial| denial.why != TooFewVotes::Refused)
    }

    /// The disk has written something.
    pub fn disk_writes(&mut self) {
        self.disk_lags = false;
    }

    /// A leader gave up this epoch for this member; none: for another.
    pub fn designate(&mut self, epoch: Option<Epoch>) {
        self.designated_in = epoch;
    }

    /// Whether the leader of this epoch handed over to this member, which has not asked for votes since.
    pub(super) fn is_designated_in(&self, epoch: Epoch) -> bool {
        self.designated_in == Some(epoch)
    }

    /// The epoch whose leader handed over to this member. Only the first question relies on it.
    pub(super) fn take_designation(&mut self) -> Option<Epoch> {
        self.designated_in.take()
    }

    /// A nomination waited too long for this member's own disk.
    pub(super) fn withdraw_until_disk_writes(&mut self) {
        self.disk_lags = true;
    }

    /// This member asks the voters now. Returns the number of the question.
    pub(super) fn ask(
        &mut self,
        purpose: QuestionPurpose,
        stage: QuestionStage,
        epoch: Epoch,
        (now, lease): (Time, Duration),
    ) -> u64 {
        self.questions += 1;
        let same = self.question().filter(|asked| asked.stage == stage);
        let repeats = same.map_or(0, |asked| asked.repeats + 1);
        let mut question = Question::new(purpose, stage, epoch, self.questions, (now, lease));
        question.repeats = repeats;
        self.inquiry = Inquiry::Asking { question, denial: self.inquiry.denial() };
        self.questions
    }

    /// The number of the last question to the voters.
    pub fn last_question(&self) -> u64 {
        self.questions
    }

    /// The last question to the voters, unless this member needs no answer any more.
    pub(super) fn question(&self) -> Option<&Question> {
        match &self.inquiry {
            Inquiry::Asking { question, .. } | Inquiry::Agreed(question) => Some(question),
            Inquiry::Idle | Inquiry::Denied(_) => None,
        }
    }

    /// The same, to count an answer. Late votes make the lease of an elected candidate longer.
    pub(super) fn question_mut(&mut self) -> Option<&mut Question> {
        match &mut self.inquiry {
            Inquiry::Asking { question, .. } | Inquiry::Agreed(question) => Some(question),
            Inquiry::Idle | Inquiry::Denied(_) => None,
        }
    }

    /// The question that awaits answers.
    pub(super) fn open_question(&self) -> Option<&Question> {
        match &self.inquiry {
            Inquiry::Asking { question, .. } => Some(question),
            _ => None,
        }
    }

    /// Enough voters agreed with the question.
    pub(super) fn agree(&mut self) {
        self.inquiry = match std::mem::take(&mut self.inquiry) {
            Inquiry::Asking { question, .. } => Inquiry::Agreed(question),
            other => other,
        };
    }

    /// Drops the question. A denial before it lasts.
    pub(super) fn drop_question(&mut self) -> Option<Question> {
        match std::mem::take(&mut self.inquiry) {
            Inquiry::Asking { question, denial } => {
                self.inquiry = denial.map_or(Inquiry::Idle, Inquiry::Denied);
                Some(question)
            }
            Inquiry::Agreed(question) => Some(question),
            other => {
                self.inquiry = other;
                None
            }
        }
    }

    /// This leader was overruled because of a third member's report: it backs off. Returns until when it waits for the
    /// other leader.
    pub fn back_off(&mut self, unit: Duration, now: Time) -> Time {
        self.overruled.again(unit, now);
        self.overruled.until()
    }

    /// Whether it was overruled so more than once, and its wait lasts.
    pub fn backs_off(&self, now: Time) -> bool {
        self.overruled.times() > 1 && self.overruled.holds(now)
    }

    /// This member leads: forgets how often it was to take over and did not lead. It remembers its lost elections, as
    /// its lease may be over before the first acknowledgement.
    pub fn succeed(&mut self) {
        self.takeovers = BackOff::default();
    }

    /// Too few voters answered a request for votes in time: this member waits, longer each time, before it asks them
    /// again or asks a leader to hand over. Returns how often that happened. (S6)
    pub(super) fn lose_election(&mut self, unit: Duration, now: Time) -> u32 {
        self.lost_elections.again(unit, now);
        self.next_takeover_poll = self.next_takeover_poll.max(self.lost_elections.until());
        self.lost_elections.times()
    }

    /// For how long it still waits for that reason.
    pub(super) fn wait_after_lost_election(&self, now: Time) -> Duration {
        self.lost_elections.until().since(now)
    }

    /// Too few voters agreed. A member that was opposed for longer than `limit` lets another member try.
    pub(super) fn deny(&mut self, heard: bool, opposed: bool, limit: Duration, now: Time) {
        let before = self.inquiry.denial().and_then(|denial| denial.opposed_since);
        let opposed_since = opposed.then(|| before.unwrap_or(now));
        let why = match opposed_since {
            _ if !heard => TooFewVotes::Unheard,
            Some(since) if since + limit <= now => TooFewVotes::Opposed,
            _ => TooFewVotes::Refused,
        };
        self.inquiry = Inquiry::Denied(Denial { why, opposed_since });
    }

    /// This member stops asking the voters again.
    pub(super) fn forget_denial(&mut self) {
        match &mut self.inquiry {
            Inquiry::Asking { denial, .. } => *denial = None,
            Inquiry::Denied(_) => self.inquiry = Inquiry::Idle,
            Inquiry::Idle | Inquiry::Agreed(_) => {}
        }
    }

    /// Whether this member asks the voters for an election, or has their votes.
    pub fn asks_to_win(&self) -> bool {
        self.question().is_some_and(|question| question.purpose == QuestionPurpose::Win)
    }

    /// Whether this member has asked for votes for the first time in this epoch, and may still get answers.
    pub fn awaits_votes(&self) -> bool {
        let first = |asked: &Question| asked.stage == QuestionStage::Vote && asked.repeats == 0;
        !self.is_denied() && self.asks_to_win() && self.question().is_some_and(first)
    }

    /// The lease that this member has in this epoch, if the voters have elected it.
    pub fn lease_of(&self, epoch: Epoch) -> Option<Lease> {
        match &self.inquiry {
            Inquiry::Agreed(question)
                if question.epoch == epoch && question.stage == QuestionStage::Vote =>
            {
                Some(question.lease())
            }
            _ => None,
        }
    }

    /// The same, when this member begins to lead: drops the question.
    pub fn begin_lease(&mut self, epoch: Epoch) -> Option<Lease> {
        self.question().filter(|question| question.epoch == epoch)?;
        self.drop_question().map(|question| question.lease())
    }

    /// Whether enough voters agreed with the last question for this round; none if there was none.
    pub(super) fn outcome(&self, round: Epoch) -> Option<bool> {
        let wins = |question: &&Question| {
            question.epoch == round && question.purpose == QuestionPurpose::Win
        };
        self.question().filter(wins).map(|_| matches!(self.inquiry, Inquiry::Agreed(_)))
    }

    /// How often this member had repeated its request for the votes that elected it in this round; none if it is not
    /// elected.
    pub(super) fn votes_repeated(&self, round: Epoch) -> Option<u32> {
        self.lease_of(round)?;
        self.question().map(|question| question.repeats)
    }
}

impl Inquiry {
    fn denial(&self) -> Option<Denial> {
        match self {
            Inquiry::Asking { denial, .. } => *denial,
            Inquiry::Denied(denial) => Some(*denial),
            Inquiry::Idle | Inquiry::Agreed(_) => None,
        }
    }
}
