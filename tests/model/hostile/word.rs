//! Checks whether the voters keep what they said. This shares nothing with the code that it checks.

use std::collections::BTreeMap;
use std::time::Duration;

use electd_election::core::Output;
use electd_election::core::message::{Envelope, Message};
use electd_election::core::types::{Epoch, NodeId, Time};

use super::world::TIMING;

/// A candidate or leader counts on a voter for 9/11 of its lease.
fn counted_on() -> Duration {
    TIMING.lease * 9 / 11
}

#[derive(Default)]
pub struct Words {
    /// The candidate for which each voter voted in each epoch.
    votes: BTreeMap<(usize, Epoch), NodeId>,
    /// The leader to which each voter is bound, in which epoch, and until when at least.
    bound: BTreeMap<(usize, NodeId), (Epoch, Time)>,
    /// The greatest epoch in which each leader, as each voter heard, no longer needs it, and never will again. The epochs of a
    /// member grow: so it does not in an earlier one either. The voter may know of a later one than it told, as the vote in
    /// that waits for its disk.
    ended: BTreeMap<(usize, NodeId), Epoch>,
}

impl Words {
    /// A member hears that a leader no longer needs it. Any other member may say so, too.
    pub fn hears(&mut self, at: usize, (from, message): &(NodeId, Message)) {
        let (leader, epoch) = match *message {
            Message::Release { epoch, .. } => (*from, epoch),
            Message::Freed { leader, epoch } => (leader, epoch),
            _ => return,
        };
        let last = self.ended.entry((at, leader)).or_default();
        *last = epoch.max(*last);
    }

    /// A member tells others something. Gives the first rule that it breaks.
    pub fn tells(&mut self, now: Time, at: usize, output: &Output) -> Result<(), String> {
        let Output::Send { to, envelope: Envelope { message, .. } } = output else { return Ok(()) };
        let (Message::Vote { epoch, .. } | Message::Acknowledge { epoch, .. }) = *message else {
            return Ok(());
        };
        let [to] = to[..] else { return Ok(()) };
        if matches!(message, Message::Vote { .. }) {
            self.votes(now, at, to, epoch)?;
        }
        self.bound.insert((at, to), (epoch, now + counted_on()));
        Ok(())
    }

    /// A voter votes for one candidate in an epoch, and for no other while it is bound.
    fn votes(&mut self, now: Time, at: usize, to: NodeId, epoch: Epoch) -> Result<(), String> {
        let first = *self.votes.entry((at, epoch)).or_insert(to);
        if first != to {
            return Err(format!("{at} votes for {} and {} in epoch {epoch}", first.0, to.0));
        }
        let holds = |leader: NodeId, of: Epoch, until: Time| {
            leader != to && now < until && self.ended.get(&(at, leader)) < Some(&of)
        };
        let mut others = self.bound.iter().filter(|((voter, _), _)| *voter == at);
        match others.find(|((_, leader), (of, until))| holds(*leader, *of, *until)) {
            Some(((_, leader), (of, _))) => Err(format!(
                "{at} votes for {} in epoch {epoch} while it is bound to {} in {of}",
                to.0, leader.0
            )),
            None => Ok(()),
        }
    }

    /// How many others voted for a member in this epoch.
    pub fn votes_for(&self, candidate: NodeId, epoch: Epoch) -> usize {
        self.votes.iter().filter(|((_, of), whom)| *of == epoch && **whom == candidate).count()
    }
}
