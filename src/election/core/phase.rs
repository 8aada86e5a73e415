//! The phases of a member and the changes between them, each with its reason: the vocabulary that the log, the status
//! and the traces share.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{EnumDiscriminants, EnumString, IntoStaticStr, VariantArray};

use super::types::{Epoch, NodeId};

/// The phase of a member.
#[derive(
    Clone,
    Copy,
    Debug,
    Deserialize,
    Eq,
    Hash,
    IntoStaticStr,
    Ord,
    PartialEq,
    PartialOrd,
    Serialize,
    VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Phase {
    /// Just started, or failed and recovering: discovers the others and looks for a leader.
    Starting,
    /// Has asked the higher members and awaits an ANSWER; or takes part in a run of the ring.
    Electing,
    /// Awaits the outcome of an election, or the RELEASE of a leader that it takes over from.
    Waiting,
    /// Stopped its work for an organizer, and awaits the outcome of that organizer's election (halting only).
    Halted,
    /// Has a coordinator and awaits its task, or is that coordinator and hands the task out (halting only).
    Reorganizing,
    Following,
    Leading,
    /// Neither leads nor follows any more, and is about to end.
    Stopping,
}

impl Phase {
    /// Whether an election is in progress, or its outcome awaited.
    pub fn elects(self) -> bool {
        matches!(self, Phase::Electing | Phase::Waiting | Phase::Halted | Phase::Reorganizing)
    }

    /// Whether the member has a leader, itself or another: an election has ended.
    pub fn has_leader(self) -> bool {
        matches!(self, Phase::Following | Phase::Leading)
    }

    /// Whether the member has stopped its work for an organizer, itself or another.
    pub fn is_halted(self) -> bool {
        matches!(self, Phase::Halted | Phase::Reorganizing)
    }
}

/// The status of a node in Garcia-Molina's paper (seed 002).
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Hash, IntoStaticStr, Ord, PartialEq, PartialOrd, Serialize,
)]
#[strum(serialize_all = "snake_case")]
pub enum NodeStatus {
    /// Not taking part.
    Down,
    /// In an election.
    Election,
    /// Has a coordinator, but not its task yet.
    Reorganization,
    /// At work under its coordinator.
    Normal,
}

impl From<Phase> for NodeStatus {
    fn from(phase: Phase) -> NodeStatus {
        match phase {
            Phase::Starting | Phase::Stopping => NodeStatus::Down,
            Phase::Electing | Phase::Waiting | Phase::Halted => NodeStatus::Election,
            Phase::Reorganizing => NodeStatus::Reorganization,
            Phase::Following | Phase::Leading => NodeStatus::Normal,
        }
    }
}

/// One change of phase, leader or epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Transition {
    pub from: Phase,
    pub to: Phase,
    /// The leader that the member names afterwards.
    pub leader: Option<NodeId>,
    /// The epoch that it knows afterwards.
    pub epoch: Epoch,
    pub reason: Reason,
}

