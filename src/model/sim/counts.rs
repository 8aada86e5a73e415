//! How many messages an election takes, by kind, as the literature counts them.

use std::ops::Index;

use crate::core::message::Kind;
use crate::core::settings::AlgorithmKind;

/// How many messages of each kind were sent. A COORDINATOR counts if its receiver lives, what a coordinator asks
/// regularly and the replies to that do not count; all others count wherever they go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MessageCounts([u64; Kind::ALL.len()]);

impl MessageCounts {
    /// The kinds of an algorithm with their counts, LOWER only where it was sent: where ranks
    /// change.
    pub fn list(&self, algorithm: AlgorithmKind) -> impl Iterator<Item = (Kind, u64)> {
        let all = Kind::of(algorithm).iter().map(|kind| (*kind, self[*kind]));
        all.filter(|(kind, count)| *kind != Kind::Lower || *count > 0)
    }

    /// All messages of elections. Signs of life, what members tell each other of a known leader,
    /// and handing over are none.
    #[must_use]
    pub fn total(&self) -> u64 {
        Kind::ALL.iter().copied().filter(|kind| is_election(*kind)).map(|kind| self[kind]).sum()
    }

    /// Those that were sent after these.
    pub(super) fn since(&self, earlier: &MessageCounts) -> MessageCounts {
        let mut later = *self;
        later.0.iter_mut().zip(earlier.0).for_each(|(count, before)| *count -= before);
        later
    }

    pub(super) fn add(&mut self, kind: Kind, count: u64) {
        self.0[kind as usize] += count;
    }
}

impl Index<Kind> for MessageCounts {
    type Output = u64;

    fn index(&self, kind: Kind) -> &u64 {
        &self.0[kind as usize]
    }
}

impl<const N: usize> From<[(Kind, u64); N]> for MessageCounts {
    fn from(counts: [(Kind, u64); N]) -> MessageCounts {
        let mut all = MessageCounts::default();
        for (kind, count) in counts {
            all.add(kind, count);
        }
        all
    }
}

/// Whether messages of this kind elect, in any algorithm.
pub(super) fn is_election(kind: Kind) -> bool {
    AlgorithmKind::ALL.into_iter().any(|algorithm| Kind::of(algorithm).contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_keeps_a_leader_in_place_is_outside_the_total() {
        let mut counts = MessageCounts::default();
        for &kind in Kind::ALL {
            counts.add(kind, 1);
        }
        assert_eq!(counts.total(), 10);
        assert_eq!(counts.list(AlgorithmKind::Bully).count(), 4);
        let without_lower = MessageCounts::from([(Kind::Election, 2), (Kind::Coordinator, 3)]);
        let listed = without_lower.list(AlgorithmKind::Bully).map(|(kind, _)| kind);
        assert_eq!(listed.collect::<Vec<_>>(), [Kind::Election, Kind::Answer, Kind::Coordinator]);
    }
}
