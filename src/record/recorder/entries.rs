//! The record as readers see it.

use super::Recorded;
use crate::core::membership::MemberList;
use crate::trace::record::Entry;

impl Recorded {
    /// From when on nothing is missing, in nanoseconds, and the events with the names of these members.
    pub fn entries(&self, members: &MemberList) -> (u64, Vec<Entry>) {
        let kept = self.0.lock().clone(); // the words are made without the lock
        let mut events: Vec<_> = kept.elections.events.iter().chain(&kept.quiet.events).collect();
        events.sort_by_key(|event| event.number);
        (kept.since.0, events.into_iter().map(|event| event.entry(members)).collect())
    }
}
