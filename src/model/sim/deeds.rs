//! What somebody does to the cluster of an experiment.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::counters::Counter;
use super::drive::Drive;
use super::link_faults::{Disturbance, Links};
use super::network;
use super::node::Death;
use super::orders;
use super::pause;
use super::world::World;
use crate::core::{CommandId, Input, OperatorCommand};

/// How long a write of a slow disk takes.
const SLOW: Duration = Duration::from_millis(300);
/// What is done to the cluster. Members are numbered from 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// The process of a member is gone: its connections end, and dials are refused.
    Kill(usize),
    /// The host of a member is gone: nobody sees that, and what is sent to it vanishes.
    Vanish(usize),
    /// The process of a member is started, and its host if that is gone.
    Restart(usize),
    /// The process of a member does nothing for a while.
    Freeze(usize),
    /// It goes on.
    Thaw(usize),
    /// Every write of a member's disk takes 300 ms.
    Slow(usize),
    /// The disk of a member is as fast as the others.
    Quick(usize),
    /// A member is asked to call an election.
    Elect(usize),
    /// Nothing comes through between these members and those.
    Cut(BTreeSet<usize>, BTreeSet<usize>),
    /// The cut between these is over.
    Heal(BTreeSet<usize>, BTreeSet<usize>),
    /// All cuts are over.
    HealAll,
}

impl Deed {
    /// The numbers of those to whom it is done.
    fn members(&self) -> BTreeSet<usize> {
        match self {
            Deed::Kill(number)
            | Deed::Vanish(number)
            | Deed::Restart(number)
            | Deed::Freeze(number)
            | Deed::Thaw(number)
            | Deed::Slow(number)
            | Deed::Quick(number)
            | Deed::Elect(number) => BTreeSet::from([*number]),
            Deed::Cut(one, other) | Deed::Heal(one, other) => one.union(other).copied().collect(),
            Deed::HealAll => BTreeSet::new(),
        }
    }
}

/// The cuts that last, by their sides, and their names.
#[derive(Debug, Default)]
pub(super) struct Cuts(BTreeMap<[BTreeSet<usize>; 2], u32>);

/// Does it.
///
/// # Errors
/// Why it cannot be done now.
pub(super) fn perform(world: &mut World, cuts: &mut Cuts, deed: &Deed) -> Result<(), &'static str> {
    if !deed.members().iter().all(|number| (1..=world.nodes.len()).contains(number)) {
        return Err("there is no such member");
    }
    match deed {
        Deed::Kill(number) => world.die(running(world, *number)?, Death::Killed),
        Deed::Vanish(number) => world.die(running(world, *number)?, Death::Vanished),
        Deed::Restart(number) => {
            if running(world, *number).is_ok() {
                return Err("the member runs then: kill it before");
            }
            orders::start(world, number - 1);
            network::dial_all(world, number - 1);
        }
        Deed::Freeze(number) => {
            let node = running(world, *number)?;
            if world.nodes[node].pause.is_some() {
                return Err("the member is frozen then");
            }
            pause::pause(world, node, pause_of(node));
        }
        Deed::Thaw(number) => {
            let node = running(world, *number)?;
            if world.nodes[node].pause.is_none() {
                return Err("the member is not frozen then");
            }
            pause::resume(world, |name| name == pause_of(node));
        }
        Deed::Slow(number) => {
            world.nodes[number - 1].drive.speed = Some((SLOW, SLOW));
            world.suffers(number - 1, || "its disk is slow".to_owned());
        }
        Deed::Quick(number) => {
            world.nodes[number - 1].drive = Drive::default();
            world.suffers(number - 1, || "its disk is fast again".to_owned());
        }
        Deed::Elect(number) => {
            let node = running(world, *number)?;
            world.suffers(node, || "is asked for an election".to_owned());
            world.tell_now(
                node,
                Input::Command { id: CommandId(0), command: OperatorCommand::Elect },
            );
        }
        Deed::Cut(one, other) => cuts.cut(world, one, other)?,
        Deed::Heal(one, other) => cuts.heal(world, one, other)?,
        Deed::HealAll => {
            if cuts.0.is_empty() {
                return Err("nothing is cut then");
            }
            for [one, other] in cuts.0.keys().cloned().collect::<Vec<_>>() {
                cuts.heal(world, &one, &other)?;
            }
        }
    }
    Ok(())
}

impl Cuts {
    fn cut(
        &mut self,
        world: &mut World,
        one: &BTreeSet<usize>,
        other: &BTreeSet<usize>,
    ) -> Result<(), &'static str> {
        let sides = sides(one, other);
        if self.0.contains_key(&sides) {
            return Err("it is cut then");
        }
        let name = self.0.values().max().map_or(0, |last| last + 1);
        let links = Links::among(world.nodes.len(), |from, to| {
            let crosses = |[one, other]: &[BTreeSet<usize>; 2]| {
                one.contains(&(from + 1)) && other.contains(&(to + 1))
            };
            crosses(&sides) || crosses(&[sides[1].clone(), sides[0].clone()])
        });
        let cuts = Disturbance::Cuts(Counter::Splits);
        world.link_faults.begin(name, links, cuts, (false, false));
        mark(world, &sides, "is cut off from");
        self.0.insert(sides, name);
        Ok(())
    }

    fn heal(
        &mut self,
        world: &mut World,
        one: &BTreeSet<usize>,
        other: &BTreeSet<usize>,
    ) -> Result<(), &'static str> {
        let sides = sides(one, other);
        let Some(name) = self.0.remove(&sides) else { return Err("it is not cut then") };
        world.link_faults.end(name);
        mark(world, &sides, "reaches again");
        Ok(())
    }
}

/// Draws what befalls the smaller side of a cut.
fn mark(world: &mut World, sides: &[BTreeSet<usize>; 2], what: &str) {
    let [less, more] = if sides[0].len() <= sides[1].len() { [0, 1] } else { [1, 0] };
    let others: Vec<_> = sides[more].iter().map(usize::to_string).collect();
    for number in &sides[less] {
        world.suffers(number - 1, || format!("{what} {}", others.join(", ")));
    }
}

/// The place of a member whose process runs.
fn running(world: &World, number: usize) -> Result<usize, &'static str> {
    let runs = world.nodes.get(number - 1).is_some_and(|node| node.core.is_some());
    if runs { Ok(number - 1) } else { Err("the member does not run then") }
}

/// The name of the pause of a member: an even one, so that it begins at once.
fn pause_of(node: usize) -> u32 {
    u32::try_from(node).unwrap_or_default() * 2
}

/// The two sides of a cut, in whatever order they were given.
fn sides(one: &BTreeSet<usize>, other: &BTreeSet<usize>) -> [BTreeSet<usize>; 2] {
    let mut sides = [one.clone(), other.clone()];
    sides.sort();
    sides
}
