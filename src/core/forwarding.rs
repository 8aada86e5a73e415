//! Carrying out commands of operators, here or at the leader.

use super::api::Output;
use super::command::Command;
use super::context::Context;
use super::durable::Then;
use super::message::{Done, Forwarded, Message, Refusal};
use super::phase::{Phase, Reason};
use super::settings::AlgorithmKind;
use super::timer::Timer;
use super::turn::Turn;
use super::types::{CommandId, NodeId, Task};
use super::waiting::MOST_WAITING;

impl Turn<'_> {
    /// Carries a command out, or passes it on.
    pub fn command(&mut self, id: CommandId, command: Command) {
        let stopping = self.cx.state.phase() == Phase::Stopping;
        let result = match command {
            Command::Stop if self.stop(vec![id]) => Ok(Done::Stopped),
            Command::Stop => return,
            _ if stopping => Err(Refusal::Stopping),
            Command::Elect => {
                self.elect();
                Ok(Done::Called)
            }
            Command::HandOut { task } => match self.hand_out(task) {
                Ok(record) => {
                    self.cx.state.records.then(record, Then::Answer(id, Done::TaskTaken));
                    return;
                }
                Err(refusal) => Err(refusal),
            },
            Command::Drain(drain) => match self.drain(drain) {
                Ok((record, done)) => {
                    self.cx.state.records.then(record, Then::Answer(id, done));
                    return;
                }
                Err(refusal) => Err(refusal),
            },
            Command::Undrain => {
                let record = self.undrain();
                self.cx.state.records.then(record, Then::Answer(id, Done::Undrained));
                return;
            }
            Command::EndPause { version } if !self.may_resume(Some(version)) => {
                Err(Refusal::NotLeader)
            }
            Command::EndPause { .. } => return self.order_pause(id, Forwarded::Resume),
            Command::ForLeader(command) => return self.order(id, command),
        };
        self.cx.out.push(Output::Answer { id, result });
    }

    /// Calls an election, unless one is in progress. A live lower leader has to hand over first.
    fn elect(&mut self) {
        if let Some(leader) = self.cx.state.lower_leader() {
            self.cx.take_over(leader.id, Reason::TakingOver(leader.id));
        } else if !self.cx.state.elects() {
            self.cx.give_up(None);
            self.call(Reason::Asked);
        }
    }

    /// Takes a task, if this member is the coordinator. Returns the record that holds it.
    fn hand_out(&mut self, task: Task) -> Result<u64, Refusal> {
        let state = &mut self.cx.state;
        if state.settings.algorithm != AlgorithmKind::Halting {
            Err(Refusal::NoTask)
        } else if task.content.len() > Task::LONGEST {
            Err(Refusal::TaskTooLong(task.content.len()))
        } else if !state.leads() {
            Err(Refusal::NotCoordinator(state.leader().map(|leader| leader.id)))
        } else if state.records.commands() >= MOST_WAITING {
            Err(Refusal::TooMany)
        } else {
            let version = state.records.task().version.next(state.view().epoch);
            state.records.hold(Task { version, ..task });
            let record = self.cx.persist();
            self.algorithm.get().hand_out(&mut self.cx);
            Ok(record)
        }
    }

    /// Passes a command on to the leader, if one is known. It may be this member.
    fn order(&mut self, id: CommandId, command: Forwarded) {
        let result = match (self.cx.state.leader().map(|leader| leader.id), command) {
            (_, command @ (Forwarded::Pause { .. } | Forwarded::Resume)) => {
                return self.order_pause(id, command);
            }
            (_, Forwarded::EndSwitchover) if self.cx.state.follows_unchosen() => {
                Ok(Done::SwitchoverEnded)
            }
            (None, _) => Err(Refusal::NoLeader),
            (Some(leader), Forwarded::Resign { to }) if leader == self.cx.state.id() => {
                self.resign(to)
            }
            (Some(leader), command) => return self.forward(id, leader, command),
        };
        self.cx.out.push(Output::Answer { id, result });
    }

    pub fn forward(&mut self, id: CommandId, leader: NodeId, command: Forwarded) {
        let due = self.cx.now + self.cx.state.settings.timing.failure * command.patience();
        let asked = self.cx.state.view().epoch;
        if !self.cx.state.outbox.commands.add(id, leader, command, asked, due) {
            let result = Err(Refusal::TooMany);
            self.cx.out.push(Output::Answer { id, result });
            return;
        }
        self.arm_forward();
        if leader == self.cx.state.id() || self.cx.state.detector.is_within_reach(leader) {
            self.forward_unsent(leader);
        }
    }

    fn arm_forward(&mut self) {
        if let Some(next) = self.cx.state.outbox.commands.next_due() {
            self.cx.state.timers.arm(Timer::Forward, next);
        }
    }

    /// Sends a leader, once, the commands that wait for it.
    pub fn forward_unsent(&mut self, leader: NodeId) {
        let epoch = self.cx.state.view().epoch;
        let unsent = self.cx.state.outbox.commands.send(leader, epoch);
        let own = self.cx.state.id();
        for (number, command) in unsent {
            let message = Message::Forward { number, command: command.clone() };
            if leader == own {
                self.forwarded(own, number, command);
            } else if self.cx.is_understood(leader, &message) {
                self.cx.send(leader, message);
            } else {
                self.cx.settle(number, Err(Refusal::OldLeader(leader)));
            }
        }
    }

    /// At the end of a turn: sends the commands that an earlier leader left to the next one.
    pub fn forward_postponed(&mut self) {
        let Some(leader) = self.cx.state.leader().map(|leader| leader.id) else { return };
        let epoch = self.cx.state.view().epoch;
        let any = self.cx.state.outbox.commands.leave_to(leader, epoch);
        let own = leader == self.cx.state.id();
        if any && (own || self.cx.state.detector.is_within_reach(leader)) {
            self.forward_unsent(leader);
        }
    }

    /// Carries out a command that another member, or this one itself, passed on.
    pub fn forwarded(&mut self, from: NodeId, number: u64, command: Forwarded) {
        match command {
            Forwarded::Resign { to } => {
                let result = self.resign(to);
                self.cx.send(from, Message::Outcome { number, result });
            }
            Forwarded::Change(change) => self.change((from, number), change),
            Forwarded::Switchover { to } => self.switch_over((from, number), to),
            Forwarded::EndSwitchover => self.end_switchover((from, number)),
            Forwarded::Pause { .. } | Forwarded::Resume => {
                self.pause_forwarded(from, number, &command);
            }
        }
    }

    /// Gives up on the commands that waited for too long.
    pub fn forwards_expired(&mut self) {
        for number in self.cx.state.outbox.commands.expired(self.cx.now) {
            self.cx.settle(number, Err(Refusal::NoReply));
        }
        self.arm_forward();
    }
}

impl Context<'_> {
    /// A member says how a command ended. Only the leader that was sent the command can know that.
    pub fn hear_outcome(&mut self, from: NodeId, number: u64, result: Result<Done, Refusal>) {
        if self.state.outbox.commands.may_end(number, from, &result) {
            self.settle(number, result);
        }
    }

    /// A command has ended; or, if it is a change of the members, it waits for the next leader: this one has handed
    /// over, or does not lead any more.
    pub fn settle(&mut self, number: u64, result: Result<Done, Refusal>) {
        if let Some((id, result)) = self.state.outbox.commands.end(number, result) {
            self.out.push(Output::Answer { id, result });
        }
    }

    /// This member was removed: the operator that asked it for that gets the answer before it ends. Other members
    /// refuse it because of a list that cannot be undone, unless it made that list itself, by force.
    pub fn settle_own_removal(&mut self) {
        let own = self.state.id();
        let stored = !self.state.membership.has_removed_itself();
        for number in self.state.outbox.commands.removals(own) {
            let done = Done::Removed { id: own, stored, handed_over: false };
            self.settle(number, Ok(done));
        }
    }
}
