//! What is still to happen in a simulated world, in the order in which it will.

use std::collections::BTreeMap;

use super::jobs::JobEvent;
use super::transit::Transit;
use crate::core::Input;
use crate::core::types::Time;

/// Something that is to happen. Small, as a million of them may be moved about.
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
        input: Box<Input>,
    },
    /// The write of a node's disk is done.
    Written {
        /// The node.
        node: usize,
        /// The life of its process that wants to know.
        life: u64,
    },
    /// Something happens to the job of a node.
    Job {
        /// The node.
        node: usize,
        /// The life of its process that this is meant for.
        life: u64,
        /// The job that this is meant for.
        number: u64,
        /// What happens.
        what: JobEvent,
    },
    /// Something moves on in the network.
    Transit(Transit),
}

/// The events to come, by when they are due; of one time the first that was noted is the first.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    events: BTreeMap<(Time, u64), Event>,
    noted: u64,
}

impl Agenda {
    pub fn note(&mut self, at: Time, event: Event) {
        self.noted += 1;
        self.events.insert((at, self.noted), event);
    }

    /// When the next event is due.
    pub fn next(&self) -> Option<Time> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    pub fn take(&mut self) -> Option<(Time, Event)> {
        self.events.pop_first().map(|((at, _), event)| (at, event))
    }
}
