//! A random life of a cluster, drawn from a seed: starts, crashes, restarts and commands; then,
//! without further faults, all must come to name one leader.

use std::time::Duration;

use super::faults::{Faults, Plan, attribute, inflict, plan, sample};
use super::life::millis;
use super::network::PATIENCE;
use super::world::{Delays, Setup, TIMING, World};
use crate::core::bounds;
use crate::core::random::Random;
use crate::core::settings::{AlgorithmKind, PowerOn, Preempt, RankKind};
use crate::core::standing::Standing;
use crate::core::types::Time;
use crate::core::{Core, Phase};
use crate::trace::{Detail, Line};

/// A random schedule.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// How the members elect.
    pub algorithm: AlgorithmKind,
    /// All that happens follows from it.
    pub seed: u64,
    /// Whether to keep a trace.
    pub trace: bool,
}

/// A run that ended as it must.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was done.
    pub faults: Faults,
    /// How long after the last fault all named one leader.
    pub settled: Duration,
    /// What happened.
    pub trace: Vec<Line>,
}

/// A run that did not.
#[derive(Clone, Debug, thiserror::Error)]
#[error("seed {seed}: {what}")]
pub struct Failure {
    /// How the members elected.
    pub algorithm: AlgorithmKind,
    /// The seed.
    pub seed: u64,
    /// What should not have happened.
    pub what: String,
    /// What happened.
    pub trace: Vec<Line>,
}

impl Failure {
    /// The command that shows this run again.
    #[must_use]
    pub fn replay(&self) -> String {
        let algorithm = self.algorithm.name();
        format!("electd simulate --algorithm {algorithm} --faults --seed {}", self.seed)
    }
}

/// From the last fault until all live members name one leader, in a cluster of this many.
///
/// Before the last election can start, all survivors are connected: a host that returned is
/// refused its id for `failure` after its last word, then waits out a back-off of `failure`, and
/// a dial to a host that is gone takes its time. Then the leader's death must be seen; and each
/// further member may have answered and died, or is to be found dead in the ring.
fn longest(algorithm: AlgorithmKind, members: usize) -> Duration {
    let failover = bounds::worst_failover(algorithm, &TIMING, members);
    let further = bounds::further_death(algorithm, &TIMING);
    let connected = TIMING.failure * 2 + PATIENCE + TIMING.message * 8;
    let deaths = u32::try_from(members).unwrap_or(u32::MAX);
    connected + failover.unwrap_or(TIMING.failure) + further * deaths
}

impl Schedule {
    /// Lives through the schedule.
    ///
    /// # Errors
    /// At the first breach of an invariant, or when the members do not come to name one leader.
    pub fn run(self) -> Result<Run, Failure> {
        let mut random = Random::new(self.seed);
        let mut world = World::new(self.setup(&mut random));
        let mut faults = Faults::default();
        let plan = plan(&mut random, world.nodes.len(), world.setup.rank.changes());
        let what = live_through(&mut world, plan, &mut faults);
        faults.elected = world.checker.elected;
        faults.repeated = world.checker.repeated;
        let trace = world.lines;
        match what {
            Ok(settled) => Ok(Run { faults, settled, trace }),
            Err(what) => Err(Failure { algorithm: self.algorithm, seed: self.seed, what, trace }),
        }
    }

    fn setup(self, random: &mut Random) -> Setup {
        let slow = random.below(8) == 0;
        let members = 2 + random.below(6) as usize;
        let rank = match random.below(8) {
            0 | 1 => RankKind::Priority,
            2 => RankKind::Disk,
            _ => RankKind::Id,
        };
        let mut value = || match rank {
            RankKind::Id => Some(0),
            RankKind::Disk => sample(random),
            _ => Some(attribute(random)),
        };
        Setup {
            algorithm: self.algorithm,
            values: (0..members).map(|_| value()).collect(),
            rank,
            hierarchy: true,
            preempt: match random.below(6) {
                0 | 1 => Preempt::Never,
                2 => Preempt::After(TIMING.failure + random.up_to(TIMING.failure * 2)),
                _ => Preempt::Always,
            },
            power_on: PowerOn::Elect,
            timing: TIMING,
            delays: Delays::Random,
            disk: if slow { TIMING.failure * 2 } else { TIMING.message / 4 },
            seed: random.draw(),
            detail: self.trace.then_some(Detail::All),
        }
    }
}

