//! A voter's answers to candidates, and its promises to leaders.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::membership::ListVersion;
use crate::core::message::{Message, Opinion};
use crate::core::note::Note;
use crate::core::phase::Phase;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, Incarnation, NodeId};

impl Context<'_> {
    /// The lease that a peer asks for, as it last said.
    fn lease_of(&self, peer: NodeId) -> Duration {
        let timing = self.state.detector.get(peer).and_then(Peer::timing);
        timing.map_or(Duration::ZERO, |[.., lease]| Duration::from_nanos(lease))
    }

    /// The greatest epoch that this member knows, has voted in or has a list of.
    fn greatest_epoch(&self) -> Epoch {
        let stamped = self.state.membership.version().epoch;
        self.state.view().epoch.max(self.state.voter.newest()).max(stamped)
    }

    /// Denies a candidate or an outdated leader the vote that the message of this number asked for.
    pub fn deny_vote(&mut self, to: NodeId, number: u64, opinion: Opinion) {
        self.send(to, Message::Denial { number, opinion, epoch: self.greatest_epoch() });
    }
}

impl Turn<'_> {
    /// Whether the named voters are a majority.
    pub fn is_majority(&self, votes: &[NodeId]) -> bool {
        let votes: BTreeSet<_> = votes.iter().collect();
        let voters = votes.iter().filter(|id| self.cx.state.is_voter(***id)).count();
        !self.cx.state.needs_majority() || voters >= self.cx.state.majority()
    }

    /// Whether this member votes, and is not about to end.
    pub fn votes(&self) -> bool {
        let state = &self.cx.state;
        state.needs_majority() && state.is_voter(state.id()) && state.phase() != Phase::Stopping
    }

    /// A voter with an empty store that has not met all others by the end of discovery reports that: its silence may
    /// leave the cluster without a leader.
    pub fn say_who_is_unmet(&mut self) {
        let state = &self.cx.state;
        if self.votes() && !state.voter.is_informed() {
            let voters = state.unmet_voters();
            self.cx.out.push(Output::Note(Note::Uninformed { voters }));
        }
    }

    /// A candidate asks for a pre-vote: whether this voter would vote for it.
    pub fn asked_pre_vote(&mut self, from: NodeId, number: u64, epoch: Epoch, list: ListVersion) {
        self.cx.exchange_lists(from, list);
        // A voter whose disk hangs could not store its vote, and the candidate would have ended a leader's epoch for
        // nothing.
        let failure = self.cx.state.settings.timing.failure;
        let waits = self.cx.state.records.stand_still(failure, self.cx.now)
            || !self.cx.may_promise(self.cx.lease_of(from)); // it would be denied the vote, too
        let opinion = match self.cx.prefers_steadier(from) {
            _ if waits => Opinion::No { wait: failure },
            None => self.cx.judge(from, epoch, list),
            Some(patience) => match self.cx.judge(from, epoch, list) {
                Opinion::Yes => Opinion::No { wait: patience },
                // Until the promise to the present leader is over, which that leader may not release for it.
                Opinion::YesIf { wait, .. } => Opinion::No { wait },
                no => no,
            },
        };
        let epoch = self.cx.greatest_epoch();
        // At a first start the question may come before the connection back to the candidate is up.
        let reply = Message::PreVoteReply { number, opinion, epoch };
        self.cx.answer_when_connected(from, vec![reply]);
    }

    /// A candidate asks for this voter's vote.
    pub fn asked_for_vote(
        &mut self,
        (from, incarnation): (NodeId, Incarnation),
        number: u64,
        epoch: Epoch,
        lease: Duration,
        list: ListVersion,
    ) {
        self.cx.note_round(epoch);
        self.cx.exchange_lists(from, list);
        let too_long = Opinion::No { wait: self.cx.state.settings.timing.failure };
        let opinion =
            if self.cx.may_promise(lease) { self.cx.judge(from, epoch, list) } else { too_long };
        match opinion {
            Opinion::Yes => self.cx.vote_for(from, incarnation, number, epoch, lease),
            opinion => self.cx.deny_vote(from, number, opinion),
        }
    }

    /// A candidate passes on that a leader gave up its epoch. An observer is never a candidate, so its word does not
    /// count.
    pub fn freed(&mut self, by: NodeId, leader: NodeId, epoch: Epoch) {
        if self.cx.state.is_voter(by) {
            self.cx.state.voter.release(leader, epoch);
        }
    }

    /// Whether a vote that waited for the disk is void: this voter is bound to another leader by now.
    fn is_overtaken(&self, candidate: NodeId, epoch: Epoch) -> bool {
        let voter = &self.cx.state.voter;
        let bound = voter.bound_to(self.cx.now);
        epoch < voter.newest() || bound.is_some_and(|leader| leader != candidate)
    }

    /// Sends a member the message that waited for the disk.
    pub fn tell_durable(&mut self, to: NodeId, message: Message) {
        match message {
            // The voter acknowledged another leader meanwhile.
            Message::Vote { epoch, .. } | Message::Acknowledge { epoch, .. }
                if self.is_overtaken(to, epoch) => {}
            Message::Acknowledge { epoch, number, .. } if to == self.cx.state.id() => {
                if self.cx.state.view().epoch == epoch {
                    self.cx.prolong(to, number);
                }
            }
            Message::Vote { incarnation, number, epoch } if to == self.cx.state.id() => {
                self.cx.hear_vote(to, incarnation, number, epoch);
            }
            message => self.cx.send(to, message),
        }
    }

    /// At the end of a turn: shortens, in the voter's record, the time for which the next incarnation has to wait.
    pub fn forget_old_promises(&mut self) {
        let (now, length) = (self.cx.now, self.cx.state.settings.timing.lease);
        let votes = self.cx.state.needs_majority() && self.cx.state.phase() != Phase::Stopping;
        if votes && self.cx.state.voter.forget_old_promises(now, length) {
            self.cx.persist();
        }
    }

    /// A voter whose store was empty knows the state of the cluster once it has met all others.
    pub fn inform_voter(&mut self) {
        let state = &mut *self.cx.state;
        if !state.needs_majority() {
            return; // nobody votes
        }
        let version = state.membership.version();
        let all = state.unmet_voters().is_empty();
        // By an older list it does not know who votes.
        if all && state.membership.newest() <= version {
            let round = state.epochs.round();
            state.voter.inform(round);
        }
    }
}
