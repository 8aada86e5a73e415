//! Timings that were tried once: all members ran with a far longer `failure` and `lease` for a while, and then
//! with their own again. Their start waits once for what was promised meanwhile, and no later start does.

use super::super::counters::Counter;
use super::super::faults::inflict;
use super::super::node::Death;
use super::super::plan::InjectedFault;
use super::super::setup::TIMING;
use super::broken::{BrokenWorld, DOINGS, Doing, SETTLING, StayPlan, WELL};
use crate::core::random::Random;
use crate::core::settings::{Quorum, Timing};

/// Drawn from a sequence of its own, so that the other worlds stay as they are.
const TRIED: u64 = 0x0074_7269_6564;

/// So many times longer.
const LONGER: u32 = 40;

/// One world in this many.
const ONE_IN: u64 = 16;

/// Whether timings are tried in the world of this seed.
pub(super) fn draw(seed: u64, quorum: Quorum) -> bool {
    quorum == Quorum::Majority && Random::new(seed ^ TRIED).below(ONE_IN) == 0
}

impl BrokenWorld {
    /// All members are restarted with the longer timings, lead and follow by them, and are restarted with their
    /// own; then all that they promised runs out.
    pub(super) fn try_timings(&mut self) -> Result<(), String> {
        let own: Vec<Timing> = self.world.nodes.iter().map(|node| node.settings.timing).collect();
        let longer = |timing: &Timing| Timing {
            failure: timing.failure * LONGER,
            lease: timing.lease * LONGER,
            ..*timing
        };
        self.world.faults.count(Counter::Tried);
        self.restart_with(own.iter().map(longer));
        self.pass(TIMING.failure * SETTLING * self.stretch)?;
        self.restart_with(own.iter().copied());
        let promised = own.iter().map(|timing| timing.lease * LONGER).max().unwrap_or_default();
        self.pass(promised * 10 / 9 + TIMING.failure * WELL * self.stretch)
    }

    fn restart_with(&mut self, timings: impl Iterator<Item = Timing>) {
        for (node, timing) in timings.enumerate() {
            inflict(&mut self.world, node, InjectedFault::Die(Death::Killed, 0));
            self.world.nodes[node].settings.timing = timing;
        }
        (0..self.world.nodes.len())
            .for_each(|node| inflict(&mut self.world, node, InjectedFault::Start));
    }

    /// The power fails on all hosts, and returns immediately.
    pub(super) fn add_outage(&mut self, plan: &mut StayPlan) {
        let at = self.world.now + self.random.up_to(TIMING.failure * DOINGS);
        for node in 0..self.world.nodes.len() {
            plan.push((at, Doing::Fault(node, InjectedFault::Die(Death::Killed, 0), false)));
            let back = at + self.random.up_to(TIMING.message);
            plan.push((back, Doing::Start(node)));
        }
    }
}
