//! Worlds that stay broken: their faults are never healed, and there must be a leader all the same
//! wherever the docs promise one.
//!
//! A run has one or two chapters. Each begins with events (`doings.rs`) on top of lasting faults
//! (`ills.rs`); then the events end, and after some time to settle the run measures for how much of the
//! time a member leads. `promise.rs` says whether a leader is promised in such a world.

mod broken;
mod comings;
mod doings;
mod draw;
mod files;
mod hasty;
mod ills;
mod promise;
mod tried;
mod unsteady;
mod worst;

use std::time::Duration;

use super::counters::Counter;
use super::pause;
use super::schedule::Schedule;
use super::settle::views;
use super::setup::TIMING;
use super::world::World;
use crate::core::random::Random;
use crate::core::settings::{AlgorithmKind, Quorum};
use crate::core::types::Time;
use broken::{BrokenWorld, DOINGS, Doing, SETTLING, StayPlan, WELL};

/// All that is drawn for these worlds comes from a sequence of its own.
const STAY: u64 = 0x7374_6179_7374;

/// The length of the measurement, in `failure`.
const MEASURED: u32 = 10;

/// The measurement is at most this many times longer if it found less than the least share: once in a
/// while a message comes a little late for a member with a fast clock, and that costs an election.
const LONGER: u32 = 4;

/// No more elections than this in that time.
const ELECTIONS: u64 = 5;

/// The same without a majority, where the leaders on both sides of a dead link take turns.
const ELECTIONS_BY_TURNS: u64 = 10;

/// Lives through the seed of this schedule. Tells what became of the world, and how long it took to settle.
pub(super) fn run(schedule: Schedule) -> (World, Result<Duration, String>) {
    let mut random = Random::new(schedule.seed ^ STAY);
    let (setup, timings) = draw::setup(schedule, &mut random);
    let nodes = setup.values.len();
    let changes = !setup.newcomers.is_empty() || random.below(3) == 0;
    let mut world = World::new(setup);
    world.changes = changes;
    let keeps_bootstrap = world.setup.bootstrap && random.below(3) == 0;
    for (node, timing) in world.nodes.iter_mut().zip(&timings) {
        node.settings.timing = *timing;
        node.keeps_bootstrap = keeps_bootstrap && node.settings.bootstrap;
    }
    world.faults.add(Counter::Bootstrapped, u64::from(keeps_bootstrap));
    let [lost, gone, foreign, edited] = [(); 4].map(|()| vec![false; nodes]);
    let unequal = timings.iter().any(|timing| timing.failure != TIMING.failure);
    world.faults.add(Counter::Unequal, u64::from(unequal));
    world.faults.add(Counter::Large, u64::from(nodes > 8));
    let stretch = if unequal { 2 } else { 1 };
    let tried = tried::draw(schedule.seed, schedule.quorum);
    let worst = worst::draw(schedule.seed, &world);
    let hasty = hasty::draw(schedule.seed, &mut world);
    world.faults.add(Counter::Hasty, u64::from(hasty.is_some()));
    let (informed, unsteady) = (false, None);
    let mut broken = BrokenWorld {
        world,
        random,
        lost,
        gone,
        foreign,
        edited,
        informed,
        tried,
        worst,
        hasty,
        unsteady,
        stretch,
    };
    let what = broken.run(schedule.seed);
    (broken.world, what)
}

