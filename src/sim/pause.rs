//! A process that does nothing for a while, and a clock that steps.

use std::time::Duration;

use super::agenda::Event;
use super::counters::Counter;
use super::node::{Node, Pause};
use super::world::World;

impl World {
    /// Pauses a process that runs: every other one amid its next turn, when that is taken and
    /// nothing of it shown to anybody.
    pub(super) fn pause(&mut self, node: usize, id: u32) {
        let Node { core: Some(_), pause: None, .. } = &self.nodes[node] else { return };
        match id % 2 {
            0 => self.begin_pause(node, id, None),
            _ => self.nodes[node].halts = Some(id),
        }
    }

    /// Ends the pauses of these names.
    pub(super) fn resume(&mut self, which: impl Fn(u32) -> bool) {
        for node in 0..self.nodes.len() {
            self.nodes[node].halts.take_if(|id| which(*id));
            let pause = self.nodes[node].pause.take_if(|pause| which(pause.id));
            if let Some(Pause { since, turn, pile, .. }) = pause {
                self.suffers(node, || "goes on".to_owned());
                let length = self.nodes[node].clock.passes(self.now.since(since));
                self.stall(node, length);
                if let Some(out) = turn {
                    self.carry_out(node, out);
                }
                for event in pile {
                    self.happen(event);
                }
                self.nodes[node].tick = None;
                self.arm(node);
            }
        }
    }

    /// Steps a node's clock forward.
    pub(super) fn step_clock(&mut self, node: usize, by: Duration) {
        self.faults.count(Counter::Steps);
        self.suffers(node, || format!("its clock steps forward by {} ms", by.as_millis()));
        self.nodes[node].clock.step(by);
        if let Node { core: Some(_), pause: None, .. } = &self.nodes[node] {
            self.stall(node, by);
            // Its wait was for a length of time: it looks at the clock when that is over.
            let at = self.now + self.random.up_to(self.timing().failure / 3);
            let incarnation = self.nodes[node].incarnation;
            self.nodes[node].tick = Some(at);
            self.note(at, Event::Tick { node, incarnation });
        }
    }

    /// A process did not turn for this long of its own time, and for the time before that, at
    /// most a third of `failure`. It notices before it does anything else.
    fn stall(&mut self, node: usize, length: Duration) {
        let time = length + self.random.up_to(self.timing().failure / 3);
        if time > self.noticed_stall(node) {
            self.nodes[node].stalled = Some(time);
        }
    }
}
