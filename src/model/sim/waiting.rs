//! What waits for a process that is paused. Its kernel keeps working: connections stay, dials are accepted, and input
//! piles up.

use std::time::Duration;

use super::agenda::{JobEvent, SimulatedEvent, Transit};
use super::counters::Counter;
use super::node::ProcessPause;
use super::world::World;
use crate::core::{Input, Output};

pub(super) fn begin_pause(world: &mut World, node: usize, id: u32, turn: Option<Vec<Output>>) {
    world.faults.count(Counter::Pauses);
    world
        .suffers(node, || format!("is paused{}", if turn.is_some() { " amid a turn" } else { "" }));
    world.nodes[node].pause = Some(ProcessPause { id, since: world.now, turn, pile: Vec::new() });
}

/// Pauses a process amid a turn that put out this, if it is to be paused then. Gives back what is
/// to be carried out now.
pub(super) fn pause_amid(world: &mut World, node: usize, out: Vec<Output>) -> Option<Vec<Output>> {
    let Some(id) = world.nodes[node].halts.take() else { return Some(out) };
    world.faults.count(Counter::Unshown);
    begin_pause(world, node, id, Some(out));
    None
}

/// Keeps an input for a process that is paused amid the turn before. Gives back any other.
pub(super) fn wait_amid(world: &mut World, node: usize, input: Input) -> Option<Input> {
    let incarnation = world.nodes[node].incarnation;
    let Some(pause) = &mut world.nodes[node].pause else { return Some(input) };
    pause.pile.push(SimulatedEvent::Input { node, incarnation, input: Box::new(input) });
    None
}

/// Keeps an event for a process that is paused. Gives back any other.
pub(super) fn wait_for_process(world: &mut World, event: SimulatedEvent) -> Option<SimulatedEvent> {
    let node = match &event {
        SimulatedEvent::Tick { .. } => return Some(event),
        SimulatedEvent::Job { what: JobEvent::Ends, .. } => return Some(event), // the guard does that
        SimulatedEvent::Input { node, .. }
        | SimulatedEvent::Written { node, .. }
        | SimulatedEvent::Names { node, .. }
        | SimulatedEvent::Job { node, .. } => *node,
        SimulatedEvent::Transit(transit) => match whose(world, transit) {
            Some(node) => node,
            None => return Some(event),
        },
    };
    match &mut world.nodes[node].pause {
        Some(pause) => {
            pause.pile.push(event);
            None
        }
        None => Some(event),
    }
}

/// The process that must exist for this event; none for what the kernel does.
fn whose(world: &mut World, transit: &Transit) -> Option<usize> {
    match transit {
        Transit::Dial(pair)
        | Transit::Opened(pair, _)
        | Transit::Refused(pair)
        | Transit::TimedOut(pair)
        | Transit::Certified(pair, _) => Some(pair.from),
        Transit::Reply(at, _) | Transit::NoReply(at) | Transit::Broken(at) => {
            Some(world.network.ends(*at).0)
        }
        Transit::Taken(at, _) | Transit::Redial(at) => Some(world.network.ends(*at).1),
        Transit::Dialed(_) | Transit::Arrives(..) | Transit::Closed(_) | Transit::Retry(_) => None,
    }
}

/// The silence after which a process notices that it was paused.
pub(super) fn noticed_stall(world: &World, node: usize) -> Duration {
    match world.longest {
        Some(_) => world.nodes[node].settings.timing.stall(),
        None => world.timing().stall(),
    }
}
