//! Every message that members exchange: who sends it, which reply is expected, what it counts as, which version of the
//! protocol knows it, and which numbers it tells.

use std::sync::Arc;
use std::time::Duration;

use strum::{EnumDiscriminants, IntoStaticStr, VariantArray};

pub use super::command::{Done, Forwarded, Refusal, Taken};
pub use super::content::{Ballot, Candidate, Lap, Liveness, MemberReport, Opinion, Run, View};
pub use super::hello::{Agreement, Hello, Rejection};
use super::membership::{ListVersion, MemberList};
use super::settings::AlgorithmKind;
use super::told::Told;
use super::types::{Epoch, Incarnation, NodeId, Pause, Rank, Task, TaskVersion};

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
///
/// The order is that in which the kinds are shown. A new message goes before the two of the ring, which count as others.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EnumDiscriminants)]
#[strum_discriminants(
    doc = "The kinds of messages, by which they are counted.",
    name(Kind),
    derive(IntoStaticStr, PartialOrd, Ord, Hash, VariantArray),
    strum(serialize_all = "snake_case"),
    allow(missing_docs)
)]
#[allow(missing_docs, reason = "a field without words is what that of an earlier message is")]
pub enum Message {
    /// Announces an election. Sent to every higher member; expects [`Message::Answer`].
    Election {
        /// The round to join.
        round: Epoch,
        /// The sender's rank, frozen for the round.
        rank: Rank,
        /// Whether the sender may be nominated.
        eligible: bool,
    },
    /// "I am alive and rank higher": the reply to an ELECTION. Expects nothing.
    Answer {
        /// The round of the ELECTION that is answered.
        round: Epoch,
    },
    /// "I am alive and rank lower", or am not eligible: the reply to an ELECTION that goes to all, as
    /// ranks change or the sender is eligible again, or that came by mistake. Expects nothing.
    Lower { round: Epoch },
    /// The winner's announcement, to all others. Expects nothing, but an older one is answered
    /// with a [`Message::View`].
    Coordinator { epoch: Epoch, rank: Rank },
    /// Halting: asks whether a member is up and ranks above the sender; or whether the sender's coordinator is
    /// up and still that. This and the four calls below expect a [`Message::Reply`] with their number.
    AreYouThere {
        /// Tells the sender's calls apart.
        number: u64,
        /// The epoch under the coordinator that is asked; none for any other member.
        under: Option<Epoch>,
        rank: Rank,
        eligible: bool,
    },
    /// Halting: the coordinator asks whether a member is Normal under it.
    AreYouNormal { number: u64, epoch: Epoch },
    /// Halting: the organizer of a new round has a lower member stop its work.
    Halt {
        number: u64,
        round: Epoch,
        rank: Rank,
        /// The organizer leads and takes in members anew: higher ones obey as well, unless they
        /// may take over.
        incumbent: bool,
    },
    /// Halting: "I am elected" (New-Coordinator), to those that were halted.
    Elected {
        number: u64,
        /// The round, which becomes the epoch.
        round: Epoch,
        /// The version of the task that the sender has.
        task: TaskVersion,
    },
    /// Halting: the task description, to those that accepted the coordinator.
    Ready { number: u64, round: Epoch, task: Task },
    /// Halting: the reply to a call.
    Reply {
        number: u64,
        /// Whether it was accepted; the yes or no to a question.
        accepted: bool,
    },
    /// Asks whether a member is alive. Expects [`Message::Alive`].
    Probe {
        /// Tells the sender's probes apart.
        number: u64,
    },
    /// A sign of life: the reply to a probe, and that of an organizer to those that it halted.
    Alive {
        /// The number of the probe; or the round that an organizer goes on with, 0 once it gave up.
        number: u64,
    },
    /// Majority: a candidate asks a voter whether it would vote for it; nothing changes. Expects
    /// [`Message::PreVoteReply`].
    #[strum_discriminants(strum(serialize = "trial"))]
    PreVote {
        /// Tells the candidate's questions apart.
        number: u64,
        /// The epoch that it would lead in.
        epoch: Epoch,
        /// The version of its member list.
        list: ListVersion,
    },
    /// Majority: the reply to a pre-vote.
    #[strum_discriminants(strum(serialize = "opinion"))]
    PreVoteReply {
        number: u64,
        /// What the voter would say to a vote request.
        opinion: Opinion,
        /// The greatest epoch that the voter knows of or has voted in.
        epoch: Epoch,
    },
    /// Majority: a candidate asks a voter for its vote. Expects [`Message::Vote`] or
    /// [`Message::Denial`].
    #[strum_discriminants(strum(serialize = "claim"))]
    VoteRequest {
        number: u64,
        epoch: Epoch,
        /// For how long the vote is a promise.
        lease: Duration,
        list: ListVersion,
    },
    /// Majority: the reply to a vote request: the voter votes for nobody else in this epoch.
    #[strum_discriminants(strum(serialize = "grant"))]
    Vote {
        /// The candidate's incarnation.
        incarnation: Incarnation,
        number: u64,
        /// The epoch that the candidate may lead in.
        epoch: Epoch,
    },
    /// Majority: the reply to a vote request, or to the heartbeat of a leader that a voter must not
    /// follow any more.
    #[strum_discriminants(strum(serialize = "refuse"))]
    Denial {
        /// The number of the vote request or heartbeat.
        number: u64,
        /// Why, and for how long.
        opinion: Opinion,
        /// The greatest epoch that the voter knows of or has voted in.
        epoch: Epoch,
    },
    /// The leader's sign of life, to every member not proved dead, judged like a COORDINATOR.
    /// Expects [`Message::Acknowledge`].
    Heartbeat {
        epoch: Epoch,
        /// Counts the leader's heartbeat rounds.
        number: u64,
        rank: Rank,
        /// For how long a voter that acknowledges it promises its vote to this leader.
        lease: Duration,
        /// The version of the leader's list, once nothing can undo it; before, the least.
        settled: ListVersion,
        /// What the leader knows of all members.
        members: Arc<[MemberReport]>,
        /// Whether the cluster is paused; none if it never was.
        pause: Option<Pause>,
        /// The member that an operator chose to lead, whatever its rank: this leader, or the next.
        chosen: Option<NodeId>,
    },
    /// The reply to a heartbeat; echoes what it answers.
    Acknowledge {
        /// The leader's incarnation.
        incarnation: Incarnation,
        /// The epoch of the heartbeat.
        epoch: Epoch,
        number: u64,
        /// The sender's rank at this time.
        rank: Rank,
        eligible: bool,
        /// A pause, or the end of one, that the leader does not know.
        pause: Option<Pause>,
    },
    /// The reply to an older request: the greatest epoch and its leader, as the sender knows
    /// them. Expects nothing.
    View(View),
    /// A higher member asks the leader of this epoch to hand over. Expects
    /// [`Message::Release`], or a [`Message::View`] that names a newer leader.
    Preempt {
        /// The epoch to be released.
        epoch: Epoch,
        /// The rank of the member that asks.
        rank: Rank,
        /// With a majority: the voters that would vote for it once this epoch is released.
        votes: Vec<NodeId>,
    },
    /// "I no longer lead in this epoch", or "I shall not lead after its leader", to all, after the work has stopped.
    Release {
        epoch: Epoch,
        /// Who is to start the next election; the others wait for it.
        successor: Option<NodeId>,
        /// Whether the sender may be nominated again.
        eligible: bool,
    },
    /// Majority: a candidate tells a voter that the leader of this epoch released it: that leader's own
    /// word may still be on its way. Expects nothing.
    Freed { leader: NodeId, epoch: Epoch },
    /// The sender has other timings from now on than its hello said. Expects nothing.
    Timing {
        /// As in [`Hello::timing`].
        timing: [u64; 4],
    },
    /// The member list, to whoever has an older one. Expects [`Message::Listed`].
    List { list: Arc<MemberList> },
    /// The reply to a list, once it is stored.
    Listed { version: ListVersion },
    /// Halting: a newer task than the one of an ELECTED, which this member accepts: sent before
    /// its reply, so that the newest is handed out. Expects nothing.
    Task(Task),
    /// A command that this member passes on to the leader. Expects [`Message::Outcome`].
    Forward {
        /// Tells the sender's commands apart.
        number: u64,
        command: Forwarded,
    },
    /// The reply to a forwarded command.
    Outcome { number: u64, result: Result<Done, Refusal> },
    /// Ring: the travelling ballot, to the next live member clockwise (ELECTION of seed 004).
    Ballot(Ballot),
    /// Ring: the winner's announcement, once around (ELECTED of seed 004).
    Lap(Lap),
}

