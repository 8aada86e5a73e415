//! A random life of a cluster, drawn from a seed: starts, crashes, restarts and commands; then,
//! without further faults, all must come to name one leader.

use std::ops::AddAssign;
use std::time::Duration;

use super::life::millis;
use super::network::PATIENCE;
use super::node::Death;
use super::world::{Delays, Setup, TIMING, World};
use crate::core::bounds;
use crate::core::random::Random;
use crate::core::settings::{AlgorithmKind, PowerOn, Preempt, RankKind};
use crate::core::types::Time;
use crate::core::{Command, CommandId, Input};
use crate::trace::{Detail, Line};

/// What is done to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// A process is started, and its host if that is gone.
    Start,
    /// A process dies after so many further outputs.
    Die(Death, u64),
    /// A host comes back without its process.
    HostReturns,
    /// An operator asks for something; to resign to the member at this place.
    Elect,
    Resign(Option<usize>),
    Stop,
    /// A process is called although nothing has happened.
    Tick,
}

/// How often what was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Starts, the first ones included.
    pub starts: u64,
    /// Processes killed, with proof.
    pub kills: u64,
    /// Hosts that vanished, silently.
    pub vanished: u64,
    /// Of these two, deaths between two outputs of one turn.
    pub amid: u64,
    /// Hosts that came back without their process.
    pub returned: u64,
    /// Elections asked for.
    pub elects: u64,
    /// Resignations asked for.
    pub resigns: u64,
    /// Processes stopped in order.
    pub stops: u64,
    /// How often a member came to lead.
    pub elected: u64,
    /// Of these, in an epoch in which another had led who is dead.
    pub repeated: u64,
}

impl Faults {
    /// All figures with their names.
    #[must_use]
    pub fn list(&self) -> [(&'static str, u64); 10] {
        [
            ("starts and restarts", self.starts),
            ("processes killed", self.kills),
            ("hosts vanished", self.vanished),
            ("  deaths amid a turn, of these", self.amid),
            ("hosts back without process", self.returned),
            ("processes stopped", self.stops),
            ("elections asked for", self.elects),
            ("resignations asked for", self.resigns),
            ("leaders elected", self.elected),
            ("  in an epoch of a dead one", self.repeated),
        ]
    }
}

impl AddAssign for Faults {
    fn add_assign(&mut self, other: Faults) {
        self.starts += other.starts;
        self.kills += other.kills;
        self.vanished += other.vanished;
        self.amid += other.amid;
        self.returned += other.returned;
        self.elects += other.elects;
        self.resigns += other.resigns;
        self.stops += other.stops;
        self.elected += other.elected;
        self.repeated += other.repeated;
    }
}

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
/// further member may have answered and died.
fn longest(members: usize) -> Duration {
    let failover = bounds::worst_failover(&TIMING, members).unwrap_or(TIMING.failure);
    let connected = TIMING.failure * 2 + PATIENCE + TIMING.message * 8;
    let deaths = u32::try_from(members).unwrap_or(u32::MAX);
    connected + failover + bounds::further_death(&TIMING) * deaths
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
        let plan = plan(&mut random, world.nodes.len());
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
        Setup {
            algorithm: self.algorithm,
            values: vec![Some(0); 2 + random.below(6) as usize],
            rank: RankKind::Id,
            hierarchy: true,
            preempt: if random.below(3) == 0 { Preempt::Never } else { Preempt::Always },
            power_on: PowerOn::Elect,
            delays: Delays::Random,
            disk: if slow { TIMING.failure * 2 } else { TIMING.message / 4 },
            seed: random.draw(),
            detail: self.trace.then_some(Detail::All),
        }
    }
}

/// What is done, when and to whom, in order of time.
fn plan(random: &mut Random, nodes: usize) -> Vec<(Time, usize, Fault)> {
    let mut plan = Vec::new();
    let spread = if random.below(2) == 0 { TIMING.message } else { TIMING.failure * 3 };
    for node in 0..nodes {
        plan.push((Time(0) + random.up_to(spread), node, Fault::Start));
    }
    let period = TIMING.failure * (2 + random.below(10) as u32);
    for _ in 0..random.below(14) {
        let (at, node) = (Time(0) + random.up_to(period), random.below(nodes as u64) as usize);
        match random.below(16) {
            0 => plan.push((at, node, Fault::Elect)),
            1 => plan.push((at, node, Fault::Resign(None))),
            2 => {
                let to = random.below(nodes as u64) as usize;
                plan.push((at, node, Fault::Resign(Some(to))));
            }
            3 => plan.push((at, node, Fault::Tick)),
            death => draw_death(random, &mut plan, at, node, death),
        }
    }
    plan.sort_by_key(|(at, _, _)| *at);
    plan
}

