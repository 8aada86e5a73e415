//! A process that does nothing for a while, and a clock that steps.

use std::time::Duration;

use super::agenda::SimulatedEvent;
use super::counters::Counter;
use super::node::{Node, ProcessPause};
use super::waiting;
use super::world::World;

/// Pauses a process that runs: every other one amid its next turn, when that is taken and
/// nothing of it shown to anybody.
pub(super) fn pause(world: &mut World, node: usize, id: u32) {
    let Node { core: Some(_), pause: None, .. } = &world.nodes[node] else { return };
    match id % 2 {
        0 => waiting::begin_pause(world, node, id, None),
        _ => world.nodes[node].halts = Some(id),
    }
}

/// Ends the pauses of these names.
pub(super) fn resume(world: &mut World, which: impl Fn(u32) -> bool) {
    for node in 0..world.nodes.len() {
        world.nodes[node].halts.take_if(|id| which(*id));
        let pause = world.nodes[node].pause.take_if(|pause| which(pause.id));
        if let Some(ProcessPause { since, turn, pile, .. }) = pause {
            world.suffers(node, || "goes on".to_owned());
            let length = world.nodes[node].clock.passes(world.now.since(since));
            stall(world, node, length);
            if let Some(out) = turn {
                world.carry_out(node, out);
            }
            for event in pile {
                world.happen(event);
            }
            world.nodes[node].tick = None;
            world.arm(node);
        }
    }
}

/// Steps a node's clock forward.
pub(super) fn step_clock(world: &mut World, node: usize, by: Duration) {
    world.faults.count(Counter::Steps);
    world.suffers(node, || format!("its clock steps forward by {} ms", by.as_millis()));
    world.nodes[node].clock.step(by);
    if let Node { core: Some(_), pause: None, .. } = &world.nodes[node] {
        stall(world, node, by);
        // Its wait was for a length of time: it looks at the clock when that is over.
        let at = world.now + world.random.up_to(world.timing().failure / 3);
        let incarnation = world.nodes[node].incarnation;
        world.nodes[node].tick = Some(at);
        world.schedule(at, SimulatedEvent::Tick { node, incarnation });
    }
}

/// A process did not turn for this long of its own time, and for the time before that, at
/// most a third of `failure`. It notices before it does anything else.
fn stall(world: &mut World, node: usize, length: Duration) {
    let time = length + world.random.up_to(world.timing().failure / 3);
    if time > waiting::noticed_stall(world, node) {
        world.nodes[node].stalled = Some(time);
    }
}

#[cfg(test)]
mod tests {
    use crate::core::settings::AlgorithmKind;
    use crate::sim::{FaultSet, Schedule};

    /// Rule D6: in these runs leaders say hello to a member of a ring as soon as its pause is over. It stays away for longer
    /// after each pause, and not after each hello.
    #[test]
    fn a_pause_counts_once() {
        for (faults, seed) in
            [(FaultSet::Jobs, 14163), (FaultSet::All, 16579), (FaultSet::All, 18630)]
        {
            let run = Schedule { faults, ..Schedule::new(AlgorithmKind::Ring, seed) }.run();
            assert!(run.is_ok(), "seed {seed}: {:?}", run.err().map(|failure| failure.what));
        }
    }
}
