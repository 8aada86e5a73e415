//! What a member knows of the member list besides its content: who has stored it, and the change
//! that is under way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use super::membership::{Change, ListVersion, MemberList};
use super::types::{NodeId, Time};

/// How many strangers that said hello are remembered.
const MOST_KNOCKS: usize = 16;

/// Who is told how a change ended: the member that passed the command on, or the leader itself,
/// and its number there.
pub type Asker = (NodeId, u64);

/// The change that the leader is making.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wanted {
    pub change: Change,
    /// Who still waits for the outcome.
    pub asker: Option<Asker>,
    /// The list has changed; before, the leader confirms the one that it found.
    pub made: bool,
}

/// What is known of the spreading of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Roster {
    /// The greatest version that was heard of.
    pub newest: ListVersion,
    /// The present list cannot be undone any more, as far as is known: with a majority one that the
    /// leader stamped itself and that a majority has stored.
    pub settled: bool,
    /// Leading: who has stored the present list, as far as it was stamped by this leader.
    pub stored: BTreeSet<NodeId>,
    /// The last list that named this member, if the present one does not: that is in no record before
    /// another has stored it.
    pub last_named: Option<Arc<MemberList>>,
    /// Leading: the change under way.
    pub wanted: Option<Wanted>,
    /// Those of the present list that refused this member last as one that was removed.
    pub removed_by: BTreeSet<NodeId>,
    /// When strangers said hello last: those that are about to be added run already.
    pub knocks: BTreeMap<NodeId, Time>,
}

impl Roster {
    /// Notes that a stranger said hello.
    pub fn knocked(&mut self, id: NodeId, now: Time) {
        if self.knocks.len() >= MOST_KNOCKS && !self.knocks.contains_key(&id) {
            let oldest = self.knocks.iter().min_by_key(|(_, at)| **at).map(|(id, _)| *id);
            oldest.map(|id| self.knocks.remove(&id));
        }
        self.knocks.insert(id, now);
    }

    /// Whether a stranger said hello of late.
    pub fn knocked_within(&self, limit: Duration, id: NodeId, now: Time) -> bool {
        self.knocks.get(&id).is_some_and(|at| now.since(*at) < limit)
    }
}
