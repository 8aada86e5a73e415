//! Every message that members exchange, with who sends it and which reply is expected.

use std::sync::Arc;

use super::membership::ListVersion;
use super::settings::{AlgorithmKind, Preempt, Quorum};
use super::types::{Epoch, Incarnation, NodeId, Rank};

/// The version of the messages below and of their frames. Members of different versions refuse
/// each other at the hello.
pub const PROTOCOL_VERSION: u32 = 1;

/// A message with what every message carries: where its sender stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The greatest epoch that the sender knows.
    pub epoch: Epoch,
    /// The sender's incarnation.
    pub incarnation: Incarnation,
    /// What it says.
    pub message: Message,
}

/// What one member says to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// Announces an election. Sent to every higher member; expects [`Message::Answer`].
    Election {
        /// The round to join.
        round: Epoch,
        /// The sender's rank, frozen for the round.
        rank: Rank,
        /// Whether the sender may be nominated.
        stands: bool,
    },
    /// "I am alive and rank higher": the reply to an ELECTION. Expects nothing.
    Answer {
        /// The round of the ELECTION that is answered.
        round: Epoch,
    },
    /// The winner's announcement, to all others. Expects nothing, but an older one is answered
    /// with a [`Message::View`].
    Coordinator {
        /// The epoch of the new leader.
        epoch: Epoch,
        /// Its rank.
        rank: Rank,
    },
    /// The leader's sign of life, to every member not proved dead, judged like a COORDINATOR.
    /// Expects [`Message::Acknowledge`].
    Heartbeat {
        /// The leader's epoch.
        epoch: Epoch,
        /// Counts the leader's heartbeat rounds.
        number: u64,
        /// The leader's rank.
        rank: Rank,
        /// What the leader knows of all members.
        members: Vec<MemberReport>,
    },
    /// The reply to a heartbeat; echoes what it answers.
    Acknowledge {
        /// The epoch of the heartbeat.
        epoch: Epoch,
        /// Its number.
        number: u64,
        /// The sender's rank at this time.
        rank: Rank,
        /// Whether the sender may be nominated.
        stands: bool,
    },
    /// The reply to an older request: the greatest epoch and its leader, as the sender knows
    /// them. Expects nothing.
    View(View),
    /// A higher member asks the leader of this epoch to hand over. Expects
    /// [`Message::Release`], or a [`Message::View`] that names a newer leader.
    Preempt {
        /// The epoch to be released.
        epoch: Epoch,
    },
    /// "I no longer lead in this epoch", to all, after the work has stopped.
    Release {
        /// The epoch that is released.
        epoch: Epoch,
        /// Who is to start the next election; the others wait for it.
        successor: Option<NodeId>,
        /// Whether the sender may be nominated again.
        stands: bool,
    },
    /// A command that this member passes on to the leader. Expects [`Message::Outcome`].
    Forward {
        /// Tells the sender's commands apart.
        number: u64,
        /// The command.
        command: Forwarded,
    },
    /// The reply to a forwarded command.
    Outcome {
        /// The number of the command.
        number: u64,
        /// How it ended.
        result: Result<Done, Refusal>,
    },
}

/// The commands that a member passes on to the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Forwarded {
    /// Stop leading, in favour of this member if one is named.
    Resign {
        /// The member that is to lead next.
        to: Option<NodeId>,
    },
}

/// What a command achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Done {
    /// An election was called, or one is under way.
    Called,
    /// The leader of this epoch handed over, to the member named if any.
    Resigned {
        /// The epoch that ended.
        epoch: Epoch,
        /// Who was asked to start the next election.
        successor: Option<NodeId>,
    },
    /// The member left its tenure and is ready to end.
    Stopped,
}

/// Why a command was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// No leader is known, so nobody can resign.
    NoLeader,
    /// The member asked does not lead (any more), and commands are passed on only once.
    NotLeader,
    /// No other member may lead: it would be an outage.
    NoSuccessor,
    /// The member named is not alive or does not stand.
    CannotLead(NodeId),
    /// A member that ranks higher than the one named would win the election.
    Outranked {
        /// The member that was named.
        to: NodeId,
        /// The member that ranks higher.
        by: NodeId,
    },
    /// Too many commands wait for the leader.
    TooMany,
    /// The leader did not answer in time.
    NoReply,
    /// The member is stopping.
    Stopping,
}

/// The greatest epoch that a member knows and the leader it belongs to. Views compare by epoch,
/// then by the leader's rank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    /// The greatest epoch known.
    pub epoch: Epoch,
    /// Its leader, if known.
    pub leader: Option<Rank>,
}

/// What one member knows of another, as it tells third ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemberReport {
    /// The member.
    pub id: NodeId,
    /// The incarnation that this is about.
    pub incarnation: Incarnation,
    /// Alive, suspected or dead.
    pub status: Liveness,
    /// Whether it may be nominated.
    pub stands: bool,
}

