//! Running a schedule.

use std::time::Duration;

use super::counters::Counter;
use super::drive::Drive;
use super::faults::{add_tasks, inflict, plan, ranks};
use super::guards::Jobs;
use super::plan::Plan;
use super::schedule::{Failure, Run, Schedule};
use super::settle::{revive, settle, step};
use super::setup::{Delays, FaultSet, Setup, TIMING};
use super::world::World;
use super::{fitness, members, paused, retiming, stay, storm, switched, trouble, upgrade};
use crate::core::random::Random;
use crate::core::settings::{AlgorithmKind, PowerOn, Preempt, Quorum, Timing};
use crate::trace::Detail;

/// The random numbers for faults beyond the model come from a sequence of their own, so that the rest
/// of a seed stays as it is within the model.
const BEYOND: u64 = 0x6265_796f_6e64;

/// So are the changes of the members: the other seeds stay as they are without them.
const CHANGES: u64 = 0x0063_6861_6e67_6573;

/// And the tasks that are handed out.
const TASKS: u64 = 0x7461_736b_7300;

/// And the moments at which the power fails everywhere, in one seed of sixteen.
const OUTAGES: u64 = 0x6f75_7461_6765;

/// And what makes members fit to lead or not.
const FITNESS: u64 = 0x0066_6974_6e65_7373;
const PAUSES: u64 = 0x0070_6175_7365_7300;
const SWITCHOVERS: u64 = 0x7377_6974_6368;

/// And the storms.
const STORMS: u64 = 0x7374_6f72_6d73;

/// And the timings that members are reloaded with.
const RETIMING: u64 = 0x7265_7469_6d65;

/// And the versions that members run.
const UPGRADES: u64 = 0x7570_6772_6164;

impl Schedule {
    /// Lives through the schedule.
    ///
    /// # Errors
    /// At the first breach of an invariant, or when the members do not come to name one leader.
    pub fn run(self) -> Result<Run, Failure> {
        if self.faults == FaultSet::Stay {
            let (world, what) = stay::run(self);
            return self.sum_up(world, what);
        }
        let (mut random, mut beyond) = (Random::new(self.seed), Random::new(self.seed ^ BEYOND));
        let mut setup = self.setup(&mut random, &mut beyond);
        let nodes = setup.values.len();
        let mut changes = Random::new(self.seed ^ CHANGES);
        let beyond_model = !self.faults.is_within_model();
        let changing = beyond_model && changes.below(2) == 0;
        if changing {
            setup.newcomers = members::newcomers(&mut changes, &setup.roles, nodes);
        }
        let mut world = World::new(setup);
        if self.faults == FaultSet::Jobs {
            let exclusive = self.quorum == Quorum::Majority && !world.setup.trust_refused;
            world.jobs = Some(Jobs::new(self.seed, nodes, exclusive));
        }
        world.changes = changing;
        let mut plan = plan(&mut random, nodes, world.setup.rank.changes());
        if beyond_model {
            trouble::add(&mut beyond, nodes, &mut plan);
            trouble::add_outage(&mut Random::new(self.seed ^ OUTAGES), nodes, &mut plan);
        }
        if changing {
            members::add(&mut changes, nodes, &world.setup.newcomers, &mut plan);
        }
        if self.faults == FaultSet::Storm {
            let mut storms = Random::new(self.seed ^ STORMS);
            let newcomers = changing.then_some(&world.setup.newcomers[..]);
            storm::add(&mut storms, nodes, newcomers, &mut plan);
            retiming::add(&mut Random::new(self.seed ^ RETIMING), nodes, &mut plan);
        }
        if beyond_model && self.algorithm == AlgorithmKind::Halting {
            add_tasks(&mut Random::new(self.seed ^ TASKS), &mut plan);
        }
        if self.faults == FaultSet::Jobs {
            fitness::add(&mut Random::new(self.seed ^ FITNESS), &mut world, &mut plan);
            paused::add(&mut Random::new(self.seed ^ PAUSES), nodes, &mut plan);
        }
        if self.faults == FaultSet::Jobs || self.seed % 4 == 3 {
            switched::add(&mut Random::new(self.seed ^ SWITCHOVERS), nodes, &mut plan);
        }
        if matches!(self.faults, FaultSet::Jobs | FaultSet::Storm) {
            upgrade::add(&mut Random::new(self.seed ^ UPGRADES), &mut world, &plan);
        }
        let what = live_through(&mut world, plan);
        self.sum_up(world, what)
    }

    /// Counts what is known at the end only.
    fn sum_up(self, mut world: World, what: Result<Duration, String>) -> Result<Run, Failure> {
        let drifts = world.setup.clocks.iter().filter(|clock| clock.drifts()).count();
        let checker = &world.checker;
        for (counter, times) in [
            (Counter::Elected, checker.elected),
            (Counter::Repeated, checker.repeated),
            (Counter::Rivals, checker.rivals),
            (Counter::Drifts, drifts as u64),
        ] {
            world.faults.add(counter, times);
        }
        let (faults, trace, nodes) = (world.faults, world.lines, world.nodes.len());
        let events = world.drawing.unwrap_or_default().finish(world.now);
        match what {
            Ok(settled) => Ok(Run { faults, settled, trace, events, nodes }),
            Err(what) => Err(Failure { schedule: self, what, trace }),
        }
    }

    fn setup(self, random: &mut Random, beyond: &mut Random) -> Setup {
        let slow = random.below(8) == 0;
        let members = 2 + random.below(6) as usize;
        let (rank, values) = ranks(random, members);
        Setup {
            algorithm: self.algorithm,
            quorum: self.quorum,
            newcomers: Vec::new(),
            roles: match self.quorum {
                Quorum::None => Vec::new(),
                Quorum::Majority => trouble::roles(beyond, members),
            },
            bootstrap: self.quorum == Quorum::Majority && beyond.below(2) == 0,
            trust_refused: self.quorum == Quorum::None || beyond.below(4) == 0,
            faults: self.faults,
            clocks: match self.faults {
                FaultSet::Model => Vec::new(),
                _ => trouble::clocks(beyond, members),
            },
            values,
            rank,
            hierarchy: true,
            preempt: match random.below(6) {
                0 | 1 => Preempt::Never,
                2 => Preempt::After(TIMING.failure + random.up_to(TIMING.failure * 2)),
                _ => Preempt::Always,
            },
            power_on: PowerOn::Elect,
            timing: Timing {
                // As long as it may be, so that a lease and the silence after it end together.
                lease: if beyond.below(2) == 0 { TIMING.failure } else { TIMING.lease },
                ..TIMING
            },
            delays: Delays::Random,
            disk: if slow { TIMING.failure * 2 } else { TIMING.message / 4 },
            seed: random.draw(),
            detail: self.trace.then_some(Detail::All),
        }
    }
}

/// Carries the plan out, ends all faults and waits for agreement. Tells how long that took.
fn live_through(world: &mut World, plan: Plan) -> Result<Duration, String> {
    for (at, node, fault) in plan {
        while step(world, at)? {}
        world.now = at;
        inflict(world, node, fault);
    }
    for node in &mut world.nodes {
        node.fuse = None;
        node.drive = Drive::default();
    }
    world.link_faults.clear();
    world.resume(|_| true);
    world.heal_checks();
    world.end_retiming();
    revive(world);
    let until = world.now + world.changing().max(world.ending());
    while step(world, until)? {}
    world.now = until;
    revive(world); // the last change may have added a member that does not run, and a leader may have waited for its job
    settle(world)
}
