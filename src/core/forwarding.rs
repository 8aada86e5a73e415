//! Carrying out commands of operators, here or at the leader.

use super::command::Command;
use super::context::Context;
use super::course::Switchover;
use super::durable::Then;
use super::membership::known::Asker;
use super::message::{Done, Forwarded, Message, Refusal};
use super::phase::{Phase, Reason};
use super::settings::AlgorithmKind;
use super::timer::Timer;
use super::turn::Turn;
use super::types::{CommandId, NodeId, Pause, Task, Version};

/// What carrying out a command did, and the record that holds it; or why it was not carried out.
pub(super) type Carried = Result<(u64, Done), Refusal>;

impl Turn<'_> {
    /// Carries a command out, or passes it on.
    pub fn command(&mut self, id: CommandId, command: Command) {
        let stopping = self.cx.state.phase() == Phase::Stopping;
        let carried = match command {
            Command::Stop if self.stop(vec![id]) => return self.cx.answer(id, Ok(Done::Stopped)),
            Command::Stop => return, // it is answered once the job has ended
            _ if stopping => Err(Refusal::Stopping),
            Command::Elect => {
                self.elect();
                return self.cx.answer(id, Ok(Done::Called));
            }
            Command::HandOut { task } => self.hand_out(task),
            Command::Drain(drain) => self.drain(drain),
            Command::Undrain => self.undrain(),
            Command::EndPause { version } if !self.may_resume(version) => Err(Refusal::NotLeader),
            Command::EndPause { .. } => return self.order(id, Forwarded::Resume),
            Command::ForLeader(command) => return self.order(id, command),
        };
        self.cx.answer_once_durable(id, carried);
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

    /// Takes a task, if this member is the coordinator.
    fn hand_out(&mut self, task: Task) -> Carried {
        let state = &mut self.cx.state;
        if state.settings.algorithm != AlgorithmKind::Halting {
            Err(Refusal::NoTask)
        } else if task.content.len() > Task::LONGEST {
            Err(Refusal::TaskTooLong(task.content.len()))
        } else if !state.leads() {
            Err(Refusal::NotCoordinator(state.leader().map(|leader| leader.id)))
        } else if !state.records.have_room() {
            Err(Refusal::TooMany)
        } else {
            let version = state.records.task().version.next(state.view().epoch);
            state.records.hold(Task { version, ..task });
            let record = self.cx.persist();
            self.algorithm.get().hand_out(&mut self.cx);
            Ok((record, Done::TaskTaken))
        }
    }

    /// Passes a command on to the leader, if one is known. It may be this member.
    fn order(&mut self, id: CommandId, command: Forwarded) {
        let own = self.cx.state.id();
        let leader = self.cx.state.leader().map(|leader| leader.id);
        let leads = leader == Some(own);
        let result = match (leader, command) {
            (_, Forwarded::EndSwitchover) if self.cx.state.follows_unchosen() => {
                Ok(Done::SwitchoverEnded)
            }
            (None, _) => Err(Refusal::NoLeader),
            (_, Forwarded::Resign { to }) if leads => self.resign(to),
            (_, command @ (Forwarded::Pause { .. } | Forwarded::Resume)) if leads => {
                let carried = self.carry_out_pause(&command);
                return self.cx.answer_once_durable(id, carried);
            }
            (Some(leader), command) => return self.forward(id, leader, command),
        };
        self.cx.answer(id, result);
    }

    fn forward(&mut self, id: CommandId, leader: NodeId, command: Forwarded) {
        let due = self.cx.now + self.cx.state.settings.timing.failure * command.patience();
        let asked = self.cx.state.view().epoch;
        if !self.cx.state.outbox.commands.add(id, leader, command, asked, due) {
            return self.cx.answer(id, Err(Refusal::TooMany));
        }
        self.arm_forward();
        self.forward_unsent(leader);
    }

    fn arm_forward(&mut self) {
        if let Some(next) = self.cx.state.outbox.commands.next_due() {
            self.cx.state.timers.arm(Timer::Forward, next);
        }
    }

    /// Sends a leader, once, the commands that wait for it, as soon as it can be reached.
    pub fn forward_unsent(&mut self, leader: NodeId) {
        let (own, epoch) = (self.cx.state.id(), self.cx.state.view().epoch);
        if leader != own && !self.cx.state.detector.is_within_reach(leader) {
            return;
        }
        let unsent = self.cx.state.outbox.commands.send(leader, epoch);
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
        if self.cx.state.outbox.commands.leave_to(leader, epoch) {
            self.forward_unsent(leader);
        }
    }

    /// Carries out a command that another member, or this one itself, passed on.
    pub fn forwarded(&mut self, from: NodeId, number: u64, command: Forwarded) {
        let asker = (from, number);
        match command {
            Forwarded::Resign { to } => {
                let result = self.resign(to);
                self.cx.tell_outcome(asker, result);
            }
            Forwarded::Change(change) => self.change(asker, change),
            Forwarded::Switchover { to } => self.switch_over(asker, to),
            Forwarded::EndSwitchover => self.end_switchover(asker),
            Forwarded::Pause { .. } | Forwarded::Resume => match self.carry_out_pause(&command) {
                Ok((record, done)) => {
                    let outcome = Message::Outcome { number, result: Ok(done) };
                    self.cx.state.records.then(record, Then::Tell(from, outcome));
                }
                Err(refusal) => self.cx.tell_outcome(asker, Err(refusal)),
            },
        }
    }

    /// Gives up on the commands that waited for too long.
    pub fn forwards_expired(&mut self) {
        for number in self.cx.state.outbox.commands.expired(self.cx.now) {
            self.cx.settle(number, Err(Refusal::NoReply));
        }
        self.arm_forward();
    }

    /// The leader pauses the cluster or resumes it, and tells the others immediately.
    pub fn carry_out_pause(&mut self, command: &Forwarded) -> Carried {
        let state = &self.cx.state;
        if !state.leads() {
            return Err(Refusal::NotLeader);
        }
        if !state.records.have_room() {
            return Err(Refusal::TooMany);
        }
        let (paused, since, until, done) = match *command {
            Forwarded::Pause { since, until } => (true, since, until, Done::Paused),
            _ => (false, 0, None, Done::Resumed),
        };
        let version = state.membership.pause().version.next(state.view().epoch);
        let record = self.cx.take_pause(Pause { version, paused, since, until });
        self.beat_to(self.cx.all_others());
        self.hand_over_if_unfit(); // this leader may have waited for the end of the pause
        Ok((record, done))
    }

    /// Whether this member leads, and this pause is the present one: then it may end.
    pub fn may_resume(&self, pause: Version) -> bool {
        let state = &self.cx.state;
        state.leads() && state.membership.pause().version == pause
    }

    /// An operator chose a member to lead: this leader names it in its heartbeats, from now on until it takes over.
    pub fn switch_over(&mut self, asked: Asker, to: NodeId) {
        match self.may_switch_over(to) {
            Ok(()) if to != self.cx.state.id() => {
                let due = self.cx.now + self.cx.state.settings.timing.failure;
                let switchover = Switchover { to, asked, due, taken: false };
                self.cx.state.course.set_switchover(Some(switchover));
                self.beat_to(self.cx.all_others());
            }
            result => self.cx.tell_outcome(asked, result.map(|()| Done::Leads(to))),
        }
    }

    /// An operator clears a switchover: nobody takes over because of it any more, and a leader that leads because of
    /// it is preempted like any other.
    pub fn end_switchover(&mut self, asked: Asker) {
        if !self.cx.state.leads() {
            return self.cx.tell_outcome(asked, Err(Refusal::NotLeader));
        }
        self.cx.tell_outcome(asked, Ok(Done::SwitchoverEnded));
        if let Some(under_way) = self.cx.state.course.switchover() {
            self.drop_switchover(Refusal::NotTaken(under_way.to));
        }
        self.cx.state.eligibility.clear(); // the next heartbeat round finds who is to lead
    }
}

impl Context<'_> {
    /// A member says how a command ended. Only the leader that was sent the command can know that.
    pub fn hear_outcome(&mut self, from: NodeId, number: u64, result: Result<Done, Refusal>) {
        if self.state.outbox.commands.may_end(number, from, &result) {
            self.settle(number, result);
        }
    }
}
