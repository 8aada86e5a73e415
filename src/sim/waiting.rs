//! What waits for a process that is paused. Its kernel keeps working: connections stay, dials are accepted, and input
//! piles up.

use std::time::Duration;

use super::agenda::{Event, JobEvent, Transit};
use super::counters::Counter;
use super::node::Pause;
use super::world::World;
use crate::core::{Input, Output};

impl World {
    pub(super) fn begin_pause(&mut self, node: usize, id: u32, turn: Option<Vec<Output>>) {
        self.faults.count(Counter::Pauses);
        self.suffers(node, || {
            format!("is paused{}", if turn.is_some() { " amid a turn" } else { "" })
        });
        self.nodes[node].pause = Some(Pause { id, since: self.now, turn, pile: Vec::new() });
    }

    /// Pauses a process amid a turn that put out this, if it is to be paused then. Gives back what is
    /// to be carried out now.
    pub(super) fn pause_amid(&mut self, node: usize, out: Vec<Output>) -> Option<Vec<Output>> {
        let Some(id) = self.nodes[node].halts.take() else { return Some(out) };
        self.faults.count(Counter::Unshown);
        self.begin_pause(node, id, Some(out));
        None
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

    /// The silence after which a process notices that it was paused.
    pub(super) fn noticed_stall(&self, node: usize) -> Duration {
        match self.longest {
            Some(_) => self.nodes[node].settings.timing.stall(),
            None => self.timing().stall(),
        }
    }
}
