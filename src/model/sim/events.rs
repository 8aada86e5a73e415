//! The events of the world, one after the other.

use super::agenda::SimulatedEvent;
use super::guards;
use super::named;
use super::transit;
use super::waiting;
use super::world::World;
use crate::core::types::Time;
use crate::core::{Core, Input};

impl World {
    /// Lets the next event happen, if there is one until then. Tells whether there was.
    pub fn step(&mut self, until: Time) -> bool {
        let Some(event) = self.next_event(until) else { return false };
        if let Some(event) = waiting::wait_for_process(self, event) {
            self.happen(event);
        }
        true
    }

    pub(super) fn happen(&mut self, event: SimulatedEvent) {
        match event {
            SimulatedEvent::Tick { node, incarnation } => self.tick(node, incarnation),
            SimulatedEvent::Input { node, incarnation, input }
                if self.nodes[node].alive(incarnation).is_some() =>
            {
                self.give(node, *input);
            }
            SimulatedEvent::Written { node, incarnation }
                if self.nodes[node].alive(incarnation).is_some() =>
            {
                self.written(node);
            }
            SimulatedEvent::Names { node, incarnation, input }
                if self.nodes[node].alive(incarnation).is_some() =>
            {
                named::happen(self, node, *input);
            }
            SimulatedEvent::Input { .. }
            | SimulatedEvent::Written { .. }
            | SimulatedEvent::Names { .. } => {}
            SimulatedEvent::Job { node, incarnation, number, what } => {
                guards::job_moves(self, (node, incarnation, number), what)
            }
            SimulatedEvent::Transit(transit) => transit::move_on(self, transit),
        }
    }

    /// Has a process told something now, or when its pause is over.
    pub fn tell_now(&mut self, node: usize, input: Input) {
        let incarnation = self.nodes[node].incarnation;
        if let Some(event) = waiting::wait_for_process(
            self,
            SimulatedEvent::Input { node, incarnation, input: Box::new(input) },
        ) {
            self.happen(event);
        }
    }

    fn tick(&mut self, node: usize, incarnation: u64) {
        if self.nodes[node].incarnation != incarnation || self.nodes[node].tick != Some(self.now) {
            return; // meant for an earlier process, or moved to an earlier time
        }
        if self.nodes[node].pause.is_some() {
            return;
        }
        self.nodes[node].tick = None;
        let due = self.nodes[node].core.as_ref().and_then(Core::deadline);
        if due.is_some_and(|due| due <= self.nodes[node].local(self.now)) {
            self.give(node, Input::Tick);
        } else {
            self.arm(node);
        }
    }

    pub(super) fn written(&mut self, node: usize) {
        let Some((number, goes_on)) = self.nodes[node].disk.done() else { return };
        self.compare_disk(node);
        if goes_on {
            self.write(node);
        }
        self.give(node, Input::Persisted { number });
    }
}
