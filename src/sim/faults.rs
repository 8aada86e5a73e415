//! The faults of a random run: drawn from the seed, then inflicted on the world.

use super::counters::Counter;
use super::node::{Death, Node};
use super::plan::Fault;
use super::plan::Plan;
use super::setup::TIMING;
use super::trouble::befall;
use super::world::World;
use crate::core::message::Forwarded;
use crate::core::random::Random;
use crate::core::settings::RankKind;
use crate::core::types::{Task, Time};
use crate::core::{Command, CommandId, Input};

/// Draws a plan for this many nodes, whose ranks may change.
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

/// Adds tasks to a plan, no two of them alike.
pub(super) fn add_tasks(random: &mut Random, plan: &mut Plan) {
    let period = TIMING.failure * (4 + random.below(12) as u32);
    for _ in 0..random.below(6) {
        let at = Time(0) + random.up_to(period);
        plan.push((at, 0, Fault::HandOut(random.draw())));
    }
    plan.sort_by_key(|(at, _, _)| *at);
}

/// An attribute, from so few that some are equal.
pub(super) fn attribute(random: &mut Random) -> i64 {
    random.below(6) as i64 - 2
}

/// The attribute kind by which this many members are ranked, and the value of each at its start.
pub(super) fn ranks(random: &mut Random, members: usize) -> (RankKind, Vec<Option<i64>>) {
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
    let values = (0..members).map(|_| value()).collect();
    (rank, values)
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
pub(super) fn inflict(world: &mut World, node: usize, fault: Fault) {
    let runs = world.nodes[node].core.is_some();
    match fault {
        Fault::Start if !runs && world.nodes[node].is_removed() => {
            world.faults.count(Counter::Barred);
            world.nodes[node].host = true;
        }
        Fault::Start if !runs => {
            world.faults.count(Counter::Starts);
            world.start(node);
            world.dial_all(node);
        }
        Fault::HostReturns if !runs => {
            let gone = !world.nodes[node].host;
            world.faults.add(Counter::Returned, u64::from(gone));
            world.nodes[node].host = true;
        }
        Fault::Die(death, outputs) if runs => {
            world.faults.count(match death {
                Death::Vanished => Counter::Vanished,
                Death::Killed => Counter::Kills,
            });
            world.faults.add(Counter::Amid, u64::from(outputs > 0));
            if outputs == 0 {
                world.die(node, death);
            } else {
                world.nodes[node].fuse = Some((outputs, death));
            }
        }
        Fault::Elect if runs => {
            world.faults.count(Counter::Elects);
            command(world, node, Command::Elect);
        }
        Fault::Resign(to) if runs => {
            world.faults.count(Counter::Resigns);
            let to = to.map(|to| world.id(to));
            command(world, node, Forwarded::Resign { to }.into());
        }
        Fault::Stop if runs => {
            world.faults.count(Counter::Stops);
            command(world, node, Command::Stop);
        }
        Fault::Fit(change) => world.change_fitness(node, change),
        Fault::Retime(timing) => world.retime(node, timing),
        Fault::Sample(value) => {
            world.faults.count(Counter::Samples);
            world.nodes[node].settings.value = value; // what the next process finds
            world.tell_now(node, Input::Sampled { value });
        }
        Fault::HandOut(content) => hand_out(world, content),
        Fault::Change(wish) if runs => world.wish(node, wish),
        Fault::Tick if runs => world.tell_now(node, Input::Tick),
        Fault::StallDisk(length) => {
            world.faults.count(Counter::DiskStalls);
            world.nodes[node].drive.stalled_until = world.now + length;
        }
        Fault::Aimed(aim, fault) => {
            let found = aim.find(world);
            world.faults.add(Counter::Aimed, u64::from(found.is_some()));
            inflict(world, found.unwrap_or(node), *fault);
        }
        Fault::Trouble { leader, trouble } => befall(world, node, leader, trouble),
        _ => {}
    }
}

fn command(world: &mut World, node: usize, command: Command) {
    world.tell_now(node, Input::Command { id: CommandId(1), command });
}

fn hand_out(world: &mut World, content: u64) {
    if let Some(leader) = world.nodes.iter().position(Node::leads) {
        world.faults.count(Counter::Tasks);
        let task = Task::new(content.to_be_bytes());
        command(world, leader, Command::HandOut { task });
    }
}
