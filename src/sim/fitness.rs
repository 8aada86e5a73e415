//! Members that are drained and undrained, and health checks that fail and pass: who, when, and what holds then.

use super::plan::{Change, Fault, Plan};
use super::setup::TIMING;
use super::world::{DRAIN, World};
use crate::core::CommandId;
use crate::core::random::Random;
use crate::core::settings::Alone;
use crate::core::types::Time;

/// Draws which members have a health check, and adds checks that change and drains to a plan.
pub(super) fn add(random: &mut Random, world: &mut World, plan: &mut Plan) {
    if random.below(2) == 0 {
        return;
    }
    let nodes = world.nodes.len();
    for node in &mut world.nodes {
        node.settings.health = match random.below(4) {
            0 => Some(Alone::Lead),
            1 => Some(Alone::StepDown),
            _ => None,
        };
    }
    let period = TIMING.failure * (4 + random.below(8) as u32);
    for _ in 0..random.below(12) {
        let (at, node) = (Time(0) + random.up_to(period), random.below(nodes as u64) as usize);
        let change = match random.below(8) {
            0..3 => Change::Drained(true),
            3 | 4 => Change::Drained(false),
            draw => Change::Healthy(draw == 5),
        };
        plan.push((at, node, Fault::Fit(change)));
    }
    plan.sort_by_key(|(at, _, _)| *at);
}

impl World {
    /// The operator gets the answer that a member is drained. A slow disk may answer an order after a
    /// later order was given.
    pub(super) fn was_drained(&mut self, node: usize, id: CommandId) {
        let own = &mut self.nodes[node].fitness;
        let told = own.wanted && id == CommandId(DRAIN + own.orders);
        own.drained |= told;
    }

    /// No drained member comes to lead before it is undrained.
    pub(super) fn look_at_fitness(&mut self, node: usize) {
        let leads = self.nodes[node].leads();
        let own = &mut self.nodes[node].fitness;
        own.barred |= own.drained && !leads;
        if own.barred && leads {
            self.checker.fail(self.now, format_args!("node-{} leads, and is drained", node + 1));
        }
    }

    /// Whether this member is drained, as far as its operator knows.
    pub(super) fn is_drained(&self, node: usize) -> bool {
        self.nodes[node].fitness.drained
    }
}
