//! A voter's memory: the vote and the promise that it gave, and what it therefore denies.

use std::time::Duration;

use crate::core::durable::{Vote, VoterRecord};
use crate::core::message::{Opinion, View};
use crate::core::planted::Fault;
use crate::core::types::{Epoch, NodeId, Time};

/// What a voter promised a leader: until then it votes for no other candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    to: NodeId,
    epoch: Epoch,
    until: Time,
}

/// Why a voter denies a candidate its vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Objection {
    /// Its store was empty, and neither a leader nor all other voters have told it the epoch. An
    /// earlier run may have made a promise that runs until then.
    Uninformed(Time),
    /// The candidate's member list is older than the voter's.
    StaleList,
    /// The voter has voted for another candidate in this epoch, or knows a leader of it.
    Older(Epoch),
    /// The voter promised the leader of this epoch to vote for no other candidate until then.
    Promised(Epoch, Time),
    /// An earlier run may have made a promise that runs until then; or promises to several leaders run, the last until then.
    Muted(Time),
}

impl Objection {
    /// What a candidate is told: another try may succeed after `patience`, where no time is known.
    #[must_use]
    pub fn opinion(self, now: Time, patience: Duration) -> Opinion {
        match self {
            Objection::Uninformed(until) if now < until => {
                Opinion::Uninformed { wait: until.since(now) }
            }
            Objection::Uninformed(_) => Opinion::Uninformed { wait: patience },
            Objection::StaleList => Opinion::No { wait: patience },
            Objection::Older(_) => Opinion::No { wait: Duration::ZERO },
            Objection::Muted(until) => Opinion::No { wait: until.since(now) },
            Objection::Promised(released, until) => {
                Opinion::YesIf { released, wait: until.since(now) }
            }
        }
    }
}

/// The state of a voter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Voter {
    voted: Option<Vote>,
    /// Who led in the epoch that an earlier run knew last.
    led: Option<Vote>,
    /// The greatest epoch in which this run of the member voted or promised anything.
    newest: Epoch,
    /// Up to this epoch it knows nothing of the votes of a run whose record was lost.
    floor: Epoch,
    /// One for each leader; of those that have expired some may be left.
    promises: Vec<Promise>,
    /// Promises of an earlier run may run until then.
    muted_until: Time,
    /// The longest promise ever made or about to be, and the longest that is durable.
    longest: Duration,
    durable: Duration,
    /// The longest promise that this run made.
    made: Duration,
    /// Whether it knows where the cluster stands.
    informed: bool,
}

impl Voter {
    /// A voter that starts now. It waits for the end of what an earlier run promised; the record of
    /// [`VoterRecord::first`] is durable already.
    #[must_use]
    pub fn new(
        now: Time,
        restored: Option<VoterRecord>,
        led: Option<Vote>,
        lease: Duration,
    ) -> Voter {
        let before = restored.unwrap_or_default();
        let longest = before.promised.max(lease);
        Voter {
            voted: before.voted,
            led: led.filter(|_| !Fault::LeaderForgotten.is_planted()),
            muted_until: match Fault::PromiseForgotten.is_planted() {
                true => now,
                false => now + before.promised,
            },
            longest,
            durable: longest,
            informed: before.informed,
            floor: before.floor,
            ..Voter::default()
        }
    }

    /// Votes for nobody before then.
    pub fn mute(&mut self, until: Time) {
        self.muted_until = self.muted_until.max(until);
    }

    /// What must not be forgotten.
    #[must_use]
    pub fn vote(&self) -> VoterRecord {
        let Voter { voted, longest: promised, informed, floor, .. } = *self;
        VoterRecord { voted, promised, informed, floor }
    }

    /// Whether it knows where the cluster stands; otherwise it votes for nobody.
    #[must_use]
    pub fn is_informed(&self) -> bool {
        self.informed
    }

    /// Whether it may vote for any candidate: it knows where the cluster stands, and neither
    /// this run nor an earlier one is bound by a promise.
    #[must_use]
    pub fn is_free(&self, now: Time) -> bool {
        self.informed && self.muted_until <= now && self.bound_to(now).is_none()
    }

    /// A leader, or every other voter, told it where the cluster stands: its greatest round is this
    /// one, and it may have voted in any epoch up to that before.
    pub fn inform(&mut self, round: Epoch) {
        if !self.informed {
            self.informed = true;
            self.floor = if Fault::NoFloor.is_planted() { Epoch(0) } else { round };
        }
    }

    /// Why it would not vote for this candidate in this epoch, if there is a reason.
    #[must_use]
    pub fn objection(
        &self,
        now: Time,
        candidate: NodeId,
        epoch: Epoch,
        view: View,
    ) -> Option<Objection> {
        if !self.informed {
            Some(Objection::Uninformed(self.muted_until))
        } else if let Some(older) = self.denies(candidate, epoch, view) {
            Some(Objection::Older(older))
        } else if now < self.muted_until {
            Some(Objection::Muted(self.muted_until))
        } else {
            let others = self.running(now).filter(|promise| promise.to != candidate);
            let heeded = |to: NodeId| to > candidate || !Fault::ReleaseNotAwaited.is_planted();
            let mut heeded: Vec<_> = others.filter(|promise| heeded(promise.to)).collect();
            heeded.sort_unstable_by_key(|promise| promise.until);
            match heeded[..] {
                [] => None,
                [promise] => Some(Objection::Promised(promise.epoch, promise.until)),
                [.., last] => Some(Objection::Muted(last.until)), // no leader alone can free it
            }
        }
    }

