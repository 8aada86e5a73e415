//! What operators do to members: they start them, ask something of them, and edit their files.

use super::counters::Counter;
use super::node::Node;
use super::plan::InjectedFault;
use super::world::{CHANGE, World};
use crate::core::membership::{Member, MembershipChange};
use crate::core::message::Forwarded;
use crate::core::settings::Timing;
use crate::core::types::{Drain, Task};
use crate::core::{CommandId, Input, OperatorCommand};
use crate::trace::DrawnWhat;

/// Name orders in their answers.
const ORDER: CommandId = CommandId(1);
const PAUSE: CommandId = CommandId(3);
const SWITCHOVER: CommandId = CommandId(4);

/// An operator asks a process for something, if this is an order.
pub(super) fn give(world: &mut World, node: usize, order: InjectedFault) {
    let (counter, id, command) = match order {
        InjectedFault::Elect => (Counter::Elects, ORDER, OperatorCommand::Elect),
        InjectedFault::Resign(to) => {
            let to = to.map(|to| world.id(to));
            (Counter::Resigns, ORDER, Forwarded::Resign { to }.into())
        }
        InjectedFault::Stop => (Counter::Stops, ORDER, OperatorCommand::Stop),
        InjectedFault::Drain(true) => {
            let id = world.nodes[node].assured.drain(true);
            (Counter::Drains, id, OperatorCommand::Drain(Drain::default()))
        }
        InjectedFault::AskDrain => {
            let id = world.nodes[node].assured.drain(true);
            (Counter::DrainsAsked, id, Forwarded::Drain(Drain::default()).into())
        }
        InjectedFault::Move(who, number) => {
            let Some(member) = world.members.at(who) else { return };
            let address = format!("host-{}:{}", who + 1, 7101 + number % 8);
            let set = MembershipChange::Set(vec![Member { address, ..Member::clone(member) }]);
            (Counter::Moves, CHANGE, Forwarded::Change(set).into())
        }
        InjectedFault::Drain(false) => {
            let id = world.nodes[node].assured.drain(false);
            (Counter::Undrains, id, OperatorCommand::Undrain)
        }
        InjectedFault::PauseCluster(true) => {
            let pause = Forwarded::Pause { since: 0, until: None };
            (Counter::ClusterPauses, PAUSE, pause.into())
        }
        InjectedFault::PauseCluster(false) => {
            (Counter::ClusterResumes, PAUSE, Forwarded::Resume.into())
        }
        InjectedFault::SwitchOver(Some(to)) => {
            let to = world.id(to);
            (Counter::Switchovers, SWITCHOVER, Forwarded::Switchover { to }.into())
        }
        InjectedFault::SwitchOver(None) => {
            (Counter::SwitchoversEnded, SWITCHOVER, Forwarded::EndSwitchover.into())
        }
        InjectedFault::Add(place) => {
            let Some(member) = world.members.at(place) else { return };
            let add = MembershipChange::Add(Member::clone(member));
            (Counter::Additions, CHANGE, Forwarded::Change(add).into())
        }
        InjectedFault::Remove { who, force } => {
            let leader = world.nodes.iter().position(Node::leads);
            let who = who.or(leader).unwrap_or(node);
            world.faults.add(Counter::Forced, u64::from(force));
            world.faults.add(Counter::Deposed, u64::from(Some(who) == leader));
            let remove = MembershipChange::Remove { id: world.id(who), force };
            (Counter::Removals, CHANGE, Forwarded::Change(remove).into())
        }
        InjectedFault::HandOut(content) => {
            let task = Task::new(content.to_be_bytes());
            (Counter::Tasks, ORDER, OperatorCommand::HandOut { task })
        }
        _ => return,
    };
    world.faults.count(counter);
    world.tell_now(node, Input::Command { id, command });
}

/// The coroner of a process ends before it.
pub(super) fn end_coroner(world: &mut World, node: usize) {
    let ends = world.coroners.as_mut().is_some_and(|coroners| coroners.lose(node));
    world.faults.add(Counter::CoronersEnded, u64::from(ends));
}

/// The check of a member passes or fails from now on.
pub(super) fn check_health(world: &mut World, node: usize, healthy: bool) {
    if world.nodes[node].settings.health.is_some() {
        world.faults.count(Counter::Checks);
        world.nodes[node].healthy = healthy;
        world.tell_now(node, Input::Checked { healthy });
    }
}

/// All checks pass from now on.
pub(super) fn heal_checks(world: &mut World) {
    for node in 0..world.nodes.len() {
        check_health(world, node, true);
    }
}

/// The file of a member has these timings from now on, and its process reloads it if it runs.
pub(super) fn retime(world: &mut World, node: usize, timing: Timing) {
    world.faults.count(Counter::Retimed);
    world.say(node, || format!("its timings are {timing:?} from now on"));
    world.nodes[node].settings.timing = timing;
    let longest = world.longest.get_or_insert(timing);
    longest.failure = longest.failure.max(timing.failure);
    longest.message = longest.message.max(timing.message);
    longest.lease = longest.lease.max(timing.lease);
    if world.nodes[node].core.is_some() {
        world.tell_now(node, Input::Timed { timing });
    }
}

/// All files say the first timings again.
pub(super) fn end_retiming(world: &mut World) {
    let timing = world.timing();
    for node in 0..world.nodes.len() {
        if world.nodes[node].settings.timing != timing {
            retime(world, node, timing);
        }
    }
}

/// Starts a process, unless one runs. Its first health check comes soon.
pub(super) fn start(world: &mut World, node: usize) {
    if world.nodes[node].core.is_some() {
        return;
    }
    let now = world.now;
    let disk = &world.nodes[node].disk;
    let (epoch, kept) = (disk.epoch(), disk.kept());
    let coroners = world.coroners.as_mut().map(|coroners| (node, coroners));
    let restored = world.nodes[node].start(now, &mut world.random, coroners);
    let Some(restored) = restored else { return };
    world.questions.started(node);
    let Node { core, incarnation, clock, .. } = &world.nodes[node];
    if let Some((flights, core)) = world.flights.as_mut().zip(core.as_ref()) {
        flights.starts((node, *incarnation), core, clock.local(now));
    }
    let (local, disk) = (world.nodes[node].local(now), &world.nodes[node].disk);
    world.checker.starts([now, local], node, [epoch, kept], disk);
    if let Some(jobs) = &mut world.jobs {
        jobs.forget(node); // it waited until nothing of the last job runs
    }
    world.draw(node, |_| Some(DrawnWhat::Starts));
    world.say(node, || {
        format!(
            "starts: incarnation {}, epoch {}, own rounds above {}",
            restored.incarnation, restored.record.epoch, restored.floor
        )
    });
    world.arm(node);
    world.nodes[node].assured.starts();
    if world.nodes[node].settings.health.is_some() {
        let healthy = world.nodes[node].healthy;
        world.tell_now(node, Input::Checked { healthy });
    }
}
