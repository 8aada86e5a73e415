//! With a majority: this member asks the voters, or needs no answer any more.

use std::time::Duration;

use super::question::{Purpose, Stage};
use crate::core::context::Context;
use crate::core::message::{Message, Opinion, View};
use crate::core::phase::Phase;
use crate::core::planted::Fault;
use crate::core::timer::Timer;
use crate::core::types::Epoch;

impl Context<'_> {
    pub fn ask_voters(&mut self, purpose: Purpose, stage: Stage, epoch: Epoch) {
        if self.state.candidacy.question().is_some_and(|asked| asked.epoch != epoch) {
            self.drop_question();
        }
        let lease = self.state.settings.timing.lease;
        let number = self.state.candidacy.ask(purpose, stage, epoch, (self.now, lease));
        self.ask_self(stage, epoch, lease);
        let list = self.state.membership.version();
        let mut voters = self.all_others();
        voters.retain(|id| self.state.is_voter(*id));
        let View { epoch: last, .. } = self.state.view();
        let votes = self.state.is_voter(self.state.id());
        if let Some(leader) = self.state.endings.heard(last).filter(|_| votes) {
            self.send_all(voters.clone(), Message::Freed { leader, epoch: last });
        }
        self.send_all(
            voters,
            match stage {
                Stage::PreVote => Message::PreVote { number, epoch, list },
                Stage::Vote => Message::VoteRequest { number, epoch, lease, list },
            },
        );
        // A vote waits for a disk; after this time it would come too late.
        let patience = match stage {
            Stage::PreVote => self.state.settings.timing.t1(),
            Stage::Vote => self.state.longest_vote(),
        };
        self.arm(Timer::Voters, patience);
    }

    /// Stops asking. Frees the voters that have voted for this member from their promise; but not those that a leader
    /// asked for a greater epoch, as its lease still rests on them.
    pub fn drop_question(&mut self) {
        let Some(question) = self.state.candidacy.drop_question() else { return };
        self.state.timers.cancel(Timer::Voters);
        if self.state.candidacy.is_denied() {
            self.arm(Timer::Voters, self.state.settings.timing.t2()); // it asks them again
        }
        if question.stage == Stage::Vote && question.purpose == Purpose::Win {
            self.state.free_own_vote();
            self.state.epochs.raise_floor(question.epoch);
            self.say_released(question.epoch, None);
        }
    }

    /// Ends the part of the candidacy that does not belong in this phase.
    pub fn keep_candidacy_in(&mut self, phase: Phase) {
        self.state.candidacy.parked = None;
        if !matches!(phase, Phase::Electing | Phase::Reorganizing | Phase::Leading) {
            self.drop_question();
        }
        if !matches!(phase, Phase::Waiting | Phase::Electing) {
            self.state.candidacy.forget_denial();
        }
    }

    /// A candidate's vote for itself obeys the same rules as other votes.
    pub fn ask_self(&mut self, stage: Stage, epoch: Epoch, lease: Duration) {
        let own = self.state.id();
        if !self.state.is_voter(own) {
            return;
        }
        let opinion = match Fault::OwnVoteFree.is_planted() {
            true => Opinion::Yes,
            false => self.judge(own, epoch, self.state.membership.version()),
        };
        let Some(question) = self.state.candidacy.question_mut() else { return };
        let number = question.number;
        match (opinion, stage) {
            (Opinion::Yes, Stage::Vote) => {
                if Fault::OwnVoteUnstored.is_planted() {
                    question.hear(own, Opinion::Yes, self.now);
                }
                self.vote_for(own, self.state.records.incarnation(), number, epoch, lease);
            }
            _ => question.hear(own, opinion, self.now),
        }
    }
}
