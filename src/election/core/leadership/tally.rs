//! The tally: the voters' answers, and what this member does once enough of them agree or cannot agree any more.

use std::time::Duration;

use super::nomination::MOST_REPEATS;
use super::question::{Question, QuestionPurpose, QuestionStage};
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::durable::Deferred;
use crate::core::leadership::{asking, becoming, call, nomination, promise};
use crate::core::message::{Message, Opinion};
use crate::core::phase::{Phase, Reason};
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId};

/// Whether this member's own vote is not on the disk yet.
fn waits_for_own_vote(state: &State) -> bool {
    let own = |step: &Deferred| matches!(step, Deferred::Tell(to, Message::Vote { .. }) if *to == state.id());
    state.records.awaited_by(own).is_some()
}

/// How many voters have answered a candidate, or may. Once it has answers from a majority, it does not wait for
/// voters that are suspected or dead. (N2)
fn can_say(state: &State, question: &Question) -> usize {
    if !question.has_answers_of(state.majority()) {
        return state.voters();
    }
    let gone = |id| state.detector.get(id).is_some_and(|peer| !peer.alive());
    let voters = state.membership.list().voters();
    voters.filter(|id| question.has_heard(*id) || !gone(*id)).count()
}

/// This member lost an election: too few voters answered its request for votes in time. Returns how often that
/// happened.
fn count_lost_election(cx: &mut Context<'_>) -> u32 {
    let unit = nomination::longest_t2(cx.state);
    cx.state.candidacy.lose_election(unit, cx.now)
}

/// A voter answers a pre-vote or denies its vote.
pub fn opinion(
    cx: &mut Context<'_>,
    from: NodeId,
    stage: QuestionStage,
    number: u64,
    opinion: Opinion,
    epoch: Epoch,
) {
    cx.raise_round(epoch);
    let now = cx.now;
    // No promise is longer than `failure`, except by the wait after a restart; then the candidate asks again. (E5)
    let opinion = opinion.at_most(cx.state.settings.timing.failure);
    let counts = cx.state.is_voter(from);
    if let Some(question) = cx.state.candidacy.question_mut()
        && (question.number, question.stage) == (number, stage)
        && counts
    {
        question.hear(from, opinion, now);
    }
    if cx.state.leads() {
        outgrow(cx, epoch);
    }
}

/// This leader learned of a later epoch: it asks for a still greater one, without stepping down. A voter that
/// needs that says so after every heartbeat, so the leader asks at most once between two of them. (L5)
pub fn outgrow(cx: &mut Context<'_>, epoch: Epoch) {
    let state = &cx.state;
    let asked = state.candidacy.question().is_some();
    let lately = cx.now < state.course.since() + state.settings.timing.heartbeat;
    if epoch > state.view().epoch && !asked && !lately {
        let next = cx.next_round();
        cx.raise_round(next);
        asking::ask_voters(cx, QuestionPurpose::Reclaim, QuestionStage::Vote, next);
    }
}

/// At the end of a turn: continues if enough voters agree, gives up if they cannot any more.
pub fn tally(turn: &mut Turn<'_>) {
    while let Some(question) = turn.cx.state.candidacy.open_question() {
        let (majority, voters) = (turn.cx.state.majority(), can_say(turn.cx.state, question));
        match (question.purpose, question.supporters(majority)) {
            (QuestionPurpose::Preempt(view), Some(votes)) => {
                let rank = turn.cx.state.rank();
                asking::drop_question(&mut turn.cx);
                let leader = view.leader.filter(|leader| turn.cx.state.follows(leader.id));
                nomination::put_off_takeover(&mut turn.cx);
                if let Some(leader) = leader {
                    let epoch = view.epoch;
                    turn.cx.send(leader.id, Message::Preempt { epoch, rank, votes });
                }
            }
            _ if question.is_carried(majority) => agreed(turn),
            _ if question.is_hopeless(majority, voters) => failed(&mut turn.cx),
            _ => return,
        }
    }
}

fn agreed(turn: &mut Turn<'_>) {
    let candidacy = &mut turn.cx.state.candidacy;
    let Some(question) = candidacy.question() else { return };
    let (purpose, epoch) = (question.purpose, question.epoch);
    candidacy.agree();
    turn.cx.state.timers.cancel(Timer::Voters);
    let state = &turn.cx.state;
    match purpose {
        QuestionPurpose::Win => nomination::unpark(turn),
        QuestionPurpose::Reclaim if may_reclaim(&turn.cx, epoch) => {
            becoming::become_leading(&mut turn.cx, epoch, Reason::Reclaimed);
            turn.algorithm.reclaimed(&mut turn.cx);
        }
        QuestionPurpose::Retry if state.phase() == Phase::Waiting && !state.is_bound() => {
            asking::drop_question(&mut turn.cx);
            call::call(turn, Reason::MajorityAgrees);
        }
        _ => asking::drop_question(&mut turn.cx),
    }
}