/// Carries the plan out and waits for agreement. Tells how long that took.
fn live_through(world: &mut World, plan: Plan, faults: &mut Faults) -> Result<Duration, String> {
    for (at, node, fault) in plan {
        run_until(world, at)?;
        world.now = at;
        inflict(world, node, fault, faults);
    }
    for node in &mut world.nodes {
        node.fuse = None;
    }
    let healed = world.now;
    let longest = longest(world.setup.algorithm, world.nodes.len());
    let wait = longest_wait(world.setup.preempt);
    // All must agree within the bound, and then for good; but for a better one that waits.
    let (mut agreed, mut settled) = (agree(world).then_some(healed), healed);
    let (soon, late) = (healed + longest, healed + longest + wait);
    for until in [late, late + TIMING.failure * 3] {
        while step(world, until)? {
            if agreed.is_none() && agree(world) {
                agreed = Some(world.now);
            }
            if !is_settled(world) {
                settled = world.now;
            }
        }
    }
    match agreed {
        Some(agreed) if agreed <= soon && settled <= late => {
            Ok(if wait.is_zero() { settled } else { agreed }.since(healed))
        }
        _ => Err(format!(
            "no lasting agreement {} ms after the last fault, at {:.3} ms",
            (longest + wait).as_millis(),
            millis(late)
        )),
    }
}

/// How long a better one may have to wait until it takes over, where that is damped.
fn longest_wait(preempt: Preempt) -> Duration {
    match preempt {
        Preempt::Always | Preempt::Never => Duration::ZERO,
        Preempt::After(after) => after * Standing::LONGEST + TIMING.failure * 2,
    }
}

fn run_until(world: &mut World, until: Time) -> Result<(), String> {
    while step(world, until)? {}
    Ok(())
}

fn step(world: &mut World, until: Time) -> Result<bool, String> {
    let stepped = world.step(until);
    world.checker.breach.take().map_or(Ok(stepped), Err)
}

/// Whether all live members name one live leader, or none where nobody stands.
fn agree(world: &World) -> bool {
    world.agreed().is_some()
        || world.live().all(|(_, core)| core.leader().is_none() && !core.stands())
}

/// Whether they also name the one they should: no standing member that lives is better than the
/// leader. A leader's rank is the one that it was elected with; all others have their latest.
fn is_settled(world: &World) -> bool {
    let up_to_date = |at: usize, core: &Core| {
        let latest = world.nodes[at].settings.value.unwrap_or(i64::MIN);
        core.phase() != Phase::Following || core.rank().value == latest
    };
    let standing = world.live().filter(|(_, core)| core.stands());
    let best = standing.max_by_key(|(_, core)| core.rank()).map(|(at, _)| at);
    let leader = world.agreed().map(|(leader, _)| leader);
    agree(world)
        && world.live().all(|(at, core)| up_to_date(at, core))
        && (world.setup.preempt == Preempt::Never || best == leader)
}

impl World {
    /// The live leader that all live members name, by its place, and its epoch.
    pub(super) fn agreed(&self) -> Option<(usize, crate::core::types::Epoch)> {
        let mut views = self.live().map(|(_, core)| (core.leader(), core.view().epoch));
        let (leader, epoch) = views.next()?;
        let place = self.place(leader?.id)?;
        let agree = views.all(|view| view == (leader, epoch)) && self.nodes[place].leads();
        agree.then_some((place, epoch))
    }
}
