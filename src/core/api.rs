//! The border of the core: the inputs of a member, and the outputs that its caller carries out.

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

/// An event that a member handles.
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
        /// The address that it comes from.
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
    /// The connection from a peer ended, and the caller redialed immediately.
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
    /// The caller sampled the member's attribute anew; none if that failed, so that the member is not eligible.
    Sampled {
        /// Its value.
        value: Option<i64>,
    },
    /// The health check passed or failed as many times in a row as its settings ask for.
    Checked {
        /// Whether it passed.
        healthy: bool,
    },
    /// The configuration was read again: the member uses these timings from now on.
    Timed {
        /// All of them, which fit together.
        timing: Timing,
    },
    /// All records up to this number are durable.
    Persisted {
        /// The number.
        number: u64,
    },
    /// A job begins, which must end before another member leads.
    JobStarted {
        /// The longest time that the leader waits for the end of the job when it hands over or stops.
        stops_within: Duration,
    },
    /// Nothing of the job runs any more.
    JobEnded,
    /// An operator, or a program that embeds the member, gives a command.
    Command {
        /// To be repeated in the answer.
        id: CommandId,
        /// What is asked.
        command: Command,
    },
}

/// The outcome of the redial after the end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Redial {
    /// A process listens there.
    Accepted,
    /// The host is up and nobody listens: the process is gone.
    Refused,
    /// It timed out, or the host cannot be reached.
    Failed,
}

/// A step that the caller carries out, in this order.
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
        /// The peer that it belongs to from now on.
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
    /// Send a message to each of these peers; drop it if it cannot be sent immediately.
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
    /// Write a record, and report with [`Input::Persisted`] when it is durable.
    Persist {
        /// Its number.
        number: u64,
        /// What to write.
        record: Durable,
    },
    /// The phase, the leader or the epoch changed.
    Changed(Transition),
    /// The member list changed: it says which peers to dial from now on.
    Members(Arc<MemberList>),
    /// The leader is about to hand over or stop: end the job, and report with [`Input::JobEnded`].
    EndJob {
        /// The leadership ends by then, whether the job has ended or not.
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
    /// Whether other members wait for it, so that it comes before the rest of the same turn. A change of phase keeps
    /// its place among the messages. So does the end of a connection: later, it would close the connection that
    /// replaces it.
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