impl BrokenWorld {
    fn run(&mut self, seed: u64) -> Result<Duration, String> {
        let begins_well = self.random.below(3) > 0;
        self.tried &= begins_well;
        self.informed = begins_well || self.world.setup.bootstrap;
        let ills = ills::draw(&mut self.random, &self.world);
        let ills = self.worst.map_or(ills, |(worst, _)| vec![worst]);
        let ills = self.hasty.as_ref().map_or(ills, |(_, slow)| slow.clone());
        let mut plan = if begins_well {
            let starts = doings::starts(self, TIMING.message);
            self.live_through(starts)?;
            self.pass(TIMING.failure * WELL * self.stretch)?;
            if self.tried {
                self.try_timings()?;
            }
            let spread = TIMING.failure * DOINGS;
            let mut when = || self.world.now + self.random.up_to(spread);
            ills.into_iter().map(|ill| (when(), Doing::Ill(ill))).collect()
        } else {
            ills.into_iter().for_each(|ill| self.ail(ill));
            doings::starts(self, TIMING.failure)
        };
        let setup = &self.world.setup;
        if setup.quorum == Quorum::Majority && setup.algorithm != AlgorithmKind::Halting {
            let drawn = unsteady::draw(seed, self.world.nodes.len(), self.world.now);
            // A hasty member that comes and goes as well is more than the others are promised to bear.
            let hasty = self.hasty.as_ref().map(|(hasty, _)| *hasty);
            self.unsteady = drawn.filter(|unsteady| Some(unsteady.node) != hasty);
        }
        for _ in 0..1 + self.random.below(2) {
            doings::add(self, &mut plan);
            if let Some((_, best)) = self.worst {
                self.restart(best, &mut plan);
            }
            if self.tried {
                self.add_outage(&mut plan);
            }
            self.live_through(std::mem::take(&mut plan))?;
            self.world.nodes.iter_mut().for_each(|node| node.fuse = None);
            pause::resume(&mut self.world, |_| true);
            self.pass(TIMING.failure * SETTLING * self.stretch)?;
            let mut missing = self.measure()?;
            if missing.is_some() && self.may_lose_election() {
                missing = self.measure()?;
            }
            missing.map_or(Ok(()), Err)?;
        }
        Ok(Duration::ZERO)
    }

    /// The number of elections allowed during the measurement. Without a majority leaders on the sides
    /// of dead links take turns. With halting, too, a leader elects anew for each member that is not
    /// Normal, as often as a member behind a dead link says so.
    fn most_elections(&self) -> u64 {
        match (self.world.setup.quorum, self.world.setup.algorithm) {
            (Quorum::Majority, _) => ELECTIONS,
            (Quorum::None, AlgorithmKind::Halting) => u64::MAX / u64::from(LONGER),
            (Quorum::None, _) => ELECTIONS_BY_TURNS * self.apart().clamp(1, 3) as u64,
        }
    }

    fn live_through(&mut self, mut plan: StayPlan) -> Result<(), String> {
        plan.sort_by_key(|(at, _)| *at);
        for (at, doing) in plan {
            self.advance(at)?;
            self.perform(doing);
        }
        Ok(())
    }

    /// Measures for how much of the time a member leads, if that is promised. Returns what is missing,
    /// in words.
    fn measure(&mut self) -> Result<Option<String>, String> {
        if !self.is_promised() {
            self.world.faults.count(Counter::Unpromised);
            self.pass(TIMING.failure)?;
            return Ok(None);
        }
        self.world.begin_uptime();
        let (began, elected) = (self.world.now, self.world.checker.elected);
        let mut share = 0;
        for times in 1..=u64::from(LONGER) {
            self.pass(TIMING.failure * MEASURED * self.stretch)?;
            let now = self.world.now;
            share = self.world.uptime.as_mut().map_or(0, |uptime| uptime.share(now));
            if !self.is_promised() {
                return Ok(None); // a change of the members came to an end meanwhile
            }
            let calm = self.world.checker.elected - elected <= self.most_elections() * times;
            if share >= self.least() && calm && self.is_agreed() {
                self.world.faults.count(Counter::Promised);
                return Ok(None);
            }
        }
        let elected = self.world.checker.elected - elected;
        let now = self.world.now;
        let ms = now.since(Time(0)).as_millis();
        Ok(Some(format!(
            "at {ms} ms: somebody led in {}.{} % of the last {} ms, with {elected} elections; promised by {}: {}",
            share / 10,
            share % 10,
            now.since(began).as_millis(),
            self.promise_in_words(),
            views(&self.world)
        )))
    }
}
