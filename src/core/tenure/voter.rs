//! A voter: what it granted and promised, and what it therefore refuses.

use std::time::Duration;

use crate::core::message::{Opinion, View};
use crate::core::types::{Epoch, NodeId, Time};

/// The greatest epoch that a voter granted, and to whom. Durable before it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Grant {
    /// The epoch.
    pub epoch: Epoch,
    /// Who may lead in it.
    pub nominee: NodeId,
}

/// What a voter must not forget, whatever happens to its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Vote {
    /// The greatest epoch granted, and to whom.
    pub granted: Option<Grant>,
    /// The longest time for which a promise was made, or may have been.
    pub promised: Duration,
    /// Whether it knows where the cluster stands.
    pub informed: bool,
}

impl Vote {
    /// What is to be durable before a voter starts that will promise for `lease` at a time.
    #[must_use]
    pub fn first(restored: Option<Vote>, lease: Duration) -> Vote {
        let vote = restored.unwrap_or_default();
        Vote { promised: vote.promised.max(lease), ..vote }
    }
}

/// For this long no other nominee is granted anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    to: NodeId,
    epoch: Epoch,
    until: Time,
}

/// Why a voter refuses a nominee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Objection {
    /// Its store was empty, and neither a leader nor all other voters have told it the epoch.
    Uninformed,
    /// The nominee's member list is older than the own one.
    StaleList,
    /// This epoch was granted to another, or belongs to a leader that is known.
    Older(Epoch),
    /// The leader of this epoch was promised that nobody else is granted anything until then.
    Promised(Epoch, Time),
    /// An earlier life may have made a promise that runs until then.
    Muted(Time),
}

