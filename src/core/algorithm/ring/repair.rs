//! Keeping the ring whole: who is next, whether it lives, and sending again what was lost with a
//! member.

use super::{Ring, decided, is_gone};
use crate::core::context::Context;
use crate::core::message::{Candidate, Message};
use crate::core::phase::{Phase, Reason};
use crate::core::timer::Timer;
use crate::core::types::NodeId;

/// The next living member clockwise.
fn next(cx: &Context) -> Option<NodeId> {
    let mut others = cx.state.detector.clockwise();
    others.find(|(_, peer)| peer.alive()).map(|(id, _)| id)
}

/// Whether a message that was sent still matters to whoever may not have got it.
fn is_current(cx: &Context, message: &Message) -> bool {
    match message {
        Message::Ballot(ballot) => {
            cx.state.phase == Phase::Electing && ballot.run.epoch > cx.state.view.epoch
        }
        Message::Lap(lap) => lap.run.epoch == decided(cx),
        _ => false,
    }
}

impl Ring {
    /// Sends to the next living member; in a ring of one, all have had it.
    pub(super) fn pass_on(&mut self, cx: &mut Context, message: Message) {
        self.last = None;
        if let Some(next) = next(cx) {
            self.last = Some((message, next));
            self.repeat(cx);
            self.watch(cx);
        } else if let Message::Ballot(_) = message {
            self.returned(cx, Reason::Highest);
        }
    }

    /// Sends the last message as soon as it can be sent.
    fn repeat(&self, cx: &mut Context) {
        if let Some((message, to)) = &self.last
            && cx.state.detector.is_within_reach(*to)
        {
            cx.send(*to, message.clone());
        }
    }

    /// "When nodes fail, the ring may get broken, and liveness may be violated": unless whoever sent
    /// to the failed one last sends to the next; and the run is begun anew if it was to elect it.
    pub(super) fn repair(&mut self, cx: &mut Context, lost: NodeId) {
        if self.hinges_on(cx, lost) {
            let reason = match cx.state.phase {
                Phase::Waiting => Reason::AnswererLost,
                _ => Reason::BallotLost,
            };
            return self.call(cx, reason);
        }
        if let Some((message, _)) = self.last.take_if(|(_, to)| *to == lost)
            && is_current(cx, &message)
        {
            self.pass_on(cx, message);
        }
        self.watch(cx);
    }

    /// Sends the last message again: what was sent to this member may have been lost, or it has
    /// come between this one and the next.
    pub(super) fn mend(&mut self, cx: &mut Context, joined: NodeId) {
        if let Some((message, to)) = &self.last
            && is_current(cx, message)
            && (*to == joined || next(cx) == Some(joined))
        {
            self.last = Some((message.clone(), joined));
            self.repeat(cx);
        }
    }

    /// Whether the outcome that this member awaits cannot come without that one.
    fn hinges_on(&self, cx: &Context, peer: NodeId) -> bool {
        let state = &cx.state;
        if state.is_bound() || !state.elects() {
            return false;
        }
        let leads = |id| state.view.leader.is_some_and(|leader| leader.id == id);
        let nominated = |nominee: Candidate| nominee.rank.id == peer && is_gone(cx, nominee);
        next(cx).is_none()
            || match state.phase {
                Phase::Waiting => self.awaited == Some(peer),
                _ if self.is_open(cx, self.run) => self.nominee.is_some_and(nominated),
                _ => leads(peer),
            }
    }

    /// Watches the next member, unless the leader hears it, or is it.
    fn watch(&mut self, cx: &mut Context) {
        let needless = cx.state.leads() || cx.state.phase == Phase::Stopping;
        let next = next(cx).filter(|next| !needless && !cx.state.follows(*next));
        let before = cx.state.watches.map(|(watched, _)| watched);
        cx.watch(next);
        if next != before {
            self.probe(cx);
        }
    }

    /// Asks for a sign of life: the next member, and those before it that are taken for dead, since
    /// nobody else would find that they live.
    fn probe(&mut self, cx: &mut Context) {
        let Some((watched, _)) = cx.state.watches else { return };
        let others = cx.state.detector.clockwise().map(|(id, _)| id);
        let skipped = others.take_while(|id| *id != watched);
        let asked = skipped.chain([watched]).collect();
        self.ask(cx, asked);
    }

    pub(super) fn ask(&mut self, cx: &mut Context, members: Vec<NodeId>) {
        let within_reach = |id: &NodeId| cx.state.detector.is_within_reach(*id);
        let up = members.into_iter().filter(within_reach).collect();
        self.probes += 1;
        cx.send_all(up, Message::Probe { number: self.probes });
    }

    /// One sign of life from the next member in every interval.
    pub(super) fn pulse(&mut self, cx: &mut Context) {
        let before = cx.state.watches;
        self.watch(cx);
        if cx.state.watches == before {
            self.probe(cx);
        }
        cx.arm(Timer::Pulse, cx.state.settings.timing.heartbeat);
    }
}
