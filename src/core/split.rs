//! Two leaders at once: what a leader notes when it meets another, as after a partition in mode none.
//!
//! Only leaders can notice it: the one that steps down, when it hears of the other; and the one that stays, if it
//! heard the other before that stepped down. A follower that hears of a second leader cannot know whether the first
//! still leads: its RELEASE may be on its way on another connection.

use std::time::Duration;

use super::types::{Epoch, NodeId, Time};

/// Another leader that a leader met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// The other leader.
    pub other: NodeId,
    /// The epoch of the other leader.
    pub theirs: Epoch,
    /// The epoch of this leader.
    pub own: Epoch,
    /// When they met.
    pub met: Time,
    /// How long both led in these epochs, at most: one of them steps down within a `message`'s time from then.
    pub lasted: Duration,
}
