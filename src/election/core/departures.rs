//! The members that went away lately, this one included: whoever does so twice in a short time comes and goes.
//!
//! All members judge alike, as they count the same: what went away before a member had met the others, and its own
//! departures, which it cannot see, it learns from their hellos. Otherwise one would wait for a member that the others
//! do not vote for.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::types::{Incarnation, NodeId, Time};

/// A member that goes away twice within so many times `failure` comes and goes.
pub const STEADY: u32 = 16;

/// A member went away lately, as another says in its hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Departure {
    pub member: NodeId,
    /// For how long that counts from now on.
    pub counts_for: Duration,
    /// Whether the same had happened shortly before, so that it comes and goes.
    pub again: bool,
}

/// The last departure of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct LastDeparture {
    counts_until: Time,
    again: bool,
    /// The run that went away, as far as this member knows.
    run: Option<Incarnation>,
}

impl LastDeparture {
    /// Whether it may have been a departure of this run.
    fn is_of(&self, run: Option<Incarnation>) -> bool {
        self.run.zip(run).is_none_or(|(known, run)| run <= known)
    }
}

/// The departures that count at present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Departures {
    last: BTreeMap<NodeId, LastDeparture>,
}

impl Departures {
    /// Whether a member went away twice in a short time, and was not steady for long since.
    pub fn is_unsteady(&self, member: NodeId) -> bool {
        self.last.get(&member).is_some_and(|last| last.again)
    }

    /// A run of a member goes away: its process ends, or it is silent. What is noticed of one run within `failure` is one
    /// departure: a connection ends, and then the leader reports it. That of a later run is another, however soon it
    /// comes. (S4)
    pub(super) fn add(
        &mut self,
        member: NodeId,
        run: Option<Incarnation>,
        failure: Duration,
        now: Time,
    ) {
        let counts_until = now + failure * STEADY;
        match self.last.get_mut(&member) {
            Some(last) if last.is_of(run) && counts_until < last.counts_until + failure => {
                last.run = last.run.max(run);
            }
            last => {
                let again = last.is_some();
                self.last.insert(member, LastDeparture { counts_until, again, run });
            }
        }
    }

    /// Another member says this in its hello. (S4)
    pub(super) fn hear(&mut self, said: &Departure, failure: Duration, now: Time) {
        let counts_until = now + said.counts_for.min(failure * STEADY);
        let last = self.last.entry(said.member).or_insert(LastDeparture {
            counts_until,
            again: false,
            run: None,
        });
        last.counts_until = last.counts_until.max(counts_until);
        last.again |= said.again;
    }

    /// Whoever was steady for long is as good as others.
    pub(super) fn settle(&mut self, now: Time) {
        self.last.retain(|_, last| now < last.counts_until);
    }

    /// What this member says in its hello.
    pub(super) fn to_tell(&self, now: Time) -> Vec<Departure> {
        let tell = |(member, last): (&NodeId, &LastDeparture)| Departure {
            member: *member,
            counts_for: last.counts_until.since(now),
            again: last.again,
        };
        self.last.iter().map(tell).filter(|said| !said.counts_for.is_zero()).collect()
    }
}
