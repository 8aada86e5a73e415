//! One leadership: on which promises it rests, and until when it may last so.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::membership::MemberList;
use crate::core::types::{Epoch, NodeId, Time};

/// The part of a promise that a leader may rely on, as its clock may be the slowest and that of the voter the fastest. (L4)
pub fn relied_on(length: Duration) -> Duration {
    length * 9 / 11
}

/// The last instant until which a majority of these voters is bound.
pub fn until(bound: &BTreeMap<NodeId, Time>, list: &MemberList) -> Time {
    let mut times: Vec<Time> =
        list.voters().filter_map(|voter| bound.get(&voter).copied()).collect();
    times.sort_unstable_by(|one, other| other.cmp(one));
    times.get(list.majority() - 1).copied().unwrap_or_default()
}

/// A leadership.
#[derive(Debug)]
pub struct LedTerm {
    pub epoch: Epoch,
    /// Until when each voter is bound; none where the recording begins amid the leadership.
    bound: Option<BTreeMap<NodeId, Time>>,
    /// Until when the majority of the list before was bound as the list changed by one voter.
    kept: Time,
    /// When each heartbeat was sent first, and for how long a promise it asks.
    beats: BTreeMap<u64, (Time, Duration)>,
}

impl LedTerm {
    /// The term of a candidate that these voters elected.
    pub fn new(epoch: Epoch, bound: Option<BTreeMap<NodeId, Time>>) -> LedTerm {
        LedTerm { epoch, bound, kept: Time(0), beats: BTreeMap::new() }
    }

    /// A heartbeat is sent. Returns whether it is the first of its number.
    pub fn beats(&mut self, number: u64, now: Time, lease: Duration) -> bool {
        let is_new = !self.beats.contains_key(&number);
        if is_new {
            self.beats.insert(number, (now, lease));
        }
        is_new
    }

    /// The promise of this voter, for which a heartbeat asked, counts from when that was sent. (L4)
    pub fn counts(&mut self, voter: NodeId, number: u64) {
        let Some((sent, lease)) = self.beats.get(&number) else { return };
        let until = *sent + relied_on(*lease);
        let Some(bound) = &mut self.bound else { return };
        let bound = bound.entry(voter).or_default();
        *bound = (*bound).max(until);
    }

    /// The list changes by one voter: two majorities share one.
    pub fn changes_list(&mut self, before: &MemberList, after: &MemberList) {
        let Some(bound) = &mut self.bound else { return };
        self.kept = until(bound, before);
        bound.retain(|voter, _| after.is_voter(*voter));
    }

    /// Until when it may lead; for ever, if that is not known.
    pub fn until(&self, list: &MemberList) -> Time {
        self.bound.as_ref().map_or(Time(u64::MAX), |bound| until(bound, list).max(self.kept))
    }
}
