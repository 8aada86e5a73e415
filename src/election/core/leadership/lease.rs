//! A leader's lease: from the votes that elected the leader to the end of a majority's promises.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::core::bounds;
use crate::core::types::{NodeId, Time};

/// How many heartbeat rounds the leader remembers; later acknowledgements say nothing new.
const ROUNDS: usize = 32;

/// The lease of one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lease {
    /// Until when each of the last heartbeat rounds binds a voter that acknowledges it.
    sent: VecDeque<(u64, Time)>,
    /// For each voter: until when its answers bind it. Each vote request and heartbeat counts for the time that it
    /// asked for, as the timings may change meanwhile.
    acknowledged: BTreeMap<NodeId, Time>,
    /// Until when a majority of the voters was bound before their list last changed. Majorities of two lists that
    /// differ by one voter share a voter, so this holds for the new list as well.
    kept: Time,
}

impl Lease {
    /// The lease of a leader that asked for votes at this time, as promises of this length, and got those of these
    /// voters.
    pub fn new(sent: Time, length: Duration, voters: impl Iterator<Item = NodeId>) -> Lease {
        let until = sent + bounds::certain(length);
        let acknowledged = voters.map(|id| (id, until)).collect();
        Lease { acknowledged, ..Lease::default() }
    }

    /// The leader sent a heartbeat round, which asks for promises of this length. (L2)
    pub fn sent(&mut self, number: u64, now: Time, length: Duration) {
        if self.sent.len() == ROUNDS {
            self.sent.pop_front();
        }
        self.sent.push_back((number, now + bounds::certain(length)));
    }

    /// Lengthens the promises that were asked for already. Never right: for a planted fault.
    pub fn stretch(&mut self, by: Duration) {
        self.sent.iter_mut().for_each(|(_, until)| *until = *until + by);
    }

    /// A voter acknowledged a heartbeat round.
    pub fn acknowledge(&mut self, voter: NodeId, number: u64) {
        let sent = self.sent.iter().rev().find(|(sent, _)| *sent == number);
        if let Some((_, until)) = sent {
            let latest = self.acknowledged.entry(voter).or_insert(*until);
            *latest = (*latest).max(*until);
        }
    }

    /// When the lease ends, if this many voters are a majority: counted from the *sending* of what a majority
    /// acknowledged. (L4)
    pub fn until(&self, majority: usize) -> Time {
        self.kept.max(self.bound(majority))
    }

    /// The list of the voters changes by one of them; the old list has this majority. The time kept from an earlier
    /// change is lost: two changes may leave majorities without a common voter.
    pub fn change_voters(&mut self, majority: usize, votes: impl Fn(NodeId) -> bool) {
        self.kept = self.bound(majority);
        self.acknowledged.retain(|id, _| votes(*id));
    }

    /// Whether a majority of the present voters alone is bound for as long: only then may the list change again.
    pub fn is_settled(&self, majority: usize) -> bool {
        self.bound(majority) >= self.kept
    }

    fn bound(&self, majority: usize) -> Time {
        bounds::bound_by(self.acknowledged.values().copied(), majority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    /// Rule L4.
    #[test]
    fn it_counts_from_the_sending_of_what_a_majority_acknowledged() {
        let length = Duration::from_nanos(1100);
        let mut lease = Lease::new(Time(100), length, [id(1), id(2), id(3)].into_iter());
        assert_eq!(lease.until(3), Time(1000));
        lease.sent(1, Time(200), length);
        lease.sent(2, Time(300), length);
        lease.acknowledge(id(1), 2);
        assert_eq!(lease.until(3), Time(1000), "nobody has acknowledged");
        lease.acknowledge(id(2), 2);
        lease.acknowledge(id(3), 1);
        assert_eq!(lease.until(3), Time(1100));
        lease.acknowledge(id(4), 1);
        assert_eq!(lease.until(2), Time(1200));
        lease.acknowledge(id(3), 7);
        assert_eq!(lease.until(3), Time(1100), "a number that was never sent");
    }

    #[test]
    fn a_change_of_the_voters_keeps_what_the_last_majority_promised_and_no_more() {
        let length = Duration::from_nanos(1100);
        let mut lease = Lease::new(Time(100), length, [id(1), id(2), id(3)].into_iter());
        lease.sent(1, Time(200), length);
        lease.acknowledge(id(1), 1);
        lease.acknowledge(id(3), 1);
        lease.change_voters(2, |voter| voter != id(3));
        assert!(!lease.is_settled(2));
        assert_eq!(lease.until(2), Time(1100), "1 and 3 are bound");
        lease.change_voters(2, |_| true);
        assert_eq!(lease.until(2), Time(1000), "1 and 2 are, since the vote");
        assert!(lease.is_settled(2));
    }

    /// A reload gave the leader another lease: no voter is bound for longer than it promised.
    #[test]
    fn what_was_promised_by_another_length_holds_for_that() {
        let (short, long) = (Duration::from_nanos(110), Duration::from_nanos(1100));
        let mut lease = Lease::new(Time(100), short, [id(1), id(2)].into_iter());
        lease.sent(1, Time(150), long);
        assert_eq!(lease.until(2), Time(190));
        lease.acknowledge(id(1), 1);
        assert_eq!((lease.until(1), lease.until(2)), (Time(1050), Time(190)));
        lease.acknowledge(id(2), 1);
        lease.sent(2, Time(160), short);
        [1, 2].into_iter().for_each(|voter| lease.acknowledge(id(voter), 2));
        assert_eq!(lease.until(2), Time(1050), "the longer promise holds on");
    }

    #[test]
    fn without_a_majority_there_is_none() {
        let lease = Lease::new(Time(100), Duration::from_nanos(1100), [id(1)].into_iter());
        assert_eq!(lease.until(2), Time(0));
    }
}
