//! What is still to happen in a simulated world, in the order in which it will.

use std::collections::BTreeMap;

use super::transit::Transit;
use crate::core::Input;
use crate::core::types::Time;

/// Something that is to happen.
#[derive(Clone, Debug)]
pub(super) enum Event {
    /// A node's deadline may have come.
    Tick {
        /// The node.
        node: usize,
        /// The life of its process that this is meant for.
        life: u64,
    },
    /// An input for a process, if it lives to see it.
    Input {
        /// The node.
        node: usize,
        /// The life of its process that this is meant for.
        life: u64,
        /// What it is told.
        input: Input,
    },
    /// The write of a node's disk is done.
    Written {
        /// The node.
        node: usize,
        /// The life of its process that wants to know.
        life: u64,
    },
    /// Something moves on in the network.
    Transit(Transit),
}

/// The events to come, by time and, at one time, in the order in which they were noted. They are
/// boxed, as they are large and moved about.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    events: BTreeMap<(Time, u64), Box<Event>>,
    noted: u64,
}

impl Agenda {
    pub fn note(&mut self, at: Time, event: Event) {
        self.noted += 1;
        self.events.insert((at, self.noted), Box::new(event));
    }

    /// When the next event is due.
    pub fn next(&self) -> Option<Time> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    pub fn take(&mut self) -> Option<(Time, Box<Event>)> {
        self.events.pop_first().map(|((at, _), event)| (at, event))
    }
}
