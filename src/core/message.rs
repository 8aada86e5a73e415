//! Every message that members exchange, with who sends it and which reply is expected.

use std::sync::Arc;
use std::time::Duration;

pub use super::command::{Done, Forwarded, Refusal, Taken};
pub use super::hello::{Agreement, Hello, Rejection};
pub use super::kind::Kind;
use super::membership::{ListVersion, MemberList};
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    Lower {
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
    /// Halting: asks whether a member is up and ranks above the sender; or whether the sender's coordinator is
    /// up and still that. This and the four calls below expect a [`Message::Reply`] with their number.
    AreYouThere {
        /// Tells the sender's calls apart.
        number: u64,
        /// The epoch under the coordinator that is asked; none for any other member.
        under: Option<Epoch>,
        /// The sender's rank, frozen for the round.
        rank: Rank,
        /// Whether the sender may be nominated.
        eligible: bool,
    },
    /// Halting: the coordinator asks whether a member is Normal under it.
    AreYouNormal {
        /// Tells the sender's calls apart.
        number: u64,
        /// The coordinator's epoch.
        epoch: Epoch,
    },
    /// Halting: the organizer of a new round has a lower member stop its work.
    Halt {
        /// Tells the sender's calls apart.
        number: u64,
        /// The round.
        round: Epoch,
        /// The organizer's rank.
        rank: Rank,
        /// The organizer leads and takes in members anew: higher ones obey as well, unless they
        /// may take over.
        incumbent: bool,
    },
    /// Halting: "I am elected" (New-Coordinator), to those that were halted.
    Elected {
        /// Tells the sender's calls apart.
        number: u64,
        /// The round, which becomes the epoch.
        round: Epoch,
        /// The version of the task that the sender has.
        task: TaskVersion,
    },
    /// Halting: a newer task than the one of an ELECTED, which this member accepts: sent before
    /// its reply, so that the newest is handed out. Expects nothing.
    Task(Task),
    /// Halting: the task description, to those that accepted the coordinator.
    Ready {
        /// Tells the sender's calls apart.
        number: u64,
        /// The round, which becomes the epoch.
        round: Epoch,
        /// What is to be done.
        task: Task,
    },
    /// Halting: the reply to a call.
    Reply {
        /// The number of the call.
        number: u64,
        /// Whether it was accepted; the yes or no to a question.
        accepted: bool,
    },
    /// Ring: the travelling ballot, to the next live member clockwise (ELECTION of seed 004).
    Ballot(Ballot),
    /// Ring: the winner's announcement, once around (ELECTED of seed 004).
    Lap(Lap),
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
    PreVote {
        /// Tells the candidate's questions apart.
        number: u64,
        /// The epoch that it would lead in.
        epoch: Epoch,
        /// The version of its member list.
        list: ListVersion,
    },
    /// Majority: the reply to a pre-vote.
    PreVoteReply {
        /// The number of the pre-vote.
        number: u64,
        /// What the voter would say to a vote request.
        opinion: Opinion,
        /// The greatest epoch that the voter knows of or has voted in.
        epoch: Epoch,
    },
    /// Majority: a candidate asks a voter for its vote. Expects [`Message::Vote`] or
    /// [`Message::Denial`].
    VoteRequest {
        /// Tells the candidate's questions apart.
        number: u64,
        /// The epoch that it would lead in.
        epoch: Epoch,
        /// For how long the vote is a promise.
        lease: Duration,
        /// The version of its member list.
        list: ListVersion,
    },
    /// Majority: the reply to a vote request: the voter votes for nobody else in this epoch.
    Vote {
        /// The candidate's incarnation.
        incarnation: Incarnation,
        /// The number of the vote request.
        number: u64,
        /// The epoch that the candidate may lead in.
        epoch: Epoch,
    },
    /// Majority: the reply to a vote request, or to the heartbeat of a leader that a voter must not
    /// follow any more.
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
        /// The leader's epoch.
        epoch: Epoch,
        /// Counts the leader's heartbeat rounds.
        number: u64,
        /// The leader's rank.
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
        /// Its number.
        number: u64,
        /// The sender's rank at this time.
        rank: Rank,
        /// Whether the sender may be nominated.
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
    /// Majority: a candidate tells a voter that the leader of this epoch released it: that leader's own
    /// word may still be on its way. Expects nothing.
    Freed {
        /// The leader.
        leader: NodeId,
        /// Its epoch.
        epoch: Epoch,
    },
    /// "I no longer lead in this epoch", or "I shall not lead after its leader", to all, after the work has stopped.
    Release {
        /// The epoch that is released.
        epoch: Epoch,
        /// Who is to start the next election; the others wait for it.
        successor: Option<NodeId>,
        /// Whether the sender may be nominated again.
        eligible: bool,
    },
    /// The sender has other timings from now on than its hello said. Expects nothing.
    Timing {
        /// As in [`Hello::timing`].
        timing: [u64; 4],
    },
    /// The member list, to whoever has an older one. Expects [`Message::Listed`].
    List {
        /// The whole list.
        list: Arc<MemberList>,
    },
    /// The reply to a list, once it is stored.
    Listed {
        /// Its version.
        version: ListVersion,
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

/// What a voter says to a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opinion {
    /// It votes for the candidate.
    Yes,
    /// It does so if the leader of this epoch releases it, or after so long.
    YesIf {
        /// The leader's epoch.
        released: Epoch,
        /// How long its promise still runs.
        wait: Duration,
    },
    /// It does not, for at least so long.
    No {
        /// For how long.
        wait: Duration,
    },
    /// It votes for nobody before it knows where the cluster stands; another try makes sense after so long.
    Uninformed {
        /// After how long.
        wait: Duration,
    },
}

impl Opinion {
    /// The same, with no longer a wait than this.
    #[must_use]
    pub fn at_most(self, longest: Duration) -> Opinion {
        match self {
            Opinion::Yes => Opinion::Yes,
            Opinion::YesIf { released, wait } => {
                Opinion::YesIf { released, wait: wait.min(longest) }
            }
            Opinion::No { wait } => Opinion::No { wait: wait.min(longest) },
            Opinion::Uninformed { wait } => Opinion::Uninformed { wait: wait.min(longest) },
        }
    }
}

/// A run of the ring election. Runs compare by epoch, then by initiator: the hierarchy of seed 004.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Run {
    /// The round, which becomes the epoch.
    pub epoch: Epoch,
    /// Who began it.
    pub initiator: NodeId,
}

/// Who a ballot nominates. Candidates compare by whether they are eligible, then by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Candidate {
    /// Whether it may be nominated; one that may not only begins a ballot.
    pub eligible: bool,
    /// Its rank, frozen for the run.
    pub rank: Rank,
    /// Which start of it this is.
    pub incarnation: Incarnation,
}

/// A ballot on its way around the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ballot {
    /// The run that it belongs to.
    pub run: Run,
    /// The best so far.
    pub candidate: Candidate,
    /// How often it has been sent.
    pub hops: u32,
}

/// The announcement of a ring's leader on its way around.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lap {
    /// The run that it won.
    pub run: Run,
    /// The leader.
    pub leader: Candidate,
    /// How often it has been sent.
    pub hops: u32,
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
    pub eligible: bool,
    /// The value of its rank.
    pub value: i64,
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
