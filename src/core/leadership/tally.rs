//! The tally: the voters' answers, and what this member does once enough of them agree or cannot agree any more.

use std::time::Duration;

use super::nomination::MOST_REPEATS;
use super::question::{Purpose, Question, Stage};
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::durable::Then;
use crate::core::message::{Message, Opinion};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId};

impl State {
    /// Whether this member's own vote is not on the disk yet.
    fn waits_for_own_vote(&self) -> bool {
        let own =
            |then: &Then| matches!(then, Then::Tell(to, Message::Vote { .. }) if *to == self.id());
        self.records.awaited_by(own).is_some()
    }

    /// How many voters have answered a candidate, or may. Once it has answers from a majority, it does not wait for
    /// voters that are suspected or dead.
    fn can_say(&self, question: &Question) -> usize {
        if !question.has_answers_of(self.majority()) {
            return self.voters();
        }
        let gone = |id| self.detector.get(id).is_some_and(|peer| !peer.alive());
        let voters = self.membership.list().voters();
        voters.filter(|id| question.has_heard(*id) || !gone(*id)).count()
    }
}

impl Context<'_> {
    /// This member asked for votes in vain. Returns how often that happened.
    fn note_vain_votes(&mut self) -> u32 {
        let unit = self.state.longest_t2();
        self.state.candidacy.ask_in_vain(unit, self.now)
    }
}

