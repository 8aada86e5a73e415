//! The settings that a cluster agreed on before it started: the part of the configuration that the core needs.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantArray};

use super::death::{DeathCertificate, DeathHash};
use super::membership::MemberList;
use super::protocol::Protocols;
use super::types::{NodeId, Rank};

/// The election algorithm that nominates a leader.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Deserialize,
    Eq,
    Hash,
    IntoStaticStr,
    PartialEq,
    Serialize,
    VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum AlgorithmKind {
    /// The bully of seeds 000, 001, 003 and 004.
    #[default]
    Bully,
    /// Garcia-Molina's bully with halt and reorganization (seed 002).
    Halting,
    /// The ring of Chang and Roberts with several initiators and repair (seed 004).
    Ring,
}

impl AlgorithmKind {
    /// All algorithms.
    pub const ALL: [AlgorithmKind; AlgorithmKind::VARIANTS.len()] =
        match AlgorithmKind::VARIANTS.first_chunk() {
            Some(all) => *all,
            None => unreachable!(),
        };

    /// Whether the leader hands all members a task when it comes to lead (seed 002: the reorganization).
    pub const fn hands_out_tasks(self) -> bool {
        matches!(self, AlgorithmKind::Halting)
    }

    /// Whether the others pass over a member that comes and goes. With halting one that is passed over is not taken
    /// in either.
    pub const fn passes_over(self) -> bool {
        !matches!(self, AlgorithmKind::Halting)
    }
}

/// The attribute that members are ranked by (seed 004: "highest id, highest ip addr, fastest cpu, most disk space,
/// most num of files, etc.").
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Deserialize,
    Eq,
    Hash,
    IntoStaticStr,
    PartialEq,
    Serialize,
    VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum RankKind {
    /// None: the id alone.
    #[default]
    Id,
    /// A number that the configuration gives each member.
    Priority,
    /// The IP address.
    Address,
    /// The number of cores times their clock.
    Cpu,
    /// The free space of a file system.
    Disk,
    /// The number of files in a folder.
    Files,
    /// A number that a program prints.
    Command,
}

impl RankKind {
    /// Whether a member's value may change while it runs, so that no other member can know it.
    pub fn changes(self) -> bool {
        matches!(self, RankKind::Cpu | RankKind::Disk | RankKind::Files | RankKind::Command)
    }
}

/// The guarantee if the network splits.
#[derive(
    Clone, Copy, Debug, Deserialize, Eq, Hash, IntoStaticStr, PartialEq, Serialize, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Quorum {
    /// The model of the seeds: available down to one live member; a leader on each side of a partition.
    None,
    /// At most one leader at any instant: it needs more than half of the voters to lead, and to keep leading. (I4)
    Majority,
}

impl Quorum {
    /// Both modes.
    pub const ALL: [Quorum; 2] = [Quorum::None, Quorum::Majority];
}

/// Whether a higher member takes over from a live lower leader. Status and logs show it by these words.
#[derive(Clone, Copy, Debug, Default, Deserialize, Display, Eq, Hash, PartialEq, Serialize)]
#[strum(serialize_all = "snake_case")]
pub enum Preempt {
    /// Immediately, every time: the bully's own rule.
    #[default]
    Always,
    /// Not while the leader lives.
    Never,
    /// After being eligible without a break for this long; longer for one that flaps.
    #[strum(to_string = "after {0:?}")]
    After(Duration),
}

/// By how much the value of a member's rank must exceed the leader's before the member preempts it. Otherwise two
/// members with nearly equal values would take turns, as their values change.
#[derive(Clone, Copy, Debug, Deserialize, Display, Eq, Hash, PartialEq, Serialize)]
pub enum Margin {
    /// By more than this; with 0 the greater rank preempts.
    #[strum(to_string = "{0}")]
    Amount(u64),
    /// By more than this percentage of the leader's value.
    #[strum(to_string = "{0}%")]
    Percent(u32),
}

impl Margin {
    /// The greater rank preempts.
    pub const NONE: Margin = Margin::Amount(0);

    /// Whether the greater rank preempts, however little it exceeds the other.
    pub fn is_none(self) -> bool {
        matches!(self, Margin::Amount(0) | Margin::Percent(0))
    }

    /// Whether a rank exceeds a leader's by more than this.
    pub fn is_exceeded(self, rank: Rank, leader: Rank) -> bool {
        let (value, leads) = (i128::from(rank.value), i128::from(leader.value));
        match self {
            _ if self.is_none() => rank > leader,
            Margin::Amount(amount) => value - leads > i128::from(amount),
            Margin::Percent(percent) => (value - leads) * 100 > leads.abs() * i128::from(percent),
        }
    }
}

/// What a leader does if its health check fails while no other member may lead.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    Deserialize,
    Eq,
    Hash,
    IntoStaticStr,
    PartialEq,
    Serialize,
    VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Alone {
    /// It keeps leading: an unhealthy leader is better than none.
    #[default]
    Lead,
    /// It steps down: no leader is better than an unhealthy one.
    StepDown,
}

/// The timings, all derived from `failure` unless given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Timing {
    /// The interval of the leader's heartbeats.
    pub heartbeat: Duration,
    /// The silence after which a member is suspected.
    pub failure: Duration,
    /// The longest that one message takes, its processing included.
    pub message: Duration,
    /// With a majority: for how long a voter promises to vote for no other candidate.
    pub lease: Duration,
}

