//! The election as a pure state machine: no socket, thread, clock, file, random source or log.
//!
//! The caller owns a [`Core`], hands it one [`Input`] at a time with the present time, carries
//! out the [`Output`]s in their order, and calls again with [`Input::Tick`] when
//! [`Core::deadline`] has come. A spurious call changes nothing. All of it is deterministic:
//! the simulator runs the same code as the node.

mod admission;
mod algorithm;
pub mod bounds;
mod change;
mod command;
mod context;
pub mod detector;
mod heartbeat;
mod hello;
mod kind;
mod leadership;
mod majority;
pub mod membership;
pub mod message;
mod note;
mod outcome;
mod phase;
pub mod random;
mod ranking;
mod roster;
pub mod settings;
pub mod split;
mod spread;
pub mod standing;
mod state;
pub mod tenure;
mod timer;
mod turn;
pub mod types;

pub use command::Command;
pub use note::Note;
pub use phase::{NodeStatus, Phase, Reason, Transition};

use std::sync::Arc;
use std::time::Duration;

use algorithm::Algorithm;
use context::Context;
use detector::{ConnectionId, Detector};
use membership::MemberList;
use message::{Done, Envelope, Hello, Refusal, Rejection, View};
use settings::{PowerOn, Restored, Settings};
use split::Split;
use state::State;
use tenure::Durable;
use timer::Timer;
use turn::Turn;
use types::{Incarnation, NodeId, Rank, Task, Time};

/// Names a command, so that its answer finds whoever gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

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
    /// The member's attribute was sampled anew; none if that failed, so that it stands back.
    Sampled {
        /// Its value.
        value: Option<i64>,
    },
    /// All records up to this number are durable.
    Persisted {
        /// The number.
        number: u64,
    },
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
    /// Send a message to each of these peers. What cannot be sent at once is dropped.
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

/// One member of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Core {
    state: State,
    algorithm: Algorithm,
}

impl Core {
    /// A member that starts now, with what its store gave back. The seed is for jitter alone.
    #[must_use]
    pub fn new(now: Time, settings: Settings, restored: Restored, seed: u64) -> Core {
        let algorithm = Algorithm::new(settings.algorithm);
        let mut state = State::new(now, settings, restored, seed);
        if state.settings.power_on == PowerOn::Elect {
            state.timers.arm(Timer::PowerOn, state.look_until);
        }
        Core { state, algorithm }
    }

    /// Takes one input and appends what is to be done.
    pub fn handle(&mut self, now: Time, input: Input, out: &mut Vec<Output>) {
        let Core { state, algorithm } = self;
        let mut turn = Turn { cx: Context { state, now, out }, algorithm };
        turn.recover_if_stalled();
        turn.end_lease();
        turn.take(input);
        turn.weigh();
        turn.forward_postponed();
        turn.settle_list();
        turn.weigh_change();
        state.stood_back |= !state.stands();
    }

    /// When the core wants to be called next, if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.state.timers.next()
    }

    /// Where this member stands.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.state.phase
    }

    /// The leader that this member names, itself included; none until an election has ended.
    #[must_use]
    pub fn leader(&self) -> Option<Rank> {
        self.state.leader()
    }

    /// The greatest epoch known and its leader, who may be gone.
    #[must_use]
    pub fn view(&self) -> View {
        self.state.view
    }

    /// Until when this member may be believed without another turn of it: a leader until it
    /// counts itself as stalled, any other until `failure` from now.
    #[must_use]
    pub fn believable_until(&self, now: Time) -> Time {
        let timing = self.state.settings.timing;
        match self.state.phase {
            Phase::Leading => {
                let turn = self.state.beat.1 + timing.stall();
                self.state.lease_until().map_or(turn, |lease| lease.min(turn))
            }
            _ => now + timing.failure,
        }
    }

    /// Whom this member named to lead next, if it gave up the greatest epoch that it knows.
    #[must_use]
    pub fn successor(&self) -> Option<NodeId> {
        self.state.gave_up().and_then(|(_, successor)| successor)
    }

    /// The last other leader that this member met while it led; none since its start.
    #[must_use]
    pub fn split(&self) -> Option<Split> {
        self.state.split
    }

    /// What is known of the other members.
    #[must_use]
    pub fn detector(&self) -> &Detector {
        &self.state.detector
    }

    /// Until when this leader's lease runs; none without a majority, and for who does not lead.
    #[must_use]
    pub fn lease_until(&self) -> Option<Time> {
        self.state.lease_until()
    }

    /// The member that halted this one, or whom it accepted as coordinator, in an election of the
    /// halting algorithm.
    #[must_use]
    pub fn halter(&self) -> Option<NodeId> {
        let halted = self.state.phase.is_halted();
        self.state.watches.filter(|_| halted).map(|(halter, _)| halter)
    }

    /// The coordinator that this member has accepted: its leader, or in the halting algorithm the
    /// one whose task it awaits.
    #[must_use]
    pub fn coordinator(&self) -> Option<View> {
        let settled = self.state.leader().map(|_| self.state.view);
        settled.or_else(|| self.algorithm.accepted(&self.state))
    }

    /// The task that this member was handed last.
    #[must_use]
    pub fn task(&self) -> &Task {
        &self.state.task
    }

    /// The settings that this member started with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.state.settings
    }

    /// The present member list.
    #[must_use]
    pub fn members(&self) -> &Arc<MemberList> {
        &self.state.members
    }

    /// This start's number.
    #[must_use]
    pub fn incarnation(&self) -> Incarnation {
        self.state.incarnation
    }

    /// Whether this member may be nominated.
    #[must_use]
    pub fn stands(&self) -> bool {
        self.state.stands()
    }

    /// This member.
    #[must_use]
    pub fn id(&self) -> NodeId {
        self.state.id()
    }

    /// This member's rank.
    #[must_use]
    pub fn rank(&self) -> Rank {
        self.state.rank()
    }
}
