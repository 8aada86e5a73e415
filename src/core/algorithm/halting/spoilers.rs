//! The peers that disturb others in vain: they halt members and do not come to lead, or they are not Normal whenever the
//! leader looks. Each is heeded less often, so that with a majority no single peer keeps the others from a leader.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::core::damping::Damping;
use crate::core::membership::MemberList;
use crate::core::types::{NodeId, Time};

/// What is remembered of them, at most once for each member of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Spoilers {
    /// How often each halted this member and did not come to lead, since it led last.
    halts: BTreeMap<NodeId, Damping>,
    /// How often this member, leading, began an election as that one was not Normal.
    ills: BTreeMap<NodeId, Damping>,
}

/// It was so once more.
fn count(
    of: &mut BTreeMap<NodeId, Damping>,
    id: NodeId,
    members: &MemberList,
    (unit, now): (Duration, Time),
) {
    of.retain(|id, _| members.get(*id).is_some());
    of.entry(id).or_default().again(unit, now);
}

impl Spoilers {
    /// This one halted this member and did not come to lead.
    pub fn halted_in_vain(&mut self, id: NodeId, members: &MemberList, at: (Duration, Time)) {
        count(&mut self.halts, id, members, at);
    }

    /// This one led, or is about to.
    pub fn came_to_lead(&mut self, id: NodeId) {
        self.halts.remove(&id);
    }

    /// Whether this one halts this member no more for a while. Once may be bad luck.
    pub fn halts_in_vain(&self, id: NodeId, now: Time) -> bool {
        self.halts.get(&id).is_some_and(|vain| vain.times() > 1 && vain.holds(now))
    }

    /// An election begins as this one is not Normal.
    pub fn not_normal(&mut self, id: NodeId, members: &MemberList, at: (Duration, Time)) {
        count(&mut self.ills, id, members, at);
    }

    /// Whether an election began for that a short while ago.
    pub fn was_not_normal(&self, id: NodeId, now: Time) -> bool {
        self.ills.get(&id).is_some_and(|ill| ill.holds(now))
    }
}
