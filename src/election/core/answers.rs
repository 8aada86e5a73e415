//! The answers to the commands of operators, of this member's own and of those that passed them on.

use super::api::Output;
use super::context::Context;
use super::durable::Deferred;
use super::membership::known::CommandAsker;
use super::message::{Done, Message, Refusal};
use super::types::CommandId;

/// What carrying out a command did, and the record that holds it; or why it was not carried out.
pub type Carried = Result<(u64, Done), Refusal>;

/// Answers a command of an operator of this member.
pub fn answer(cx: &mut Context<'_>, id: CommandId, result: Result<Done, Refusal>) {
    cx.out.push(Output::Answer { id, result });
}

/// The same, once the record that holds what was done is durable.
pub fn answer_once_durable(cx: &mut Context<'_>, id: CommandId, carried: Carried) {
    match carried {
        Ok((record, done)) => cx.state.records.defer(record, Deferred::Answer(id, done)),
        Err(refusal) => answer(cx, id, Err(refusal)),
    }
}

/// A command has ended; or, if it is a change of the members, it waits for the next leader: this one has handed
/// over, or does not lead any more.
pub fn settle(cx: &mut Context<'_>, number: u64, result: Result<Done, Refusal>) {
    if let Some((id, result)) = cx.state.outbox.commands.end(number, result) {
        answer(cx, id, result);
    }
}

/// This member waits no longer for the outcome of a command.
pub fn give_up(cx: &mut Context<'_>, number: u64, refusal: Refusal) {
    if let Some(id) = cx.state.outbox.commands.give_up(number) {
        answer(cx, id, Err(refusal));
    }
}

/// Tells the member that passed a command on, or the caller of this one, how the command ended.
pub fn tell_outcome(
    cx: &mut Context<'_>,
    (to, number): CommandAsker,
    result: Result<Done, Refusal>,
) {
    if to == cx.state.id() {
        settle(cx, number, result);
    } else {
        cx.send(to, Message::Outcome { number, result });
    }
}

/// This member was removed: the operator that asked it for that gets the answer before it ends. Other members
/// refuse it because of a list that cannot be undone, unless it made that list itself, by force.
pub fn settle_own_removal(cx: &mut Context<'_>) {
    let own = cx.state.id();
    let stored = !cx.state.membership.has_removed_itself();
    for number in cx.state.outbox.commands.removals(own) {
        let done = Done::Removed { id: own, stored, handed_over: false };
        settle(cx, number, Ok(done));
    }
}
