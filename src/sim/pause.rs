//! A process that does nothing for a while, and a clock that steps.
//!
//! The kernel keeps working meanwhile: connections stay, dials are accepted, and input piles up until
//! the process resumes.

use std::time::Duration;

use super::agenda::{Event, JobEvent, Transit};
use super::counters::Counter;
use super::node::{Node, Pause};
use super::world::World;
use crate::core::{Input, Output};

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

    /// Pauses a process amid a turn that put out this, if it is to be paused then. Gives back what is
    /// to be carried out now.
    pub(super) fn pause_amid(&mut self, node: usize, out: Vec<Output>) -> Option<Vec<Output>> {
        let Some(id) = self.nodes[node].halts.take() else { return Some(out) };
        self.faults.count(Counter::Unshown);
        self.begin_pause(node, id, Some(out));
        None
    }

    fn begin_pause(&mut self, node: usize, id: u32, turn: Option<Vec<Output>>) {
        self.faults.count(Counter::Pauses);
        self.suffers(node, || {
            format!("is paused{}", if turn.is_some() { " amid a turn" } else { "" })
        });
        self.nodes[node].pause = Some(Pause { id, since: self.now, turn, pile: Vec::new() });
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

    /// Tells a process that it was stalled, if it was, before it handles anything else.
    pub(super) fn notice_stall(&mut self, node: usize) {
        if let Some(time) = self.nodes[node].stalled.take() {
            self.faults.count(Counter::Stalls);
            self.give(node, Input::Stalled { time });
        }
    }

    /// Keeps an input for a process that is paused amid the turn before. Gives back any other.
    pub(super) fn wait_amid(&mut self, node: usize, input: Input) -> Option<Input> {
        let incarnation = self.nodes[node].incarnation;
        let Some(pause) = &mut self.nodes[node].pause else { return Some(input) };
        pause.pile.push(Event::Input { node, incarnation, input: Box::new(input) });
        None
    }

    /// Keeps an event for a process that is paused. Gives back any other.
    pub(super) fn wait_for_process(&mut self, event: Event) -> Option<Event> {
        let node = match &event {
            Event::Tick { .. } => return Some(event),
            Event::Job { what: JobEvent::Ends, .. } => return Some(event), // the guard does that
            Event::Input { node, .. } | Event::Written { node, .. } | Event::Job { node, .. } => {
                *node
            }
            Event::Transit(transit) => match self.whose(transit) {
                Some(node) => node,
                None => return Some(event),
            },
        };
        match &mut self.nodes[node].pause {
            Some(pause) => {
                pause.pile.push(event);
                None
            }
            None => Some(event),
        }
    }

    /// The process that must exist for this event; none for what the kernel does.
    fn whose(&mut self, transit: &Transit) -> Option<usize> {
        match transit {
            Transit::Dial(pair)
            | Transit::Opened(pair, _)
            | Transit::Refused(pair)
            | Transit::TimedOut(pair) => Some(pair.from),
            Transit::Reply(at, _) | Transit::NoReply(at) | Transit::Broken(at) => {
                Some(self.ends(*at).0)
            }
            Transit::Taken(at, _) | Transit::Redial(at) => Some(self.ends(*at).1),
            Transit::Knock(_) | Transit::Arrives(..) | Transit::Closed(_) | Transit::Retry(_) => {
                None
            }
        }
    }
}
