//! The commands of operators: what each asks, its possible results and refusals, and how long a leader may take for
//! it.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use super::membership::MembershipChange;
use super::protocol::SET;
use super::types::{Drain, Epoch, NodeId, Task, Version};

/// A command that an operator gives a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum OperatorCommand {
    /// A command for the leader: this member carries it out or passes it on.
    ForLeader(Forwarded),
    /// Call an election; a no-op while one is in progress.
    Elect,
    /// The coordinator of the halting algorithm hands out this task.
    HandOut { task: Task },
    /// This member hands over if it leads, and does not lead from now on, restarts included: even if it is the last that
    /// may lead. [`Forwarded::Drain`] asks the leader first.
    Drain(Drain),
    /// A member that was drained, or that resigned, may lead again.
    Undrain,
    /// The pause of this version is over: this member resumes the cluster, if it leads and knows no later pause.
    EndPause { version: Version },
    /// The process is about to end.
    Stop,
}

impl From<Forwarded> for OperatorCommand {
    fn from(command: Forwarded) -> OperatorCommand {
        OperatorCommand::ForLeader(command)
    }
}

/// The commands that a member passes on to the leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub enum Forwarded {
    /// Stop leading, in favour of this member if one is named.
    Resign {
        to: Option<NodeId>,
    },
    /// Stop leading, in favour of this member, whatever its rank.
    Switchover {
        to: NodeId,
    },
    /// Members preempt the leader that a switchover chose like any other again.
    EndSwitchover,
    /// The member that passes it on is to be drained so: the leader says whether another that may lead is left.
    Drain(Drain),
    Change(MembershipChange),
    Pause {
        /// Since when, in milliseconds since 1970.
        since: u64,
        /// When the pause ends by itself, if it does.
        until: Option<u64>,
    },
    Resume,
}

impl Forwarded {
    /// The longest time that it takes, as a multiple of `failure`: a change waits until two lists are stored, or for
    /// an election first.
    pub(super) fn time_limit(&self) -> u32 {
        match self {
            Forwarded::Resign { .. } => 1,
            Forwarded::Pause { .. } | Forwarded::Resume => 2, // the leader's disk writes before the leader answers
            Forwarded::Switchover { .. } => 2, // the chosen member has one `failure` to say that it takes over
            Forwarded::EndSwitchover => 1,
            Forwarded::Change(_) | Forwarded::Drain(_) => 3,
        }
    }

    /// The first version of the protocol that knows it.
    pub(super) fn since(&self) -> u32 {
        match self {
            Forwarded::Change(MembershipChange::Set(_)) => SET,
            Forwarded::Resign { .. } | Forwarded::Change(_) => 5,
            Forwarded::Pause { .. }
            | Forwarded::Resume
            | Forwarded::Switchover { .. }
            | Forwarded::EndSwitchover => 6,
            Forwarded::Drain(_) => 8,
        }
    }

    /// Whether this is a possible result of the command.
    pub(super) fn may_end(&self, done: &Done) -> bool {
        match (self, done) {
            (Forwarded::Resign { .. }, Done::Resigned { .. }) => true,
            (Forwarded::Pause { .. }, Done::Paused) | (Forwarded::Resume, Done::Resumed) => true,
            (Forwarded::Switchover { to }, Done::Resigned { successor, .. }) => {
                *successor == Some(*to)
            }
            (Forwarded::Switchover { to }, Done::Leads(leader)) => leader == to,
            (Forwarded::EndSwitchover, Done::SwitchoverEnded) => true,
            (Forwarded::Drain(_), Done::MayDrain) => true,
            (Forwarded::Change(MembershipChange::Add(member)), Done::Added(id)) => member.id == *id,
            (Forwarded::Change(MembershipChange::Set(_)), Done::Set) => true,
            (
                Forwarded::Change(MembershipChange::Remove { id, .. }),
                Done::Removed { id: gone, .. },
            ) => id == gone,
            _ => false,
        }
    }
}

