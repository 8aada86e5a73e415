//! The border of the core: the inputs of a member, and the outputs that its caller carries out.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::command::OperatorCommand;
use super::death::DeathCertificate;
use super::detector::ConnectionId;
use super::durable::Durable;
use super::membership::MemberList;
use super::message::{Done, Envelope, Hello, Refusal, Rejection};
use super::note::Note;
use super::phase::Transition;
use super::settings::Timing;
use super::types::{CommandId, NodeId, Time};

/// An event that a member handles.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Input {
    /// Time has passed.
    Tick,
    /// The caller did not run for this long: it was frozen, suspended or starved.
    Stalled { time: Duration },
    /// A connection to a peer is open and awaits a [`Output::Hello`] with this attempt, which tells this dial from
    /// earlier ones.
    Dialed { peer: NodeId, attempt: u64 },
    /// A dialer at this address said hello; to be answered with [`Output::Welcome`] or [`Output::Reject`].
    Hello { connection: ConnectionId, address: String, hello: Hello },
    /// A peer that was dialed answered.
    Welcomed { peer: NodeId, welcome: Hello },
    /// A peer that was dialed refused this member.
    Rejected { peer: NodeId, reason: Rejection },
    /// A dial was refused: nobody listens there.
    Refused { peer: NodeId },
    /// A dial was answered with a death certificate, which nobody has judged yet. The connection from the dead process
    /// may have ended before, or end later.
    Dead(DeathCertificate),
    /// The connection to a peer ended.
    Lost { peer: NodeId },
    /// The connection from a peer ended, and the caller redialed immediately.
    Ended { connection: ConnectionId, peer: NodeId, redial: Redial },
    /// A message came in on a peer's present connection.
    Message { connection: ConnectionId, from: NodeId, envelope: Envelope },
    /// The caller sampled the member's attribute anew; none if that failed, so that the member is not eligible.
    Sampled { value: Option<i64> },
    /// The health check passed or failed as many times in a row as its settings ask for.
    Checked { healthy: bool },
    /// What this member runs while it leads failed: it hands over if another can lead, and is eligible again when no
    /// other is, or when it is undrained.
    StandBack,
    /// The configuration was read again: the member uses these timings, which fit together, from now on.
    Timed { timing: Timing },
    /// All records up to this number are durable.
    Persisted { number: u64 },
    /// A job begins, which must end before another member leads. A leader that hands over or stops waits for the end of
    /// the job for at most this time.
    JobStarted { stops_within: Duration },
    /// Nothing of the job runs any more.
    JobEnded,
    /// An operator, or a program that embeds the member, gives a command. The answer repeats the id.
    Command { id: CommandId, command: OperatorCommand },
    /// A peer that was dialed and this member do not prove to each other who they are: the handshake failed for the
    /// certificate of one of them, and no hello was said.
    Untrusted { peer: NodeId },
}

/// The outcome of the redial after the end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Redial {
    /// A process listens there.
    Accepted,
    /// The host is up and nobody listens: the process is gone.
    Refused,
    /// It timed out, or the host cannot be reached.
    Failed,
}

/// A step that the caller carries out, in this order.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Output {
    /// Say HELLO on the connection of this attempt, which [`Input::Dialed`] named.
    Hello { to: NodeId, attempt: u64, hello: Hello },
    /// Answer a HELLO. The connection belongs to this peer from now on, and messages may follow on it.
    Welcome { connection: ConnectionId, peer: NodeId, welcome: Hello },
    /// Refuse a HELLO and close the connection.
    Reject { connection: ConnectionId, reason: Rejection },
    /// Send a message to each of these peers; drop it if it cannot be sent immediately.
    Send { to: Vec<NodeId>, envelope: Envelope },
    /// Close an inbound connection that a newer one replaces.
    Close { connection: ConnectionId },
    /// Close the connections to and from a peer; it is dialed anew, with a back-off.
    Disconnect { peer: NodeId },
    /// Dial a peer now, whatever the back-off says.
    Dial { peer: NodeId },
    /// Write a record, and report with [`Input::Persisted`] when it is durable.
    Persist { number: u64, record: Durable },
    /// The phase, the leader or the epoch changed.
    Changed(Transition),
    /// The member list changed: it says which peers to dial from now on.
    Members(Arc<MemberList>),
    /// The leader is about to hand over or stop: end the job, and report with [`Input::JobEnded`]. The leadership ends
    /// by then, whether the job has ended or not.
    EndJob { by: Time },
    /// A command has been carried out or refused.
    Answer { id: CommandId, result: Result<Done, Refusal> },
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
