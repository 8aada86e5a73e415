//! The best of a majority that restarts every 100 ms, in a fast network: how often it comes to lead, and how long the
//! others have no leader after it.

use std::time::Duration;

use super::coroners::SimulatedCoroners;
use super::crashes::fast_cluster;
use super::failovers::await_calm;
use super::faults::inflict;
use super::members;
use super::node::Death;
use super::plan::InjectedFault;
use super::settle::{agreed, step};
use super::world::World;
use crate::core::random::Random;
use crate::core::settings::AlgorithmKind;
use crate::core::types::Time;

/// From one of its crashes to the next.
const PERIOD: Duration = Duration::from_millis(100);

/// How long its host takes at most to start it again.
const DOWN: Duration = Duration::from_millis(20);

/// A cluster whose best member crashes again and again.
#[derive(Clone, Copy, Debug)]
pub struct Hasty {
    /// How the members elect.
    pub algorithm: AlgorithmKind,
    /// How many members there are.
    pub members: usize,
    /// How often the best one crashes.
    pub times: usize,
    /// All that happens follows from it.
    pub seed: u64,
}

/// What comes of that.
#[derive(Clone, Debug, Default)]
pub struct Haste {
    /// How long it took, each time that it led, until all others named the next leader, which has its lease by then.
    pub took: Vec<Duration>,
    /// Since when the others have no leader.
    lost: Option<Time>,
}

impl Hasty {
    /// Lives through all of it.
    ///
    /// # Errors Says in words which invariant is broken, or that the cluster did not begin.
    pub fn run(self) -> Result<Haste, String> {
        let mut world = fast_cluster(self.algorithm, self.members, self.seed);
        world.coroners = Some(SimulatedCoroners::sure(self.seed, self.members));
        let mut random = Random::new(self.seed);
        for node in 0..self.members {
            inflict(&mut world, node, InjectedFault::Start);
        }
        await_calm(&mut world)?;
        let (best, mut course) = (self.members - 1, Haste::default());
        for _ in 0..self.times {
            let begin = world.now;
            if world.nodes[best].leads() {
                course.lost = course.lost.or(Some(begin));
            }
            inflict(&mut world, best, InjectedFault::Die(Death::Killed, 0));
            course.watch(&mut world, best, begin + random.up_to(DOWN))?;
            inflict(&mut world, best, InjectedFault::Start);
            course.watch(&mut world, best, begin + PERIOD)?;
        }
        Ok(course)
    }
}

impl Haste {
    /// Lets the time pass until then, and sees whether the others name a leader.
    fn watch(&mut self, world: &mut World, best: usize, until: Time) -> Result<(), String> {
        loop {
            let others: Vec<_> =
                members::members_alive(world).into_iter().filter(|(at, _)| *at != best).collect();
            if let Some(lost) = self.lost.filter(|_| agreed(world, &others).is_some()) {
                self.took.push(world.now.since(lost));
                self.lost = None;
            }
            if !step(world, until)? {
                world.now = until;
                return Ok(());
            }
        }
    }
}

/// A failover takes less than this, but for one in [`TOLERATED`].
const SOON: Duration = Duration::from_millis(60);

const TOLERATED: usize = 25;

/// Rule S4: its second run that goes away is its last that leads, for a while. With halting nobody is passed over.
#[test]
fn the_best_member_that_restarts_every_100_ms_does_not_lead_each_time() {
    for algorithm in AlgorithmKind::ALL.into_iter().filter(|algorithm| algorithm.passes_over()) {
        for members in [3, 5] {
            for seed in 0..4 {
                let hasty = Hasty { algorithm, members, times: 25, seed };
                let course = hasty.run().expect("the cluster begins");
                assert!(course.took.len() <= 2, "{hasty:?}: {course:?}");
                assert_eq!(course.lost, None, "{hasty:?}: the others have a leader");
                let late = course.took.iter().filter(|took| **took > SOON).count();
                assert!(late <= hasty.times / TOLERATED, "{hasty:?}: {course:?}");
            }
        }
    }
}