impl Timing {
    /// The longest that any of them may be. A longer one is a typing mistake, or a lie.
    pub const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

    /// All of them in nanoseconds, as members send them: heartbeat, failure, message, lease.
    pub fn nanos(&self) -> [u64; 4] {
        [self.heartbeat, self.failure, self.message, self.lease]
            .map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
    }

    /// T1: how long a member waits for an ANSWER, two messages.
    pub fn t1(&self) -> Duration {
        self.message * 2
    }

    /// T2: how long a member that got an ANSWER waits for a COORDINATOR, counted from the start of its election.
    /// Twice T1 and four messages; a shorter one multiplies the messages.
    pub fn t2(&self) -> Duration {
        self.t1() * 2 + self.message * 4
    }

    /// A member that missed its turn for longer than this was stalled and counts itself as failed: two messages
    /// before the others may have replaced it.
    pub fn stall(&self) -> Duration {
        self.failure.saturating_sub(self.message * 2)
    }
}

/// The longest promise, as a multiple of this voter's own lease: a member with a longer lease has a wrong file or
/// lies, and would bind this voter for as long, restarts included.
pub const LONGEST_PROMISE: u32 = 16;

/// What a member does when it starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PowerOn {
    /// Look for a leader, then call an election: "when a process P recovers from failure".
    #[default]
    Elect,
    /// Wait to be asked or drawn in, for simulated scenarios that choose their initiators.
    Wait,
}

/// The input of [`Core::new`](super::Core::new).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settings {
    /// The cluster's name; members of another cluster are refused.
    pub cluster: String,
    pub id: NodeId,
    /// A number drawn at this process's start, which tells two processes with one id apart.
    pub instance: u64,
    /// The versions of the protocol that this member speaks.
    pub protocols: Protocols,
    /// All members by the file, this one included; a record may say otherwise: see
    /// [`restart`](super::restart::restart).
    pub members: Arc<MemberList>,
    pub algorithm: AlgorithmKind,
    pub quorum: Quorum,
    /// Whether a higher member takes over.
    pub preempt: Preempt,
    /// The attribute that members are ranked by.
    pub rank: RankKind,
    /// By how much a rank must exceed the leader's before its member preempts.
    pub margin: Margin,
    /// This member's attribute at its start; without one it is ineligible until it has one.
    pub value: Option<i64>,
    /// If this member has a health check: what it does as leader if the check fails and no other member may lead. It
    /// is ineligible before the check has passed once.
    pub health: Option<Alone>,
    /// Ring: the run of a greater initiator ends that of a lesser one (seed 004). Without it the ring is that of
    /// Chang and Roberts, for comparison in the simulator.
    pub hierarchy: bool,
    pub timing: Timing,
    /// The hash of the secret that proves the end of this incarnation; none of a process that is to have no coroner.
    pub death: Option<DeathHash>,
    /// A certificate that a coroner handed over to this process at its start: of this member's earlier incarnation, or of the
    /// member that had its address.
    pub buried: Option<DeathCertificate>,
    /// Without a majority: whether a refused redial proves a death.
    pub trust_refused: bool,
    /// With a majority: whether this member may vote although its store is empty and it has not met all other voters.
    /// For the first start of a cluster.
    pub bootstrap: bool,
    pub power_on: PowerOn,
}

impl Settings {
    /// A voter of a bully cluster with a majority, whose members rank by their ids: the settings that most runs share.
    pub fn new(cluster: &str, id: NodeId, members: Arc<MemberList>, timing: Timing) -> Settings {
        Settings {
            cluster: cluster.to_owned(),
            id,
            instance: 0,
            protocols: Protocols::OURS,
            members,
            algorithm: AlgorithmKind::Bully,
            quorum: Quorum::Majority,
            preempt: Preempt::Always,
            rank: RankKind::Id,
            margin: Margin::NONE,
            value: None,
            health: None,
            hierarchy: true,
            timing,
            death: None,
            buried: None,
            trust_refused: false,
            bootstrap: false,
            power_on: PowerOn::Elect,
        }
    }

    /// Without a majority: whether a refused redial proves a death. A firewall can forge it: with a majority it proves nothing. (D4)
    pub fn trusts_refusals(&self) -> bool {
        self.trust_refused && self.quorum == Quorum::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_exceeded_by_more_than_itself() {
        let rank = |value| Rank { value, id: NodeId::default() };
        for (margin, leader, exceeds, not) in [
            (Margin::Percent(10), 1000, 1101, 1100),
            (Margin::Percent(10), -1000, -899, -900),
            (Margin::Percent(10), 0, 1, 0),
            (Margin::Amount(5), 7, 13, 12),
            (Margin::Amount(1 << 63), i64::MIN, 1, 0),
            (Margin::NONE, 7, 8, 7),
            (Margin::Percent(0), 7, 8, 7),
        ] {
            let is_exceeded = |value| margin.is_exceeded(rank(value), rank(leader));
            assert!(is_exceeded(exceeds) && !is_exceeded(not), "{margin}");
        }
    }

    #[test]
    fn of_equal_values_the_greater_id_preempts_only_without_a_margin() {
        let rank = |id| Rank { value: 3, id: NodeId(uuid::Uuid::from_u128(id)) };
        assert!(Margin::NONE.is_exceeded(rank(2), rank(1)));
        assert!(!Margin::Amount(1).is_exceeded(rank(2), rank(1)));
    }
}
