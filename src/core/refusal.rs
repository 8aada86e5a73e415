//! Why a command of an operator is not carried out.

use super::types::NodeId;

/// Why a command was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No leader is known, so nobody can resign.
    NoLeader,
    /// The member asked does not lead (any more), and commands are passed on only once.
    NotLeader,
    /// No other member may lead: it would be an outage.
    NoSuccessor,
    /// The member named is not alive or not eligible.
    CannotLead(NodeId),
    /// A member that ranks higher than the one named would win the election.
    Outranked {
        /// The member that was named.
        to: NodeId,
        /// The member that ranks higher.
        by: NodeId,
    },
    /// A switchover to this member is under way.
    Switching(NodeId),
    /// The member that was to lead did not say in time that it takes over.
    NotTaken(NodeId),
    /// The leader speaks a version of the protocol without this command.
    OldLeader(NodeId),
    /// Too many commands wait for the leader.
    TooMany,
    /// The leader did not answer in time.
    NoReply,
    /// The member is stopping.
    Stopping,
    /// The algorithm hands out no task.
    NoTask,
    /// Only the coordinator takes a task; it is this member, if known.
    NotCoordinator(Option<NodeId>),
    /// The task is longer than [`Task::LONGEST`](super::types::Task::LONGEST).
    TaskTooLong(usize),
    /// A member has what the new one was given.
    Taken {
        /// What it is.
        what: Taken,
        /// Who has it.
        by: NodeId,
    },
    /// A member with this id was removed before, and an id is for life.
    WasRemoved(NodeId),
    /// The list has [`MOST_MEMBERS`](super::membership::MOST_MEMBERS) members.
    ListFull,
    /// Nobody with this id is a member.
    NotMember(NodeId),
    /// One change of the member list at a time.
    ChangeUnderWay,
    /// So many live voters would be no majority.
    LosesQuorum {
        /// Voters of the new list that are alive.
        live: usize,
        /// How many are a majority of it.
        needed: usize,
    },
    /// Nobody would be left who may lead.
    LastCandidate,
    /// Nobody would be left, or is connected and would learn of it.
    LastMember,
    /// The leader could not confirm its list in time, so nothing was changed.
    ListNotConfirmed,
    /// The change was made, and too few have stored it in time.
    NotStoredYet,
    /// The leader lost its leadership meanwhile: the change may have been made or not.
    ChangeUnsure,
    /// The leader that was to be removed has handed over: the next one is to be asked.
    HandedOver,
}

/// What no two members may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taken {
    /// The id.
    Id,
    /// The name.
    Name,
    /// Where others dial it.
    Address,
    /// Where its HTTP is.
    Admin,
}

impl Taken {
    /// The key in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Taken::Id => "id",
            Taken::Name => "name",
            Taken::Address => "address",
            Taken::Admin => "admin",
        }
    }
}
