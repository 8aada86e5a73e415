//! Single messages that are to be lost, each by its place among those that a member sends to another.

use std::collections::{BTreeMap, BTreeSet};

use crate::core::message::Message;
use crate::trace::Brief;

/// A message: its sender, its receiver, and its place among all from one to the other, from 1 on. Signs of life have no
/// places.
pub(super) type MessagePlace = (usize, usize, u64);

/// The messages to be lost, and how many were sent.
#[derive(Debug, Default)]
pub(super) struct Drops {
    wanted: BTreeSet<MessagePlace>,
    sent: BTreeMap<(usize, usize), u64>,
}

impl Drops {
    /// These are to be lost, counted from now on.
    pub fn of(wanted: BTreeSet<MessagePlace>) -> Drops {
        Drops { wanted, sent: BTreeMap::new() }
    }

    /// Counts a message that is sent now. Tells whether it is to be lost.
    pub fn takes(&mut self, (from, to): (usize, usize), message: &Message) -> bool {
        if self.wanted.is_empty() || Brief::of(message).is_periodic() {
            return false;
        }
        let place = self.sent.entry((from, to)).or_default();
        *place += 1;
        self.wanted.contains(&(from, to, *place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::types::Epoch;

    #[test]
    fn a_message_is_lost_by_its_place_on_its_way() {
        let mut drops = Drops::of(BTreeSet::from([(0, 1, 2)]));
        let answer = Message::Answer { round: Epoch(1) };
        let mut takes = |way| drops.takes(way, &answer);
        assert!(!takes((0, 1)) && !takes((1, 0)) && !takes((1, 0)), "another way");
        assert!(takes((0, 1)) && !takes((0, 1)));
    }
}
