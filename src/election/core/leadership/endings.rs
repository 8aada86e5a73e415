//! The leaderships that have ended, as far as others may ask for them: this member's last, the last release that it
//! heard, and the last second leader that it met.

use serde::{Deserialize, Serialize};

use crate::core::job::OwnJob;
use crate::core::note::Split;
use crate::core::types::{Epoch, NodeId};

/// How leaderships ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeadershipEndings {
    /// The job that runs only while this member leads, and has to end first.
    pub(in crate::core) job: OwnJob,
    /// The last epoch that this member gave up, and its successor.
    own: Option<(Epoch, Option<NodeId>)>,
    /// The last leader that said that it gave up its epoch, with the epoch and the successor.
    heard: Option<(NodeId, Epoch, Option<NodeId>)>,
    /// The last member that declined to succeed the leader of an epoch.
    declined: Option<(NodeId, Epoch)>,
    /// The last other leader that this leader met.
    split: Option<Split>,
}

impl LeadershipEndings {
    /// This leader gives up its epoch for that member, if any.
    pub fn give_up(&mut self, epoch: Epoch, successor: Option<NodeId>) {
        self.own = Some((epoch, successor));
    }

    /// The successor for which this member gave up this epoch, if it did.
    pub fn gave_up(&self, epoch: Epoch) -> Option<Option<NodeId>> {
        self.own.filter(|(known, _)| *known == epoch).map(|(_, successor)| successor)
    }

    /// A member has restarted: it is not the run to which this leader handed over. (H13)
    pub fn forget_successor(&mut self, id: NodeId) {
        if let Some((_, successor)) = &mut self.own {
            successor.take_if(|successor| *successor == id);
        }
    }

    /// A leader says that it gave up its epoch, and names the successor.
    pub fn hear(&mut self, leader: NodeId, epoch: Epoch, successor: Option<NodeId>) {
        self.heard = Some((leader, epoch, successor));
    }

    /// The leader that gave up this epoch, for voters that are still bound to it.
    pub fn heard(&self, epoch: Epoch) -> Option<NodeId> {
        self.heard.filter(|(_, known, _)| *known == epoch).map(|(leader, _, _)| leader)
    }

    /// A member declines to succeed the leader of this epoch. Returns whether that leader, as far as is known, gave
    /// up its epoch for that member.
    pub fn decline(&mut self, member: NodeId, epoch: Epoch) -> bool {
        self.declined = Some((member, epoch));
        let heard = self.heard.filter(|(_, known, _)| *known == epoch);
        let successor = heard.and_then(|(_, _, successor)| successor);
        successor.or(self.gave_up(epoch).flatten()) == Some(member)
    }

    /// Whether a member declined to succeed the leader of this epoch.
    pub fn has_declined(&self, member: NodeId, epoch: Epoch) -> bool {
        self.declined == Some((member, epoch))
    }

    /// This leader met another one.
    pub fn met(&mut self, split: Split) {
        self.split = Some(split);
    }

    pub fn split(&self) -> Option<Split> {
        self.split
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_epoch_that_was_given_up_counts() {
        let successor = NodeId::default();
        let mut endings = LeadershipEndings::default();
        endings.give_up(Epoch(3), None);
        assert_eq!(endings.gave_up(Epoch(3)), Some(None));
        endings.give_up(Epoch(5), Some(successor));
        assert_eq!(
            (endings.gave_up(Epoch(3)), endings.gave_up(Epoch(5))),
            (None, Some(Some(successor)))
        );
        endings.hear(successor, Epoch(4), None);
        assert_eq!((endings.heard(Epoch(4)), endings.heard(Epoch(5))), (Some(successor), None));
    }

    #[test]
    fn a_successor_may_decline_before_or_after_the_release_is_heard() {
        let [leader, next] = [1, 2].map(|number| NodeId(uuid::Uuid::from_u128(number)));
        let mut endings = LeadershipEndings::default();
        assert!(!endings.decline(next, Epoch(3)));
        assert!(endings.has_declined(next, Epoch(3)) && !endings.has_declined(next, Epoch(4)));
        endings.hear(leader, Epoch(3), Some(next));
        assert!(endings.decline(next, Epoch(3)) && !endings.decline(leader, Epoch(3)));
        endings.give_up(Epoch(5), Some(next));
        assert!(endings.decline(next, Epoch(5)), "the leader itself awaits it as well");
    }
}