/// Why a member changed its phase.
///
/// A [`Cause`] is a reason without its members and times: one word for programs, such as `leader_dead`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumDiscriminants)]
#[strum_discriminants(
    name(Cause),
    derive(EnumString, Hash, IntoStaticStr),
    strum(serialize_all = "snake_case"),
    allow(missing_docs)
)]
pub enum Reason {
    /// All members are connected and none of them leads.
    AllConnected,
    /// No leader appeared during the wait at power-on.
    NobodyLeads,
    /// The leader's process is gone: its connection ended and refused a redial.
    LeaderDead(NodeId),
    /// The leader's process is gone: its coroner certified that.
    LeaderCertified(NodeId),
    /// The leader has been silent for too long.
    LeaderSuspected(NodeId),
    /// The connection to the leader ended, which by itself proves nothing.
    LeaderDisconnected(NodeId),
    /// The leader was removed from the cluster.
    LeaderRemoved(NodeId),
    /// The member list changed during the election.
    ListChanged,
    /// The leader came back as a new process, so the old one is gone.
    LeaderRestarted(NodeId),
    /// The leader handed over.
    LeaderReleased(NodeId),
    /// The member to which the leader handed over is not eligible any more.
    Declined(NodeId),
    /// An operator called an election.
    Asked,
    /// A lower member announced an election.
    Joined(NodeId),
    /// A higher member is alive.
    Answered(NodeId),
    /// The member that answered is gone.
    AnswererLost,
    /// The member that was expected to lead did not lead in time.
    NoCoordinator,
    /// No other member can lead, and this member is not eligible.
    MayNotLead,
    /// No member could lead, and this member may by now.
    Eligible,
    /// No eligible member ranks higher.
    Highest,
    /// No member that ranks higher answered.
    NoAnswer,
    /// A member that ranks higher appeared during the election.
    Appeared(NodeId),
    /// A greater epoch began during the election.
    Overtaken,
    /// A leader announced itself, or another member reported it.
    Announced(NodeId),
    /// A leader announced itself in an epoch that is not durable here yet.
    Storing(NodeId),
    /// A lower member leads; this one asked it to hand over.
    TakingOver(NodeId),
    /// A leader with a greater epoch exists.
    Overruled(NodeId),
    /// The disk has not written for a long time what an election waits for.
    DiskLags,
    /// Without a majority: this member has a list of a later epoch.
    LaterList(NodeId),
    /// Another leader was met in the same epoch.
    SameEpoch(NodeId),
    /// A higher member asked this one to hand over.
    Preempted(NodeId),
    /// An operator asked the leader to hand over.
    Resigned,
    /// An operator had the leader hand over to this member, whatever its rank.
    SwitchedOver(NodeId),
    /// An operator drained the leader.
    Drained,
    /// The health check of the leader failed.
    Unhealthy,
    /// The member missed its turn for this long: stalled, suspended or starved.
    Stalled(Duration),
    /// This member's rank rose above that of the leader, which it asked to hand over.
    Outranks(NodeId),
    /// A higher member halts all for its round.
    HaltedBy(NodeId),
    /// The leader is alive but does not lead any more.
    LeaderGaveUp(NodeId),
    /// The member that halted this one is gone.
    HalterLost(NodeId),
    /// The organizer was elected, and hands out the task.
    Organized(NodeId),
    /// All lower members are in a known state: this member hands out the task.
    AllHalted,
    /// A member did not accept this organizer in time, or refused it.
    NotAccepted,
    /// All members have the task.
    AllReady,
    /// The coordinator found a member that is not Normal, and takes it in.
    NotNormal(NodeId),
    /// A live leader will take this member in.
    ToBeTakenIn(NodeId),
    /// The coordinator has a new task to hand out.
    NewTask,
    /// The ballot came back around the ring.
    BallotBack,
    /// The ballot was lost, or its candidate was.
    BallotLost,
    /// With a majority: enough voters would vote for this member.
    MajorityAgrees,
    /// With a majority: so many voters are bound to a leader for this time that the others are too few.
    NoMajority(Duration),
    /// With a majority: too few voters would vote for this member, whether bound to a leader or not; they may after
    /// this time.
    Refused(Duration),
    /// With a majority: too few voters answer.
    Isolated,
    /// With a majority: this member's store was empty, and it has not met these voters.
    Uninformed(Vec<NodeId>),
    /// With a majority: the stores of these voters were empty, and each has not met all others.
    VotersUninformed(Vec<NodeId>),
    /// With a majority: not enough voters acknowledged this leader in time.
    LeaseEnded,
    /// With a majority: the voters had voted for another candidate in a greater epoch, but it did not win; so this
    /// leader took a still greater epoch.
    Reclaimed,
    /// The process is stopping.
    Stopped,
    /// This member was removed from the cluster.
    Removed,
    /// The job of the leader failed, so that the leader stands back.
    JobFailed,
}

impl Cause {
    /// The word for it, which is part of electd's interface.
    ///
    /// ```
    /// use electd_election::core::Cause;
    ///
    /// assert_eq!(Cause::LeaderDead.name(), "leader_dead");
    /// assert_eq!("leader_dead".parse(), Ok(Cause::LeaderDead));
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl Reason {
    /// Whether it says what keeps the members from electing a leader. The begin of the next try does not.
    #[must_use]
    pub fn hinders(&self) -> bool {
        matches!(
            self,
            Reason::Uninformed(_)
                | Reason::VotersUninformed(_)
                | Reason::Isolated
                | Reason::NoMajority(_)
                | Reason::Refused(_)
                | Reason::MayNotLead
                | Reason::NoCoordinator
                | Reason::DiskLags
        )
    }
}
