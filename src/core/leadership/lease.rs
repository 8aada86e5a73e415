//! A leader's lease: from the votes that elected the leader to the end of what a majority promised.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::core::bounds;
use crate::core::context::Context;
use crate::core::phase::Reason;
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId, Time};

/// How many heartbeat rounds are remembered; later acknowledgements say nothing new.
const ROUNDS: usize = 32;

/// The lease of one epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Lease {
    /// When each of the last heartbeat rounds was sent.
    sent: VecDeque<(u64, Time)>,
    /// For each voter: when the latest vote request or heartbeat that it answered was sent.
    acknowledged: BTreeMap<NodeId, Time>,
    /// Until when a majority of the voters was bound before their list changed last. Two lists that
    /// differ by one voter have no majorities apart, so this holds for the new list as well.
    kept: Time,
}

impl Lease {
    /// The lease of a leader that asked for votes at this time and got those of these voters.
    #[must_use]
    pub fn new(sent: Time, voters: impl Iterator<Item = NodeId>) -> Lease {
        let acknowledged = voters.map(|id| (id, sent)).collect();
        Lease { acknowledged, ..Lease::default() }
    }

    /// A heartbeat round was sent.
    pub fn sent(&mut self, number: u64, now: Time) {
        if self.sent.len() == ROUNDS {
            self.sent.pop_front();
        }
        self.sent.push_back((number, now));
    }

    /// A voter acknowledged a heartbeat round.
    pub fn acknowledge(&mut self, voter: NodeId, number: u64) {
        let sent = self.sent.iter().rev().find(|(sent, _)| *sent == number);
        if let Some((_, sent)) = sent {
            let latest = self.acknowledged.entry(voter).or_insert(*sent);
            *latest = (*latest).max(*sent);
        }
    }

    /// When it ends, where so many voters are a majority and promise for `length`: counted from
    /// the *sending* of what a majority acknowledged.
    #[must_use]
    pub fn until(&self, majority: usize, length: Duration) -> Time {
        self.kept.max(self.bound(majority, length))
    }

    /// The list of the voters changes by one of them, from one with this majority. What was kept
    /// from an earlier change is lost: two changes may leave majorities that do not meet.
    pub fn change_voters(
        &mut self,
        majority: usize,
        length: Duration,
        votes: impl Fn(NodeId) -> bool,
    ) {
        self.kept = self.bound(majority, length);
        self.acknowledged.retain(|id, _| votes(*id));
    }

    /// Whether a majority of the present voters alone is bound for as long: only then may the list
    /// change again.
    #[must_use]
    pub fn is_settled(&self, majority: usize, length: Duration) -> bool {
        self.bound(majority, length) >= self.kept
    }

    fn bound(&self, majority: usize, length: Duration) -> Time {
        let mut times: Vec<Time> = self.acknowledged.values().copied().collect();
        times.sort_unstable_by(|a, b| b.cmp(a));
        let since = majority.checked_sub(1).and_then(|at| times.get(at));
        since.map_or(Time::default(), |since| *since + bounds::certain(length))
    }
}

impl State {
    /// Until when a leader may lead, if a majority must agree.
    pub(in crate::core) fn lease_until(&self) -> Option<Time> {
        if !self.needs_majority() || !self.leads() {
            return None;
        }
        // Without a lease it would be over at once: better no leader than a second one.
        Some(self.timers.due(Timer::Lease).unwrap_or_default())
    }

    fn end_of(&self, lease: &Lease) -> Time {
        lease.until(self.majority(), self.settings.timing.lease)
    }

    /// Whether enough voters have voted for this member in this epoch, and that lease has not run out.
    pub(super) fn has_votes(&self, epoch: Epoch, now: Time) -> bool {
        self.candidacy.lease_of(epoch).is_some_and(|lease| now < self.end_of(&lease))
    }
}

