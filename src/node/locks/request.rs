//! What programs of this process have the election thread do with names, and why it refuses.

use std::sync::Arc;
use std::time::Duration;

use crossbeam::channel::Sender;
use thiserror::Error;

use super::order::LockOrder;
use crate::config::LocksConfig;
use crate::core::locks::periods::OncePer;
use crate::core::locks::recurring::MOST_ONCE;
use crate::core::locks::table::LockName;
use crate::core::locks::word::LockWant;
use crate::node::command::CommandError;
use crate::node::leadership::Feed;

/// The most names that one member wants.
pub const MOST_WANTED: usize = 10_000;

/// Why a member does not take a name into those that it wants.
///
/// ```
/// use electd::node::locks::LockRefused;
///
/// let why = LockRefused::QuorumNone.to_string();
/// assert_eq!(why, "locks need `\"quorum\": \"majority\"`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LockRefused {
    /// The cluster works without a majority.
    #[error("locks need `\"quorum\": \"majority\"`")]
    QuorumNone,
    /// Somebody has this node want the name already.
    #[error("this node wants the lock already: one program at a time waits for a name on a node")]
    Wanted,
    /// The configuration declares all names, and not this one.
    #[error("the configuration declares no such lock, and has `\"names\": \"declared\"`")]
    Undeclared,
    /// This member is not among those that may hold it.
    #[error("this member is not in `only` of the lock in the configuration")]
    NotAllowed,
    /// There are as many names as there may be.
    #[error("there are {most} locks already, which is `most` in the configuration")]
    Most {
        /// That number.
        most: usize,
    },
    /// The member wants as many names as it may.
    #[error("this node wants {MOST_WANTED} locks already, which is the most")]
    TooMany,
    /// The member wants as many names once in each period as it may.
    #[error("this node wants {MOST_ONCE} locks once in each period already, which is the most")]
    TooManyOnce,
    /// The node is stopping, or has ended.
    #[error("this node is stopping")]
    Stopping,
    /// The election thread did not answer in time.
    #[error("this node did not answer in time")]
    Unanswered,
}

/// What programs have the election thread do with names.
#[derive(Debug)]
pub enum LockRequest {
    /// The member wants this name from now on, under a number.
    Want {
        number: u64,
        name: LockName,
        want: LockWant,
        once: Option<OncePer>,
        answer: Sender<Result<Arc<Feed>, LockRefused>>,
    },
    /// It wants the name of this number no more.
    Unwant { number: u64 },
    /// The giving back of the name of this number is delayed for at most this long, until the hold of another number ends.
    Hold { number: u64, hold: u64, most: Duration, held: Sender<()> },
    /// That hold ends.
    LetGo { number: u64, hold: u64 },
    /// The name goes back, for another candidate; this member is behind the others for this long.
    GiveBack { number: u64, behind: Duration },
    /// The run for which the member held the name of this number ended with this code: the name goes back.
    EndRun { number: u64, code: u8, behind: Duration },
    /// The configuration was read again.
    Configure { config: LocksConfig, done: Sender<()> },
    /// An operator has the locks spread anew.
    Rebalance { timeout: Duration, answer: Sender<Result<String, CommandError>> },
    /// An operator's order.
    Order {
        name: LockName,
        order: LockOrder,
        timeout: Duration,
        answer: Sender<Result<String, CommandError>>,
    },
}
