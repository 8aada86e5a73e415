//! Events as values and in words, for drawings.

use std::time::Duration;

use crate::core::Phase;
use crate::core::message::Kind;
use crate::core::types::Time;

/// Something that is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawnEvent {
    /// When it happened.
    pub time: Time,
    /// The member to which it happened, by its place among the members.
    pub node: usize,
    /// What happened.
    pub what: DrawnWhat,
    /// The events that brought it about, by their places in the list: all are earlier in it. Empty where an operator,
    /// a clock that nothing drawn has set, or chance did.
    pub causes: Vec<usize>,
}

/// An event at a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DrawnWhat {
    /// It sends a message.
    Sends {
        /// The place of the receiver.
        to: usize,
        /// The message.
        message: Caption,
        /// When it arrives, or would have.
        arrives: Time,
        /// Whether no member took it.
        lost: bool,
        /// The end of it that nobody recorded, if it is of live nodes.
        unseen: Option<Unseen>,
    },
    /// Its phase changes.
    Becomes {
        /// The phase after.
        phase: Phase,
        /// The phase in few words.
        label: String,
        /// The reason, as a sentence.
        reason: String,
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

/// A message as a drawing shows it. Readers count and choose messages by their kind; the words are for people alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caption {
    /// Its kind; none if a later version sent it, whose kinds this one does not know.
    pub kind: Option<Kind>,
    /// The round or epoch that it is about; none if it is about none.
    pub number: Option<u64>,
    /// It in few words.
    pub label: String,
}

/// The end of a message that nobody recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// Its sender's record is missing: when it was sent is not known.
    Departure,
    /// Its receiver's record is missing: whether it arrived is not known.
    Arrival,
}

impl Unseen {
    /// The word for it in JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Unseen::Departure => "departure",
            Unseen::Arrival => "arrival",
        }
    }
}

impl DrawnWhat {
    /// Its kind in JSON.
    pub(super) fn name(&self) -> &'static str {
        match self {
            DrawnWhat::Sends { .. } => "sends",
            DrawnWhat::Becomes { .. } => "becomes",
            DrawnWhat::Waited { .. } => "waited",
            DrawnWhat::Led => "led",
            DrawnWhat::Starts => "starts",
            DrawnWhat::Dies => "dies",
            DrawnWhat::Suffers(_) => "suffers",
        }
    }

    /// The kind of the message, if it sends one.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        if let DrawnWhat::Sends { message, .. } = self { message.kind } else { None }
    }

    /// What is written beside it.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            DrawnWhat::Sends { message, .. } => &message.label,
            DrawnWhat::Becomes { label, .. }
            | DrawnWhat::Waited { label, .. }
            | DrawnWhat::Suffers(label) => label,
            DrawnWhat::Led => "old leader",
            DrawnWhat::Starts => "starts",
            DrawnWhat::Dies => "dies",
        }
    }
}

impl DrawnEvent {
    /// What happened in words, without the member's name, for members of these names: "sends ELECTION 1 to node-2".
    #[must_use]
    pub fn sentence(&self, names: &[String]) -> String {
        match &self.what {
            DrawnWhat::Sends { to, message, lost, unseen, .. } => {
                let to = names.get(*to).map_or("?", String::as_str);
                let more = match unseen {
                    _ if *lost => ", which does not take it",
                    None => "",
                    Some(Unseen::Arrival) => ", which did not record whether it arrived",
                    Some(Unseen::Departure) => ", which alone recorded it",
                };
                format!("sends {} to {to}{more}", message.label)
            }
            DrawnWhat::Becomes { label, reason, .. } => format!("{label}: {reason}"),
            DrawnWhat::Waited { label, .. } => format!("has waited for {label}"),
            DrawnWhat::Led => "led until now".to_owned(),
            DrawnWhat::Starts | DrawnWhat::Dies | DrawnWhat::Suffers(_) => {
                self.what.label().to_owned()
            }
        }
    }
}

/// In a time longer than this nothing happens: longer than two messages take on average.
#[must_use]
pub fn gap(events: &[DrawnEvent]) -> Duration {
    let travels = events.iter().filter_map(|event| match &event.what {
        DrawnWhat::Sends { arrives, .. } => Some(arrives.since(event.time)),
        _ => None,
    });
    let (count, total) =
        travels.fold((0, Duration::ZERO), |(count, total), time| (count + 1, total + time));
    if count == 0 { Duration::MAX } else { total * 2 / count }
}
