//! The periodic procedures: with Check the coordinator looks whether all others are Normal, and with Timeout the
//! others look whether the coordinator is there.

use std::time::Duration;

use super::{AnsweredCall, Halting, HaltingStep};
use crate::core::context::Context;
use crate::core::message::Message;
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId, Rank, Time};

impl Halting {
    /// Check, each `failure`: "ARE-YOU-NORMAL to all others". (K3)
    pub(super) fn check_all(&mut self, cx: &mut Context) {
        if cx.state.leads() {
            cx.arm(Timer::Check, cx.state.settings.timing.failure);
            let others = cx.all_others();
            self.check(cx, others);
        }
    }

    pub(super) fn check(&mut self, cx: &mut Context, others: Vec<NodeId>) {
        let (number, epoch) = (self.next_call(), cx.state.view().epoch);
        cx.send_all(others, Message::AreYouNormal { number, epoch });
    }

    /// "A no starts an election", which takes that member in. A member that may take over does so itself.
    pub(super) fn checked(&mut self, cx: &mut Context, from: NodeId, normal: bool) {
        let peer = cx.state.detector.get(from);
        let (own, margin) = (cx.state.present_rank(), cx.state.settings.margin);
        let above = peer.is_some_and(|peer| {
            cx.state.is_peer_above(peer) && margin.is_exceeded(peer.rank(), own)
        });
        let takes_over = above && cx.state.preempts_at_once();
        if !normal && !takes_over && !Fault::NoCheck.is_planted() {
            self.begin(cx, Reason::NotNormal(from));
        }
    }

    /// "Are you normal?": yes only under this coordinator, in its present epoch.
    pub fn are_you_normal(&mut self, cx: &mut Context, by: AnsweredCall, epoch: Epoch) {
        let follows = cx.state.follows(by.0) && cx.state.view().epoch == epoch;
        // A member that waits for its disk before it follows has accepted the task. (W5)
        let waits = cx.state.is_bound_to(by.0) && !Fault::DiskNotNormal.is_planted();
        self.answer(cx, by, follows || waits);
    }

    /// ARE-YOU-THERE: the asker misses its coordinator, so this member looks at its own. It need not if the asker
    /// ranks above it and will halt it; but it does if the asker was its coordinator, which does not lead any more.
    pub fn are_you_there(
        &mut self,
        cx: &mut Context,
        by: AnsweredCall,
        rank: Rank,
        eligible: bool,
    ) {
        let (from, rank) = (by.0, Rank { id: by.0, ..rank });
        // Otherwise each of the two might wait for the other.
        cx.state.detector.change(from, |peer| peer.says_rank(rank, eligible));
        let accepted = cx.state.is_eligible() && !cx.state.is_above(rank, eligible);
        self.answer(cx, by, accepted);
        if accepted || !eligible || cx.state.follows(from) {
            self.look_at_coordinator(cx, from);
        }
    }

    /// A member that had this one as its coordinator asks whether it still has. (K5)
    pub fn are_you_coordinator(&mut self, cx: &mut Context, by: AnsweredCall, epoch: Epoch) {
        let leads = cx.state.leads_in(epoch);
        let organizes = self.organizes(cx.state) && self.organized.round == epoch;
        self.answer(cx, by, leads || organizes);
    }

    /// Timeout, now: a coordinator checks the others, a follower calls its coordinator, and a member without a
    /// coordinator calls an election, unless one is in progress.
    pub(super) fn look_at_coordinator(&mut self, cx: &mut Context, asker: NodeId) {
        match cx.state.phase() {
            Phase::Leading => self.check_all(cx),
            Phase::Starting if !cx.state.is_discovering(cx.now) => {
                self.begin(cx, Reason::Joined(asker));
            }
            Phase::Waiting if cx.state.has_backed_off(cx.now) => {
                self.begin(cx, Reason::Joined(asker))
            }
            // The asker does not lead any more, even if this member is about to store its epoch. (W5)
            Phase::Waiting if cx.state.leader_to_store() == Some(asker) => {
                self.begin(cx, Reason::LeaderGaveUp(asker));
            }
            _ => self.call_coordinator(cx),
        }
    }

    /// Timeout: "ARE-YOU-THERE to c when Normal or in Reorganization".
    fn call_coordinator(&mut self, cx: &mut Context) {
        // It was called already; but a change of phase ends that call, and the reply may be lost.
        if cx.state.timers.due(Timer::Answer).is_some() {
            return;
        }
        if let Some((coordinator, epoch)) = self.coordinator(cx) {
            let number = self.next_call();
            self.timeout = Some(number);
            cx.arm(Timer::Answer, cx.state.settings.timing.t1());
            let (rank, eligible) = (cx.state.rank(), cx.state.is_eligible());
            let under = Some(epoch);
            cx.send(coordinator, Message::AreYouThere { number, under, rank, eligible });
        }
    }

    /// This member's coordinator, if that is another member, and its epoch.
    fn coordinator(&self, cx: &Context) -> Option<(NodeId, Epoch)> {
        match cx.state.phase() {
            Phase::Following => Some((cx.state.view().leader?.id, cx.state.view().epoch)),
            Phase::Reorganizing if self.organized.step == HaltingStep::Idle => {
                self.halted.map(|(halter, round)| (halter.id, round))
            }
            _ => None,
        }
    }

    /// The coordinator is there; or its process is up, but is not the coordinator any more.
    pub(super) fn coordinator_replied(&mut self, cx: &mut Context, from: NodeId, accepted: bool) {
        self.timeout = None;
        let own = self.coordinator(cx).is_some_and(|(coordinator, _)| coordinator == from);
        if !accepted && own && !Fault::TimeoutAny.is_planted() {
            self.begin(cx, Reason::LeaderGaveUp(from));
        }
    }

    /// "Without a reply, an election." But a follower that heard its coordinator recently waits: one reply may be
    /// late, and it calls the coordinator again before it suspects it. (K4)
    pub(super) fn coordinator_unanswered(&mut self, cx: &mut Context) {
        if self.timeout.take().is_none() {
            return;
        }
        let Some((coordinator, _)) = self.coordinator(cx) else { return };
        let heard = cx.state.detector.get(coordinator).and_then(|peer| peer.heard());
        let heard = heard.filter(|_| cx.state.follows(coordinator));
        match heard.filter(|heard| cx.now.since(*heard) < silence_before_call(cx)) {
            Some(heard) => self.look_after_coordinator_from(cx, heard),
            None => self.begin(cx, Reason::LeaderSuspected(coordinator)),
        }
    }

    /// A follower calls its coordinator after so long a silence that, without a reply, it suspects the coordinator
    /// after `failure`.
    pub(super) fn look_after_coordinator(&mut self, cx: &mut Context) {
        let leader = cx.state.view().leader.filter(|_| cx.state.phase() == Phase::Following);
        let Some(peer) = leader.and_then(|leader| cx.state.detector.get(leader.id)) else { return };
        let heard = peer.heard().unwrap_or_default();
        if cx.now.since(heard) >= silence_before_call(cx) {
            self.call_coordinator(cx);
            self.look_after_coordinator_from(cx, cx.now);
        } else {
            self.look_after_coordinator_from(cx, heard);
        }
    }

    pub(super) fn look_after_coordinator_from(&self, cx: &mut Context, heard: Time) {
        cx.state.timers.arm(Timer::Pulse, heard + silence_before_call(cx));
    }
}

/// The silence after which a follower calls its coordinator.
fn silence_before_call(cx: &Context) -> Duration {
    let timing = cx.state.settings.timing;
    timing.failure.saturating_sub(timing.t1()).max(timing.heartbeat)
}
