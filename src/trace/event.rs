//! Events as values, for drawings.

use crate::core::Phase;
use crate::core::types::Time;

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened.
    pub time: Time,
    /// The receiver, by its place among the members.
    pub node: usize,
    /// What happened.
    pub what: What,
}

/// An event at a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It sends a message.
    Sends {
        /// The place of the receiver.
        to: usize,
        /// The message, in few words.
        label: String,
        /// When it arrives.
        arrives: Time,
        /// Whether no member is there to take it.
        lost: bool,
    },
    /// Its phase changes.
    Becomes {
        /// The phase after.
        phase: Phase,
        /// The phase in few words.
        label: String,
    },
    /// Its process is gone.
    Dies,
}