impl Objection {
    /// What a nominee is told: another try may succeed after `patience`, where no time is known.
    #[must_use]
    pub fn opinion(self, now: Time, patience: Duration) -> Opinion {
        match self {
            Objection::Uninformed | Objection::StaleList => Opinion::No { wait: patience },
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
    granted: Option<Grant>,
    /// The greatest epoch for which this life granted or promised anything.
    newest: Epoch,
    /// Below this it knows nothing of what an earlier life granted.
    floor: Epoch,
    promise: Option<Promise>,
    /// Promises of an earlier life may run until then.
    muted_until: Time,
    /// The longest promise ever made or about to be, and the longest that is durable.
    longest: Duration,
    durable: Duration,
    /// The record that is to make a longer one durable.
    asked: Option<(u64, Duration)>,
    /// Whether it knows where the cluster stands.
    informed: bool,
}

impl Voter {
    /// A voter that starts now. What an earlier life promised is waited for; what
    /// [`Vote::first`] says is durable already.
    #[must_use]
    pub fn new(now: Time, restored: Option<Vote>, lease: Duration) -> Voter {
        let before = restored.unwrap_or_default();
        let longest = before.promised.max(lease);
        Voter {
            granted: before.granted,
            muted_until: now + before.promised,
            longest,
            durable: longest,
            informed: before.informed,
            ..Voter::default()
        }
    }

    /// Grants nothing before then.
    pub fn mute(&mut self, until: Time) {
        self.muted_until = self.muted_until.max(until);
    }

    /// What must not be forgotten.
    #[must_use]
    pub fn vote(&self) -> Vote {
        Vote { granted: self.granted, promised: self.longest, informed: self.informed }
    }

    /// Whether it knows where the cluster stands; otherwise it grants nothing.
    #[must_use]
    pub fn is_informed(&self) -> bool {
        self.informed
    }

    /// A leader, or every other voter, told it where the cluster stands: its greatest round is this
    /// one, and anything up to it may have been granted before.
    pub fn inform(&mut self, round: Epoch) {
        if !self.informed {
            self.informed = true;
            self.floor = round;
        }
    }

    /// Why it would not grant this epoch to this nominee, if there is a reason.
    #[must_use]
    pub fn objection(
        &self,
        now: Time,
        nominee: NodeId,
        epoch: Epoch,
        view: View,
    ) -> Option<Objection> {
        let others = self.promise.filter(|promise| promise.to != nominee && now < promise.until);
        if !self.informed {
            Some(Objection::Uninformed)
        } else if let Some(older) = self.refuses(nominee, epoch, view) {
            Some(Objection::Older(older))
        } else if now < self.muted_until {
            Some(Objection::Muted(self.muted_until))
        } else {
            others.map(|promise| Objection::Promised(promise.epoch, promise.until))
        }
    }

    /// The epoch that stands against this one: a later one that was granted or is led in, or the
    /// same, of another nominee.
    fn refuses(&self, nominee: NodeId, epoch: Epoch, view: View) -> Option<Epoch> {
        let stands_against = |known: Epoch, of: Option<NodeId>| {
            known > epoch || (known == epoch && of.is_some_and(|of| of != nominee))
        };
        let granted = self.granted.filter(|grant| stands_against(grant.epoch, Some(grant.nominee)));
        let led = stands_against(view.epoch, view.leader.map(|leader| leader.id));
        let newest = Some(self.newest).filter(|newest| *newest > epoch);
        let floor = Some(self.floor).filter(|floor| *floor >= epoch && *floor > Epoch(0));
        granted.map(|grant| grant.epoch).max(led.then_some(view.epoch)).max(newest).max(floor)
    }

    /// The greatest epoch that it granted or promised anything for, or that it must not go below.
    #[must_use]
    pub fn newest(&self) -> Epoch {
        self.latest().max(self.floor)
    }

    /// The greatest epoch that it granted, in any life, or promised anything for, in this one.
    fn latest(&self) -> Epoch {
        let granted = self.granted.map(|grant| grant.epoch).unwrap_or_default();
        self.newest.max(granted)
    }

    /// Grants an epoch, which is a promise as well. To be made durable before it is told.
    pub fn grant(&mut self, now: Time, nominee: NodeId, epoch: Epoch, lease: Duration) {
        self.granted = Some(Grant { epoch, nominee });
        self.promise(now, nominee, epoch, lease);
    }

    /// Promises the leader of an epoch that nobody else is granted anything for so long; unless a
    /// later epoch was granted or promised, so that this leader is outdated. Tells whether it was.
    pub fn promise(&mut self, now: Time, to: NodeId, epoch: Epoch, lease: Duration) -> bool {
        if self.is_beyond(epoch) {
            return false;
        }
        self.newest = epoch;
        let until = now + lease;
        let same = self.promise.filter(|promise| promise.to == to);
        let until = same.map_or(until, |promise| promise.until.max(until));
        self.promise = Some(Promise { to, epoch, until });
        self.longest = self.longest.max(lease);
        true
    }

    /// Whether it granted or promised a later epoch, so that the leader of this one is outdated.
    #[must_use]
    pub fn is_beyond(&self, epoch: Epoch) -> bool {
        epoch < self.latest()
    }

    /// Whether a promise of this length is durable, so that it may be told.
    #[must_use]
    pub fn remembers(&self, lease: Duration) -> bool {
        lease <= self.durable
    }

    /// Whether a promise runs, and to whom.
    #[must_use]
    pub fn bound_to(&self, now: Time) -> Option<NodeId> {
        self.promise.filter(|promise| now < promise.until).map(|promise| promise.to)
    }

    /// Whoever was promised something for this epoch needs it no more.
    pub fn release(&mut self, by: NodeId, epoch: Epoch) {
        self.promise.take_if(|promise| promise.to == by && promise.epoch == epoch);
    }

    /// A process that was promised something is proved to be gone: it leads no more.
    pub fn release_dead(&mut self, id: NodeId) {
        self.promise.take_if(|promise| promise.to == id);
    }

    /// What is promised at present goes into the record of this number.
    pub fn recorded(&mut self, number: u64) {
        if self.longest > self.durable && self.asked.is_none() {
            self.asked = Some((number, self.longest));
        }
    }

    /// All records up to this number are durable.
    pub fn persisted(&mut self, number: u64) {
        if let Some((_, longest)) = self.asked.take_if(|(asked, _)| *asked <= number) {
            self.durable = self.durable.max(longest);
        }
    }
}
