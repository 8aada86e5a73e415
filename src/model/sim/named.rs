//! What the locks of a simulated process do: beside each turn of its core, and when words about locks arrive.

use std::rc::Rc;
use std::time::Duration;

use super::agenda::{Payload, SimulatedEvent, Transit};
use super::links::LinkState;
use super::network;
use super::node::Node;
use super::periods::PeriodFigures;
use super::world::World;
use crate::core::detector::Peer;
use crate::core::locks::coordination::ElectionView;
use crate::core::locks::member::{LockInput, LockOutput};
use crate::core::locks::table::Life;
use crate::core::locks::word::LockWord;
use crate::core::types::{NodeId, Time};
use crate::core::{CommandId, Input, OperatorCommand};

/// After a turn of a process: its locks go by what the election knows.
pub(super) fn after_turn(world: &mut World, node: usize) {
    if world.names.is_some() {
        take(world, node, LockInput::Tick);
    }
}

/// A process is gone, and with it what it had not stored.
pub(super) fn died(world: &mut World, node: usize) {
    let Some(names) = &mut world.names else { return };
    let kept = names.random.below(2) == 0;
    if let (Some(periods), Some(member)) = (&mut names.periods, &names.of[node].member) {
        periods.died(node, member.life());
    }
    let named = &mut names.of[node];
    named.member = None;
    if let Some((_, record)) = named.writing.take().filter(|_| kept) {
        named.kept = record;
    }
    named.waiting = None;
}

/// The guard of a dead process ends its jobs by then.
pub(super) fn guard_ends(world: &mut World, node: usize, by: Time) {
    let id = world.id(node);
    let Some(names) = &mut world.names else { return };
    for acting in names.acting.iter_mut().filter(|acting| acting.by.member == id) {
        acting.until = acting.until.min(by);
    }
}

/// A word arrives at a process.
pub(super) fn hear(world: &mut World, node: usize, from: NodeId, word: &LockWord) {
    take(world, node, LockInput::Word { from, word: word.clone() });
}

/// What was to happen to the locks of a process happens.
pub(super) fn happen(world: &mut World, node: usize, input: LockInput) {
    match input {
        LockInput::Kept { .. } => {
            let Some(names) = &mut world.names else { return };
            let named = &mut names.of[node];
            let Some((number, record)) = named.writing.take() else { return };
            named.kept = record;
            named.writing = named.waiting.take();
            if named.writing.is_some() {
                write(world, node);
            }
            take(world, node, LockInput::Kept { number });
        }
        input => {
            let present = world.now;
            if let Some(names) = &mut world.names {
                names.of[node].tick.take_if(|due| *due <= present);
            }
            if let Some(view) = view(world, node)
                && let Some(names) = &mut world.names
            {
                names.change_a_wish(node, &view);
            }
            take(world, node, input);
        }
    }
}

fn view(world: &World, node: usize) -> Option<ElectionView> {
    let host = &world.nodes[node];
    let core = host.core.as_ref()?;
    let over =
        |peer: &Peer| peer.certified().map(|incarnation| Life { member: peer.id(), incarnation });
    Some(ElectionView {
        now: host.local(world.now),
        list: core.members().clone(),
        leader: core.leader().map(|leader| (leader.id, core.view().epoch)),
        told: host.disk.told(),
        reserved: host.disk.reserved(),
        timing: core.settings().timing,
        over: core.detector().iter().filter_map(over).collect(),
        wall: world.names.as_ref().map(|names| names.wall(node, world.now)).unwrap_or_default(),
    })
}

/// A turn of the locks of a process.
fn take(world: &mut World, node: usize, input: LockInput) {
    let (Some(view), Some(core)) = (view(world, node), &world.nodes[node].core) else { return };
    let life = Life { member: core.id(), incarnation: core.incarnation() };
    let (longest, clock, now) = (world.timing().lease, world.nodes[node].clock, world.now);
    let Some(names) = &mut world.names else { return };
    if names.of[node].member.as_ref().is_none_or(|member| member.life() != life) {
        names.begin(node, &view, life, longest);
    }
    let Some(member) = &mut names.of[node].member else { return };
    let mut out = Vec::new();
    member.take(&view, input, &mut out);
    let supported = clock.truly(member.holder().supported_until());
    let judged = names.judge(node, (now, view.now), supported);
    let judged = judged.and_then(|()| names.run_jobs(node, &view, (now, supported)));
    world.checker.judged(now, node, judged);
    for output in out {
        carry(world, node, output);
    }
    arm(world, node);
}

