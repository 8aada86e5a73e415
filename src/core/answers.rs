//! The answers to the commands of operators, of this member's own and of those that passed them on.

use super::api::Output;
use super::context::Context;
use super::durable::Then;
use super::forwarding::Carried;
use super::membership::known::Asker;
use super::message::{Done, Message, Refusal};
use super::types::CommandId;

impl Context<'_> {
    /// Answers a command of an operator of this member.
    pub fn answer(&mut self, id: CommandId, result: Result<Done, Refusal>) {
        self.out.push(Output::Answer { id, result });
    }

    /// The same, once the record that holds what was done is durable.
    pub fn answer_once_durable(&mut self, id: CommandId, carried: Carried) {
        match carried {
            Ok((record, done)) => self.state.records.then(record, Then::Answer(id, done)),
            Err(refusal) => self.answer(id, Err(refusal)),
        }
    }

    /// A command has ended; or, if it is a change of the members, it waits for the next leader: this one has handed
    /// over, or does not lead any more.
    pub fn settle(&mut self, number: u64, result: Result<Done, Refusal>) {
        if let Some((id, result)) = self.state.outbox.commands.end(number, result) {
            self.answer(id, result);
        }
    }

    /// Tells the member that passed a command on, or the caller of this one, how the command ended.
    pub fn tell_outcome(&mut self, (to, number): Asker, result: Result<Done, Refusal>) {
        if to == self.state.id() {
            self.settle(number, result);
        } else {
            self.send(to, Message::Outcome { number, result });
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
