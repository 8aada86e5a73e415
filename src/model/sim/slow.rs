//! Clusters whose disks are all slow: with a majority they have a leader nearly all the time.

use std::time::Duration;

use super::network;
use super::orders;
use super::settle::pass;
use super::setup::{Setup, TIMING};
use super::world::World;
use crate::core::settings::{AlgorithmKind, Quorum};

/// The least share of the time with a leader, in thousandths, that a majority with slow disks has to have.
const LEAST: u128 = 950;

/// The longest write at which there still has to be a leader. With the halting algorithm each member
/// stores the task as well, before its leader leads.
fn slowest(algorithm: AlgorithmKind) -> Duration {
    Duration::from_millis(if algorithm == AlgorithmKind::Halting { 280 } else { 500 })
}

/// The share of the time with a leader, in thousandths, among three voters whose every write takes this
/// long, measured from a while after their first start.
fn share(algorithm: AlgorithmKind, write: Duration, seed: u64) -> Result<u128, String> {
    let mut world = World::new(Setup {
        quorum: Quorum::Majority,
        trust_refused: false,
        seed,
        ..Setup::plain(algorithm, vec![Some(0); 3])
    });
    for node in 0..3 {
        world.nodes[node].drive.speed = Some((write, write));
        orders::start(&mut world, node);
        network::dial_all(&mut world, node);
    }
    pass(&mut world, TIMING.failure * 16)?;
    world.begin_uptime();
    pass(&mut world, TIMING.failure * 60)?;
    let now = world.now;
    Ok(world.uptime.take().map_or(0, |mut uptime| uptime.share(now)))
}

/// Rule N1.
#[test]
fn slow_disks_leave_a_majority_its_leader() {
    for algorithm in AlgorithmKind::ALL {
        for write in [Duration::from_millis(10), Duration::from_millis(200), slowest(algorithm)] {
            for seed in 0..10 {
                let share = share(algorithm, write, seed);
                let enough = share.as_ref().is_ok_and(|share| *share >= LEAST);
                assert!(enough, "{}, {write:?}, seed {seed}: {share:?}", algorithm.name());
            }
        }
    }
}
