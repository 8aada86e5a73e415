//! The guards of jobs act when their time has come, and the processes hear of it.

use super::agenda::JobEvent;
use super::counters::Counter;
use super::jobs::leadership;
use super::world::World;
use crate::core::Input;

/// Something happens to the job of this number, of this incarnation of a process.
pub(super) fn job_moves(
    world: &mut World,
    (node, incarnation, number): (usize, u64, u64),
    what: JobEvent,
) {
    let alive = world.nodes[node].alive(incarnation).is_some();
    let now = world.nodes[node].local(world.now);
    let Some(jobs) = &mut world.jobs else { return };
    if !jobs.is_present(node, number) || !alive {
        return;
    }
    match what {
        JobEvent::Starts => {
            jobs.starts(node);
            let stops_within = jobs.stops_within();
            world.give(node, Input::JobStarted { stops_within });
            start_job(world, node, incarnation);
        }
        JobEvent::Ends => {
            let due = jobs.stop(node, now);
            world.schedule_job(node, incarnation, due);
        }
        JobEvent::Learned => {
            jobs.forget(node);
            world.give(node, Input::JobEnded);
        }
    }
}

/// The process heard that it leads; it starts the job if it still does.
fn start_job(world: &mut World, node: usize, incarnation: u64) {
    let now = world.nodes[node].local(world.now);
    let leads = world.nodes[node].alive(incarnation).and_then(|core| leadership(core, now));
    let Some(jobs) = &mut world.jobs else { return };
    let epoch = match jobs.start(node, leads) {
        Ok(epoch) => epoch,
        Err(due) => return world.schedule_job(node, incarnation, Some(due)),
    };
    let rival = jobs.rival(node, |at| world.nodes[at].local(world.now));
    world.faults.count(Counter::JobsStarted);
    world.say(node, || format!("starts its job in epoch {epoch}"));
    if let Some(rival) = rival {
        let what = format_args!("the jobs of node-{} and node-{} both run", node + 1, rival + 1);
        world.checker.fail(world.now, what);
    }
}
