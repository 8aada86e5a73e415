//! The future events of a simulated world, in order.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::core::Input;
use crate::core::death::DeathCertificate;
use crate::core::locks::member::LockInput;
use crate::core::locks::word::LockWord;
use crate::core::message::{Envelope, Hello, Rejection};
use crate::core::types::Time;

/// Something that is to happen. Small, as a million of them may be moved about.
#[derive(Clone, Debug)]
pub(super) enum SimulatedEvent {
    /// A node's deadline may have come.
    Tick {
        /// The node.
        node: usize,
        /// The incarnation of its process that this is meant for.
        incarnation: u64,
    },
    /// An input for a process, if it lives to see it.
    Input {
        /// The node.
        node: usize,
        /// The incarnation of its process that this is meant for.
        incarnation: u64,
        /// Its input.
        input: Box<Input>,
    },
    /// The write of a node's disk is done.
    Written {
        /// The node.
        node: usize,
        /// The incarnation of its process that wants to know.
        incarnation: u64,
    },
    /// Something happens to the job of a node.
    Job {
        /// The node.
        node: usize,
        /// The incarnation of its process that this is meant for.
        incarnation: u64,
        /// The job that this is meant for.
        number: u64,
        /// What happens.
        what: JobEvent,
    },
    /// An input for the locks of a process.
    Names {
        /// The node.
        node: usize,
        /// The incarnation of its process that this is meant for.
        incarnation: u64,
        /// What it is.
        input: Box<LockInput>,
    },
    /// Something moves on in the network.
    Transit(Transit),
}

/// A step of a connection or message in the network.
#[derive(Clone, Debug)]
pub(super) enum Transit {
    /// The back-off of a link is over.
    Dial(LinkWithToken),
    /// A dial arrives.
    Dialed(LinkWithToken),
    /// A dial was taken by this incarnation of the other process.
    Opened(LinkWithToken, u64),
    /// A dial was refused.
    Refused(LinkWithToken),
    /// A dial got no answer.
    TimedOut(LinkWithToken),
    /// A dial was answered by a coroner.
    Certified(LinkWithToken, DeathCertificate),
    /// Something arrives at the accepter's host.
    Arrives(usize, Payload),
    /// The accepter's process takes it.
    Taken(usize, Payload),
    /// Bytes that a cut had stopped are sent again.
    Retry(usize),
    /// The accepter's answer to a hello arrives.
    Reply(usize, Result<Box<Hello>, Box<Rejection>>),
    /// The answer to a hello should have come by now.
    NoReply(usize),
    /// The accepter's end of a connection is closed, and the dialer could see it.
    Closed(usize),
    /// The dialer sees that its connection has ended.
    Broken(usize),
    /// The redial arrives that follows the end of a connection.
    Redial(usize),
}

/// A link, in the state in which it had this token.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkWithToken {
    pub from: usize,
    pub to: usize,
    pub token: u64,
}

/// A hello or message that a dialer writes.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    Hello(Box<Hello>),
    Message {
        envelope: Rc<Envelope>,
        /// Whether the election is not over before it has arrived.
        elects: bool,
    },
    Locks(Rc<LockWord>),
    End,
}

/// An event of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JobEvent {
    /// The process that leads tells that a job starts, and starts it.
    Starts,
    /// It has ended.
    Ends,
    /// The process learns that.
    Learned,
}

/// The events to come, by when they are due; of one time the first that was scheduled is the first.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    events: BTreeMap<(Time, u64), SimulatedEvent>,
    scheduled: u64,
}

impl Agenda {
    pub fn schedule(&mut self, at: Time, event: SimulatedEvent) {
        self.scheduled += 1;
        self.events.insert((at, self.scheduled), event);
    }

    /// When the next event is due.
    pub fn next(&self) -> Option<Time> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    pub fn take(&mut self) -> Option<(Time, SimulatedEvent)> {
        self.events.pop_first().map(|((at, _), event)| (at, event))
    }
}
