//! Where the plan of a random run comes from: a table of all that draws faults, and of the runs that have them.

use super::draft::Draft;
use super::operators::{
    add_certificates, add_drains, add_orders, add_outage, add_pauses, add_switchovers, add_tasks,
    add_upgrades,
};
use super::plan::FaultPlan;
use super::schedule::Schedule;
use super::setup::FaultSet;
use super::world::World;
use super::{joining, model, retiming, storm, trouble};
use crate::core::random::Random;
use crate::core::settings::AlgorithmKind;

/// Faults beyond the model are drawn from this sequence, so that the rest of a seed stays as it is within the model.
pub(super) const BEYOND: u64 = 0x6265_796f_6e64;

/// So are the changes of the members.
pub(super) const CHANGES: u64 = 0x0063_6861_6e67_6573;

/// What draws faults.
struct FaultSource {
    /// The sequence of random numbers that they are drawn from: without this source all others of a seed stay the same.
    sequence: u64,
    /// What begins has names above this one, and ends by its name.
    names: u32,
    /// The runs that have these faults.
    runs: fn(Schedule, &World) -> bool,
    /// Adds them to the plan.
    add: fn(&mut Draft, &mut World),
}

const fn source(
    sequence: u64,
    runs: fn(Schedule, &World) -> bool,
    add: fn(&mut Draft, &mut World),
) -> FaultSource {
    FaultSource { sequence, names: 0, runs, add }
}

/// All of them, in the order in which they add to a plan.
const SOURCES: &[FaultSource] = &[
    source(0, |_, _| true, |draft, world| model::add(draft, world.setup.rank.changes())),
    source(BEYOND, beyond, |draft, _| trouble::add(draft)),
    source(0x6f75_7461_6765, beyond, |draft, _| add_outage(draft)),
    source(CHANGES, |_, world| world.changes, |draft, _| joining::add(draft)),
    FaultSource {
        names: 1 << 16,
        ..source(0x7374_6f72_6d73, storms, |draft, _| storm::add(draft))
    },
    FaultSource {
        names: 1 << 20,
        ..source(0x7265_7469_6d65, storms, |draft, _| retiming::add(draft))
    },
    source(0x7461_736b_7300, with_tasks, |draft, _| add_tasks(draft)),
    source(0x0066_6974_6e65_7373, jobs, add_drains),
    source(0x0070_6175_7365_7300, jobs, |draft, _| add_pauses(draft)),
    source(0x7377_6974_6368, with_switchovers, |draft, _| add_switchovers(draft)),
    source(0x7570_6772_6164, with_upgrades, add_upgrades),
    source(0x006f_7264_6572_7300, orders, |draft, _| add_orders(draft)),
    source(0x636f_7069_6573, with_coroners, |draft, _| add_certificates(draft)),
];

fn beyond(run: Schedule, _: &World) -> bool {
    !run.faults.is_within_model()
}

fn storms(run: Schedule, _: &World) -> bool {
    run.faults == FaultSet::Storm
}

fn jobs(run: Schedule, _: &World) -> bool {
    run.faults == FaultSet::Jobs
}

fn orders(run: Schedule, _: &World) -> bool {
    run.faults == FaultSet::Orders
}

fn with_tasks(run: Schedule, world: &World) -> bool {
    beyond(run, world) && run.algorithm == AlgorithmKind::Halting
}

fn with_switchovers(run: Schedule, world: &World) -> bool {
    jobs(run, world) || run.seed % 4 == 3
}

fn with_upgrades(run: Schedule, world: &World) -> bool {
    jobs(run, world) || storms(run, world)
}

fn with_coroners(_: Schedule, world: &World) -> bool {
    world.coroners.is_some()
}

/// The sequences that a world was drawn from, which go on.
pub(super) struct WorldSequences {
    pub random: Random,
    pub beyond: Random,
    pub changes: Random,
}

impl WorldSequences {
    /// Draws the plan of a run.
    pub fn plan(mut self, run: Schedule, world: &mut World) -> FaultPlan {
        let mut plan = FaultPlan::new();
        let newcomers = world.setup.newcomers.clone();
        for source in SOURCES {
            if !(source.runs)(run, world) {
                continue;
            }
            let mut own = Random::new(run.seed ^ source.sequence);
            let random = match source.sequence {
                0 => &mut self.random,
                BEYOND => &mut self.beyond,
                CHANGES => &mut self.changes,
                _ => &mut own,
            };
            let mut draft = Draft {
                random,
                nodes: world.nodes.len(),
                newcomers: world.changes.then_some(&newcomers[..]),
                plan: &mut plan,
                last: source.names,
            };
            (source.add)(&mut draft, world);
            plan.sort_by_key(|(at, _, _)| *at);
        }
        plan
    }
}
