//! A hasty member: the best one has far shorter timings than the others, which suit its network and its own disk, while
//! the disks of the voters take longer than it waits. The voters answer each of its pre-votes with yes, and their
//! votes come too late.

use std::time::Duration;

use super::super::setup::{Delays, TIMING};
use super::super::world::World;
use super::broken::Ill;
use super::worst;
use crate::core::random::Random;
use crate::core::settings::{AlgorithmKind, Quorum, Timing};

/// Drawn from a sequence of its own, so that the other worlds stay as they are.
const HASTY: u64 = 0x0068_6173_7479;

/// One world in this many.
const ONE_IN: u64 = 16;

/// The most members of such a world: with more, a lost election takes too long.
const MOST: usize = 8;

/// Makes the best member of the world of this seed hasty, perhaps. Returns that member and what is
/// ill: the disks of the others.
pub(super) fn draw(seed: u64, world: &mut World) -> Option<(usize, Vec<Ill>)> {
    let mut random = Random::new(seed ^ HASTY);
    let setup = &world.setup;
    // With halting the leader elects anew for each member that is not Normal.
    let fits = setup.quorum == Quorum::Majority && setup.algorithm != AlgorithmKind::Halting;
    if !fits || world.nodes.len() > MOST || random.below(ONE_IN) > 0 {
        return None;
    }
    let best = worst::best(world)?;
    let times = 2 << random.below(3);
    let least = Duration::from_millis(50 + random.below(150));
    let most = least + random.up_to(Duration::from_millis(50));
    world.setup.delays = Delays::Short;
    world.nodes[best].settings.timing = Timing {
        heartbeat: TIMING.heartbeat / times,
        failure: TIMING.failure / times,
        message: TIMING.message / times,
        lease: TIMING.lease / times,
    };
    let slow = world.others(best).map(|at| Ill::Slow(at, least, most)).collect();
    Some((best, slow))
}
