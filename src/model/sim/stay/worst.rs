//! One thing that is ill at the worst place: with the member that is to lead, or between it and the one before it in
//! the ring.

use super::super::node::Death;
use super::super::setup::TIMING;
use super::super::world::World;
use super::broken::{BrokenWorld, DOINGS, Doing, Ill, StayPlan, Upkeep};
use crate::core::random::Random;
use crate::core::types::Role;

/// Drawn from a sequence of its own, so that the other worlds stay as they are.
const WORST: u64 = 0x0077_6f72_7374;

/// One world in this many.
const ONE_IN: u64 = 8;

/// The only lasting fault in the world of this seed, if there is just one, and the member that was to
/// lead.
pub(super) fn draw(seed: u64, world: &World) -> Option<(Ill, usize)> {
    let mut random = Random::new(seed ^ WORST);
    if random.below(ONE_IN) > 0 {
        return None;
    }
    let best = best(world)?;
    // Those with lesser ids come first: the greatest of them is the one before it, or the greatest of all.
    let is_lesser = |at: &usize| world.id(*at) < world.id(best);
    let before = world.others(best).max_by_key(|at| (is_lesser(at), world.id(*at)))?;
    let ill = match random.below(3) {
        0 => Ill::Stuck(best),
        _ => Ill::Link(best, before),
    };
    Some((ill, best))
}

/// The member that is to lead.
pub(super) fn best(world: &World) -> Option<usize> {
    let may_lead = |at: &usize| world.setup.roles.get(*at).is_none_or(|role| *role == Role::Member);
    let rank = |at: &usize| (world.nodes[*at].settings.value, world.id(*at));
    (0..world.nodes.len()).filter(may_lead).max_by_key(rank)
}

impl BrokenWorld {
    /// The member that was to lead restarts: it finds another leader, and wants to lead again.
    pub(super) fn restart(&mut self, node: usize, plan: &mut StayPlan) {
        let at = self.world.now + TIMING.failure * DOINGS;
        plan.push((at, Doing::Stop(node, Death::Killed, Upkeep::None)));
        let back = at + TIMING.failure + self.random.up_to(TIMING.failure * DOINGS);
        plan.push((back, Doing::Start(node)));
    }
}
