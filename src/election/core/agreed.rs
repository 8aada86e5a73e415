//! What a leader has to know before it agrees that a member is drained. (A6)

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::types::NodeId;

/// What the members said to this leader, and what it agreed to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Agreed {
    /// The members that acknowledged a heartbeat of this leadership: since then none of them is drained unless this
    /// leader agrees. With each, the last round that it acknowledged, and whether it was eligible then: what it says
    /// elsewhere has no number, and may be older.
    heard: BTreeMap<NodeId, (u64, bool)>,
    /// The members whose drain this leader agreed to, and its heartbeat round then. What they say of themselves counts
    /// again once they acknowledge a later one: it left after the answer.
    drains: BTreeMap<NodeId, u64>,
}

impl Agreed {
    /// A member acknowledged this heartbeat round of this leadership. Returns whether that is its first.
    pub fn acknowledged(&mut self, by: NodeId, number: u64, eligible: bool) -> bool {
        if self.drains.get(&by).is_some_and(|round| number > *round) {
            self.drains.remove(&by);
        }
        let before = self.heard.get(&by).copied();
        if before.is_none_or(|(latest, _)| number >= latest) {
            self.heard.insert(by, (number, eligible));
        }
        before.is_none()
    }

    /// Whether a member acknowledged a heartbeat of this leadership, and was eligible when it did so last.
    pub fn heard_eligible(&self, by: NodeId) -> bool {
        self.heard.get(&by).is_some_and(|(_, eligible)| *eligible)
    }

    /// This leader agrees, in this heartbeat round, that a member is drained.
    pub fn drain(&mut self, member: NodeId, round: u64) {
        self.drains.insert(member, round);
    }

    /// Whether this leader agreed that a member is drained, and that member has not said anything since.
    pub fn is_drained(&self, member: NodeId) -> bool {
        self.drains.contains_key(&member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_round_that_a_member_acknowledged_counts_whichever_comes_last() {
        let (member, mut agreed) = (NodeId::default(), Agreed::default());
        assert!(!agreed.heard_eligible(member));
        assert!(agreed.acknowledged(member, 3, false));
        assert!(!agreed.acknowledged(member, 2, true), "it was late");
        assert!(!agreed.heard_eligible(member));
        agreed.acknowledged(member, 4, true);
        assert!(agreed.heard_eligible(member));
    }

    #[test]
    fn who_was_drained_is_so_until_it_acknowledges_a_round_after_that() {
        let (member, mut agreed) = (NodeId::default(), Agreed::default());
        agreed.drain(member, 7);
        agreed.acknowledged(member, 7, true);
        assert!(agreed.is_drained(member), "it left before the answer came");
        agreed.acknowledged(member, 8, true);
        assert!(!agreed.is_drained(member));
    }
}
