//! The peers that repeatedly disturb this member: they halt it and do not come to lead, or are not Normal at each
//! check. This member gives in to each of them less and less often, so that with a majority no single peer keeps the
//! others from a leader.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::damping::Damping;
use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};

/// How often each peer disturbed this member in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spoilers(BTreeMap<NodeId, Damping>);

impl Spoilers {
    /// The peer disturbs once more. Forgets the peers that are not members any more.
    pub fn count(&mut self, id: NodeId, members: &MemberList, (unit, now): (Duration, Time)) {
        self.0.retain(|id, _| members.get(*id).is_some());
        self.0.entry(id).or_default().again(unit, now);
    }

    /// The peer comes to lead.
    pub fn forget(&mut self, id: NodeId) {
        self.0.remove(&id);
    }

    /// Whether the peer disturbed this member at least so often, and the wait since then lasts.
    pub fn holds(&self, id: NodeId, times: u32, now: Time) -> bool {
        self.0.get(&id).is_some_and(|past| past.times() >= times && past.holds(now))
    }
}
