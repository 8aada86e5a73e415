//! The peers that repeatedly disturb this member: they halt it and do not come to lead, or are not Normal at each
//! check. This member gives in to each of them less and less often, so that with a majority no single peer keeps the
//! others from a leader.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::damping::Damping;
use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};

/// This member's memory of such peers: at most one entry of each kind for each peer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spoilers {
    /// How often each peer halted this member in vain since that peer last led.
    halts: BTreeMap<NodeId, Damping>,
    /// How often this leader began an election because that peer was not Normal.
    not_normal: BTreeMap<NodeId, Damping>,
}

/// Counts one more disturbance by this peer, and forgets the peers that are not members any more.
fn count(
    disturbances: &mut BTreeMap<NodeId, Damping>,
    id: NodeId,
    members: &MemberList,
    (unit, now): (Duration, Time),
) {
    disturbances.retain(|id, _| members.get(*id).is_some());
    disturbances.entry(id).or_default().again(unit, now);
}

impl Spoilers {
    /// The peer halted this member and did not come to lead.
    pub fn halted_in_vain(&mut self, id: NodeId, members: &MemberList, at: (Duration, Time)) {
        count(&mut self.halts, id, members, at);
    }

    /// The peer comes to lead.
    pub fn came_to_lead(&mut self, id: NodeId) {
        self.halts.remove(&id);
    }

    /// Whether this member ignores the peer's halts for a while. The first vain halt may be bad luck.
    pub fn halts_in_vain(&self, id: NodeId, now: Time) -> bool {
        self.halts.get(&id).is_some_and(|vain| vain.times() > 1 && vain.holds(now))
    }

    /// This member begins an election because the peer is not Normal.
    pub fn is_not_normal(&mut self, id: NodeId, members: &MemberList, at: (Duration, Time)) {
        count(&mut self.not_normal, id, members, at);
    }

    /// Whether this member began an election because of that peer a short while ago.
    pub fn was_not_normal(&self, id: NodeId, now: Time) -> bool {
        self.not_normal.get(&id).is_some_and(|before| before.holds(now))
    }
}
