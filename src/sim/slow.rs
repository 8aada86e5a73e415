//! Clusters whose disks are all slow: with a majority they have a leader nearly all the time.

use std::time::Duration;

use super::settle::step;
use super::setup::{Setup, TIMING};
use super::world::World;
use crate::core::settings::{AlgorithmKind, Quorum};

/// The share of the time with a leader, in thousandths, among three voters whose every write takes so long:
/// from a while after their first start on.
fn share(algorithm: AlgorithmKind, write: Duration, seed: u64) -> u128 {
    let mut world = World::new(Setup {
        quorum: Quorum::Majority,
        trust_refused: false,
        seed,
        ..Setup::plain(algorithm, vec![Some(0); 3])
    });
    for node in 0..3 {
        world.nodes[node].drive.speed = Some((write, write));
        world.start(node);
        world.dial_all(node);
    }
    let pass = |world: &mut World, time: Duration| {
        let until = world.now + time;
        while step(world, until).expect("nothing is broken") {}
        world.now = until;
    };
    pass(&mut world, TIMING.failure * 16);
    world.begin_uptime();
    pass(&mut world, TIMING.failure * 60);
    let now = world.now;
    world.uptime.take().map_or(0, |mut uptime| uptime.share(now))
}

#[test]
fn slow_disks_leave_a_majority_its_leader() {
    for algorithm in AlgorithmKind::ALL {
        // With the halting algorithm each member stores the task as well, before its leader leads.
        let slowest = if algorithm == AlgorithmKind::Halting { 200 } else { 280 };
        for ms in [10, 200, slowest] {
            let least = (0..10).map(|seed| share(algorithm, Duration::from_millis(ms), seed)).min();
            assert!(least >= Some(950), "{}, {ms} ms: {least:?} thousandths", algorithm.name());
        }
    }
}
