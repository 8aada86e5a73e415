//! Every message that members exchange: its sender, its reply, its kind, the first version that knows it, its numbers.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{EnumDiscriminants, IntoStaticStr, VariantArray};

pub use super::command::{Done, Forwarded, Refusal, Taken};
use super::content::Claims;
pub use super::content::{
    Ballot, Candidate, Heartbeat, Lap, Liveness, MemberReport, Opinion, Run, View,
};
use super::death::DeathCertificate;
pub use super::hello::{Agreement, Hello, Rejection};
use super::locks::word::LockWord;
use super::membership::{ListVersion, MemberList};
use super::protocol::LOCKS;
use super::settings::AlgorithmKind;
use super::types::{Epoch, Incarnation, NodeId, Pause, Rank, Task, TaskVersion};

/// A message with the fields that every message carries.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Envelope {
    /// The greatest epoch that the sender knows.
    pub epoch: Epoch,
    pub incarnation: Incarnation,
    pub message: Message,
}

/// A message from one member to another.
///
/// The kinds are shown in this order. A new message goes before the two of the ring, which count as other kinds.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EnumDiscriminants, Serialize, Deserialize)]
#[strum_discriminants(
    doc = "The kinds of messages, by which they are counted.",
    name(Kind),
    derive(IntoStaticStr, PartialOrd, Ord, Hash, VariantArray),
    strum(serialize_all = "snake_case"),
    allow(missing_docs)
)]
#[serde(remote = "Self")]
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
        /// The round of that ELECTION.
        round: Epoch,
    },
    /// "I am alive and rank lower", or am not eligible: the reply to an ELECTION that goes to all, as ranks change or
    /// the sender is eligible again, or to one that came by mistake. Expects nothing.
    Lower { round: Epoch },
    /// The winner's announcement, to all others. Expects nothing; a member that knows a later leader replies with a
    /// [`Message::View`].
    Coordinator { epoch: Epoch, rank: Rank },
    /// Halting: asks whether a member is up and ranks above the sender; or whether the sender's coordinator is up and
    /// still its coordinator. This and the four calls below expect a [`Message::Reply`] with their number.
    AreYouThere {
        /// Distinguishes the sender's calls.
        number: u64,
        /// The epoch, if the call goes to the sender's coordinator; otherwise none.
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
        /// The organizer leads, and takes in members anew: higher members obey as well, unless they may take over.
        incumbent: bool,
    },
    /// Halting: "I am elected" (New-Coordinator), to the members that the organizer halted.
    Elected {
        number: u64,
        /// The round, which becomes the epoch.
        round: Epoch,
        /// The version of the task that the sender has.
        task: TaskVersion,
    },
    /// Halting: the task description, to the members that accepted the coordinator.
    Ready { number: u64, round: Epoch, task: Task },
    /// Halting: the reply to a call.
    Reply {
        number: u64,
        /// Whether the call was accepted; the yes or no to a question.
        accepted: bool,
    },
    /// Asks whether a member is alive. Expects [`Message::Alive`].
    Probe {
        /// Distinguishes the sender's probes.
        number: u64,
    },
    /// A sign of life: the reply to a probe, or from an organizer to the members that it halted.
    Alive {
        /// The number of the probe; or the round that an organizer continues with, 0 once it gave up.
        number: u64,
    },
    /// Majority: a candidate asks a voter whether it would vote for it; nothing changes. Expects
    /// [`Message::PreVoteReply`].
    #[strum_discriminants(strum(serialize = "trial"))]
    PreVote {
        /// Distinguishes the candidate's questions.
        number: u64,
        /// The epoch in which the candidate would lead.
        epoch: Epoch,
        /// The version of the candidate's member list.
        list: ListVersion,
    },
    /// Majority: the reply to a pre-vote.
    #[strum_discriminants(strum(serialize = "opinion"))]
    PreVoteReply {
        number: u64,
        /// The voter's reply to a vote request, if it got one now.
        opinion: Opinion,
        /// The greatest epoch that the voter knows or has voted in.
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
    /// Majority: the reply to a vote request, or to the heartbeat of an outdated leader.
    #[strum_discriminants(strum(serialize = "refuse"))]
    Denial {
        /// The number of the vote request or heartbeat.
        number: u64,
        /// Why, and for how long.
        opinion: Opinion,
        /// The greatest epoch that the voter knows or has voted in.
        epoch: Epoch,
    },
    /// The leader's sign of life, to every member that is not proved dead. The receiver judges it like a COORDINATOR.
    /// Expects [`Message::Acknowledge`].
    Heartbeat(Heartbeat),
    /// The reply to a heartbeat; it repeats the numbers of that heartbeat.
    Acknowledge {
        /// The leader's incarnation.
        incarnation: Incarnation,
        /// The epoch of the heartbeat.
        epoch: Epoch,
        number: u64,
        /// The sender's present rank.
        rank: Rank,
        eligible: bool,
        /// A pause, or its end, if the leader has a lesser version.
        pause: Option<Pause>,
    },
    /// The reply to an older request: the greatest epoch and its leader, as far as the sender knows. Expects nothing.
    View(View),
    /// A higher member asks the leader of this epoch to hand over. Expects
    /// [`Message::Release`], or a [`Message::View`] that names a newer leader.
    Preempt {
        /// The epoch that the leader is asked to release.
        epoch: Epoch,
        rank: Rank,
        /// With a majority: the voters that would vote for the sender once this epoch is released.
        votes: Vec<NodeId>,
    },
    /// "I no longer lead in this epoch", or "I shall not lead after its leader", to all. A leader stops its work
    /// first.
    Release {
        epoch: Epoch,
        /// The member that is to start the next election; the others wait for it.
        successor: Option<NodeId>,
        /// Whether the sender may be nominated again.
        eligible: bool,
    },
    /// Majority: a candidate tells a voter that the leader of this epoch released it, since the leader's RELEASE may
    /// still be on its way to the voter. Expects nothing.
    Freed { leader: NodeId, epoch: Epoch },
    /// The proof that an incarnation of a member runs no more; any member passes it on to all others. Expects nothing.
    Dead(DeathCertificate),
    /// From now on the sender has other timings than its hello said. Expects nothing.
    Timing {
        /// As in [`Hello::timing`].
        timing: [u64; 4],
    },
    /// The member list, to a member that has an older one. Expects [`Message::Listed`].
    List { list: Arc<MemberList> },
    /// The reply to a list, once the sender has stored it.
    Listed { version: ListVersion },
    /// Halting: a newer task than that of an ELECTED which the sender accepts. It precedes the reply, so that the
    /// organizer hands out the newest task. Expects nothing.
    Task(Task),
    /// A command that the sender passes on to the leader. Expects [`Message::Outcome`].
    Forward {
        /// Distinguishes the sender's commands.
        number: u64,
        command: Forwarded,
    },
    /// The reply to a forwarded command.
    Outcome { number: u64, result: Result<Done, Refusal> },
    /// What members say to each other about locks: their callers take it, and it never comes to the core.
    Lock(Vec<LockWord>),
    /// Ring: the travelling ballot, to the next live member clockwise (ELECTION of seed 004).
    Ballot(Ballot),
    /// Ring: the winner's announcement, once around (ELECTED of seed 004).
    Lap(Lap),
}

