//! Two leaders at once: what a leader notes when it meets another, as after a partition in mode
//! none.
//!
//! Only leaders can tell: the one that steps down, as it hears of the other; and the one that stays,
//! if it heard the other before that stepped down. A follower that hears of a second leader cannot
//! know whether the first still leads: its RELEASE may be under way on another connection.

use std::time::Duration;

use super::types::{Epoch, NodeId, Time};

/// Another leader that a leader met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// The other leader.
    pub other: NodeId,
    /// The epoch that it led in.
    pub theirs: Epoch,
    /// The epoch that this member led in.
    pub own: Epoch,
    /// When they met.
    pub met: Time,
    /// How long both led in these epochs, at most: one of them steps down within a `message`'s time
    /// from then.
    pub lasted: Duration,
}
