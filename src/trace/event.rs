//! What happened as values, for drawings.

use crate::core::Phase;
use crate::core::types::Time;

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it happened.
    pub time: Time,
    /// To whom, by its place among the members.
    pub node: usize,
    /// What happened.
    pub what: What,
}

/// What happened to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// It sends a message.
    Sends {
        /// The place of the receiver.
        to: usize,
        /// What it sends, in few words.
        label: String,
        /// When it arrives.
        arrives: Time,
        /// Whether nobody is there to take it.
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
