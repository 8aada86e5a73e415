//! What the chosen member and its leader remember of a switchover.

use super::membership::known::Asker;
use super::types::{NodeId, Time};

/// Whether this member is chosen, and whether it leads because of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Choice {
    /// Nobody chose this member.
    #[default]
    None,
    /// The leader says that this member is chosen, which is in force until then.
    Until(Time),
    /// It leads, or calls an election as the last leader.
    Leads,
}

/// What a leader remembers until the chosen member takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Switchover {
    /// The chosen member.
    pub to: NodeId,
    /// The member that passed the order on, and the number of the order there.
    pub asked: Asker,
    /// Until when the chosen member has to say that it takes over.
    pub due: Time,
    /// Whether it said so and the asker has its answer: only the job of this leader still has to end.
    pub taken: bool,
}
