//! Lasting faults: links, dials, disks and members that no peer reaches.

use std::time::Duration;

use super::super::counters::Counter;
use super::super::link_faults::{Disturbance, Links};
use super::super::node::Death;
use super::super::terrain::Blocked;
use super::super::world::World;
use super::broken::{BrokenWorld, Ill};
use crate::core::random::Random;
use crate::core::settings::Quorum;

/// The names of the cuts that stay.
const NAME: u32 = 1 << 20;

/// Draws what is ill in a world: a few things, rarely many.
pub(super) fn draw(random: &mut Random, world: &World) -> Vec<Ill> {
    let nodes = world.nodes.len();
    let mut ills = Vec::new();
    for _ in 0..1 + random.below(4) {
        let mut one = || random.below(nodes as u64) as usize;
        let (node, other) = (one(), one());
        // With a majority a refused dial proves nothing; without one it would prove a death.
        let how = match world.setup.quorum {
            Quorum::Majority if random.below(2) == 0 => Blocked::Refused,
            Quorum::None if random.below(4) == 0 => Blocked::Refused,
            _ => Blocked::TimesOut,
        };
        match random.below(12) {
            0 | 1 if node != other => ills.push(Ill::Address(node, other, how)),
            2 | 3 => ills.push(Ill::Port(node, how)),
            4..7 if node != other => ills.push(Ill::Link(node, other)),
            7 if node != other => ills.push(Ill::Way(node, other)),
            8 => {
                let all = random.below(2) == 0;
                let (least, most) = speed(random);
                let slow = |at| Ill::Slow(at, least, most);
                ills.extend((0..nodes).filter(|at| all || *at == node).map(slow));
            }
            9 => ills.push(Ill::Stuck(node)),
            10 => ills.push(Ill::Fails(node, 1 + random.below(8))),
            11 => ills.push(Ill::Gone(node)),
            _ => {}
        }
    }
    ills
}

/// How long the writes of a slow disk take: at least and at most.
fn speed(random: &mut Random) -> (Duration, Duration) {
    let least = Duration::from_millis(50 + random.below(150));
    (least, least + random.up_to(Duration::from_millis(100)))
}

impl BrokenWorld {
    /// From now on this is ill.
    pub(super) fn ail(&mut self, ill: Ill) {
        let world = &mut self.world;
        world.say(0, || format!("from now on: {ill:?}, counted from 0"));
        let nodes = world.nodes.len();
        let cut = |world: &mut World, ways: &[(usize, usize)]| {
            let links = Links::among(nodes, |from, to| ways.contains(&(from, to)));
            world.link_faults.begin(
                NAME,
                links,
                Disturbance::Cuts(Counter::Partial),
                (false, false),
            );
        };
        match ill {
            Ill::Address(from, to, how) => world.terrain.block(from, to, how),
            Ill::Port(node, how) => {
                (0..nodes).for_each(|from| world.terrain.block(from, node, how));
            }
            Ill::Link(one, other) => {
                world.faults.count(Counter::DeadLinks);
                cut(world, &[(one, other), (other, one)]);
            }
            Ill::Way(from, to) => {
                world.faults.count(Counter::DeadWays);
                cut(world, &[(from, to)]);
            }
            Ill::Slow(node, least, most) => world.nodes[node].drive.speed = Some((least, most)),
            Ill::Stuck(node) => {
                world.faults.count(Counter::Stuck);
                world.nodes[node].drive.stuck = true;
            }
            Ill::Fails(node, one_in) => world.nodes[node].drive.fails = one_in.max(2),
            Ill::Gone(node) => {
                world.faults.count(Counter::Unreachable);
                world.die(node, Death::Vanished);
                world.nodes[node].host = false;
                self.gone[node] = true;
            }
        }
    }
}