impl Kind {
    /// All kinds that messages count as, in the order in which they are shown: those
    /// of a ring, the last two, count as others.
    pub const ALL: &'static [Kind] = {
        let (counted, ring) = Kind::VARIANTS.split_at(Kind::Ballot as usize);
        assert!(matches!(ring, [Kind::Ballot, Kind::Lap]), "a new message goes before them");
        counted
    };

    /// The kinds that an algorithm elects with, in the order in which they are shown.
    #[must_use]
    pub fn of(algorithm: AlgorithmKind) -> &'static [Kind] {
        use Kind::{
            Answer, AreYouNormal, AreYouThere, Coordinator, Elected, Election, Halt, Lower, Ready,
            Reply,
        };
        match algorithm {
            AlgorithmKind::Bully => &[Election, Answer, Lower, Coordinator],
            AlgorithmKind::Halting => &[AreYouThere, AreYouNormal, Halt, Elected, Ready, Reply],
            AlgorithmKind::Ring => &[Election, Elected],
        }
    }

    /// The word for it in status and counts, and its key in the JSON.
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
    /// What it counts as. A ballot counts as the ELECTION of seed 004, and a lap as its ELECTED.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match Kind::from(self) {
            Kind::Ballot => Kind::Election,
            Kind::Lap => Kind::Elected,
            kind => kind,
        }
    }

    /// The first version of the protocol that knows it: earlier members are not told it.
    #[must_use]
    pub fn since(&self) -> u32 {
        match self {
            Message::Timing { .. } => 6,
            Message::Forward { command, .. } => command.since(),
            _ => 5,
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

    /// The numbers that it tells and that its receiver keeps: the receiver refuses those that cannot have come about.
    pub(super) fn told(&self) -> Told {
        match self {
            Message::Election { round, .. }
            | Message::Answer { round }
            | Message::Lower { round }
            | Message::Halt { round, .. } => Told::epoch(*round),
            Message::Coordinator { epoch, .. }
            | Message::AreYouNormal { epoch, .. }
            | Message::PreVoteReply { epoch, .. }
            | Message::Denial { epoch, .. }
            | Message::Vote { epoch, .. }
            | Message::View(View { epoch, .. })
            | Message::Preempt { epoch, .. }
            | Message::Freed { epoch, .. }
            | Message::Release { epoch, .. } => Told::epoch(*epoch),
            Message::AreYouThere { under, .. } => Told::epoch(under.unwrap_or_default()),
            Message::Elected { round, task, .. } => Told::task(*task).and(*round),
            Message::Task(task) => Told::task(task.version),
            Message::Ready { round, task, .. } => Told::task(task.version).and(*round),
            Message::Ballot(ballot) => Told::epoch(ballot.run.epoch),
            Message::Lap(lap) => Told::epoch(lap.run.epoch),
            Message::PreVote { epoch, list, .. } => Told::list(*list).and(*epoch),
            Message::VoteRequest { epoch, list, lease, .. } => {
                Told { lease: *lease, ..Told::list(*list).and(*epoch) }
            }
            Message::Heartbeat { epoch, settled, lease, pause, .. } => {
                let told = Told { lease: *lease, ..Told::list(*settled).and(*epoch) };
                told.and_pause(pause.as_ref())
            }
            Message::Acknowledge { epoch, pause, .. } => {
                Told::epoch(*epoch).and_pause(pause.as_ref())
            }
            Message::List { list } => Told::list(list.version()),
            Message::Listed { version } => Told::list(*version),
            Message::Reply { .. }
            | Message::Probe { .. }
            | Message::Alive { .. }
            | Message::Timing { .. }
            | Message::Forward { .. }
            | Message::Outcome { .. } => Told::default(),
        }
    }
}