impl Kind {
    /// The kinds that messages count as, in the order in which they are shown: the two of the ring count as other
    /// kinds.
    pub const ALL: &'static [Kind] = {
        let (counted, ring) = Kind::VARIANTS.split_at(Kind::Ballot as usize);
        assert!(matches!(ring, [Kind::Ballot, Kind::Lap]), "a new message goes before them");
        counted
    };

    /// The kinds that an algorithm elects with, in the order in which they are shown.
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

    /// The kind of this name, as JSON has it.
    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl Message {
    /// The kind that it counts as. A ballot counts as the ELECTION of seed 004, and a lap as its ELECTED.
    pub fn kind(&self) -> Kind {
        match Kind::from(self) {
            Kind::Ballot => Kind::Election,
            Kind::Lap => Kind::Elected,
            kind => kind,
        }
    }

    /// The first version of the protocol that knows it: no member sends it to a member of an earlier version.
    pub fn since(&self) -> u32 {
        match self {
            Message::Lock(_) => LOCKS,
            Message::Dead(_) => 7,
            Message::Timing { .. } => 6,
            Message::Forward { command, .. } => command.since(),
            _ => 5,
        }
    }

    /// Whether only a candidate or a leader sends it. (Members that may not lead send pre-votes as well, to learn
    /// whether any member could win.)
    pub(super) fn is_of_candidate_or_leader(&self) -> bool {
        use Kind::{Coordinator, Elected, Halt, Heartbeat, Preempt, Ready, Release, VoteRequest};
        matches!(
            Kind::from(self),
            Coordinator | Heartbeat | Halt | Elected | Ready | Preempt | VoteRequest | Release
        )
    }

    /// The numbers that its sender claims and its receiver keeps. The receiver refuses impossible ones.
    pub(super) fn claims(&self) -> Claims {
        match self {
            Message::Election { round, .. }
            | Message::Answer { round }
            | Message::Lower { round }
            | Message::Halt { round, .. } => Claims::epoch(*round),
            Message::Coordinator { epoch, .. }
            | Message::AreYouNormal { epoch, .. }
            | Message::PreVoteReply { epoch, .. }
            | Message::Denial { epoch, .. }
            | Message::Vote { epoch, .. }
            | Message::View(View { epoch, .. })
            | Message::Preempt { epoch, .. }
            | Message::Freed { epoch, .. }
            | Message::Release { epoch, .. } => Claims::epoch(*epoch),
            Message::AreYouThere { under, .. } => Claims::epoch(under.unwrap_or_default()),
            Message::Elected { round, task, .. } => Claims::task(*task).and(*round),
            Message::Task(task) => Claims::task(task.version),
            Message::Ready { round, task, .. } => Claims::task(task.version).and(*round),
            Message::Ballot(ballot) => Claims::epoch(ballot.run.epoch),
            Message::Lap(lap) => Claims::epoch(lap.run.epoch),
            Message::PreVote { epoch, list, .. } => Claims::list(*list).and(*epoch),
            Message::VoteRequest { epoch, list, lease, .. } => {
                Claims { lease: *lease, ..Claims::list(*list).and(*epoch) }
            }
            Message::Heartbeat(Heartbeat { epoch, settled, lease, pause, .. }) => {
                let claims = Claims { lease: *lease, ..Claims::list(*settled).and(*epoch) };
                claims.and_pause(pause.as_ref())
            }
            Message::Acknowledge { epoch, pause, .. } => {
                Claims::epoch(*epoch).and_pause(pause.as_ref())
            }
            Message::List { list } => Claims::list(list.version()),
            Message::Listed { version } => Claims::list(*version),
            Message::Reply { .. }
            | Message::Probe { .. }
            | Message::Alive { .. }
            | Message::Dead(_)
            | Message::Timing { .. }
            | Message::Forward { .. }
            | Message::Outcome { .. }
            | Message::Lock(_) => Claims::default(),
        }
    }
}