impl Context<'_> {
    /// The lease of a leader that begins to lead, or to lead on, in this epoch.
    pub fn take_lease(&mut self, epoch: Epoch) {
        if !self.state.needs_majority() {
            return;
        }
        debug_assert!(self.state.has_votes(epoch, self.now), "leads in an epoch of nobody");
        self.state.timers.cancel(Timer::Voters);
        if let Some(lease) = self.state.candidacy.take_lease(epoch) {
            let (own, length) = (self.state.id(), self.state.settings.timing.lease);
            self.state.voter.promise(self.now, own, epoch, length);
            self.state.lease = Some(lease);
            self.arm_lease();
        }
    }

    /// The lease has changed, and with it its end.
    pub fn arm_lease(&mut self) {
        if let Some(lease) = &self.state.lease {
            let until = self.state.end_of(lease);
            self.state.timers.arm(Timer::Lease, until);
        }
    }

    /// Notes that a heartbeat round was sent: this member itself holds by it.
    pub fn hold_by_own_heartbeat(&mut self, number: u64) {
        let (own, now, epoch) = (self.state.id(), self.now, self.state.view.epoch);
        let (length, votes) = (self.state.settings.timing.lease, self.state.is_voter(own));
        if let Some(lease) = &mut self.state.lease {
            lease.sent(number, now);
            // This leader may have removed itself, or have been no voter when it was elected and have
            // voted for another candidate since.
            if votes && self.state.voter.promise(now, own, epoch, length) {
                lease.acknowledge(own, number);
                self.arm_lease();
            }
        }
    }
}

impl Turn<'_> {
    /// A leader whose lease is over leads no more: enough voters may be free to vote for another.
    pub fn end_lease(&mut self) {
        if self.cx.state.lease_until().is_some_and(|until| until <= self.cx.now) {
            let epoch = self.cx.state.view.epoch;
            self.cx.give_up(None);
            self.cx.state.free_own_vote(epoch);
            self.call(Reason::LeaseEnded);
            self.cx.say_released(epoch, None);
        }
    }

    /// A voter acknowledged a heartbeat round.
    pub fn prolong(&mut self, voter: NodeId, number: u64) {
        let counts = self.cx.state.is_voter(voter);
        if let Some(lease) = self.cx.state.lease.as_mut().filter(|_| counts) {
            let number = match Fault::OlderCopy.is_planted() {
                true => self.cx.state.beat.0,
                false => number,
            };
            if Fault::LeaseFromReceipt.is_planted() {
                lease.sent(number, self.cx.now);
            }
            lease.acknowledge(voter, number);
            self.cx.arm_lease();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn id(number: u128) -> NodeId {
        NodeId(Uuid::from_u128(number))
    }

    #[test]
    fn it_counts_from_the_sending_of_what_a_majority_acknowledged() {
        let length = Duration::from_nanos(1100);
        let mut lease = Lease::new(Time(100), [id(1), id(2), id(3)].into_iter());
        assert_eq!(lease.until(3, length), Time(1000));
        lease.sent(1, Time(200));
        lease.sent(2, Time(300));
        lease.acknowledge(id(1), 2);
        assert_eq!(lease.until(3, length), Time(1000), "nobody has acknowledged");
        lease.acknowledge(id(2), 2);
        lease.acknowledge(id(3), 1);
        assert_eq!(lease.until(3, length), Time(1100));
        lease.acknowledge(id(4), 1);
        assert_eq!(lease.until(2, length), Time(1200));
        lease.acknowledge(id(3), 7);
        assert_eq!(lease.until(3, length), Time(1100), "a number that was never sent");
    }

    #[test]
    fn a_change_of_the_voters_keeps_what_the_last_majority_promised_and_no_more() {
        let length = Duration::from_nanos(1100);
        let mut lease = Lease::new(Time(100), [id(1), id(2), id(3)].into_iter());
        lease.sent(1, Time(200));
        lease.acknowledge(id(1), 1);
        lease.acknowledge(id(3), 1);
        lease.change_voters(2, length, |voter| voter != id(3));
        assert!(!lease.is_settled(2, length));
        assert_eq!(lease.until(2, length), Time(1100), "1 and 3 are bound");
        lease.change_voters(2, length, |_| true);
        assert_eq!(lease.until(2, length), Time(1000), "1 and 2 are, since the vote");
        assert!(lease.is_settled(2, length));
    }

    #[test]
    fn without_a_majority_there_is_none() {
        let lease = Lease::new(Time(100), [id(1)].into_iter());
        assert_eq!(lease.until(2, Duration::from_nanos(1100)), Time(0));
    }
}
