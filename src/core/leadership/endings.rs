//! The leaderships that have ended, as far as others may ask for them: the last of this member, the last
//! release that it heard, and the last second leader that it met.

use crate::core::job::Job;
use crate::core::split::Split;
use crate::core::types::{Epoch, NodeId};

/// How leaderships ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Endings {
    /// What runs only while this member leads, and is to end first.
    pub(in crate::core) job: Job,
    /// The last own epoch that was given up, and for whom.
    own: Option<(Epoch, Option<NodeId>)>,
    /// The last leader that said that it gave up its epoch.
    heard: Option<(NodeId, Epoch)>,
    /// The last other leader that this one met while it led.
    split: Option<Split>,
}

impl Endings {
    /// This leader gives up its epoch for that member, if any.
    pub fn give_up(&mut self, epoch: Epoch, successor: Option<NodeId>) {
        self.own = Some((epoch, successor));
    }

    /// For whom this member gave up this epoch, if it did.
    #[must_use]
    pub fn gave_up(&self, epoch: Epoch) -> Option<Option<NodeId>> {
        self.own.filter(|(known, _)| *known == epoch).map(|(_, successor)| successor)
    }

    /// A leader says that it gave up its epoch.
    pub fn hear(&mut self, leader: NodeId, epoch: Epoch) {
        self.heard = Some((leader, epoch));
    }

    /// The leader that gave up this epoch: who is still bound to it is told so.
    #[must_use]
    pub fn heard(&self, epoch: Epoch) -> Option<NodeId> {
        self.heard.filter(|(_, known)| *known == epoch).map(|(leader, _)| leader)
    }

    /// This leader met another one.
    pub fn met(&mut self, split: Split) {
        self.split = Some(split);
    }

    /// The last other leader that this one met while it led.
    #[must_use]
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
        let mut endings = Endings::default();
        endings.give_up(Epoch(3), None);
        assert_eq!(endings.gave_up(Epoch(3)), Some(None));
        endings.give_up(Epoch(5), Some(successor));
        assert_eq!(
            (endings.gave_up(Epoch(3)), endings.gave_up(Epoch(5))),
            (None, Some(Some(successor)))
        );
        endings.hear(successor, Epoch(4));
        assert_eq!((endings.heard(Epoch(4)), endings.heard(Epoch(5))), (Some(successor), None));
    }
}
