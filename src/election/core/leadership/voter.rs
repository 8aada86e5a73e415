//! A voter's memory: its vote, its promises, and what it denies because of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::durable::{Vote, VoterRecord};
use crate::core::message::{Opinion, View};
use crate::core::planted::Fault;
use crate::core::types::{Epoch, Incarnation, NodeId, Time};

/// A promise to a leader: until it ends, the voter votes for no other candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Promise {
    to: NodeId,
    /// The greatest of its incarnations that it was made to.
    incarnation: Incarnation,
    epoch: Epoch,
    until: Time,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Voter {
    /// What a restart must find again.
    record: VoterRecord,
    /// The longest promise that is durable.
    durable: Duration,
    /// Whether it is durable that this voter is informed.
    known_informed: bool,
    /// The leader of the last epoch that an earlier incarnation knew.
    led: Option<Vote>,
    /// Promises of an earlier incarnation may last until then.
    muted_until: Time,
    /// Up to this epoch an earlier incarnation may have voted or promised what the record does not have: it crashed, or
    /// it lost its disk.
    unsure: Epoch,
    /// The greatest epoch in which this incarnation voted or promised.
    newest: Epoch,
    /// One for each leader; expired ones may remain.
    promises: Vec<Promise>,
    /// The longest promise of this incarnation.
    made: Duration,
}

impl Voter {
    /// A voter that starts now. It waits until the promises of earlier incarnations have expired; the record of
    /// [`VoterRecord::first`] is durable already. (Q4)
    pub fn new(now: Time, kept: Option<VoterRecord>, led: Option<Vote>, lease: Duration) -> Voter {
        let record = VoterRecord::first(kept, lease);
        let before = kept.unwrap_or_default();
        let crashed = if before.behind { before.forgot } else { Epoch(0) };
        let unsure = if before.informed { crashed } else { Epoch(u64::MAX) };
        Voter {
            record,
            durable: record.promised,
            known_informed: record.informed,
            unsure,
            led: led.filter(|_| !Fault::LeaderForgotten.is_planted()),
            muted_until: if Fault::PromiseForgotten.is_planted() {
                now
            } else {
                now + before.promised
            },
            ..Voter::default()
        }
    }

    /// Votes for nobody before then.
    pub fn mute(&mut self, until: Time) {
        self.muted_until = self.muted_until.max(until);
    }

    /// The record that must not be forgotten. That of a voter that stops is whole. (Q13)
    pub fn vote(&self) -> VoterRecord {
        self.record
    }

    /// Whether it knows the state of the cluster; otherwise it votes for nobody.
    pub fn is_informed(&self) -> bool {
        self.record.informed
    }

    /// Whether it may vote for any candidate: it knows the state of the cluster, and no promise of this incarnation
    /// or an earlier one binds it.
    pub fn is_free(&self, now: Time) -> bool {
        self.record.informed && self.muted_until <= now && self.bound_to(now).is_none()
    }

    /// A leader, or every other voter, informed it of the state of the cluster: this is its greatest round, and it
    /// may have voted in any epoch up to that before. (Q5)
    pub fn inform(&mut self, round: Epoch) {
        if !self.record.informed {
            self.record.informed = true;
            self.record.floor = if Fault::NoFloor.is_planted() { Epoch(0) } else { round };
        }
    }

    /// What it says to a candidate that asks for its vote in this epoch. The candidate may ask again after `retry`,
    /// if no time is known.
    pub fn judge(
        &self,
        (now, retry): (Time, Duration),
        candidate: NodeId,
        epoch: Epoch,
        view: View,
    ) -> Opinion {
        let muted = now < self.muted_until;
        if !self.record.informed {
            let wait = if muted { self.muted_until.since(now) } else { retry };
            return Opinion::Uninformed { wait };
        }
        if self.denies(candidate, epoch, view) {
            return Opinion::No { wait: Duration::ZERO };
        }
        if muted {
            return Opinion::No { wait: self.muted_until.since(now) };
        }
        let others = self.running(now).filter(|promise| promise.to != candidate);
        let heeded = |to: NodeId| to > candidate || !Fault::ReleaseNotAwaited.is_planted();
        let mut heeded: Vec<_> = others.filter(|promise| heeded(promise.to)).collect();
        heeded.sort_unstable_by_key(|promise| promise.until);
        match heeded[..] {
            [] => Opinion::Yes,
            [to] => Opinion::YesIf { released: to.epoch, wait: to.until.since(now) },
            [.., last] => Opinion::No { wait: last.until.since(now) }, // no leader alone can free it (Q9)
        }
    }