/// Whether a leader may take this epoch: it got the votes in time, and still needs the epoch.
fn may_reclaim(cx: &Context<'_>, epoch: Epoch) -> bool {
    let state = &cx.state;
    let greater = state.leads() && epoch > state.view().epoch;
    greater && state.records.is_durable(epoch) && promise::has_votes(state, epoch, cx.now)
}

/// The voters' time to answer is over, or the wait before this member asks them again.
pub fn voters_expired(cx: &mut Context<'_>) {
    let state = &cx.state;
    let asked = state.candidacy.question();
    if let Some(&Question { purpose, stage, epoch, .. }) = asked
        && may_ask_again(cx.state)
    {
        asking::ask_voters(cx, purpose, stage, epoch);
    } else if asked.is_some() {
        // A member whose disk hangs would be eligible, denied by nobody, again and again. (N3)
        let lags = waits_for_own_vote(state);
        cx.state.candidacy.disk_lags |= lags;
        failed(cx);
    } else if state.candidacy.is_denied() && state.elects() {
        let next = state.epochs.round().next();
        asking::ask_voters(cx, QuestionPurpose::Retry, QuestionStage::PreVote, next);
    }
}

/// Whether a vote request that was not answered in time is repeated in the same epoch: a voter with a slow disk
/// has stored its vote by then, or is about to, and repeats it without another write. A candidate that is
/// connected with too few voters, or has asked often enough, frees the voters. (N1)
fn may_ask_again(state: &State) -> bool {
    let asks = |question: &Question| {
        question.stage == QuestionStage::Vote && question.repeats < MOST_REPEATS
    };
    let connected = |id: &NodeId| state.detector.get(*id).is_none_or(Peer::connected);
    let voters = state.membership.list().voters();
    state.candidacy.open_question().is_some_and(asks)
        && voters.filter(connected).count() >= state.majority()
}

/// Not enough voters agree, or answered in time. A candidate asks again later, and only then calls another
/// election: a member that cannot lead disturbs nobody, and its log stays quiet.
fn failed(cx: &mut Context<'_>) {
    let state = &*cx.state;
    let Some(question) = state.candidacy.question() else { return };
    let (majority, now, purpose) = (state.majority(), cx.now, question.purpose);
    let voters = can_say(state, question);
    let (wait, heard) = (question.wait(majority, now), question.is_heard(majority, voters));
    let uninformed = question.uninformed(majority, state.voters());
    let opposed = question.is_opposed(majority, voters);
    let waits = state.candidacy.parked.is_some_and(|(_, round)| round == question.epoch);
    if question.stage == QuestionStage::Vote && !heard {
        count_lost_election(cx);
    }
    asking::drop_question(cx);
    match purpose {
        QuestionPurpose::Preempt(_) => {
            let failure = cx.state.settings.timing.failure;
            cx.state.candidacy.next_takeover_poll = now + failure;
        }
        QuestionPurpose::Retry => deny(cx, (heard, opposed), wait),
        QuestionPurpose::Win if waits => {
            let reason = match uninformed {
                _ if cx.state.candidacy.disk_lags => Reason::DiskLags,
                _ if !cx.state.voter.is_informed() => {
                    Reason::Uninformed(nomination::unmet_voters(cx.state))
                }
                Some(voters) => Reason::VotersUninformed(voters),
                None if heard && opposed => Reason::Refused(wait),
                None if heard => Reason::NoMajority(wait),
                None => Reason::Isolated,
            };
            becoming::become_waiting(cx, now, reason);
            deny(cx, (heard, opposed), wait);
        }
        QuestionPurpose::Win | QuestionPurpose::Reclaim => {}
    }
}

/// Enough voters voted for this member, too late to acknowledge a heartbeat before its lease ended. The second
/// time it lets others try. (S6)
pub fn lost_lease_at_once(turn: &mut Turn<'_>) {
    if count_lost_election(&mut turn.cx) > 1 {
        let now = turn.cx.now;
        becoming::become_waiting(&mut turn.cx, now, Reason::LeaseEnded);
        deny(&mut turn.cx, (false, false), Duration::ZERO);
    } else {
        call::call(turn, Reason::LeaseEnded);
    }
}

fn deny(cx: &mut Context<'_>, (heard, opposed): (bool, bool), wait: Duration) {
    let timing = cx.state.settings.timing;
    let refused = heard && cx.state.voter.is_informed();
    cx.state.candidacy.deny(refused, opposed, timing.failure * 2, cx.now);
    let wait = if refused {
        wait
    } else {
        timing.t2().max(cx.state.candidacy.wait_after_lost_election(cx.now))
    };
    let jitter = cx.state.timers.jitter(timing.message / 8);
    cx.arm(Timer::Voters, wait + jitter);
}
