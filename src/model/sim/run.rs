//! Running a schedule.

use std::time::Duration;

use super::coroners::SimulatedCoroners;
use super::counters::Counter;
use super::drive::Drive;
use super::faults::inflict;
use super::flights::{Flights, SimulatedFlight};
use super::jobs::Jobs;
use super::members;
use super::named;
use super::names::WantedNames;
use super::orders;
use super::pause;
use super::periods::{self, PeriodFigures, SimulatedPeriods};
use super::plan::FaultPlan;
use super::schedule::{FailedRun, PassedRun, Schedule};
use super::settle;
use super::settle::{revive, settle, step};
use super::setup::{Delays, FaultSet, Setup, TIMING};
use super::sources::{BEYOND, CHANGES, WorldSequences};
use super::world::World;
use super::{joining, model, stay, trouble};
use crate::core::random::Random;
use crate::core::settings::{PowerOn, Preempt, Quorum, Timing};
use crate::trace::Detail;

impl Schedule {
    /// Lives through the schedule.
    ///
    /// # Errors
    /// At the first breach of an invariant, or when the members do not come to name one leader.
    pub fn run(self) -> Result<PassedRun, FailedRun> {
        let (world, what) = self.live();
        self.sum_up(world, what)
    }

    /// Lives through the schedule in a cluster whose members want names. Returns how often a name was taken.
    ///
    /// # Errors
    /// At the first breach of an invariant, or if at the end nobody acts under a name that is wanted.
    pub fn run_with_names(self) -> Result<u64, String> {
        let (mut world, what) = self.live_in(|world| {
            world.names = Some(WantedNames::new(self.seed, world.nodes.len()));
        });
        what?;
        if let Some(names) = &mut world.names {
            names.calm = true;
        }
        settle::pass(&mut world, TIMING.failure * 6)?;
        named::judge_held(&world)
    }

    /// Lives through the schedule in a cluster of names that are held once in each period, by hosts some of whose clocks are
    /// a year apart. Returns what became of their runs.
    ///
    /// # Errors
    /// At the first breach of an invariant, or if a job has not run in the end.
    pub fn run_with_periods(self) -> Result<PeriodFigures, String> {
        let (mut world, what) = self.live_in(|world| {
            let mut names = WantedNames::new(self.seed, world.nodes.len());
            let voters: Vec<usize> =
                world.founders.voters().filter_map(|id| world.place(id)).collect();
            let most = voters.len() - world.founders.majority();
            let periods = SimulatedPeriods::new(self.seed, world.nodes.len(), (&voters, most));
            names.periods = Some(periods);
            world.names = Some(names);
        });
        what?;
        if let Some(names) = &mut world.names {
            names.calm = true;
        }
        settle::pass(&mut world, periods::LENGTH * 4)?;
        named::judge_periods(&world)
    }

    /// The world at the end of the schedule, and how long it took to settle.
    pub(super) fn live(self) -> (World, Result<Duration, String>) {
        self.live_in(|_| {})
    }

    /// The flights of all processes of this run, as the nodes of a cluster record theirs, and the breach, if there is one.
    /// Runs whose faults stay have none.
    #[must_use]
    pub fn recorded(self) -> (Vec<SimulatedFlight>, Option<String>) {
        let (world, what) = self.live_in(|world| world.flights = Some(Flights::default()));
        (world.flights.map(|flights| flights.segments()).unwrap_or_default(), what.err())
    }

    /// The same, in a world that this has changed before.
    fn live_in(self, change: impl FnOnce(&mut World)) -> (World, Result<Duration, String>) {
        if self.faults == FaultSet::Stay {
            return stay::run(self);
        }
        let [mut random, mut beyond, mut changes] =
            [0, BEYOND, CHANGES].map(|sequence| Random::new(self.seed ^ sequence));
        let mut setup = self.setup(&mut random, &mut beyond);
        let nodes = setup.values.len();
        let stays = self.faults.is_within_model() || self.faults == FaultSet::Orders;
        let changing = !stays && changes.below(2) == 0;
        if changing {
            setup.newcomers = joining::newcomers(&mut changes, &setup.roles, nodes);
        }
        let mut world = World::new(setup);
        if self.faults.has_jobs() {
            let exclusive = self.quorum == Quorum::Majority;
            world.jobs = Some(Jobs::new(self.seed, nodes, exclusive));
        }
        world.changes = changing;
        world.coroners = SimulatedCoroners::of_run(self.seed, nodes);
        change(&mut world);
        let plan = WorldSequences { random, beyond, changes }.plan(self, &mut world);
        let what = live_through(&mut world, plan);
        (world, what)
    }

    /// Counts what is known at the end only.
    fn sum_up(
        self,
        mut world: World,
        what: Result<Duration, String>,
    ) -> Result<PassedRun, FailedRun> {
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
            Ok(settled) => Ok(PassedRun { faults, settled, trace, events, nodes }),
            Err(what) => Err(FailedRun { schedule: self, what, trace }),
        }
    }

    fn setup(self, random: &mut Random, beyond: &mut Random) -> Setup {
        let slow = random.below(8) == 0;
        let members = 2 + random.below(6) as usize;
        let (rank, values) = model::ranks(random, members);
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
fn live_through(world: &mut World, plan: FaultPlan) -> Result<Duration, String> {
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
    pause::resume(world, |_| true);
    orders::heal_checks(world);
    orders::end_retiming(world);
    revive(world);
    let until = world.now + members::changing(world).max(settle::ending(world));
    while step(world, until)? {}
    world.now = until;
    revive(world); // the last change may have added a member that does not run, and a leader may have waited for its job
    settle(world)
}
