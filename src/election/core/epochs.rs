//! The epochs and rounds that a member knows: the greatest view, and the round above which its own rounds start.

use serde::{Deserialize, Serialize};

use super::message::View;
use super::types::Epoch;

/// Epochs and rounds, which only grow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Epochs {
    /// The greatest (epoch, leader) known; the leader may be gone.
    view: View,
    /// The greatest round seen or tried.
    round: Epoch,
    /// This member is not nominated in any round up to this one: it may have led in it in an earlier incarnation, or
    /// has released the votes that it got.
    floor: Epoch,
    /// A round that others began while this member was discovering them, to join afterwards.
    invited: Option<Epoch>,
}

impl Epochs {
    /// A member whose record has `epoch`, and that starts its own rounds above `round` and `floor`. (W2)
    pub fn new(epoch: Epoch, round: Epoch, floor: Epoch) -> Epochs {
        Epochs { view: View { epoch, leader: None }, round, floor, invited: None }
    }

    pub fn view(&self) -> View {
        self.view
    }

    /// Takes this view as the greatest known.
    pub fn learn(&mut self, view: View) {
        self.view = view;
    }

    pub fn round(&self) -> Epoch {
        self.round
    }

    /// A round or epoch was seen: own rounds start above it.
    pub fn raise_round(&mut self, round: Epoch) {
        self.round = self.round.max(round);
    }

    /// This member is not nominated in any round up to this one.
    pub fn floor(&self) -> Epoch {
        self.floor
    }

    /// Does not nominate this member in any round up to this one. (H13)
    pub fn raise_floor(&mut self, round: Epoch) {
        self.floor = self.floor.max(round);
    }

    /// Joins this round once it has met the others.
    pub fn invite(&mut self, round: Epoch) {
        self.invited = Some(round);
    }

    /// The number of an election that this member calls: above every round seen or tried, or the round that it was
    /// drawn into and could not join immediately. Some member led in the epoch `stamped`. (E1)
    pub fn next_round(&mut self, stamped: Epoch) -> Epoch {
        let open = self.round > self.view.epoch.max(self.floor).max(stamped);
        let invited = self.invited.take();
        let invited = invited.filter(|invited| *invited == self.round && open);
        invited.unwrap_or(self.round.next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rule E1.
    #[test]
    fn an_election_starts_above_all_rounds_or_joins_the_one_it_was_drawn_into() {
        let mut epochs = Epochs::new(Epoch(3), Epoch(7), Epoch(5));
        assert_eq!(epochs.next_round(Epoch(0)), Epoch(8));
        epochs.invite(Epoch(7));
        assert_eq!(epochs.next_round(Epoch(0)), Epoch(7));
        assert_eq!(epochs.next_round(Epoch(0)), Epoch(8), "it was joined before");
        epochs.invite(Epoch(7));
        assert_eq!(epochs.next_round(Epoch(7)), Epoch(8), "somebody led in it");
        epochs.invite(Epoch(7));
        epochs.raise_floor(Epoch(7));
        assert_eq!(epochs.next_round(Epoch(0)), Epoch(8), "this member may have led in it");
        epochs.invite(Epoch(7));
        epochs.raise_round(Epoch(9));
        assert_eq!(epochs.next_round(Epoch(0)), Epoch(10), "it is over");
    }
}