/// A death, and most often a return.
fn draw_death(
    random: &mut Random,
    plan: &mut Vec<(Time, usize, Fault)>,
    at: Time,
    node: usize,
    draw: u64,
) {
    let outputs = if random.below(2) == 0 { 0 } else { random.below(12) };
    let fault = match draw {
        4 => Fault::Stop,
        5..10 => Fault::Die(Death::Vanished, outputs),
        _ => Fault::Die(Death::Killed, outputs),
    };
    plan.push((at, node, fault));
    let soon = if random.below(3) == 0 { TIMING.message } else { TIMING.failure * 4 };
    let back = at + random.up_to(soon);
    match random.below(8) {
        0 | 1 => {}
        2 => plan.push((back, node, Fault::HostReturns)),
        _ => plan.push((back, node, Fault::Start)),
    }
}

/// Carries the plan out and waits for agreement. Tells how long that took.
fn live_through(
    world: &mut World,
    plan: Vec<(Time, usize, Fault)>,
    faults: &mut Faults,
) -> Result<Duration, String> {
    for (at, node, fault) in plan {
        run_until(world, at)?;
        world.now = at;
        inflict(world, node, fault, faults);
    }
    for node in &mut world.nodes {
        node.fuse = None;
    }
    let healed = world.now;
    let mut agreed = healed;
    let members = world.nodes.len();
    // Agreement must come within the bound, and then last.
    let limit = healed + longest(members);
    for until in [limit, limit + TIMING.failure * 3] {
        while step(world, until)? {
            if !is_settled(world) {
                agreed = world.now;
            }
        }
    }
    if agreed > limit {
        return Err(format!(
            "no lasting agreement {} ms after the last fault, at {:.3} ms",
            longest(members).as_millis(),
            millis(limit)
        ));
    }
    Ok(agreed.since(healed))
}

fn run_until(world: &mut World, until: Time) -> Result<(), String> {
    while step(world, until)? {}
    Ok(())
}

fn step(world: &mut World, until: Time) -> Result<bool, String> {
    let stepped = world.step(until);
    world.checker.breach.take().map_or(Ok(stepped), Err)
}

/// Whether all live members name one live leader, which is the one it should be.
fn is_settled(world: &World) -> bool {
    if world.live().next().is_none() {
        return true;
    }
    let Some((leader, _)) = world.agreed() else { return false };
    let highest = world.live().filter(|(_, core)| core.stands()).map(|(at, _)| at).max();
    world.setup.preempt == Preempt::Never || highest == Some(leader)
}

fn inflict(world: &mut World, node: usize, fault: Fault, faults: &mut Faults) {
    let runs = world.nodes[node].core.is_some();
    match fault {
        Fault::Start if !runs => {
            faults.starts += 1;
            world.start(node);
            world.dial_all(node);
        }
        Fault::HostReturns if !runs => {
            faults.returned += u64::from(!world.nodes[node].host);
            world.nodes[node].host = true;
        }
        Fault::Die(death, outputs) if runs => {
            let vanishes = death == Death::Vanished;
            *(if vanishes { &mut faults.vanished } else { &mut faults.kills }) += 1;
            faults.amid += u64::from(outputs > 0);
            if outputs == 0 {
                world.die(node, death);
            } else {
                world.nodes[node].fuse = Some((outputs, death));
            }
        }
        Fault::Elect if runs => {
            faults.elects += 1;
            command(world, node, Command::Elect);
        }
        Fault::Resign(to) if runs => {
            faults.resigns += 1;
            let to = to.map(|to| world.id(to));
            command(world, node, Command::Resign { to });
        }
        Fault::Stop if runs => {
            faults.stops += 1;
            command(world, node, Command::Stop);
        }
        Fault::Tick if runs => world.give(node, Input::Tick),
        _ => {}
    }
}

fn command(world: &mut World, node: usize, command: Command) {
    world.give(node, Input::Command { id: CommandId(1), command });
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
