//! A switchover: an operator chose a member to lead, whatever its rank. Here is what the two members remember of it.

use super::types::{NodeId, Time};

/// For how long the chosen member has shown the greatest rank there is, and whether it leads by that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Choice {
    /// Nobody chose this member.
    #[default]
    None,
    /// The leader says that it was chosen; that counts until then.
    Until(Time),
    /// It leads, or calls an election as the last leader.
    Leads,
}

/// What a leader remembers until the chosen member takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Switchover {
    /// The member that was chosen.
    pub to: NodeId,
    /// The member that passed the order on, and the number of the order there.
    pub asked: (NodeId, u64),
    /// Until when the chosen member has to say that it takes over.
    pub due: Time,
    /// It said so, and whoever asked was answered: only the job of this leader has to end.
    pub taken: bool,
}
