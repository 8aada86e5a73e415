//! With a majority: this member asks the voters, or needs no answer any more.

use std::time::Duration;

use super::question::{QuestionPurpose, QuestionStage};
use crate::core::context::Context;
use crate::core::leadership::{judging, release};
use crate::core::message::{Message, Opinion, View};
use crate::core::phase::Phase;
use crate::core::planted::Fault;
use crate::core::timer::Timer;
use crate::core::types::Epoch;

pub fn ask_voters(
    cx: &mut Context<'_>,
    purpose: QuestionPurpose,
    stage: QuestionStage,
    epoch: Epoch,
) {
    if cx.state.candidacy.question().is_some_and(|asked| asked.epoch != epoch) {
        drop_question(cx);
    }
    let lease = cx.state.settings.timing.lease;
    let number = cx.state.candidacy.ask(purpose, stage, epoch, (cx.now, lease));
    ask_self(cx, stage, epoch, lease);
    let list = cx.state.membership.version();
    let mut voters = cx.all_others();
    voters.retain(|id| cx.state.is_voter(*id));
    let View { epoch: last, .. } = cx.state.view();
    let votes = cx.state.is_voter(cx.state.id());
    if let Some(leader) = cx.state.endings.heard(last).filter(|_| votes) {
        cx.send_all(voters.clone(), Message::Freed { leader, epoch: last });
    }
    cx.send_all(
        voters,
        match stage {
            QuestionStage::PreVote => Message::PreVote { number, epoch, list },
            QuestionStage::Vote => Message::VoteRequest { number, epoch, lease, list },
        },
    );
    // A vote waits for a disk; after this time it would come too late.
    let wait = match stage {
        QuestionStage::PreVote => cx.state.settings.timing.t1(),
        QuestionStage::Vote => cx.state.longest_vote(),
    };
    cx.arm(Timer::Voters, wait);
}

/// Stops asking. Frees the voters that have voted for this member from their promise; but not those that a leader
/// asked for a greater epoch, as its lease still rests on them.
pub fn drop_question(cx: &mut Context<'_>) {
    let Some(question) = cx.state.candidacy.drop_question() else { return };
    cx.state.timers.cancel(Timer::Voters);
    if cx.state.candidacy.is_denied() {
        cx.arm(Timer::Voters, cx.state.settings.timing.t2()); // it asks them again
    }
    if question.stage == QuestionStage::Vote && question.purpose == QuestionPurpose::Win {
        release::free_own_vote(cx.state);
        cx.state.epochs.raise_floor(question.epoch);
        release::say_released(cx, question.epoch, None);
    }
}

/// Ends the part of the candidacy that does not belong in this phase.
pub fn keep_candidacy_in(cx: &mut Context<'_>, phase: Phase) {
    cx.state.candidacy.parked = None;
    if !matches!(phase, Phase::Electing | Phase::Reorganizing | Phase::Leading) {
        drop_question(cx);
    }
    if !matches!(phase, Phase::Waiting | Phase::Electing) {
        cx.state.candidacy.forget_denial();
    }
}

/// A candidate's vote for itself obeys the same rules as other votes. (Q3)
pub fn ask_self(cx: &mut Context<'_>, stage: QuestionStage, epoch: Epoch, lease: Duration) {
    let own = cx.state.id();
    if !cx.state.is_voter(own) {
        return;
    }
    let opinion = if Fault::OwnVoteFree.is_planted() {
        Opinion::Yes
    } else {
        judging::judge(cx, own, epoch, cx.state.membership.version())
    };
    let Some(question) = cx.state.candidacy.question_mut() else { return };
    let number = question.number;
    match (opinion, stage) {
        (Opinion::Yes, QuestionStage::Vote) => {
            judging::vote_for(cx, own, cx.state.records.incarnation(), number, epoch, lease);
        }
        _ => question.hear(own, opinion, cx.now),
    }
}
