//! Commands of operators, and those that wait for the leader to carry them out.

use std::collections::BTreeMap;

use super::membership::Change;
use super::message::{Done, Forwarded};
use super::types::{CommandId, Epoch, Incarnation, NodeId, Task, Time};

/// How many commands may wait for the leader at once.
pub(super) const MOST_WAITING: usize = 64;

/// What an operator may ask of a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Call an election; a no-op while one is under way.
    Elect,
    /// The leader hands over, to the member named if any.
    Resign {
        /// The member that is to lead next.
        to: Option<NodeId>,
    },
    /// The leader changes the member list.
    Change(Change),
    /// The coordinator of the halting algorithm hands out this task.
    HandOut {
        /// The task.
        task: Task,
    },
    /// The process is about to end.
    Stop,
}

/// The commands that wait for the leader's outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waiting {
    last: u64,
    pub(super) commands: BTreeMap<u64, Forwarding>,
}

/// How many bits of a command's number count the commands of one run; those above name the run.
const COUNTED: u32 = 20;

impl Waiting {
    /// The commands of this start of a member. Their numbers name it, so that the outcome of a command
    /// of an earlier run answers none of this one.
    pub fn new(run: Incarnation) -> Waiting {
        Waiting {
            last: (run.0 & (u64::MAX >> (COUNTED + 2))) << COUNTED,
            commands: BTreeMap::new(),
        }
    }

    /// A number that no other command has which waits.
    pub fn next_number(&mut self) -> u64 {
        let counted = (1 << COUNTED) - 1;
        self.last = (self.last & !counted) | (self.last.wrapping_add(1) & counted);
        self.last
    }
}

/// A command that the leader is to carry out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Forwarding {
    pub id: CommandId,
    /// When this member gives up on it.
    pub due: Time,
    pub command: Forwarded,
    pub stage: Stage,
    /// The epoch in which it was sent.
    pub asked: Epoch,
    /// A leader has handed over, so that the next one can carry it out.
    pub handed_over: bool,
}

/// How far a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// To be sent to this leader as soon as the connection to it is up: a leader may be followed
    /// before that.
    Unsent(NodeId),
    /// This leader has it, and nobody else can tell how it ended.
    Sent(NodeId),
    /// The leader of a later epoch is to have it, once there is one.
    Postponed,
}

impl Forwarded {
    /// How many times `failure` it may take: a change waits for two lists to be stored, or for an
    /// election before.
    pub(super) fn patience(&self) -> u32 {
        match self {
            Forwarded::Resign { .. } => 1,
            Forwarded::Change(_) => 3,
        }
    }

    /// Whether this may be what it achieved.
    pub(super) fn may_end(&self, done: &Done) -> bool {
        match (self, done) {
            (Forwarded::Resign { .. }, Done::Resigned { .. }) => true,
            (Forwarded::Change(Change::Add(member)), Done::Added(id)) => member.id == *id,
            (Forwarded::Change(Change::Remove { id, .. }), Done::Removed { id: gone, .. }) => {
                id == gone
            }
            _ => false,
        }
    }
}
