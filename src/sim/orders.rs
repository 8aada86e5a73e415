//! What operators do to members: they start them, ask something of them, and edit their files.

use super::counters::Counter;
use super::node::Node;
use super::plan::Fault;
use super::world::{CHANGE, World};
use crate::core::membership::{Change, Member};
use crate::core::message::Forwarded;
use crate::core::settings::Timing;
use crate::core::types::{Drain, Task};
use crate::core::{Command, CommandId, Input};
use crate::trace::What;

/// Name orders in their answers.
const ORDER: CommandId = CommandId(1);
const PAUSE: CommandId = CommandId(3);
const SWITCHOVER: CommandId = CommandId(4);

/// An operator asks a process for something, if this is an order.
pub(super) fn give(world: &mut World, node: usize, order: Fault) {
    let (counter, id, command) = match order {
        Fault::Elect => (Counter::Elects, ORDER, Command::Elect),
        Fault::Resign(to) => {
            let to = to.map(|to| world.id(to));
            (Counter::Resigns, ORDER, Forwarded::Resign { to }.into())
        }
        Fault::Stop => (Counter::Stops, ORDER, Command::Stop),
        Fault::Drain(true) => {
            let id = world.nodes[node].assured.drain(true);
            (Counter::Drains, id, Command::Drain(Drain::default()))
        }
        Fault::Drain(false) => {
            let id = world.nodes[node].assured.drain(false);
            (Counter::Undrains, id, Command::Undrain)
        }
        Fault::PauseCluster(true) => {
            let pause = Forwarded::Pause { since: 0, until: None };
            (Counter::ClusterPauses, PAUSE, pause.into())
        }
        Fault::PauseCluster(false) => (Counter::ClusterResumes, PAUSE, Forwarded::Resume.into()),
        Fault::SwitchOver(Some(to)) => {
            let to = world.id(to);
            (Counter::Switchovers, SWITCHOVER, Forwarded::Switchover { to }.into())
        }
        Fault::SwitchOver(None) => {
            (Counter::SwitchoversEnded, SWITCHOVER, Forwarded::EndSwitchover.into())
        }
        Fault::Add(place) => {
            let Some(member) = world.members.at(place) else { return };
            let add = Change::Add(Member::clone(member));
            (Counter::Additions, CHANGE, Forwarded::Change(add).into())
        }
        Fault::Remove { who, force } => {
            let leader = world.nodes.iter().position(Node::leads);
            let who = who.or(leader).unwrap_or(node);
            world.faults.add(Counter::Forced, u64::from(force));
            world.faults.add(Counter::Deposed, u64::from(Some(who) == leader));
            let remove = Change::Remove { id: world.id(who), force };
            (Counter::Removals, CHANGE, Forwarded::Change(remove).into())
        }
        Fault::HandOut(content) => {
            let task = Task::new(content.to_be_bytes());
            (Counter::Tasks, ORDER, Command::HandOut { task })
        }
        _ => return,
    };
    world.faults.count(counter);
    world.tell_now(node, Input::Command { id, command });
}

impl World {
    /// The check of a member passes or fails from now on.
    pub(super) fn check_health(&mut self, node: usize, healthy: bool) {
        if self.nodes[node].settings.health.is_some() {
            self.faults.count(Counter::Checks);
            self.nodes[node].healthy = healthy;
            self.tell_now(node, Input::Checked { healthy });
        }
    }

    /// All checks pass from now on.
    pub(super) fn heal_checks(&mut self) {
        for node in 0..self.nodes.len() {
            self.check_health(node, true);
        }
    }

    /// The file of a member has these timings from now on, and its process reloads it if it runs.
    pub(super) fn retime(&mut self, node: usize, timing: Timing) {
        self.faults.count(Counter::Retimed);
        self.say(node, || format!("its timings are {timing:?} from now on"));
        self.nodes[node].settings.timing = timing;
        let longest = self.longest.get_or_insert(timing);
        longest.failure = longest.failure.max(timing.failure);
        longest.message = longest.message.max(timing.message);
        longest.lease = longest.lease.max(timing.lease);
        if self.nodes[node].core.is_some() {
            self.tell_now(node, Input::Timed { timing });
        }
    }

    /// All files say the first timings again.
    pub(super) fn end_retiming(&mut self) {
        let timing = self.timing();
        for node in 0..self.nodes.len() {
            if self.nodes[node].settings.timing != timing {
                self.retime(node, timing);
            }
        }
    }

    /// Starts a process, unless one runs. Its first health check comes soon.
    pub fn start(&mut self, node: usize) {
        if self.nodes[node].core.is_some() {
            return;
        }
        let now = self.now;
        let disk = &self.nodes[node].disk;
        let (epoch, kept) = (disk.epoch(), disk.kept());
        let Some(restored) = self.nodes[node].start(now, &mut self.random) else { return };
        let promised = self.nodes[node].disk.promised();
        self.questions.started(node);
        self.checker.starts(now, node, (epoch, kept, promised));
        if let Some(jobs) = &mut self.jobs {
            jobs.forget(node); // it waited until nothing of the last job runs
        }
        self.draw(node, |_| Some(What::Starts));
        self.say(node, || {
            format!(
                "starts: incarnation {}, epoch {}, own rounds above {}",
                restored.incarnation, restored.record.epoch, restored.floor
            )
        });
        self.arm(node);
        self.nodes[node].assured.starts();
        if self.nodes[node].settings.health.is_some() {
            let healthy = self.nodes[node].healthy;
            self.tell_now(node, Input::Checked { healthy });
        }
    }
}
