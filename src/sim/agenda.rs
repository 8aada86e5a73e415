//! What is still to happen in a simulated world, in the order in which it will.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

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
    /// Something moves on in the network.
    Transit(Transit),
}

/// An event and when it is due: the earliest is the greatest, and of one time the first that was
/// noted.
#[derive(Debug)]
struct Due {
    order: Reverse<(Time, u64)>,
    event: Event,
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        self.order.cmp(&other.order)
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.order == other.order
    }
}

impl Eq for Due {}

/// The events to come.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    events: BinaryHeap<Due>,
    noted: u64,
}

impl Agenda {
    pub fn note(&mut self, at: Time, event: Event) {
        self.noted += 1;
        let order = Reverse((at, self.noted));
        self.events.push(Due { order, event });
    }

    /// When the next event is due.
    pub fn next(&self) -> Option<Time> {
        self.events.peek().map(|due| due.order.0.0)
    }

    pub fn take(&mut self) -> Option<(Time, Event)> {
        self.events.pop().map(|due| (due.order.0.0, due.event))
    }
}