impl Turn<'_> {
    /// A voter answers a pre-vote or denies its vote.
    pub fn opinion(
        &mut self,
        from: NodeId,
        stage: Stage,
        number: u64,
        opinion: Opinion,
        epoch: Epoch,
    ) {
        self.cx.note_round(epoch);
        let now = self.cx.now;
        // No promise is longer than `failure`, except by the wait after a restart; then the candidate asks again.
        let opinion = opinion.at_most(self.cx.state.settings.timing.failure);
        let counts = self.cx.state.is_voter(from);
        if let Some(question) = self.cx.state.candidacy.question_mut()
            && (question.number, question.stage) == (number, stage)
            && counts
        {
            question.hear(from, opinion, now);
        }
        if self.cx.state.leads() {
            self.outgrow(epoch);
        }
    }

    /// This leader learned of a later epoch: it asks for a still greater one, without stepping down. A voter that
    /// needs that says so after every heartbeat, so the leader asks at most once between two of them.
    pub fn outgrow(&mut self, epoch: Epoch) {
        let state = &self.cx.state;
        let asked = state.candidacy.question().is_some();
        let lately = self.cx.now < state.course.since() + state.settings.timing.heartbeat;
        if epoch > state.view().epoch && !asked && !lately {
            let next = self.cx.next_round();
            self.cx.note_round(next);
            self.cx.ask_voters(Purpose::Reclaim, Stage::Vote, next);
        }
    }

    /// At the end of a turn: continues if enough voters agree, gives up if they cannot any more.
    pub fn tally(&mut self) {
        while let Some(question) = self.cx.state.candidacy.open_question() {
            let (majority, voters) = (self.cx.state.majority(), self.cx.state.can_say(question));
            match (question.purpose, question.supporters(majority)) {
                (Purpose::Preempt(view), Some(votes)) => {
                    let rank = self.cx.state.rank();
                    self.cx.drop_question();
                    let leader = view.leader.filter(|leader| self.cx.state.follows(leader.id));
                    self.cx.put_off_takeover();
                    if let Some(leader) = leader {
                        let epoch = view.epoch;
                        self.cx.send(leader.id, Message::Preempt { epoch, rank, votes });
                    }
                }
                _ if question.is_carried(majority) => self.agreed(),
                _ if question.is_hopeless(majority, voters) => self.failed(),
                _ => return,
            }
        }
    }

    fn agreed(&mut self) {
        let candidacy = &mut self.cx.state.candidacy;
        let Some(question) = candidacy.question() else { return };
        let (purpose, epoch) = (question.purpose, question.epoch);
        candidacy.agree();
        self.cx.state.timers.cancel(Timer::Voters);
        let state = &self.cx.state;
        match purpose {
            Purpose::Win => self.unpark(),
            Purpose::Reclaim if self.may_reclaim(epoch) => {
                self.cx.become_leading(epoch, Reason::Reclaimed);
                self.algorithm.get().reclaimed(&mut self.cx);
            }
            Purpose::Retry if state.phase() == Phase::Waiting && !state.is_bound() => {
                self.cx.drop_question();
                self.call(Reason::MajorityAgrees);
            }
            _ => self.cx.drop_question(),
        }
    }

    /// Whether a leader may take this epoch: it got the votes in time, and still needs the epoch.
    fn may_reclaim(&self, epoch: Epoch) -> bool {
        let state = &self.cx.state;
        let greater = state.leads() && epoch > state.view().epoch;
        greater && state.records.cover(epoch) && state.has_votes(epoch, self.cx.now)
    }

    /// The voters' time to answer is over, or the wait before this member asks them again.
    pub fn voters_expired(&mut self) {
        let state = &self.cx.state;
        let asked = state.candidacy.question();
        if let Some(&Question { purpose, stage, epoch, .. }) = asked
            && self.may_ask_again()
            && !Fault::AskedOnce.is_planted()
        {
            self.cx.ask_voters(purpose, stage, epoch);
        } else if asked.is_some() {
            // A member whose disk hangs would be eligible, denied by nobody, again and again.
            let lags = state.waits_for_own_vote();
            self.cx.state.candidacy.disk_lags |= lags;
            self.failed();
        } else if state.candidacy.is_denied() && state.elects() {
            let next = state.epochs.round().next();
            self.cx.ask_voters(Purpose::Retry, Stage::PreVote, next);
        }
    }

    /// Whether a vote request that was not answered in time is repeated in the same epoch: a voter with a slow disk
    /// has stored its vote by then, or is about to, and repeats it without another write. A candidate that is
    /// connected with too few voters, or has asked often enough, frees the voters.
    fn may_ask_again(&self) -> bool {
        let state = &self.cx.state;
        let asks =
            |question: &Question| question.stage == Stage::Vote && question.repeats < MOST_REPEATS;
        let connected = |id: &NodeId| state.detector.get(*id).is_none_or(Peer::connected);
        let voters = state.membership.list().voters();
        state.candidacy.open_question().is_some_and(asks)
            && voters.filter(connected).count() >= state.majority()
    }

    /// Not enough voters agree, or answered in time. A candidate asks again later, and only then calls another
    /// election: a member that cannot lead disturbs nobody, and its log stays quiet.
    fn failed(&mut self) {
        let state = &*self.cx.state;
        let Some(question) = state.candidacy.question() else { return };
        let (majority, now, purpose) = (state.majority(), self.cx.now, question.purpose);
        let voters = state.can_say(question);
        let (wait, heard) = (question.wait(majority, now), question.is_heard(majority, voters));
        let uninformed = question.uninformed(majority, state.voters());
        let opposed = question.is_opposed(majority, voters);
        let waits = state.candidacy.parked.is_some_and(|(_, round)| round == question.epoch);
        if question.stage == Stage::Vote && !heard {
            self.cx.note_vain_votes();
        }
        self.cx.drop_question();
        match purpose {
            Purpose::Preempt(_) => {
                let failure = self.cx.state.settings.timing.failure;
                self.cx.state.candidacy.next_takeover_poll = now + failure;
            }
            Purpose::Retry => self.deny((heard, opposed), wait),
            Purpose::Win if waits => {
                let reason = match uninformed {
                    _ if self.cx.state.candidacy.disk_lags => Reason::DiskLags,
                    _ if !self.cx.state.voter.is_informed() => {
                        Reason::Uninformed(self.cx.state.unmet_voters())
                    }
                    Some(voters) => Reason::VotersUninformed(voters),
                    None if heard && opposed => Reason::Refused(wait),
                    None if heard => Reason::NoMajority(wait),
                    None => Reason::Isolated,
                };
                self.cx.become_waiting(now, reason);
                self.deny((heard, opposed), wait);
            }
            Purpose::Win | Purpose::Reclaim => {}
        }
    }

    /// Enough voters voted for this member, too late to acknowledge a heartbeat before its lease ended. The second
    /// time it lets others try.
    pub fn led_in_vain(&mut self) {
        if self.cx.note_vain_votes() > 1 {
            self.cx.become_waiting(self.cx.now, Reason::LeaseEnded);
            self.deny((false, false), Duration::ZERO);
        } else {
            self.call(Reason::LeaseEnded);
        }
    }

    fn deny(&mut self, (heard, opposed): (bool, bool), wait: Duration) {
        let timing = self.cx.state.settings.timing;
        let refused = heard && self.cx.state.voter.is_informed();
        self.cx.state.candidacy.deny(refused, opposed, timing.failure * 2, self.cx.now);
        let wait = match refused {
            // The others find the same proof, if they have not yet, and then no promise binds them.
            true if self.cx.state.has_proof_of_death(self.cx.now) => wait.min(timing.message / 8),
            true => wait,
            false => timing.t2().max(self.cx.state.candidacy.wait_after_vain(self.cx.now)),
        };
        let jitter = self.cx.state.timers.jitter(timing.message / 8);
        self.cx.arm(Timer::Voters, wait + jitter);
    }
}
