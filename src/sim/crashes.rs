//! Leaders of a majority whose processes crash one after the other, in a fast network: how long the others have no leader,
//! with coroners and without.

use std::time::Duration;

use super::coroners::Coroners;
use super::failovers::{await_calm, await_leader};
use super::faults::inflict;
use super::node::Death;
use super::plan::Fault;
use super::settle::pass;
use super::setup::{Delays, Setup, TIMING};
use super::world::World;
use crate::core::random::Random;
use crate::core::reach::STEADY;
use crate::core::settings::{AlgorithmKind, Quorum};

/// A cluster, and how often its leader crashes.
#[derive(Clone, Copy, Debug)]
pub struct Crashes {
    /// How the members elect.
    pub algorithm: AlgorithmKind,
    /// How many members there are.
    pub members: usize,
    /// Whether each host has a coroner, which is never killed.
    pub certified: bool,
    /// How many leaders crash.
    pub times: usize,
    /// All that happens follows from it.
    pub seed: u64,
}

impl Crashes {
    /// How long it took each time until all the others named the next leader, which has its lease by then.
    ///
    /// # Errors Says in words which invariant is broken, or that nobody came to lead.
    pub fn run(self) -> Result<Vec<Duration>, String> {
        let mut world = World::new(Setup {
            quorum: Quorum::Majority,
            trust_refused: false,
            bootstrap: true,
            delays: Delays::Short,
            disk: Duration::from_micros(100),
            seed: self.seed,
            ..Setup::plain(self.algorithm, vec![Some(0); self.members])
        });
        world.coroners = self.certified.then(|| Coroners::sure(self.seed, self.members));
        let mut random = Random::new(self.seed);
        for node in 0..self.members {
            inflict(&mut world, node, Fault::Start);
        }
        let mut took = Vec::new();
        for _ in 0..self.times {
            let (leader, _) = await_calm(&mut world)?;
            pass(&mut world, random.up_to(TIMING.failure * 4))?;
            let begin = world.now;
            inflict(&mut world, leader, Fault::Die(Death::Killed, 0));
            if !await_leader(&mut world, leader, begin + TIMING.failure * 20)? {
                return Err(format!("no leader after node-{}", leader + 1));
            }
            took.push(world.now.since(begin));
            pass(&mut world, random.up_to(TIMING.failure * 2))?;
            inflict(&mut world, leader, Fault::Start);
            pass(&mut world, TIMING.failure * (STEADY + 1))?; // or it would come and go
        }
        Ok(took)
    }
}

/// Rules Z3 and Z4: nobody waits for the end of a lease.
#[test]
fn a_crash_that_is_certified_is_replaced_far_sooner_than_a_lease_ends() {
    for algorithm in AlgorithmKind::ALL {
        for members in [3, 5, 9] {
            for seed in 0..2 {
                let crashes = Crashes { algorithm, members, certified: true, times: 4, seed };
                let took = crashes.run().expect("each leader is replaced");
                let longest = took.into_iter().max().unwrap_or_default();
                assert!(longest < TIMING.lease / 8, "{crashes:?}: {longest:?}");
            }
        }
    }
}