    fn running(&self, now: Time) -> impl Iterator<Item = &Promise> {
        self.promises.iter().filter(move |promise| now < promise.until)
    }

    /// Whether it may not vote for this candidate in this epoch: it voted or promised in a later one or knows a leader
    /// of that, or did so in this one for another candidate. (Q1)
    fn denies(&self, candidate: NodeId, epoch: Epoch, view: View) -> bool {
        let votes = self.record.voted.into_iter().chain(self.led);
        let votes = votes.map(|vote| (vote.epoch, vote.candidate));
        let mut known = votes.chain(view.leader.map(|leader| (view.epoch, leader.id)));
        let other = |of: NodeId| of != candidate && !Fault::EpochTwice.is_planted();
        let against = |(at, of): (Epoch, NodeId)| at > epoch || at == epoch && other(of);
        let floor = self.floor();
        let below_floor = epoch <= floor && floor > Epoch(0);
        let later = view.epoch.max(self.newest) > epoch;
        later || below_floor || known.any(against)
    }

    /// The leader of this epoch, as far as an earlier incarnation knew.
    pub fn led_in(&self, epoch: Epoch) -> Option<NodeId> {
        self.led.filter(|led| led.epoch == epoch).map(|led| led.candidate)
    }

    /// The greatest epoch that it voted or promised in, or must not go below.
    pub fn newest(&self) -> Epoch {
        self.latest().max(self.floor())
    }

    /// Up to this epoch it may have voted, and does not know whether and for whom. (Q5, Q13)
    fn floor(&self) -> Epoch {
        let VoterRecord { floor, forgot, .. } = self.record;
        if Fault::ReserveForgotten.is_planted() { floor } else { floor.max(forgot) }
    }

    /// The greatest epoch that any incarnation voted in, or this one promised in.
    fn latest(&self) -> Epoch {
        let voted = self.record.voted.map(|vote| vote.epoch).unwrap_or_default();
        self.newest.max(voted)
    }

    /// Votes for a candidate, which is a promise as well. (L1)
    pub fn vote_for(
        &mut self,
        now: Time,
        candidate: (NodeId, Incarnation),
        epoch: Epoch,
        lease: Duration,
    ) {
        self.record.voted = Some(Vote { epoch, candidate: candidate.0 });
        if !Fault::VoteNoPromise.is_planted() {
            self.promise(now, candidate, epoch, lease);
        }
    }

    /// Whether it gave the same vote before, in a record that has a promise of this length.
    pub fn voted_before(&self, candidate: NodeId, epoch: Epoch, lease: Duration) -> bool {
        self.record.voted == Some(Vote { epoch, candidate }) && self.remembers(lease)
    }

    /// Promises the leader of an epoch to vote for nobody else for this time, unless the voter voted or promised in a
    /// later epoch, so that this leader is outdated. Returns whether it promised. (L5)
    ///
    /// A promise to an earlier leader stays in force: the later leader may be a liar, and release the voter
    /// immediately. (Q9)
    pub fn promise(
        &mut self,
        now: Time,
        (to, incarnation): (NodeId, Incarnation),
        epoch: Epoch,
        lease: Duration,
    ) -> bool {
        if self.is_beyond(epoch) && !Fault::OlderLeader.is_planted() {
            return false;
        }
        self.newest = epoch;
        let until = now + lease;
        let same = self.promises.iter().find(|promise| promise.to == to);
        let until = same.map_or(until, |promise| promise.until.max(until));
        // Of two lives of a member the later one begins after the end of the earlier one.
        let incarnation = same.map_or(incarnation, |promise| promise.incarnation.max(incarnation));
        self.promises.retain(|promise| promise.to != to && now < promise.until);
        self.promises.push(Promise { to, incarnation, epoch, until });
        self.record.promised = self.record.promised.max(lease);
        self.made = self.made.max(lease);
        true
    }

