//! Operators that pause a cluster and resume it.

use super::plan::{Change, Fault, Plan};
use super::setup::TIMING;
use super::world::World;
use crate::core::random::Random;
use crate::core::types::Time;
use crate::core::{Core, Phase, Reason, Transition};

/// Adds pauses and their ends to a plan, each asked of any member.
pub(super) fn add(random: &mut Random, nodes: usize, plan: &mut Plan) {
    if random.below(2) == 0 {
        return;
    }
    let period = TIMING.failure * (4 + random.below(8) as u32);
    for _ in 0..random.below(6) {
        let (at, node) = (Time(0) + random.up_to(period), random.below(nodes as u64) as usize);
        plan.push((at, node, Fault::Fit(Change::Paused(random.below(3) > 0))));
    }
    plan.sort_by_key(|(at, _, _)| *at);
}

impl World {
    /// The operator gets the answer that the cluster is paused or resumed: a leader that says so has
    /// stored that.
    pub(super) fn was_paused(&mut self, node: usize) {
        let own = &mut self.nodes[node];
        if own.core.as_ref().is_some_and(|core| core.phase() == Phase::Leading) {
            own.fitness.pause = own.fitness.pause.max(own.disk.pause());
        }
    }

    /// A member that reported a pause, or its end, never goes back to an older one, restarts included.
    pub(super) fn look_at_pause(&mut self, node: usize) {
        let own = &self.nodes[node];
        let told = own.fitness.pause;
        if own.core.as_ref().is_some_and(|core| *core.pause() < told) {
            let what = format_args!("node-{} forgot the pause {}", node + 1, told.version);
            self.checker.fail(self.now, what);
        }
    }

    /// No leader that knows that its cluster is paused hands over to a higher member, or for its health.
    pub(super) fn look_at_handover(&mut self, node: usize, change: &Transition) {
        let paused = |core: &Core| core.pause().paused;
        let moved = matches!(change.reason, Reason::Preempted(_) | Reason::Unhealthy);
        let leaves = change.from == Phase::Leading && moved;
        if leaves && self.nodes[node].core.as_ref().is_some_and(paused) {
            let what = format_args!("node-{} hands over, and its cluster is paused", node + 1);
            self.checker.fail(self.now, what);
        }
    }
}
