//! Leaders of a majority whose processes crash one after the other, in a fast network: how long the others have no leader,
//! with coroners and without.

use std::time::Duration;

use super::coroners::SimulatedCoroners;
use super::failovers::{agreed, await_calm, await_leader};
use super::faults::inflict;
use super::node::Death;
use super::plan::InjectedFault;
use super::settle::pass;
use super::setup::{Delays, Setup, TIMING};
use super::world::World;
use crate::core::departures::STEADY;
use crate::core::random::Random;
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
    /// Whether each comes back at once and the next leader crashes soon after, so that members come and go; otherwise
    /// all have been steady for long.
    pub often: bool,
    /// How many leaders crash.
    pub times: usize,
    /// All that happens follows from it.
    pub seed: u64,
}

/// Members of a majority in a fast network, none of which runs yet.
pub(super) fn fast_cluster(algorithm: AlgorithmKind, members: usize, seed: u64) -> World {
    World::new(Setup {
        quorum: Quorum::Majority,
        trust_refused: false,
        bootstrap: true,
        delays: Delays::Short,
        disk: Duration::from_micros(100),
        seed,
        ..Setup::plain(algorithm, vec![Some(0); members])
    })
}

impl Crashes {
    /// How long it took each time until all the others named the next leader, which has its lease by then.
    ///
    /// # Errors Says in words which invariant is broken, or that nobody came to lead.
    pub fn run(self) -> Result<Vec<Duration>, String> {
        let mut world = fast_cluster(self.algorithm, self.members, self.seed);
        world.coroners = self.certified.then(|| SimulatedCoroners::sure(self.seed, self.members));
        let mut random = Random::new(self.seed);
        for node in 0..self.members {
            inflict(&mut world, node, InjectedFault::Start);
        }
        let mut took = Vec::new();
        await_calm(&mut world)?;
        while took.len() < self.times {
            let leader = self.await_next(&mut world, &mut random)?;
            let begin = world.now;
            inflict(&mut world, leader, InjectedFault::Die(Death::Killed, 0));
            if !await_leader(&mut world, leader, begin + TIMING.failure * 20)? {
                return Err(format!("no leader after node-{}", leader + 1));
            }
            took.push(world.now.since(begin));
            pass(&mut world, random.up_to(TIMING.failure / 5))?;
            inflict(&mut world, leader, InjectedFault::Start);
        }
        Ok(took)
    }

    /// Waits for the next crash. Tells whose it is.
    fn await_next(self, world: &mut World, random: &mut Random) -> Result<usize, String> {
        if self.often {
            pass(world, TIMING.failure * 12 / 5 + random.up_to(TIMING.failure * 8 / 5))?;
            loop {
                match agreed(world) {
                    Some((leader, _)) => return Ok(leader),
                    None => pass(world, TIMING.message)?, // a better member takes over just now
                }
            }
        }
        pass(world, TIMING.failure * (STEADY + 1))?; // or it would come and go
        let (leader, _) = await_calm(world)?;
        pass(world, random.up_to(TIMING.failure * 4))?;
        Ok(leader)
    }
}

/// Rules Z3 and Z4: nobody waits for the end of a lease.
#[test]
fn a_crash_that_is_certified_is_replaced_far_sooner_than_a_lease_ends() {
    for algorithm in AlgorithmKind::ALL {
        for members in [3, 5, 9] {
            for seed in 0..2 {
                let certified = true;
                let crashes =
                    Crashes { algorithm, members, certified, often: false, times: 4, seed };
                let took = crashes.run().expect("each leader is replaced");
                let longest = took.into_iter().max().unwrap_or_default();
                assert!(longest < TIMING.lease / 8, "{crashes:?}: {longest:?}");
            }
        }
    }
}

/// Rule S5. A hundred kills in five members, each 1.2 to 2 s after the last failover: no other takes long, with any algorithm.
#[test]
fn of_a_hundred_leaders_that_crash_again_and_again_few_are_replaced_late() {
    for algorithm in AlgorithmKind::ALL {
        let runs = (0..4).map(|seed| {
            let (members, certified, often) = (5, true, true);
            Crashes { algorithm, members, certified, often, times: 25, seed }.run()
        });
        let runs: Result<Vec<_>, _> = runs.collect();
        let mut took = runs.expect("each leader is replaced").concat();
        took.sort_unstable();
        let late = took.iter().filter(|took| **took > Duration::from_millis(60)).count();
        assert!(took.len() == 100 && late <= 4, "{}: {took:?}", algorithm.name());
    }
}

/// Rule S5: whoever will not be voted for is not waited for. A crash costs the time of an election, however often the
/// members came and went, and not that of T1, T2 or a lease.
#[test]
fn leaders_that_crash_again_and_again_are_replaced_as_soon_as_others() {
    for algorithm in AlgorithmKind::ALL {
        for members in [3, 5, 7] {
            for seed in 0..4 {
                let (certified, often) = (true, true);
                let crashes = Crashes { algorithm, members, certified, often, times: 25, seed };
                let took = crashes.run().expect("each leader is replaced");
                let late =
                    took.iter().filter(|took| **took >= TIMING.lease / 8).collect::<Vec<_>>();
                assert!(late.len() <= 1, "{crashes:?}: {late:?}");
            }
        }
    }
}
