//! Events as values, for drawings.

use std::time::Duration;

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
        /// When it arrives, or would have.
        arrives: Time,
        /// Whether no member took it.
        lost: bool,
    },
    /// Its phase changes.
    Becomes {
        /// The phase after.
        phase: Phase,
        /// The phase in few words.
        label: String,
    },
    /// It stops to wait, as its time is over.
    Waited {
        /// Since when it waited.
        since: Time,
        /// The wait in few words.
        label: String,
    },
    /// It led before the run.
    Led,
    /// Its process starts.
    Starts,
    /// Its process is gone.
    Dies,
    /// Something else that happens to it, in few words.
    Suffers(String),
}

impl What {
    /// What is written beside it.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            What::Sends { label, .. } | What::Becomes { label, .. } => label,
            What::Waited { label, .. } | What::Suffers(label) => label,
            What::Led => "old leader",
            What::Starts => "starts",
            What::Dies => "dies",
        }
    }
}

/// In a time longer than this nothing happens: longer than two messages take on average.
#[must_use]
pub fn gap(events: &[Event]) -> Duration {
    let travels = events.iter().filter_map(|event| match &event.what {
        What::Sends { arrives, .. } => Some(arrives.since(event.time)),
        _ => None,
    });
    let (count, total) =
        travels.fold((0, Duration::ZERO), |(count, total), time| (count + 1, total + time));
    if count == 0 { Duration::MAX } else { total * 2 / count }
}