/// What a command achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub enum Done {
    /// An election was called, or is in progress.
    Called,
    /// The leader of this epoch handed over, to the member named if any: that is to start the next election.
    Resigned { epoch: Epoch, successor: Option<NodeId> },
    /// The member has left its leadership and is ready to end.
    Stopped,
    /// This member belongs to the cluster from now on.
    Added(NodeId),
    /// This member does not belong to the cluster any more.
    Removed {
        id: NodeId,
        /// Enough of the others have stored the removal; otherwise it was forced, or is still being sent.
        stored: bool,
        /// It led, and handed over first.
        handed_over: bool,
    },
    /// The members have the names and addresses that were given.
    Set,
    /// The member does not lead from now on, restarts included. If it led, it is handing over to the member named.
    Drained { successor: Option<NodeId> },
    /// The leader agrees that the member that asks does not lead from now on.
    MayDrain,
    /// The member may lead again.
    Undrained,
    /// The cluster is paused: the leader has stored that.
    Paused,
    /// The cluster is not paused any more: the leader has stored that.
    Resumed,
    /// The member of the switchover leads already.
    Leads(NodeId),
    /// No switchover is in force any more.
    SwitchoverEnded,
    /// The coordinator took and stored the task, and hands it out in a new epoch.
    TaskTaken,
}

/// Why a command was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub enum Refusal {
    /// No leader is known that could resign.
    NoLeader,
    /// The member asked does not lead (any more), and commands are passed on only once.
    NotLeader,
    /// No other member may lead: the cluster would have no leader.
    NoSuccessor,
    /// No other member that may lead would be left, as far as the leader knows.
    LastEligible,
    /// No leader said in time whether one would be left.
    Undecided,
    /// The member named is not alive or not eligible.
    CannotLead(NodeId),
    /// The member `by` comes before the one named, and would win the election.
    Outranked {
        to: NodeId,
        by: NodeId,
    },
    /// A switchover to this member is in progress.
    Switching(NodeId),
    /// The chosen member did not say in time that it takes over.
    NotTaken(NodeId),
    /// The leader speaks a version of the protocol without this command.
    OldLeader(NodeId),
    /// Too many commands wait for the leader.
    TooMany,
    /// The leader did not answer in time.
    NoReply,
    Stopping,
    /// The algorithm hands out no task.
    NoTask,
    /// Only the coordinator takes a task; it is this member, if known.
    NotCoordinator(Option<NodeId>),
    /// The task is longer than [`Task::LONGEST`](super::types::Task::LONGEST).
    TaskTooLong(usize),
    /// Another member has this of the new one: its id, its name or an address.
    Taken {
        what: Taken,
        by: NodeId,
    },
    /// A member with this id was removed before, and an id is never used again.
    WasRemoved(NodeId),
    /// The list has [`MOST_MEMBERS`](super::membership::MOST_MEMBERS) members.
    ListFull,
    /// No member has this id.
    NotMember(NodeId),
    /// A member keeps its role for life.
    RoleStays(NodeId),
    /// A live member speaks a version of the protocol that does not know this change.
    OldMember(NodeId),
    /// Another change of the member list is in progress.
    ChangeUnderWay,
    /// The live voters would be no majority of the new list: it has so many of them, and needs so many.
    LosesQuorum {
        live: usize,
        needed: usize,
    },
    /// No member would be left that may lead.
    LastCandidate,
    /// No member would be left, or none is connected that could learn of the change.
    LastMember,
    /// The leader could not confirm its list in time, so nothing was changed.
    ListNotConfirmed,
    /// The change was made, but too few members have stored it in time.
    NotStoredYet,
    /// The leader lost its leadership meanwhile: the change may or may not have been made.
    ChangeUnsure,
    /// The leader that was to be removed has handed over: ask the next one.
    HandedOver,
}

/// A property that no two members may share.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, IntoStaticStr, PartialEq, Serialize)]
#[strum(serialize_all = "snake_case")]
#[serde(remote = "Self")]
pub enum Taken {
    Id,
    Name,
    /// The address that others dial.
    Address,
    /// The address of its HTTP.
    Admin,
}