fn carry(world: &mut World, node: usize, output: LockOutput) {
    match output {
        LockOutput::Say { to, word } => say(world, node, to, word),
        LockOutput::Keep { number, kept } => {
            let Some(names) = &mut world.names else { return };
            let named = &mut names.of[node];
            let is_free = named.writing.is_none();
            let place = if is_free { &mut named.writing } else { &mut named.waiting };
            *place = Some((number, kept));
            if is_free {
                write(world, node);
            }
        }
        LockOutput::Elect => {
            let command = OperatorCommand::Elect;
            world.tell(Duration::ZERO, node, Input::Command { id: CommandId(0), command });
        }
    }
}

/// The disk writes the record.
fn write(world: &mut World, node: usize) {
    let drive = world.nodes[node].drive;
    let done = drive.write(world.now, world.setup.disk, &mut world.random);
    if let Some((at, _)) = done {
        schedule(world, node, at, LockInput::Kept { number: 0 });
    }
}

fn schedule(world: &mut World, node: usize, at: Time, input: LockInput) {
    let incarnation = world.nodes[node].incarnation;
    let input = Box::new(input);
    world.schedule(at, SimulatedEvent::Names { node, incarnation, input });
}

/// Says something to one member, or drops what cannot be said.
fn say(world: &mut World, node: usize, to: NodeId, word: LockWord) {
    let Some(to) = world.place(to) else { return };
    let LinkState::Up(connection) = world.network.link(node, to).state else { return };
    if world.network.connection(connection).ended {
        return;
    }
    let copies = world.link_faults.copies((node, to), false, &mut world.random, &mut world.faults);
    let word = Rc::new(word);
    if copies > 1 {
        let at = world.now + world.random.up_to(world.timing().failure * 2);
        let late = Transit::Arrives(connection, Payload::Locks(word.clone()));
        world.schedule(at, SimulatedEvent::Transit(late));
    }
    if copies > 0 {
        network::put(world, connection, Payload::Locks(word));
    }
}

/// Has the locks of a process called when they want to be.
fn arm(world: &mut World, node: usize) {
    let (clock, now) = (world.nodes[node].clock, world.now);
    let Some(names) = &mut world.names else { return };
    let named = &mut names.of[node];
    let Some(member) = &named.member else { return };
    let due = clock.truly(member.deadline());
    let ends = names.periods.as_ref().and_then(|periods| periods.ends(node, now)).unwrap_or(due);
    let due = due.min(ends).max(now + Duration::from_nanos(1));
    if named.tick.is_none_or(|tick| tick > due || tick <= now) {
        named.tick = Some(due);
        schedule(world, node, due, LockInput::Tick);
    }
}

/// Whether somebody acts under each name that a live member wants, now that all is well; none needs to where no member may
/// lead, or the tables of a majority are out of reach.
pub(super) fn judge_held(world: &World) -> Result<u64, String> {
    let Some(names) = &world.names else { return Ok(0) };
    let live = |at: &usize| world.nodes[*at].core.is_some();
    let list = world.founders.clone();
    let voters = || list.voters().filter_map(|id| world.place(id));
    let all = voters().all(|at| live(&at));
    let with_table = voters().filter(|at| live(at) && names.of[*at].kept.table.is_some());
    let is_led = world.nodes.iter().any(Node::leads);
    if !is_led || !all && with_table.count() < list.majority() {
        return Ok(names.taken);
    }
    for (at, named) in names.of.iter().enumerate().filter(|(at, _)| live(at)) {
        let wanted = named.member.iter().flat_map(|member| member.wants().keys());
        for name in wanted.filter(|name| !named.is_of_periods(name)) {
            let mut acting = names.acting.iter().filter(|acting| acting.name == *name);
            if !acting.any(|acting| acting.until > world.now) {
                return Err(format!("nobody acts under {name}, which node-{} wants", at + 1));
            }
        }
    }
    Ok(names.taken)
}

/// Whether each job has run in the last periods, in which all was well.
pub(super) fn judge_periods(world: &World) -> Result<PeriodFigures, String> {
    let Some(names) = &world.names else { return Ok(PeriodFigures::default()) };
    let Some(periods) = &names.periods else { return Ok(PeriodFigures::default()) };
    let voters = || world.founders.voters().filter_map(|id| world.place(id));
    let is_well = voters().all(|at| world.nodes[at].core.is_some());
    let is_led = world.nodes.iter().any(Node::leads);
    periods.judge(world.now, is_well && is_led)
}