/// What the failure detector thinks of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Liveness {
    /// It was heard, or nothing speaks against it.
    Alive,
    /// It has been silent for too long.
    Suspected,
    /// Its process is proved to be gone, or was never met.
    Dead,
}

impl Liveness {
    /// The word for it in status and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Liveness::Alive => "alive",
            Liveness::Suspected => "suspected",
            Liveness::Dead => "dead",
        }
    }
}

/// The first words on a connection, from the dialer (HELLO) and back (WELCOME).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hello {
    /// The version of this protocol.
    pub protocol: u32,
    /// Who the sender is.
    pub id: NodeId,
    /// Which start of it this is.
    pub incarnation: Incarnation,
    /// Tells two processes with one id and one incarnation apart.
    pub instance: u64,
    /// What must be the same on both sides.
    pub agreement: Arc<Agreement>,
    /// The sender's timings in nanoseconds (heartbeat, failure, message); a difference is only
    /// warned of.
    pub timing: [u64; 3],
    /// The sender's rank.
    pub rank: Rank,
    /// Whether it may be nominated.
    pub stands: bool,
    /// The leader and epoch that it knows; the leader only if heard within `failure`.
    pub view: View,
    /// The greatest round that it has seen.
    pub round: Epoch,
    /// The version of its member list.
    pub list: ListVersion,
}

/// The settings that members must share.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agreement {
    /// The cluster's name.
    pub cluster: String,
    /// The election algorithm.
    pub algorithm: AlgorithmKind,
    /// The guarantee.
    pub quorum: Quorum,
    /// Whether a higher member takes over.
    pub preempt: Preempt,
    /// What the attribute of a rank is.
    pub rank: String,
}

/// Why a hello was refused. Both sides log it, in words, once until it changes, and show it in
/// their status; strangers are only logged.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rejection {
    /// The dialer speaks another version of the protocol.
    Protocol {
        /// The version of the member that refuses.
        ours: u32,
        /// The version of the dialer.
        theirs: u32,
    },
    /// The dialer belongs to another cluster.
    Cluster {
        /// The cluster of the member that refuses.
        ours: String,
        /// The cluster of the dialer.
        theirs: String,
    },
    /// The dialer's id is not in the member list.
    UnknownId(NodeId),
    /// The dialer carries the id of the member that refuses.
    OwnId(NodeId),
    /// Another process with this id was heard within `failure`.
    IdInUse {
        /// The id.
        id: NodeId,
        /// Where the other process connected from.
        address: String,
    },
    /// A setting that must be shared is not.
    Disagreement {
        /// The key in the configuration.
        key: String,
        /// The value of the member that refuses.
        ours: String,
        /// The value of the dialer.
        theirs: String,
    },
    /// Another member answers at the address that was dialed.
    WrongAddress {
        /// The member that was to be there.
        expected: NodeId,
        /// The member that is there.
        found: NodeId,
    },
}

impl Message {
    /// The name of this kind of message in status, traces and counts.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Message::Election { .. } => Kind::Election,
            Message::Answer { .. } => Kind::Answer,
            Message::Coordinator { .. } => Kind::Coordinator,
            Message::Heartbeat { .. } => Kind::Heartbeat,
            Message::Acknowledge { .. } => Kind::Acknowledge,
            Message::View(_) => Kind::View,
            Message::Preempt { .. } => Kind::Preempt,
            Message::Release { .. } => Kind::Release,
            Message::Forward { .. } => Kind::Forward,
            Message::Outcome { .. } => Kind::Outcome,
        }
    }
}

/// The kinds of messages, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(usize)]
pub enum Kind {
    /// [`Message::Election`]
    Election,
    /// [`Message::Answer`]
    Answer,
    /// [`Message::Coordinator`]
    Coordinator,
    /// [`Message::Heartbeat`]
    Heartbeat,
    /// [`Message::Acknowledge`]
    Acknowledge,
    /// [`Message::View`]
    View,
    /// [`Message::Preempt`]
    Preempt,
    /// [`Message::Release`]
    Release,
    /// [`Message::Forward`]
    Forward,
    /// [`Message::Outcome`]
    Outcome,
}

impl Kind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Kind; 10] = [
        Kind::Election,
        Kind::Answer,
        Kind::Coordinator,
        Kind::Heartbeat,
        Kind::Acknowledge,
        Kind::View,
        Kind::Preempt,
        Kind::Release,
        Kind::Forward,
        Kind::Outcome,
    ];

    /// The name in status, traces and counts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Election => "election",
            Kind::Answer => "answer",
            Kind::Coordinator => "coordinator",
            Kind::Heartbeat => "heartbeat",
            Kind::Acknowledge => "acknowledge",
            Kind::View => "view",
            Kind::Preempt => "preempt",
            Kind::Release => "release",
            Kind::Forward => "forward",
            Kind::Outcome => "outcome",
        }
    }
}
