//! Clusters whose leader is killed, vanishes, resigns or stops again and again, within the model: each time the others
//! name the next leader within the bound that `check` prints, however often they went away before.

use std::time::Duration;

use super::coroners::SimulatedCoroners;
use super::faults::inflict;
use super::links::DIAL_TIMEOUT;
use super::members;
use super::node::Death;
use super::plan::InjectedFault;
use super::settle;
use super::settle::{pass, step};
use super::setup::{Delays, Setup, TIMING};
use super::world::World;
use crate::core::Core;
use crate::core::bounds;
use crate::core::random::Random;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::core::types::{Epoch, Time};
use crate::trace::{Detail, TraceLine};

/// A timer may be late by this much at each step of a failover.
const LATE: Duration = Duration::from_millis(20);

/// A cluster and what befalls its leaders.
#[derive(Clone, Copy, Debug)]
pub struct Failovers {
    /// How the members elect.
    pub algorithm: AlgorithmKind,
    /// How many members there are.
    pub members: usize,
    /// How many leaders go.
    pub times: usize,
    /// All that happens follows from it.
    pub seed: u64,
    /// Whether to keep a trace.
    pub trace: bool,
}

/// The end of such a cluster.
#[derive(Clone, Debug)]
pub struct ClusterEnd {
    /// The longest failover, and the longest while a member came and went; or what went wrong.
    pub longest: Result<[Duration; 2], String>,
    /// What happened.
    pub trace: Vec<TraceLine>,
}

impl Failovers {
    /// Lives through all of it.
    #[must_use]
    pub fn run(self) -> ClusterEnd {
        let mut world = World::new(Setup {
            quorum: Quorum::Majority,
            trust_refused: false,
            bootstrap: true,
            delays: Delays::Random,
            disk: Duration::from_micros(100),
            seed: self.seed,
            detail: self.trace.then_some(Detail::Election),
            ..Setup::plain(self.algorithm, vec![Some(0); self.members])
        });
        world.coroners = SimulatedCoroners::of_run(self.seed, self.members);
        let longest = self.live_through(&mut world);
        ClusterEnd { longest, trace: world.lines }
    }

    fn live_through(self, world: &mut World) -> Result<[Duration; 2], String> {
        let mut random = Random::new(self.seed);
        for node in 0..self.members {
            inflict(world, node, InjectedFault::Start);
        }
        let mut longest = [Duration::ZERO; 2];
        for _ in 0..self.times {
            let (leader, _) = await_calm(world)?;
            pass(world, random.up_to(TIMING.failure * 4))?;
            let Some((last, _)) = agreed(world).filter(|(now, _)| *now == leader) else { continue };
            let unsteady = is_unsteady(world);
            let (fault, bound) = self.draw(&mut random, unsteady);
            let (begin, name) = (world.now, format!("{fault:?} of node-{}", last + 1));
            inflict(world, last, fault);
            if world.nodes[last].leads() {
                continue; // it refuses: no other member may lead, as all resigned before
            }
            let replaced = await_leader(world, last, begin + bound)?;
            let took = world.now.since(begin);
            if !replaced {
                let at = begin.0 / 1_000_000;
                return Err(format!("{name} at {at} ms: no leader within {bound:?}"));
            }
            let at = &mut longest[usize::from(unsteady)];
            *at = took.max(*at);
            pass(world, random.up_to(TIMING.failure * 2))?;
            inflict(world, last, InjectedFault::Start);
        }
        Ok(longest)
    }

    /// What befalls the leader, and the bound for that.
    fn draw(self, random: &mut Random, unsteady: bool) -> (InjectedFault, Duration) {
        let silent = bounds::worst_failover(self.algorithm, &TIMING, self.members);
        let silent = silent.unwrap_or_default() + bounds::voting(&TIMING);
        let seen = bounds::promised_failover(self.algorithm, &TIMING, self.members);
        let (fault, bound) = match random.below(4) {
            0 => (InjectedFault::Die(Death::Vanished, 0), silent),
            1 => (InjectedFault::Resign(None), seen),
            2 => (InjectedFault::Stop, seen),
            _ => (InjectedFault::Die(Death::Killed, 0), seen),
        };
        let more = bounds::disagreement(self.algorithm, &TIMING, self.members);
        let more = if unsteady { more } else { Duration::ZERO };
        (fault, bound + more + LATE)
    }
}

/// The leader that all live members name.
pub(super) fn agreed(world: &World) -> Option<(usize, Epoch)> {
    settle::agreed(world, &members::members_alive(world))
}

/// Whether a member came and went lately, as far as another one knows.
fn is_unsteady(world: &World) -> bool {
    let alive = members::members_alive(world);
    let comes =
        |core: &Core| core.members().iter().any(|one| core.departures().is_unsteady(one.id));
    alive.iter().any(|(_, core)| comes(core))
}

/// Waits until all members live and have named one leader for a while.
pub(super) fn await_calm(world: &mut World) -> Result<(usize, Epoch), String> {
    let calm = TIMING.failure * 3;
    let end = world.now + DIAL_TIMEOUT + TIMING.failure * 60;
    let (mut since, mut leader) = (world.now, None);
    while world.now < end {
        pass(world, TIMING.message)?;
        let now =
            agreed(world).filter(|_| members::members_alive(world).len() == world.nodes.len());
        if now != leader || now.is_none() {
            (since, leader) = (world.now, now);
        }
        if let Some(leader) = leader.filter(|_| since + calm <= world.now) {
            return Ok(leader);
        }
    }
    Err(format!("no calm at {} ms", world.now.0 / 1_000_000))
}

/// Waits until all live members name another leader than the last. Tells whether that came about in time.
pub(super) fn await_leader(world: &mut World, last: usize, until: Time) -> Result<bool, String> {
    loop {
        if agreed(world).is_some_and(|(leader, _)| leader != last) {
            return Ok(true);
        }
        if !step(world, until)? {
            world.now = until;
            return Ok(false);
        }
    }
}

#[test]
fn each_leader_is_replaced_within_the_printed_bound() {
    for algorithm in AlgorithmKind::ALL {
        for members in 3..=7 {
            for seed in 0..4 {
                let failovers = Failovers { algorithm, members, times: 10, seed, trace: false };
                let longest = failovers.run().longest;
                assert!(longest.is_ok(), "{failovers:?}: {longest:?}");
            }
        }
    }
}
