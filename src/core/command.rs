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
    commands: BTreeMap<u64, (CommandId, Time)>,
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
        waiting.commands.insert(number, (id, due));
        if waiting.commands.len() == 1 {
            self.cx.state.timers.arm(Timer::Forward, due);
        }
        self.cx.send(leader, Message::Forward { number, command });
    }

    /// Another member passes a command on to this one.
    pub fn forwarded(&mut self, from: NodeId, number: u64, command: Forwarded) {
        let Forwarded::Resign { to } = command;
        let result = self.resign(to);
        self.cx.send(from, Message::Outcome { number, result });
    }

    /// The leader tells how a command ended.
    pub fn outcome(&mut self, _from: NodeId, number: u64, result: Result<Done, Refusal>) {
        if let Some((id, _)) = self.cx.state.waiting.commands.remove(&number) {
            self.cx.out.push(Output::Answer { id, result });
        }
    }

    /// Gives up on the commands that waited for too long.
    pub fn forwards_expired(&mut self) {
        let now = self.cx.now;
        let waiting = &mut self.cx.state.waiting.commands;
        while let Some(entry) = waiting.first_entry()
            && entry.get().1 <= now
        {
            let (id, _) = entry.remove();
            self.cx.out.push(Output::Answer { id, result: Err(Refusal::NoReply) });
        }
        if let Some((_, due)) = waiting.values().next() {
            self.cx.state.timers.arm(Timer::Forward, *due);
        }
    }
}