    /// Once the promises of earlier incarnations have expired, the next incarnation need not wait for them. It has to
    /// wait for those of this one, and for the promises of `lease` that this member is about to make. Returns whether
    /// a shorter time is to be made durable. (Q4)
    pub fn forget_old_promises(&mut self, now: Time, lease: Duration) -> bool {
        let longest = self.made.max(lease);
        let over = self.muted_until <= now && longest < self.record.promised;
        let over = over && !Fault::PromiseKept.is_planted();
        if over {
            self.record.promised = longest;
            // From now on a crash may find either record.
            self.durable = self.durable.min(longest);
        }
        over
    }

    /// Whether it voted or promised in a later epoch, so that the leader of this one is outdated.
    pub fn is_beyond(&self, epoch: Epoch) -> bool {
        epoch < self.latest()
    }

    /// Whether what an earlier incarnation said and this one does not know may count.
    pub fn waits_after_crash(&self, now: Time) -> bool {
        self.unsure > Epoch(0) && now < self.muted_until
    }

    /// Whether this incarnation may contradict what an earlier one said in this epoch and this one does not know, and
    /// that may count: then the voter promises nothing in it, and counts for no list of its leader. (Q5, Q13)
    pub fn is_unsure_of(&self, epoch: Epoch, now: Time) -> bool {
        epoch <= self.unsure && self.waits_after_crash(now) && !Fault::Unsure.is_planted()
    }

    /// Whether a vote that is a promise of this length may be sent before it is durable: a start after a crash knows how
    /// long to wait, and that there were votes. (Q2)
    pub fn may_write_behind(&self, lease: Duration) -> bool {
        self.known_informed && self.remembers(lease)
    }

    /// Whether it was informed, and no disk is known to have that.
    pub fn is_informed_since(&self) -> bool {
        self.record.informed && !self.known_informed
    }

    /// It is durable that it was informed.
    pub fn stored_informed(&mut self) {
        self.known_informed = true;
    }

    /// Whether a promise of this length is durable, so that the voter may send it.
    pub fn remembers(&self, lease: Duration) -> bool {
        lease <= self.durable
    }

    /// The leader of the greatest epoch to which a promise binds it.
    pub fn bound_to(&self, now: Time) -> Option<NodeId> {
        self.running(now).max_by_key(|promise| promise.epoch).map(|promise| promise.to)
    }

    /// A leader released this epoch: drops the promise to it. (H13)
    pub fn release(&mut self, by: NodeId, epoch: Epoch) {
        let older = |promise: &Promise| Fault::OlderRelease.is_planted() && promise.epoch >= epoch;
        let released = |promise: &Promise| promise.to == by && promise.epoch == epoch;
        self.promises.retain(|promise| !released(promise) && !older(promise));
    }

    /// Drops all promises to a member that leads in no epoch any more: its process is proved to be gone, or it is
    /// this member.
    pub fn release_all(&mut self, id: NodeId) {
        self.promises.retain(|promise| promise.to != id);
    }

    /// This incarnation of a member is proved to be dead: drops the promise to it, and none to a later one. (Z2)
    pub fn bury(&mut self, member: NodeId, incarnation: Incarnation) {
        let any = Fault::AnyLife.is_planted();
        let same = |promise: &Promise| promise.incarnation == incarnation || any;
        self.promises.retain(|promise| promise.to != member || !same(promise));
    }

    /// The longest promise, if it is longer than the record says.
    pub fn promise_to_store(&self) -> Option<Duration> {
        Some(self.record.promised).filter(|longest| *longest > self.durable)
    }

    /// A promise of this length is durable.
    pub fn stored_promise(&mut self, longest: Duration) {
        self.durable = self.durable.max(longest);
    }
}
