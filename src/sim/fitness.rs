//! Members that are drained and undrained, and health checks that fail and pass.

use super::counters::Counter;
use super::plan::{Change, Fault, Plan};
use super::setup::TIMING;
use super::world::World;
use crate::core::random::Random;
use crate::core::settings::Alone;
use crate::core::types::{Drain, Time};
use crate::core::{Command, CommandId, Input};

/// The first command of this file has this number, and each node counts its own on.
const FITNESS: u64 = 1 << 32;

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
    pub(super) fn change_fitness(&mut self, node: usize, change: Change) {
        match change {
            Change::Drained(drained) if self.nodes[node].core.is_some() => {
                self.drain(node, drained)
            }
            Change::Drained(_) => {}
            Change::Healthy(healthy) => self.check_health(node, healthy),
            Change::Paused(paused) => self.order_pause(node, paused),
            Change::SwitchedOver(to) => self.order_switchover(node, to),
        }
    }

    /// An operator drains a member, or undrains it.
    fn drain(&mut self, node: usize, drained: bool) {
        self.faults.count(if drained { Counter::Drains } else { Counter::Undrains });
        let command = if drained { Command::Drain(Drain::default()) } else { Command::Undrain };
        let own = &mut self.nodes[node].fitness;
        own.wanted = drained;
        own.drained &= drained; // it may lead as soon as it is undrained
        own.barred &= drained;
        own.orders += 1;
        let id = CommandId(FITNESS + own.orders);
        self.tell_now(node, Input::Command { id, command });
    }

    /// The operator gets the answer that a member is drained. A slow disk may answer an order after a
    /// later order was given.
    pub(super) fn was_drained(&mut self, node: usize, id: CommandId) {
        let own = &mut self.nodes[node].fitness;
        let told = own.wanted && id == CommandId(FITNESS + own.orders);
        own.drained |= told;
    }

    /// The check of a member passes or fails from now on.
    fn check_health(&mut self, node: usize, healthy: bool) {
        if self.nodes[node].settings.health.is_some() {
            self.faults.count(Counter::Checks);
            self.nodes[node].fitness.healthy = healthy;
            self.tell_now(node, Input::Checked { healthy });
        }
    }

    /// A process starts: its first check comes soon.
    pub(super) fn start_checking(&mut self, node: usize) {
        let own = &mut self.nodes[node];
        own.fitness.barred = own.fitness.drained; // even if it leads from its first turn on
        let healthy = own.fitness.healthy;
        if own.settings.health.is_some() {
            self.tell_now(node, Input::Checked { healthy });
        }
    }

    /// All checks pass from now on.
    pub(super) fn heal_checks(&mut self) {
        for node in 0..self.nodes.len() {
            self.check_health(node, true);
        }
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
