//! The events that are drawn of a run.

use std::collections::{BTreeMap, VecDeque};

use crate::core::types::Time;
use crate::trace::{Event, What};

/// The waits of a member for an ANSWER and for a leader: since when, and until when by its clock.
type Waits = [Option<(Time, Time)>; 2];

/// The events that are drawn so far.
#[derive(Debug, Default)]
pub(super) struct Drawing {
    events: Vec<Event>,
    waits: BTreeMap<usize, Waits>,
    /// By sender and receiver: the messages that no member has taken yet, by their places among the events.
    under_way: BTreeMap<(usize, usize), VecDeque<usize>>,
}

impl Drawing {
    /// Adds an event. A message is lost until a member takes it.
    pub fn add(&mut self, event: Event) {
        if let What::Sends { to, .. } = event.what {
            self.under_way.entry((event.node, to)).or_default().push_back(self.events.len());
        }
        self.events.push(event);
    }

    /// A member takes a message of this label: those that were sent before it on that way and did not arrive are lost.
    pub fn arrive(&mut self, now: Time, from: usize, to: usize, label: &str) {
        let Some(queue) = self.under_way.get_mut(&(from, to)) else { return };
        let found = queue.iter().position(|at| self.events[*at].what.label() == label);
        let Some(found) = found else { return }; // a copy
        let at = queue.drain(..=found).next_back();
        if let Some(Event { what: What::Sends { arrives, lost, .. }, .. }) =
            at.and_then(|at| self.events.get_mut(at))
        {
            (*arrives, *lost) = (now, false);
        }
    }

    /// Since when a member has waited, for each of its waits that is over by its clock.
    pub fn ended(&self, node: usize, clock: Time) -> [Option<Time>; 2] {
        let waits = self.waits.get(&node).copied().unwrap_or_default();
        waits.map(|wait| wait.filter(|(_, due)| *due <= clock).map(|(since, _)| since))
    }

    /// Notes until when a member waits after its turn.
    pub fn note_waits(&mut self, now: Time, node: usize, due: [Option<Time>; 2]) {
        let waits = self.waits.entry(node).or_default();
        for (wait, due) in waits.iter_mut().zip(due) {
            if wait.map(|(_, known)| known) != due {
                *wait = due.map(|due| (now, due));
            }
        }
    }

    /// All events until this time. A message that would arrive later is neither lost nor taken.
    pub fn finish(self, end: Time) -> Vec<Event> {
        let is_open = |event: &Event| matches!(event.what, What::Sends { lost: true, arrives, .. } if arrives > end);
        self.events.into_iter().filter(|event| !is_open(event)).collect()
    }
}
