//! Operators that choose who leads, and take that back.

use super::counters::Counter;
use super::plan::{Change, Fault, Plan};
use super::setup::TIMING;
use super::world::World;
use crate::core::random::Random;
use crate::core::types::{Rank, Time};
use crate::core::{Core, Phase, Reason, Transition};

/// Adds switchovers and their ends to a plan, each asked of any member.
pub(super) fn add(random: &mut Random, nodes: usize, plan: &mut Plan) {
    if random.below(2) == 0 {
        return;
    }
    let period = TIMING.failure * (4 + random.below(8) as u32);
    let anyone = |random: &mut Random| random.below(nodes as u64) as usize;
    for _ in 0..1 + random.below(6) {
        let (at, node) = (Time(0) + random.up_to(period), anyone(random));
        let to = (random.below(4) > 0).then(|| anyone(random));
        plan.push((at, node, Fault::Fit(Change::SwitchedOver(to))));
    }
    plan.sort_by_key(|(at, _, _)| *at);
}

impl World {
    /// Notes after a turn whether a member leads by a switchover.
    pub(super) fn note_choice(&mut self, node: usize) {
        let own = &mut self.nodes[node];
        let chosen = |core: &Core| core.is_chosen() && core.phase() == Phase::Leading;
        own.fitness.chosen = own.core.as_ref().is_some_and(chosen);
    }

    /// No leader that an operator chose hands over to a higher member.
    pub(super) fn look_at_choice(&mut self, node: usize, change: &Transition) {
        if matches!(change.reason, Reason::SwitchedOver(_)) {
            self.faults.count(Counter::SwitchedOver);
        }
        let preempted =
            change.from == Phase::Leading && matches!(change.reason, Reason::Preempted(_));
        if preempted && self.nodes[node].fitness.chosen {
            let what = format_args!("node-{} was chosen to lead, and is preempted", node + 1);
            self.checker.fail(self.now, what);
        }
    }

    /// The rank by which a member is to lead: its own at present, unless an operator chose it. A leader that has no
    /// attribute any more keeps the rank that it was elected with.
    pub(super) fn due_rank(&self, node: usize, core: &Core) -> Rank {
        let (rank, latest) = (core.rank(), self.nodes[node].settings.value);
        let present = match core.phase() {
            Phase::Leading => latest,
            _ => Some(latest.unwrap_or(Rank::NO_VALUE)).filter(|_| rank.is_chosen()),
        };
        let own = present.filter(|_| !core.is_chosen());
        own.map_or(rank, |value| Rank { value, ..rank })
    }
}
