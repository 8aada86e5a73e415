//! What is done to a cluster in a random life: drawn from the seed, then inflicted on the world.

use std::ops::AddAssign;

use super::node::Death;
use super::world::{TIMING, World};
use crate::core::random::Random;
use crate::core::types::Time;
use crate::core::{Command, CommandId, Input};

/// What is done to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
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
    /// The member's attribute has changed, or cannot be had.
    Sample(Option<i64>),
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
    /// Attributes that changed.
    pub samples: u64,
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
    pub fn list(&self) -> [(&'static str, u64); 11] {
        [
            ("starts and restarts", self.starts),
            ("processes killed", self.kills),
            ("hosts vanished", self.vanished),
            ("  deaths amid a turn, of these", self.amid),
            ("hosts back without process", self.returned),
            ("processes stopped", self.stops),
            ("elections asked for", self.elects),
            ("resignations asked for", self.resigns),
            ("attributes changed", self.samples),
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
        self.samples += other.samples;
        self.stops += other.stops;
        self.elected += other.elected;
        self.repeated += other.repeated;
    }
}

/// What is done, when and to whom, in order of time.
pub(super) type Plan = Vec<(Time, usize, Fault)>;

/// Draws a plan for so many nodes, whose ranks may change.
pub(super) fn plan(random: &mut Random, nodes: usize, changes: bool) -> Plan {
    let mut plan = Plan::new();
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
    let samples = if changes { random.below(12) } else { 0 };
    for _ in 0..samples {
        let (at, node) = (Time(0) + random.up_to(period), random.below(nodes as u64) as usize);
        plan.push((at, node, Fault::Sample(sample(random))));
    }
    plan.sort_by_key(|(at, _, _)| *at);
    plan
}

/// An attribute, from so few that some are equal.
pub(super) fn attribute(random: &mut Random) -> i64 {
    random.below(6) as i64 - 2
}

/// An attribute that changes; now and then it cannot be had.
pub(super) fn sample(random: &mut Random) -> Option<i64> {
    (random.below(8) > 0).then(|| attribute(random))
}

/// A death, and most often a return.
fn draw_death(random: &mut Random, plan: &mut Plan, at: Time, node: usize, draw: u64) {
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

/// Carries one of them out, where it makes sense.
pub(super) fn inflict(world: &mut World, node: usize, fault: Fault, faults: &mut Faults) {
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
        Fault::Sample(value) => {
            faults.samples += 1;
            world.nodes[node].settings.value = value; // what the next process finds
            world.give(node, Input::Sampled { value });
        }
        Fault::Tick if runs => world.give(node, Input::Tick),
        _ => {}
    }
}

fn command(world: &mut World, node: usize, command: Command) {
    world.give(node, Input::Command { id: CommandId(1), command });
}
