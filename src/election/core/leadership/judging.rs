//! How a voter judges a candidate, this member itself included, and votes for it.

use std::time::Duration;

use super::question::QuestionStage;
use crate::core::context::Context;
use crate::core::durable::Deferred;
use crate::core::membership::ListVersion;
use crate::core::message::{Message, Opinion};
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::types::{Epoch, Incarnation, NodeId};

/// This voter's answer to a vote request. (Q6)
pub fn judge(cx: &Context<'_>, candidate: NodeId, epoch: Epoch, list: ListVersion) -> Opinion {
    let state = &*cx.state;
    let (own, retry) = (state.membership.version(), state.settings.timing.failure);
    if list < own && !Fault::StaleList.is_planted() {
        return Opinion::No { wait: retry };
    }
    // A member led in the epoch of the list's version, and the majority that elected it may have been removed
    // since. As in Raft: a candidate's term is above that of its last entry.
    if epoch <= own.epoch && !Fault::ListEpoch.is_planted() {
        return Opinion::No { wait: Duration::ZERO };
    }
    state.voter.judge((cx.now, retry), candidate, epoch, state.view())
}

/// Whether this voter may send a vote in this epoch before its disk has it. (Q2)
pub fn answers_at_once(state: &State, epoch: Epoch, lease: Duration) -> bool {
    let covered = state.records.is_durable(epoch) && state.voter.may_write_behind(lease);
    covered || Fault::VoteNotDurable.is_planted()
}

/// Votes for a candidate, and sends the vote: immediately if the reserve covers its epoch, else as soon as the vote is
/// durable. (Q2)
pub fn vote_for(
    cx: &mut Context<'_>,
    candidate: NodeId,
    incarnation: Incarnation,
    number: u64,
    epoch: Epoch,
    lease: Duration,
) {
    let at_once = answers_at_once(cx.state, epoch, lease);
    let before = cx.state.voter.voted_before(candidate, epoch, lease);
    cx.state.voter.vote_for(cx.now, (candidate, incarnation), epoch, lease);
    let vote = Message::Vote { incarnation, number, epoch };
    let waits = cx.state.records.awaited_by(|step| *step == Deferred::Vote);
    let record = match (before, waits) {
        // The candidate asks once more, as the disk is slow: the vote is not written twice.
        (true, None) => return tell_vote(cx, candidate, vote),
        (true, Some(record)) => record,
        (false, _) => {
            let record = cx.persist();
            cx.state.records.defer(record, Deferred::Vote);
            record
        }
    };
    if at_once {
        return tell_vote(cx, candidate, vote);
    }
    cx.state.records.defer(record, Deferred::Tell(candidate, vote));
}

/// Sends a vote, or counts it if it is this member's for itself.
pub fn tell_vote(cx: &mut Context<'_>, candidate: NodeId, vote: Message) {
    match vote {
        Message::Vote { incarnation, number, epoch } if candidate == cx.state.id() => {
            hear_vote(cx, candidate, incarnation, number, epoch);
        }
        vote => cx.send(candidate, vote),
    }
}

/// A voter votes for this member; or this member itself does, now that its vote is durable. (E3)
pub fn hear_vote(cx: &mut Context<'_>, from: NodeId, of: Incarnation, number: u64, epoch: Epoch) {
    let own = of == cx.state.records.incarnation() && cx.state.is_voter(from);
    if let Some(question) = cx.state.candidacy.question_mut()
        && ((question.number, question.epoch) == (number, epoch) || Fault::StaleVote.is_planted())
        && question.stage == QuestionStage::Vote
        && own
    {
        question.hear(from, Opinion::Yes, cx.now);
    }
}
