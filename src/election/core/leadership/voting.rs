//! A voter's answers to candidates, and its promises to leaders.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::leadership::{judging, nomination, promise};
use crate::core::membership::{ListVersion, own};
use crate::core::message::{Message, Opinion};
use crate::core::note::Note;
use crate::core::phase::Phase;
use crate::core::reach;
use crate::core::state::State;
use crate::core::types::{Epoch, Incarnation, NodeId};

/// The lease that a peer asks for, as it last said.
fn lease_of(state: &State, peer: NodeId) -> Duration {
    let timing = state.detector.get(peer).and_then(Peer::timing);
    timing.map_or(Duration::ZERO, |[.., lease]| Duration::from_nanos(lease))
}

/// The greatest epoch that this member knows, has voted in or has a list of.
fn greatest_epoch(state: &State) -> Epoch {
    let stamped = state.membership.version().epoch;
    state.view().epoch.max(state.voter.newest()).max(stamped)
}

/// Denies a candidate or an outdated leader the vote that the message of this number asked for.
pub fn deny_vote(cx: &mut Context<'_>, to: NodeId, number: u64, opinion: Opinion) {
    cx.send(to, Message::Denial { number, opinion, epoch: greatest_epoch(cx.state) });
}

/// Whether the named voters are a majority.
pub fn is_majority(state: &State, votes: &[NodeId]) -> bool {
    let votes: BTreeSet<_> = votes.iter().collect();
    let voters = votes.iter().filter(|id| state.is_voter(***id)).count();
    !state.needs_majority() || voters >= state.majority()
}

/// Whether this member votes, and is not about to end.
pub fn votes(state: &State) -> bool {
    state.needs_majority() && state.is_voter(state.id()) && state.phase() != Phase::Stopping
}

/// A voter with an empty store that has not met all others by the end of discovery reports that: its silence may
/// leave the cluster without a leader.
pub fn say_who_is_unmet(cx: &mut Context<'_>) {
    let state = &cx.state;
    if votes(cx.state) && !state.voter.is_informed() {
        let voters = nomination::unmet_voters(state);
        cx.out.push(Output::Note(Note::Uninformed { voters }));
    }
}

/// A candidate asks for a pre-vote: whether this voter would vote for it.
pub fn asked_pre_vote(
    cx: &mut Context<'_>,
    from: NodeId,
    number: u64,
    epoch: Epoch,
    list: ListVersion,
) {
    if !votes(cx.state) {
        return; // it was heard
    }
    own::exchange_lists(cx, from, list);
    // A voter whose disk hangs could not store a vote that has to be durable first, and the candidate would have ended a
    // leader's epoch for nothing. (Q7)
    let (failure, lease) = (cx.state.settings.timing.failure, lease_of(cx.state, from));
    let hangs = cx.state.records.stand_still(failure, cx.now)
        && !judging::answers_at_once(cx.state, epoch, lease);
    let waits = hangs || !promise::may_promise(cx.state, lease); // it would be denied the vote, too
    let opinion = match reach::prefers_steadier(cx, from) {
        _ if waits => Opinion::No { wait: failure },
        None => judging::judge(cx, from, epoch, list),
        Some(wait) => match judging::judge(cx, from, epoch, list) {
            Opinion::Yes => Opinion::No { wait },
            // Until the promise to the present leader is over, which that leader may not release for it.
            Opinion::YesIf { wait, .. } => Opinion::No { wait },
            no => no,
        },
    };
    let epoch = greatest_epoch(cx.state);
    // At a first start the question may come before the connection back to the candidate is up.
    let reply = Message::PreVoteReply { number, opinion, epoch };
    cx.answer_when_connected(from, vec![reply]);
}

/// A candidate asks for this voter's vote.
pub fn asked_for_vote(
    cx: &mut Context<'_>,
    (from, incarnation): (NodeId, Incarnation),
    number: u64,
    epoch: Epoch,
    lease: Duration,
    list: ListVersion,
) {
    if !votes(cx.state) {
        return; // it was heard
    }
    cx.raise_round(epoch);
    own::exchange_lists(cx, from, list);
    let too_long = Opinion::No { wait: cx.state.settings.timing.failure };
    let opinion = if promise::may_promise(cx.state, lease) {
        judging::judge(cx, from, epoch, list)
    } else {
        too_long
    };
    match opinion {
        Opinion::Yes => judging::vote_for(cx, from, incarnation, number, epoch, lease),
        opinion => deny_vote(cx, from, number, opinion),
    }
}

/// A candidate passes on that a leader gave up its epoch. An observer is never a candidate, so its word does not
/// count. (Q10)
pub fn freed(state: &mut State, by: NodeId, leader: NodeId, epoch: Epoch) {
    if state.is_voter(by) {
        state.voter.release(leader, epoch);
    }
}

/// Whether a vote that waited for the disk is void: this voter is bound to another leader by now.
fn is_overtaken(cx: &Context<'_>, candidate: NodeId, epoch: Epoch) -> bool {
    let voter = &cx.state.voter;
    let bound = voter.bound_to(cx.now);
    epoch < voter.newest() || bound.is_some_and(|leader| leader != candidate)
}

/// Sends a member the message that waited for the disk.
pub fn tell_durable(cx: &mut Context<'_>, to: NodeId, message: Message) {
    match message {
        // The voter acknowledged another leader meanwhile.
        Message::Vote { epoch, .. } | Message::Acknowledge { epoch, .. }
            if is_overtaken(cx, to, epoch) => {}
        Message::Acknowledge { epoch, number, .. } if to == cx.state.id() => {
            if cx.state.view().epoch == epoch {
                promise::prolong(cx, to, number);
            }
        }
        message => judging::tell_vote(cx, to, message),
    }
}

/// At the end of a turn: shortens, in the voter's record, the time for which the next incarnation has to wait.
pub fn forget_old_promises(cx: &mut Context<'_>) {
    let (now, length) = (cx.now, cx.state.settings.timing.lease);
    let votes = cx.state.needs_majority() && cx.state.phase() != Phase::Stopping;
    if votes && cx.state.voter.forget_old_promises(now, length) {
        cx.persist();
    }
}

/// A voter whose store was empty knows the state of the cluster once it has met all others.
pub fn inform_voter(state: &mut State) {
    if !state.needs_majority() {
        return; // nobody votes
    }
    let version = state.membership.version();
    let all = nomination::unmet_voters(state).is_empty();
    // By an older list it does not know who votes.
    if all && state.membership.newest() <= version {
        let round = state.epochs.round();
        state.voter.inform(round);
    }
}
