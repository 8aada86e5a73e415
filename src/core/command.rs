//! Commands of operators, and passing them on to the leader.

use std::collections::BTreeMap;

use super::message::{Done, Forwarded, Message, Refusal};
use super::phase::{Phase, Reason};
use super::settings::AlgorithmKind;
use super::timer::Timer;
use super::turn::Turn;
use super::types::{NodeId, Task, Time};
use super::{CommandId, Output};

/// How many commands may wait for the leader at once.
const MOST_WAITING: usize = 64;

/// What an operator may ask of a member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Command {
    /// Call an election; a no-op while one is under way.
    Elect,
    /// The leader hands over, to the member named if any.
    Resign {
        /// The member that is to lead next.
        to: Option<NodeId>,
    },
    /// The coordinator of the halting algorithm hands out this task.
    HandOut {
        /// The task.
        task: Task,
    },
    /// The process is about to end.
    Stop,
}

/// The commands that wait for the leader's outcome.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Waiting {
    last: u64,
    commands: BTreeMap<u64, Forwarding>,
}

/// A command that the leader is to carry out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Forwarding {
    id: CommandId,
    /// When this member gives up on it.
    due: Time,
    /// The leader, and what it is to be told as soon as the connection to it is up: a leader may
    /// be followed before that.
    unsent: Option<(NodeId, Forwarded)>,
}

impl Turn<'_> {
    /// Carries a command out, or passes it on.
    pub fn command(&mut self, id: CommandId, command: Command) {
        let stopping = self.cx.state.phase == Phase::Stopping;
        let result = match command {
            Command::Stop => Ok(self.stop()),
            _ if stopping => Err(Refusal::Stopping),
            Command::Elect => {
                self.elect();
                Ok(Done::Called)
            }
            Command::HandOut { task } => self.hand_out(task),
            Command::Resign { to } => match self.cx.state.leader() {
                Some(leader) if leader.id != self.cx.state.id() => {
                    self.forward(id, leader.id, Forwarded::Resign { to });
                    return;
                }
                Some(_) => self.resign(to),
                None => Err(Refusal::NoLeader),
            },
        };
        self.cx.out.push(Output::Answer { id, result });
    }

    /// Calls an election, unless one is under way. A live lower leader has to hand over first.
    fn elect(&mut self) {
        if let Some(leader) = self.cx.state.lower_leader() {
            self.cx.take_over(leader.id, Reason::TakingOver(leader.id));
        } else if !self.cx.state.elects() {
            self.cx.give_up(None);
            self.call(Reason::Asked);
        }
    }

    /// Takes a task, if this member is the coordinator.
    fn hand_out(&mut self, task: Task) -> Result<Done, Refusal> {
        let state = &mut self.cx.state;
        if state.settings.algorithm != AlgorithmKind::Halting {
            Err(Refusal::NoTask)
        } else if task.0.len() > Task::LONGEST {
            Err(Refusal::TaskTooLong(task.0.len()))
        } else if !state.leads() {
            Err(Refusal::NotCoordinator(state.leader().map(|leader| leader.id)))
        } else {
            state.task = task;
            self.algorithm.get().hand_out(&mut self.cx);
            Ok(Done::TaskTaken)
        }
    }

    fn forward(&mut self, id: CommandId, leader: NodeId, command: Forwarded) {
        let due = self.cx.now + self.cx.state.settings.timing.failure;
        let waiting = &mut self.cx.state.waiting;
        if waiting.commands.len() >= MOST_WAITING {
            let result = Err(Refusal::TooMany);
            self.cx.out.push(Output::Answer { id, result });
            return;
        }
        waiting.last += 1;
        let number = waiting.last;
        let unsent = Some((leader, command));
        waiting.commands.insert(number, Forwarding { id, due, unsent });
        if waiting.commands.len() == 1 {
            self.cx.state.timers.arm(Timer::Forward, due);
        }
        if self.cx.state.detector.is_within_reach(leader) {
            self.forward_unsent(leader);
        }
    }

    /// Tells a leader, once, what it is to carry out.
    pub fn forward_unsent(&mut self, leader: NodeId) {
        let mut unsent = Vec::new();
        for (number, forwarding) in &mut self.cx.state.waiting.commands {
            if let Some((_, command)) = forwarding.unsent.take_if(|(to, _)| *to == leader) {
                unsent.push(Message::Forward { number: *number, command });
            }
        }
        unsent.into_iter().for_each(|message| self.cx.send(leader, message));
    }

    /// Another member passes a command on to this one.
    pub fn forwarded(&mut self, from: NodeId, number: u64, command: Forwarded) {
        let Forwarded::Resign { to } = command;
        let result = self.resign(to);
        self.cx.send(from, Message::Outcome { number, result });
    }

    /// The leader tells how a command ended.
    pub fn outcome(&mut self, _from: NodeId, number: u64, result: Result<Done, Refusal>) {
        if let Some(forwarding) = self.cx.state.waiting.commands.remove(&number) {
            self.cx.out.push(Output::Answer { id: forwarding.id, result });
        }
    }

    /// Gives up on the commands that waited for too long.
    pub fn forwards_expired(&mut self) {
        let now = self.cx.now;
        let waiting = &mut self.cx.state.waiting.commands;
        while let Some(entry) = waiting.first_entry()
            && entry.get().due <= now
        {
            let id = entry.remove().id;
            self.cx.out.push(Output::Answer { id, result: Err(Refusal::NoReply) });
        }
        if let Some(next) = waiting.values().next() {
            self.cx.state.timers.arm(Timer::Forward, next.due);
        }
    }
}
