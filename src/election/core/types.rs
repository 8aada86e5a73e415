//! The nouns of the protocol: ids, ranks, epochs, incarnations and time.
//!
//! All are plain values that compare by their content, so that a state of the core can be
//! cloned, hashed and compared by the simulator and by a model checker.

use std::fmt;
use std::ops::{Add, RangeInclusive};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};
use uuid::Uuid;

use super::stand_in;

/// A member's identity for life: a version 4 UUID, compared as unsigned bytes (seed 000, note 1). (I1)
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(remote = "Self")]
pub struct NodeId(pub Uuid);

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The value that members are compared by: first the attribute, then the id, so that of equal values the greater id
/// leads.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(remote = "Self")]
pub struct Rank {
    /// The attribute's value; 0 for all if the rank is the id alone.
    pub value: i64,
    /// The member that has it.
    pub id: NodeId,
}

impl Rank {
    /// The value of a member that has none: it ranks below every other.
    pub const NO_VALUE: i64 = i64::MIN;
    /// The value of a member that an operator chose to lead: it ranks above every other.
    pub const CHOSEN: i64 = i64::MAX;
    /// The values that a member may be given or may sample.
    pub const VALUES: RangeInclusive<i64> = Rank::NO_VALUE + 1..=Rank::CHOSEN - 1;

    /// Whether an operator chose this member to lead.
    pub fn is_chosen(self) -> bool {
        self.value == Rank::CHOSEN
    }
}

/// The number of a leadership. It grows with every election and is the fencing token.
///
/// An election in progress has a *round*, of the same type; the winner's round becomes its epoch.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(remote = "Self")]
pub struct Epoch(pub u64);

impl Epoch {
    #[must_use]
    pub fn next(self) -> Epoch {
        Epoch(self.0.saturating_add(1))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How often a member has been started; the first start is 1. It is durable before the first hello.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(remote = "Self")]
pub struct Incarnation(pub u64);

impl Incarnation {
    /// Above every start that can come: no later start of a member counts that lost what it had stored.
    pub const LOST: Incarnation = Incarnation(1 << 62);

    #[must_use]
    pub fn next(self) -> Incarnation {
        Incarnation(self.0.saturating_add(1))
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An instant, in nanoseconds since a start that only the caller knows (the boot of the machine, the start of a
/// simulation). The core compares and adds instants; it never reads a clock.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub u64);

impl Time {
    /// How long ago `earlier` was; zero if it is in the future.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, rhs: Duration) -> Time {
        let nanos = u64::try_from(rhs.as_nanos()).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(nanos))
    }
}

/// The task description of the halting algorithm: an opaque document that a coordinator hands to
/// every member (seed 002's upstream calls it the state of the system's work).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Task {
    /// Says which of two tasks is newer.
    pub version: TaskVersion,
    /// At most [`Task::LONGEST`] bytes; empty if none was given.
    #[serde(with = "stand_in")]
    pub content: Arc<[u8]>,
}

impl Task {
    /// The longest task, in bytes.
    pub const LONGEST: usize = 64 * 1024;

    /// A task that no coordinator has taken yet.
    pub fn new(content: impl Into<Arc<[u8]>>) -> Task {
        Task { version: TaskVersion::default(), content: content.into() }
    }

    /// This task as given to a member at its start, which had stored another task and this epoch: newer than the
    /// stored task, unless it is the same.
    pub fn given_over(self, stored: &Task, epoch: Epoch) -> Task {
        let same = self.content == stored.content;
        let version = if same { stored.version } else { stored.version.next(epoch) };
        Task { version, ..self }
    }
}

/// The version of a document that a leader hands to all: the member list, a task, or a pause. A file has the least
/// version, which no leader made.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(remote = "Self")]
pub struct Version {
    /// The epoch of the leader that made it.
    pub epoch: Epoch,
    /// Counts the changes.
    pub counter: u64,
}

impl Version {
    /// A greater version, made in this epoch.
    pub fn next(self, epoch: Epoch) -> Version {
        Version { epoch: epoch.max(self.epoch), counter: self.counter.saturating_add(1) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.counter)
    }
}

/// The version of a task.
pub type TaskVersion = Version;

/// The part of a member in the cluster.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
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
#[serde(remote = "Self")]
pub enum Role {
    /// Votes and may lead.
    #[default]
    Member,
    /// Votes and never leads.
    Witness,
    /// Follows; neither votes nor leads.
    Observer,
}

/// An operator's order that a member not lead, restarts included, until the operator undrains it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Drain {
    /// When it began, in milliseconds since 1970. The core only stores it.
    pub since: u64,
    /// When the drain ends by itself, if it does: the caller undrains the member then.
    pub until: Option<u64>,
    /// The operator's words, of at most [`Drain::LONGEST`] bytes; the caller limits them.
    pub reason: String,
}

impl Drain {
    /// The most bytes of a reason.
    pub const LONGEST: usize = 200;
}

/// Whether the cluster is paused: then no member preempts a live leader, and no leader hands over because of its
/// health. A leader sends the pause, and each member takes the greatest version that it hears.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(remote = "Self")]
pub struct Pause {
    /// Grows with each pause and each resume. The least belongs to a cluster that was never paused.
    pub version: Version,
    /// Whether it is paused, or was until a leader resumed it.
    pub paused: bool,
    /// When the pause began, or ended, in milliseconds since 1970. The core only stores this and `until`.
    pub since: u64,
    /// When the pause ends by itself, if it does: the leader's caller resumes the cluster then.
    pub until: Option<u64>,
}

/// The number of a command, by which the answer finds the caller that gave the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommandId(pub u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_given_is_newer_than_the_stored_one_unless_it_is_the_same() {
        let version = |epoch, counter| TaskVersion { epoch: Epoch(epoch), counter };
        let stored = Task { version: version(4, 2), ..Task::new(*b"stored") };
        assert_eq!(Task::new(*b"stored").given_over(&stored, Epoch(5)), stored);
        let newer = Task::new(*b"given").given_over(&stored, Epoch(5));
        assert_eq!((newer.version, &*newer.content), (version(5, 3), &b"given"[..]));
        let newer = Task::new(*b"given").given_over(&stored, Epoch(3));
        assert_eq!(newer.version, version(4, 3), "it was told of before its epoch");
        let newer = Task::new(*b"given").given_over(&Task::default(), Epoch(5));
        assert_eq!(newer.version, version(5, 1));
        assert!(version(5, 1) > version(4, 9), "a later coordinator knew more");
    }
}
