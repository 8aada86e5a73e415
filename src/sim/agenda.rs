//! What is still to happen in a simulated world, in the order in which it will.

use std::collections::{BTreeMap, VecDeque};

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

/// The events to come, by time and, at one time, in the order in which they were noted.
#[derive(Debug, Default)]
pub(super) struct Agenda(BTreeMap<Time, VecDeque<Event>>);

impl Agenda {
    pub fn note(&mut self, at: Time, event: Event) {
        self.0.entry(at).or_default().push_back(event);
    }

    /// When the next event is due.
    pub fn next(&self) -> Option<Time> {
        self.0.first_key_value().map(|(at, _)| *at)
    }

    pub fn take(&mut self) -> Option<(Time, Event)> {
        let mut first = self.0.first_entry()?;
        let (at, event) = (*first.key(), first.get_mut().pop_front()?);
        if first.get().is_empty() {
            first.remove();
        }
        Some((at, event))
    }
}
