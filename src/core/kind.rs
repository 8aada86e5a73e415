//! The kinds of messages, by which they are counted.

use strum::{IntoStaticStr, VariantArray};

use super::message::Message;

/// The kinds of messages, in the order in which they are shown.
#[derive(Clone, Copy, Debug, IntoStaticStr, PartialEq, Eq, PartialOrd, Ord, Hash, VariantArray)]
#[repr(usize)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// [`Message::Election`], and the ballot of a ring: [`Message::Ballot`]
    Election,
    /// [`Message::Answer`]
    Answer,
    /// [`Message::Lower`]
    Lower,
    /// [`Message::Coordinator`]
    Coordinator,
    /// [`Message::AreYouThere`]
    AreYouThere,
    /// [`Message::AreYouNormal`]
    AreYouNormal,
    /// [`Message::Halt`]
    Halt,
    /// [`Message::Elected`], and the lap of a ring: [`Message::Lap`]
    Elected,
    /// [`Message::Ready`]
    Ready,
    /// [`Message::Reply`]
    Reply,
    /// [`Message::Probe`]
    Probe,
    /// [`Message::Alive`]
    Alive,
    /// [`Message::PreVote`]
    #[strum(serialize = "trial")]
    PreVote,
    /// [`Message::PreVoteReply`]
    #[strum(serialize = "opinion")]
    PreVoteReply,
    /// [`Message::VoteRequest`]
    #[strum(serialize = "claim")]
    VoteRequest,
    /// [`Message::Vote`]
    #[strum(serialize = "grant")]
    Vote,
    /// [`Message::Denial`]
    #[strum(serialize = "refuse")]
    Denial,
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
    /// [`Message::Freed`]
    Freed,
    /// [`Message::Timing`]
    Timing,
    /// [`Message::List`]
    List,
    /// [`Message::Listed`]
    Listed,
    /// [`Message::Task`]
    Task,
    /// [`Message::Forward`]
    Forward,
    /// [`Message::Outcome`]
    Outcome,
}

impl Kind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: &'static [Kind] = Kind::VARIANTS;

    /// The name in status and counts.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The name as the papers write it, in traces.
    #[must_use]
    pub fn title(self) -> String {
        self.name().to_uppercase().replace('_', "-")
    }
}

impl Message {
    /// What it counts as.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Message::Election { .. } | Message::Ballot(_) => Kind::Election,
            Message::Elected { .. } | Message::Lap(_) => Kind::Elected,
            Message::View(_) => Kind::View,
            Message::Answer { .. } => Kind::Answer,
            Message::Lower { .. } => Kind::Lower,
            Message::Coordinator { .. } => Kind::Coordinator,
            Message::AreYouThere { .. } => Kind::AreYouThere,
            Message::AreYouNormal { .. } => Kind::AreYouNormal,
            Message::Halt { .. } => Kind::Halt,
            Message::Ready { .. } => Kind::Ready,
            Message::Reply { .. } => Kind::Reply,
            Message::Probe { .. } => Kind::Probe,
            Message::Alive { .. } => Kind::Alive,
            Message::PreVote { .. } => Kind::PreVote,
            Message::PreVoteReply { .. } => Kind::PreVoteReply,
            Message::VoteRequest { .. } => Kind::VoteRequest,
            Message::Vote { .. } => Kind::Vote,
            Message::Denial { .. } => Kind::Denial,
            Message::Heartbeat { .. } => Kind::Heartbeat,
            Message::Acknowledge { .. } => Kind::Acknowledge,
            Message::Preempt { .. } => Kind::Preempt,
            Message::Release { .. } => Kind::Release,
            Message::Freed { .. } => Kind::Freed,
            Message::Timing { .. } => Kind::Timing,
            Message::List { .. } => Kind::List,
            Message::Listed { .. } => Kind::Listed,
            Message::Task(_) => Kind::Task,
            Message::Forward { .. } => Kind::Forward,
            Message::Outcome { .. } => Kind::Outcome,
        }
    }

    /// Whether only a candidate or a leader says it. (Members that may not lead ask for pre-votes as well, to
    /// learn whether anybody could win.)
    pub(super) fn is_of_candidate_or_leader(&self) -> bool {
        matches!(
            self,
            Message::Coordinator { .. }
                | Message::Heartbeat { .. }
                | Message::Halt { .. }
                | Message::Elected { .. }
                | Message::Ready { .. }
                | Message::Preempt { .. }
                | Message::VoteRequest { .. }
                | Message::Release { .. }
        )
    }
}
