//! Carrying out commands of operators, here or at the leader.

use super::api::Output;
use super::command::{Command, Forwarding, MOST_WAITING, Stage};
use super::context::Context;
use super::durable::Then;
use super::membership::Change;
use super::message::{Done, Forwarded, Message, Refusal};
use super::phase::{Phase, Reason};
use super::planted::Fault;
use super::settings::AlgorithmKind;
use super::timer::Timer;
use super::turn::Turn;
use super::types::{CommandId, Epoch, NodeId, Task};

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
                    self.cx.state.records.then(record, Then::Answer(id));
                    return;
                }
                Err(refusal) => Err(refusal),
            },
            Command::Change(change) => match self.cx.state.leader() {
                Some(leader) => {
                    self.forward(id, leader.id, Forwarded::Change(change));
                    return;
                }
                None => Err(Refusal::NoLeader),
            },
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

    /// Takes a task, if this member is the coordinator. Tells the record that holds it.
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
            let version = state.task.version.next(state.view().epoch);
            state.task = Task { version, ..task };
            let record = self.cx.persist();
            self.algorithm.get().hand_out(&mut self.cx);
            Ok(record)
        }
    }

    /// Passes a command on to the leader, which may be this member.
    fn forward(&mut self, id: CommandId, leader: NodeId, command: Forwarded) {
        let due = self.cx.now + self.cx.state.settings.timing.failure * command.patience();
        let asked = self.cx.state.view().epoch;
        let waiting = &mut self.cx.state.waiting;
        if waiting.commands.len() >= MOST_WAITING {
            let result = Err(Refusal::TooMany);
            self.cx.out.push(Output::Answer { id, result });
            return;
        }
        let number = waiting.next_number();
        let stage = Stage::Unsent(leader);
        let forwarding = Forwarding { id, due, command, stage, asked, handed_over: false };
        waiting.commands.insert(number, forwarding);
        self.arm_forward();
        if leader == self.cx.state.id() || self.cx.state.detector.is_within_reach(leader) {
            self.forward_unsent(leader);
        }
    }

    fn arm_forward(&mut self) {
        let next = self.cx.state.waiting.commands.values().map(|command| command.due).min();
        if let Some(next) = next {
            self.cx.state.timers.arm(Timer::Forward, next);
        }
    }

    /// Tells a leader, once, what it is to carry out.
    pub fn forward_unsent(&mut self, leader: NodeId) {
        let (mut unsent, epoch) = (Vec::new(), self.cx.state.view().epoch);
        for (number, forwarding) in &mut self.cx.state.waiting.commands {
            if forwarding.stage == Stage::Unsent(leader) {
                forwarding.stage = Stage::Sent(leader);
                forwarding.asked = epoch;
                unsent.push((*number, forwarding.command.clone()));
            }
        }
        let own = self.cx.state.id();
        for (number, command) in unsent {
            if leader == own {
                self.forwarded(own, number, command);
            } else {
                self.cx.send(leader, Message::Forward { number, command });
            }
        }
    }

    /// At the end of a turn: what a leader left to the next one when it handed over.
    pub fn forward_postponed(&mut self) {
        let Some(leader) = self.cx.state.leader().map(|leader| leader.id) else { return };
        let epoch = self.cx.state.view().epoch;
        let mut any = false;
        for forwarding in self.cx.state.waiting.commands.values_mut() {
            if forwarding.stage == Stage::Postponed && epoch > forwarding.asked {
                forwarding.stage = Stage::Unsent(leader);
                any = true;
            }
        }
        let own = leader == self.cx.state.id();
        if any && (own || self.cx.state.detector.is_within_reach(leader)) {
            self.forward_unsent(leader);
        }
    }

    /// The leader says that it leads: what it did not carry out before, it does now. With the
    /// halting algorithm a member is followed a moment before it leads.
    pub fn retry_postponed(&mut self) {
        for forwarding in self.cx.state.waiting.commands.values_mut() {
            if forwarding.stage == Stage::Postponed {
                forwarding.asked = Epoch::default();
            }
        }
    }

    /// Another member passes a command on to this one, or this one has to carry out its own.
    pub fn forwarded(&mut self, from: NodeId, number: u64, command: Forwarded) {
        match command {
            Forwarded::Resign { to } => {
                let result = self.resign(to);
                self.cx.send(from, Message::Outcome { number, result });
            }
            Forwarded::Change(change) => self.change((from, number), change),
        }
    }

    /// Gives up on the commands that waited for too long.
    pub fn forwards_expired(&mut self) {
        let now = self.cx.now;
        let waiting = &mut self.cx.state.waiting.commands;
        let expired = waiting.iter().filter(|(_, command)| command.due <= now);
        for number in expired.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.cx.settle(number, Err(Refusal::NoReply));
        }
        self.arm_forward();
    }
}

impl Context<'_> {
    /// A member says how a command ended. Only the one that was asked can know, and only what was asked.
    pub fn hear_outcome(&mut self, from: NodeId, number: u64, result: Result<Done, Refusal>) {
        let asked = self.state.waiting.commands.get(&number).is_some_and(|forwarding| {
            let fits = result.as_ref().map_or(true, |done| forwarding.command.may_end(done));
            forwarding.stage == Stage::Sent(from) && fits || Fault::OutcomeUnjudged.is_planted()
        });
        if asked {
            self.settle(number, result);
        }
    }

    /// A command has ended; or, a change of the members, it is left to the next leader: this one
    /// has handed over, or leads no more.
    pub fn settle(&mut self, number: u64, result: Result<Done, Refusal>) {
        let commands = &mut self.state.waiting.commands;
        if let Some(forwarding) = commands.get_mut(&number)
            && matches!(forwarding.command, Forwarded::Change(_))
            && matches!(result, Err(Refusal::HandedOver | Refusal::NotLeader))
        {
            forwarding.stage = Stage::Postponed;
            forwarding.handed_over |= result == Err(Refusal::HandedOver);
            return;
        }
        let Some(Forwarding { id, handed_over, .. }) = commands.remove(&number) else { return };
        let result = result.map(|done| match done {
            Done::Removed { id, stored, .. } => Done::Removed { id, stored, handed_over },
            done => done,
        });
        self.out.push(Output::Answer { id, result });
    }

    /// This member was to be removed, and is: who asked it for that hears so before it ends. Nobody
    /// refuses it for that by a list that could still be undone, unless it made that itself, by force.
    pub fn settle_own_removal(&mut self) {
        let own = self.state.id();
        let stored = self.state.roster.last_named.is_none();
        let commands = self.state.waiting.commands.iter();
        let asked = commands.filter(|(_, command)| {
            matches!(command.command, Forwarded::Change(Change::Remove { id, .. }) if id == own)
        });
        for number in asked.map(|(number, _)| *number).collect::<Vec<_>>() {
            let done = Done::Removed { id: own, stored, handed_over: false };
            self.settle(number, Ok(done));
        }
    }
}
