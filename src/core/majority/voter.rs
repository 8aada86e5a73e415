//! A voter: what it answers a nominee, and what it promises a leader.

use std::time::Duration;

use crate::core::context::Context;
use crate::core::membership::ListVersion;
use crate::core::message::{Message, Opinion};
use crate::core::tenure::Objection;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, Incarnation, NodeId};

impl Context<'_> {
    /// What this voter would say to a claim.
    pub(super) fn judge(&self, nominee: NodeId, epoch: Epoch, list: ListVersion) -> Opinion {
        let state = &*self.state;
        let stale = (list < state.members.version()).then_some(Objection::StaleList);
        let objection =
            stale.or_else(|| state.voter.objection(self.now, nominee, epoch, state.view));
        let patience = state.settings.timing.failure;
        objection.map_or(Opinion::Yes, |objection| objection.opinion(self.now, patience))
    }

    /// Grants a claim; said as soon as it is durable.
    pub(super) fn grant(
        &mut self,
        nominee: NodeId,
        incarnation: Incarnation,
        number: u64,
        epoch: Epoch,
        lease: Duration,
    ) {
        self.state.voter.grant(self.now, nominee, epoch, lease);
        let record = self.persist();
        self.say_when_durable(record, nominee, Message::Grant { incarnation, number, epoch });
    }

    /// Has a member told this as soon as the record is durable. However long the disk takes, of what is
    /// of one kind only the last waits: it makes the earlier ones void.
    pub fn say_when_durable(&mut self, record: u64, to: NodeId, message: Message) {
        let unsaid = &mut self.state.unsaid;
        if unsaid.iter().any(|(_, peer, same)| *peer == to && *same == message) {
            return; // and sooner than with this record
        }
        unsaid.retain(|(_, peer, older)| *peer != to || older.kind() != message.kind());
        unsaid.push((record, to, message));
    }

    /// The greatest epoch that this member knows of or has granted.
    fn greatest_epoch(&self) -> Epoch {
        self.state.view.epoch.max(self.state.voter.newest())
    }

    /// A voter takes a leader's heartbeat: promises its vote, or refuses one that a later grant
    /// stands against. Tells whether it may be acknowledged.
    pub fn promise(&mut self, leader: NodeId, epoch: Epoch, number: u64, lease: Duration) -> bool {
        if !self.state.needs_majority() {
            return true; // with one, who is no voter promises as well: it may know an older list
        }
        self.state.voter.inform(self.state.round);
        if !self.state.voter.promise(self.now, leader, epoch, lease) {
            let (epoch, opinion) = (self.greatest_epoch(), Opinion::No { wait: Duration::ZERO });
            self.send(leader, Message::Refuse { number, opinion, epoch });
            return false;
        }
        let durable = self.state.voter.remembers(lease);
        if !durable {
            self.persist();
        }
        durable
    }
}

impl Turn<'_> {
    /// A nominee asks what this voter would say to a claim.
    pub fn trial(&mut self, from: NodeId, number: u64, epoch: Epoch, list: ListVersion) {
        self.cx.exchange_lists(from, list);
        let opinion = self.cx.judge(from, epoch, list);
        let epoch = self.cx.greatest_epoch();
        self.cx.send(from, Message::Opinion { number, opinion, epoch });
    }

    /// A nominee asks for this voter's grant.
    pub fn claim(
        &mut self,
        (from, incarnation): (NodeId, Incarnation),
        number: u64,
        epoch: Epoch,
        lease: Duration,
        list: ListVersion,
    ) {
        self.cx.note_round(epoch);
        self.cx.exchange_lists(from, list);
        match self.cx.judge(from, epoch, list) {
            Opinion::Yes => self.cx.grant(from, incarnation, number, epoch, lease),
            opinion => {
                let epoch = self.cx.greatest_epoch();
                self.cx.send(from, Message::Refuse { number, opinion, epoch });
            }
        }
    }

    /// Whether a grant that waited for the disk is void: this voter is bound to another by now.
    fn is_overtaken(&self, nominee: NodeId, epoch: Epoch) -> bool {
        let voter = &self.cx.state.voter;
        let bound = voter.bound_to(self.cx.now);
        epoch < voter.newest() || bound.is_some_and(|leader| leader != nominee)
    }

    /// Says what waited until it was durable.
    pub fn say_what_is_durable(&mut self, number: u64) {
        let unsaid = std::mem::take(&mut self.cx.state.unsaid);
        let (durable, rest) = unsaid.into_iter().partition(|(record, ..)| *record <= number);
        self.cx.state.unsaid = rest;
        let durable: Vec<_> = durable;
        for (_, to, message) in durable {
            match message {
                // Another leader was acknowledged meanwhile.
                Message::Grant { epoch, .. } if self.is_overtaken(to, epoch) => {}
                Message::Grant { incarnation, number, epoch } if to == self.cx.state.id() => {
                    self.granted(to, incarnation, number, epoch);
                }
                message => self.cx.send(to, message),
            }
        }
    }

    /// A voter whose store was empty knows where the cluster stands, once it met all others.
    pub fn inform_voter(&mut self) {
        let state = &mut *self.cx.state;
        if !state.needs_majority() {
            return; // nobody votes
        }
        let met = |id| state.detector.get(id).is_none_or(|peer| peer.incarnation.0 > 0);
        let all = state.members.iter().filter(|member| member.votes()).all(|m| met(m.id));
        // By an older list than another's it does not know who votes.
        if all && state.roster.newest <= state.members.version() {
            let round = state.round;
            state.voter.inform(round);
        }
    }
}
