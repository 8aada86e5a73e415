//! Which nodes claimed to lead, and when.
//!
//! A node makes its claim at some instant between the question and the answer, which is otherwise
//! unknown. So two claims count as simultaneous only if no choice of instants could put one leadership
//! wholly before the other.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant};

/// The claims of one node to lead in one epoch.
#[derive(Clone, Debug)]
pub struct Leadership {
    pub node: String,
    pub epoch: u64,
    /// How many claims were seen.
    pub claims: u32,
    /// The question and the answer of the first claim.
    pub first: (Instant, Instant),
    /// Those of the last one.
    pub last: (Instant, Instant),
}

/// A certain fact: two led simultaneously, for at least this long.
#[derive(Clone, Debug)]
pub struct Pair(pub Leadership, pub Leadership, pub Duration);

/// All claims so far.
#[derive(Clone, Debug, Default)]
pub struct Claims(BTreeMap<(String, u64), Leadership>);

impl Claims {
    pub fn take(&mut self, node: &str, epoch: u64, instant: (Instant, Instant)) {
        let leadership = self.0.entry((node.to_owned(), epoch)).or_insert_with(|| Leadership {
            node: node.to_owned(),
            epoch,
            claims: 0,
            first: instant,
            last: instant,
        });
        leadership.claims += 1;
        leadership.last = instant;
    }

    pub fn leaderships(&self) -> impl Iterator<Item = &Leadership> {
        self.0.values()
    }

    /// The claims of this node in this epoch.
    pub fn leadership(&self, node: &str, epoch: u64) -> Option<&Leadership> {
        self.0.get(&(node.to_owned(), epoch))
    }

    /// All pairs of nodes that certainly led simultaneously.
    pub fn pairs(&self) -> Vec<Pair> {
        let leaderships: Vec<&Leadership> = self.leaderships().collect();
        let mut pairs = Vec::new();
        for (at, one) in leaderships.iter().enumerate() {
            let others = leaderships[at + 1..].iter().filter(|other| other.node != one.node);
            pairs.extend(others.filter_map(|other| one.beside(other)));
        }
        pairs
    }
}

impl Leadership {
    /// Whether two leaderships cannot have come one after the other: each was claimed again after a
    /// claim of the other. No node claims an epoch again in which it stepped down, so a leadership
    /// lasts from its first to its last claim.
    fn beside(&self, other: &Leadership) -> Option<Pair> {
        let overlaps = self.last.0 >= other.first.1 && other.last.0 >= self.first.1;
        let (begun, seen) = (self.first.1.max(other.first.1), self.last.0.min(other.last.0));
        let least = seen.saturating_duration_since(begun);
        overlaps.then(|| Pair(self.clone(), other.clone(), least))
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pair(one, other, least) = self;
        write!(
            to,
            "{} in epoch {} ({} claims) and {} in epoch {} ({} claims), for at least {least:?}",
            one.node, one.epoch, one.claims, other.node, other.epoch, other.claims
        )
    }
}
