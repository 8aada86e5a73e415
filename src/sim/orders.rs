//! What operators do to members: they start them, ask something of them, and edit their files.

use super::counters::Counter;
use super::node::Node;
use super::plan::{Change, Wish};
use super::world::{CHANGE, DRAIN, World};
use crate::core::membership::{self, Member};
use crate::core::message::Forwarded;
use crate::core::settings::Timing;
use crate::core::types::Drain;
use crate::core::{Command, CommandId, Input};
use crate::trace::What;

/// Name orders in their answers.
const PAUSE: CommandId = CommandId(3);
const SWITCHOVER: CommandId = CommandId(4);

impl World {
    pub(super) fn change_fitness(&mut self, node: usize, change: Change) {
        match change {
            Change::Drained(drained) if self.nodes[node].core.is_some() => {
                self.drain(node, drained)
            }
            Change::Drained(_) => {}
            Change::Healthy(healthy) => self.check_health(node, healthy),
            Change::Paused(paused) => self.order_pause(node, paused),
            Change::SwitchedOver(to) => self.order_switchover(node, to),
        }
    }

    /// An operator drains a member, or undrains it.
    fn drain(&mut self, node: usize, drained: bool) {
        self.faults.count(if drained { Counter::Drains } else { Counter::Undrains });
        let command = if drained { Command::Drain(Drain::default()) } else { Command::Undrain };
        let own = &mut self.nodes[node].fitness;
        own.wanted = drained;
        own.drained &= drained; // it may lead as soon as it is undrained
        own.barred &= drained;
        own.orders += 1;
        let id = CommandId(DRAIN + own.orders);
        self.tell_now(node, Input::Command { id, command });
    }

    /// The check of a member passes or fails from now on.
    fn check_health(&mut self, node: usize, healthy: bool) {
        if self.nodes[node].settings.health.is_some() {
            self.faults.count(Counter::Checks);
            self.nodes[node].fitness.healthy = healthy;
            self.tell_now(node, Input::Checked { healthy });
        }
    }

    /// All checks pass from now on.
    pub(super) fn heal_checks(&mut self) {
        for node in 0..self.nodes.len() {
            self.check_health(node, true);
        }
    }

    /// An operator asks a member that the cluster be paused or resumed.
    pub(super) fn order_pause(&mut self, node: usize, paused: bool) {
        if self.nodes[node].core.is_some() {
            self.faults.count(if paused {
                Counter::ClusterPauses
            } else {
                Counter::ClusterResumes
            });
            let command = match paused {
                true => Forwarded::Pause { since: 0, until: None },
                false => Forwarded::Resume,
            };
            self.tell_now(node, Input::Command { id: PAUSE, command: command.into() });
        }
    }

    /// An operator asks a member for a switchover to this member, or to end one.
    pub(super) fn order_switchover(&mut self, node: usize, to: Option<usize>) {
        if self.nodes[node].core.is_some() {
            let (counter, command) = match to {
                Some(to) => (Counter::Switchovers, Forwarded::Switchover { to: self.id(to) }),
                None => (Counter::SwitchoversEnded, Forwarded::EndSwitchover),
            };
            self.faults.count(counter);
            self.tell_now(node, Input::Command { id: SWITCHOVER, command: command.into() });
        }
    }

    /// Asks a process for a change.
    pub(super) fn wish(&mut self, node: usize, wish: Wish) {
        let change = match wish {
            Wish::Add(place) => {
                let Some(member) = self.members.at(place) else { return };
                self.faults.count(Counter::Additions);
                membership::Change::Add(Member::clone(member))
            }
            Wish::Remove { who, force } => {
                let leader = self.nodes.iter().position(Node::leads);
                let who = who.or(leader).unwrap_or(node);
                self.faults.count(Counter::Removals);
                self.faults.add(Counter::Forced, u64::from(force));
                self.faults.add(Counter::Deposed, u64::from(Some(who) == leader));
                membership::Change::Remove { id: self.id(who), force }
            }
        };
        let command = Forwarded::Change(change).into();
        self.tell_now(node, Input::Command { id: CHANGE, command });
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

    /// A process starts: its first check comes soon.
    pub(super) fn start_checking(&mut self, node: usize) {
        let own = &mut self.nodes[node];
        own.fitness.barred = own.fitness.drained; // even if it leads from its first turn on
        let healthy = own.fitness.healthy;
        if own.settings.health.is_some() {
            self.tell_now(node, Input::Checked { healthy });
        }
    }

    /// Starts a process, unless one runs.
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
        self.forget_job(node);
        self.draw(node, |_| Some(What::Starts));
        self.say(node, || {
            format!(
                "starts: incarnation {}, epoch {}, own rounds above {}",
                restored.incarnation, restored.record.epoch, restored.floor
            )
        });
        self.arm(node);
        self.start_checking(node);
    }
}