    /// The promises that have not expired.
    fn running(&self, now: Time) -> impl Iterator<Item = &Promise> {
        self.promises.iter().filter(move |promise| now < promise.until)
    }

    /// The epoch that is against this one: a later one that it voted in or knows a leader of, or the
    /// same, of another candidate.
    fn denies(&self, candidate: NodeId, epoch: Epoch, view: View) -> Option<Epoch> {
        let is_against = |known: Epoch, of: Option<NodeId>| {
            let other = of.is_some_and(|of| of != candidate) && !Fault::EpochTwice.is_planted();
            known > epoch || (known == epoch && other)
        };
        let voted = self.voted.filter(|vote| is_against(vote.epoch, Some(vote.candidate)));
        let led = is_against(view.epoch, view.leader.map(|leader| leader.id));
        let before = self.led.filter(|led| is_against(led.epoch, Some(led.candidate)));
        let newest = Some(self.newest).filter(|newest| *newest > epoch);
        let floor = Some(self.floor).filter(|floor| *floor >= epoch && *floor > Epoch(0));
        let (voted, before) = (voted.map(|vote| vote.epoch), before.map(|led| led.epoch));
        voted.max(before).max(led.then_some(view.epoch)).max(newest).max(floor)
    }

    /// Who led in this epoch, as far as an earlier run knew.
    #[must_use]
    pub fn led_in(&self, epoch: Epoch) -> Option<NodeId> {
        self.led.filter(|led| led.epoch == epoch).map(|led| led.candidate)
    }

    /// The greatest epoch that it voted or promised anything in, or that it must not go below.
    #[must_use]
    pub fn newest(&self) -> Epoch {
        self.latest().max(self.floor)
    }

    /// The greatest epoch that any run of this member voted in, or this one promised anything in.
    fn latest(&self) -> Epoch {
        let voted = self.voted.map(|vote| vote.epoch).unwrap_or_default();
        self.newest.max(voted)
    }

    /// Votes for a candidate, which is a promise as well. The vote has to be durable before it is told.
    pub fn vote_for(&mut self, now: Time, candidate: NodeId, epoch: Epoch, lease: Duration) {
        self.voted = Some(Vote { epoch, candidate });
        if !Fault::VoteNoPromise.is_planted() {
            self.promise(now, candidate, epoch, lease);
        }
    }

    /// Whether it gave the same vote before, in a record that says all that a promise of this length needs.
    #[must_use]
    pub fn voted_before(&self, candidate: NodeId, epoch: Epoch, lease: Duration) -> bool {
        self.voted == Some(Vote { epoch, candidate }) && self.remembers(lease)
    }

    /// Promises the leader of an epoch to vote for nobody else for so long; unless the voter voted or
    /// promised in a later epoch, so that this leader is outdated. Tells whether it promised.
    ///
    /// What it promised an earlier leader holds beside it: the later one may be a liar, and release the voter at once.
    pub fn promise(&mut self, now: Time, to: NodeId, epoch: Epoch, lease: Duration) -> bool {
        if self.is_beyond(epoch) && !Fault::OlderLeader.is_planted() {
            return false;
        }
        self.newest = epoch;
        let until = now + lease;
        let same = self.promises.iter().find(|promise| promise.to == to);
        let until = same.map_or(until, |promise| promise.until.max(until));
        self.promises.retain(|promise| promise.to != to && now < promise.until);
        self.promises.push(Promise { to, epoch, until });
        self.longest = self.longest.max(lease);
        self.made = self.made.max(lease);
        true
    }

    /// When it is mute no more, the promises of earlier runs have run out: the next run need not wait
    /// for them. It has to wait for those of this one, and for those of `lease` that this member is about
    /// to make. Tells whether a shorter time is to be made durable.
    pub fn forget_old_promises(&mut self, now: Time, lease: Duration) -> bool {
        let longest = self.made.max(lease);
        let over = self.muted_until <= now && longest < self.longest;
        let over = over && !Fault::PromiseKept.is_planted();
        if over {
            self.longest = longest;
            // From now on a crash may find either record.
            self.durable = self.durable.min(longest);
        }
        over
    }

    /// Whether it voted or promised in a later epoch, so that the leader of this one is outdated.
    #[must_use]
    pub fn is_beyond(&self, epoch: Epoch) -> bool {
        epoch < self.latest()
    }

    /// Whether a promise of this length is durable, so that it may be told.
    #[must_use]
    pub fn remembers(&self, lease: Duration) -> bool {
        lease <= self.durable
    }

    /// The latest leader to whom a promise runs.
    #[must_use]
    pub fn bound_to(&self, now: Time) -> Option<NodeId> {
        self.running(now).max_by_key(|promise| promise.epoch).map(|promise| promise.to)
    }

    /// Whoever was promised something for this epoch needs it no more.
    pub fn release(&mut self, by: NodeId, epoch: Epoch) {
        let older = |promise: &Promise| Fault::OlderRelease.is_planted() && promise.epoch >= epoch;
        let released = |promise: &Promise| promise.to == by && promise.epoch == epoch;
        self.promises.retain(|promise| !released(promise) && !older(promise));
    }

    /// A member that was promised something leads in no epoch any more: its process is proved to be gone, or it is this one.
    pub fn release_all(&mut self, id: NodeId) {
        self.promises.retain(|promise| promise.to != id);
    }

    /// The longest promise, if no record holds one that long yet.
    #[must_use]
    pub fn promise_to_store(&self) -> Option<Duration> {
        Some(self.longest).filter(|longest| *longest > self.durable)
    }

    /// A promise of this length is durable.
    pub fn stored_promise(&mut self, longest: Duration) {
        self.durable = self.durable.max(longest);
    }
}
