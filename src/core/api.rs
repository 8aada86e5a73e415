//! All that crosses the border of the core: what happens to a member, and what its caller carries out.

use std::sync::Arc;
use std::time::Duration;

use super::command::Command;
use super::detector::ConnectionId;
use super::durable::Durable;
use super::membership::MemberList;
use super::message::{Done, Envelope, Hello, Refusal, Rejection};
use super::note::Note;
use super::phase::Transition;
use super::settings::Timing;
use super::types::{CommandId, NodeId, Time};

/// What happens to a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// The caller did not run for this long: it was frozen, suspended or starved.
    Stalled {
        /// The time between its last turn and this one.
        time: Duration,
    },
    /// A connection to a peer is open and awaits a [`Output::Hello`] with this attempt.
    Dialed {
        /// The peer.
        peer: NodeId,
        /// Tells this dial from earlier ones.
        attempt: u64,
    },
    /// A dialer said hello; to be answered with [`Output::Welcome`] or [`Output::Reject`].
    Hello {
        /// The inbound connection.
        connection: ConnectionId,
        /// Where it comes from.
        address: String,
        /// What it said.
        hello: Hello,
    },
    /// A peer that was dialed answered.
    Welcomed {
        /// The peer.
        peer: NodeId,
        /// What it said.
        welcome: Hello,
    },
    /// A peer that was dialed refused this member.
    Rejected {
        /// The peer.
        peer: NodeId,
        /// Why.
        reason: Rejection,
    },
    /// A dial was refused: nobody listens there.
    Refused {
        /// The peer.
        peer: NodeId,
    },
    /// The connection to a peer ended.
    Lost {
        /// The peer.
        peer: NodeId,
    },
    /// The connection from a peer ended, and it was redialed at once.
    Ended {
        /// The inbound connection.
        connection: ConnectionId,
        /// The peer.
        peer: NodeId,
        /// How the redial went.
        redial: Redial,
    },
    /// A message came in on a peer's present connection.
    Message {
        /// The inbound connection.
        connection: ConnectionId,
        /// The peer.
        from: NodeId,
        /// The message.
        envelope: Envelope,
    },
    /// The member's attribute was sampled anew; none if that failed, so that it is not eligible.
    Sampled {
        /// Its value.
        value: Option<i64>,
    },
    /// The member's health check passed often enough, or failed often enough.
    Checked {
        /// Whether it passed.
        healthy: bool,
    },
    /// The configuration was read again: these timings count from now on.
    Timed {
        /// All of them, which fit together.
        timing: Timing,
    },
    /// All records up to this number are durable.
    Persisted {
        /// The number.
        number: u64,
    },
    /// A job begins that must end before anybody else leads.
    JobStarted {
        /// For how long the end of the leadership waits for the job, where it ends in order.
        stops_within: Duration,
    },
    /// Nothing of the job runs any more.
    JobEnded,
    /// An operator, or a program that embeds the member, asks for something.
    Command {
        /// To be repeated in the answer.
        id: CommandId,
        /// What is asked.
        command: Command,
    },
}

/// How the redial went that follows the end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Redial {
    /// Somebody listens there.
    Accepted,
    /// The host is up and nobody listens: the process is gone.
    Refused,
    /// It timed out, or the host cannot be reached.
    Failed,
}

/// What the caller has to carry out, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Output {
    /// Say HELLO on the connection of this attempt.
    Hello {
        /// The peer that was dialed.
        to: NodeId,
        /// The attempt of [`Input::Dialed`].
        attempt: u64,
        /// What to say.
        hello: Hello,
    },
    /// Answer a HELLO; messages may follow on this connection.
    Welcome {
        /// The inbound connection.
        connection: ConnectionId,
        /// Whose it is from now on.
        peer: NodeId,
        /// What to say.
        welcome: Hello,
    },
    /// Refuse a HELLO and close the connection.
    Reject {
        /// The inbound connection.
        connection: ConnectionId,
        /// Why.
        reason: Rejection,
    },
    /// Send a message to each of these peers. If it cannot be sent at once, it is dropped.
    Send {
        /// The receivers.
        to: Vec<NodeId>,
        /// The message.
        envelope: Envelope,
    },
    /// Close an inbound connection that a newer one replaces.
    Close {
        /// The connection.
        connection: ConnectionId,
    },
    /// Close the connections to and from a peer; it is dialed anew, with a back-off.
    Disconnect {
        /// The peer.
        peer: NodeId,
    },
    /// Dial a peer now, whatever the back-off says.
    Dial {
        /// The peer.
        peer: NodeId,
    },
    /// Write a record, and tell when it is durable.
    Persist {
        /// Its number.
        number: u64,
        /// What to write.
        record: Durable,
    },
    /// The phase, the leader or the epoch changed.
    Changed(Transition),
    /// The member list changed: peers are to be dialed from now on, or not any more.
    Members(Arc<MemberList>),
    /// Leadership is about to end in order: end the job, and tell with [`Input::JobEnded`].
    EndJob {
        /// The leadership ends then at the latest.
        by: Time,
    },
    /// A command has been carried out or refused.
    Answer {
        /// The command.
        id: CommandId,
        /// How it ended.
        result: Result<Done, Refusal>,
    },
    /// Something that an operator wants to know.
    Note(Note),
}

impl Output {
    /// Whether others wait for it, so that it comes before the rest of the same turn. A change of the phase
    /// keeps its place among what is sent; and so does the end of a connection, which would otherwise hit the
    /// one that was welcomed in its place.
    pub(super) fn is_awaited(&self) -> bool {
        use Output::{Changed, Close, Dial, Disconnect, Hello, Reject, Send, Welcome};
        matches!(
            self,
            Changed(_)
                | Send { .. }
                | Hello { .. }
                | Welcome { .. }
                | Reject { .. }
                | Close { .. }
                | Disconnect { .. }
                | Dial { .. }
        )
    }
}
