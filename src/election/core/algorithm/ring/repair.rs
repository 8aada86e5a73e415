//! Keeps the ring whole: finds the next live member, watches it, and repeats a message that was lost with a member.

use super::Ring;
use super::view::{decided, is_gone, most_hops, next, next_after, own, run_timeout};
use crate::core::back_off;
use crate::core::bounds;
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::message::{Ballot, Candidate, Lap, Message, Run, View};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::reach;
use crate::core::timer::Timer;
use crate::core::types::NodeId;

/// Whether a member that did not get a message still needs it.
fn is_current(cx: &Context, message: &Message) -> bool {
    match message {
        Message::Ballot(ballot) => {
            cx.state.phase() == Phase::Electing && ballot.run.epoch > cx.state.view().epoch
        }
        // The announcement of a leader that leads no more is void: a member that gets it now may have missed its
        // end. (R6)
        Message::Lap(Lap { leader, .. }) if leader.rank.id == cx.state.id() => cx.state.leads(),
        Message::Lap(lap) => lap.run.epoch == decided(cx),
        _ => false,
    }
}

impl Ring {
    /// Sends to the next live member; without one, a ballot has come back.
    pub(super) fn pass_on(&mut self, cx: &mut Context, message: Message) {
        self.last = None;
        if let Some(next) = next(cx) {
            self.last = Some((message, next));
            self.repeat(cx);
            self.watch(cx);
        } else if let Message::Ballot(_) = message {
            self.returned(cx, None, Reason::Highest);
        }
    }

    /// Sends the last message, if its receiver can be reached.
    fn repeat(&self, cx: &mut Context) {
        if let Some((message, to)) = &self.last
            && cx.state.detector.is_within_reach(*to)
        {
            cx.send(*to, message.clone());
        }
    }

    /// A ballot has made a lap that left its candidate out, as the link to the candidate is dead: this member sends
    /// it straight there, or passes it on if it cannot, so that another member may. (R2)
    pub(super) fn send_straight(&mut self, cx: &mut Context, ballot: Ballot) {
        let candidate = ballot.candidate.rank.id;
        if cx.state.detector.is_within_reach(candidate) {
            cx.send(candidate, Message::Ballot(ballot));
        } else if ballot.hops <= most_hops(cx) {
            self.nominate(cx, ballot);
        }
    }

    /// The ballot of this ineligible member has come back. An eligible live member was left out, as the link between
    /// it and the member before it is dead: this member sends the ballot straight there, but not to the member that
    /// passed it on last, which would have put itself in. Returns the receiver. (R2)
    pub fn send_to_left_out(&mut self, cx: &mut Context, by: Option<NodeId>) -> Option<NodeId> {
        let others = cx.state.eligible().map(|peer| peer.rank());
        let best = others.filter(|rank| Some(rank.id) != by).max()?.id;
        if !cx.state.detector.is_within_reach(best) {
            return None;
        }
        if !reach::is_ignored(cx, best) && self.hops <= most_hops(cx) {
            let candidate = own(cx);
            cx.send(best, Message::Ballot(Ballot { run: self.run, candidate, hops: self.hops }));
        }
        Some(best)
    }

    /// The sender of an older ballot did not get the ballot of the present run, as links are dead: it gets that now. It
    /// would call ever older runs than a member that it does not hear. Not if the candidate could win: both ballots
    /// might come back. (R3)
    pub(super) fn draw_in(&self, cx: &mut Context, from: NodeId) {
        let Some((message @ Message::Ballot(ballot), _)) = &self.last else { return };
        if !ballot.candidate.eligible && is_current(cx, message) && !Fault::NotDrawnIn.is_planted()
        {
            cx.send(from, message.clone());
        }
    }

    /// Waits for as long as an undisturbed run takes; less, if a member kept a ballot in the last runs.
    pub(super) fn expect_lap(&mut self, cx: &mut Context) {
        let run =
            bounds::ring_run(&cx.state.settings.timing, cx.state.membership.list().iter().len());
        let sooner = back_off::halved(run, self.swallowed);
        cx.arm(Timer::Answer, sooner.max(cx.state.settings.timing.t1()));
    }

    /// A ballot had no outcome in time: the member that got it may keep it for ever. The next member after that gets
    /// the ballot as well, and ignores it if it has seen it. Without a majority, a candidate that could win waits:
    /// the keeper may have sent a better candidate on, and both ballots would come back. (R5)
    pub(super) fn send_past(&mut self, cx: &mut Context) {
        let Some((message @ Message::Ballot(ballot), kept_by)) = self.last.clone() else { return };
        if ballot.candidate.eligible && !cx.state.needs_majority() {
            return;
        }
        if cx.state.phase() == Phase::Electing
            && is_current(cx, &message)
            && let Some(after) = next_after(cx, kept_by)
        {
            self.sent_past = true;
            self.last = Some((message, after));
            self.repeat(cx);
            cx.arm(Timer::Answer, cx.state.settings.timing.t1());
        }
    }

    /// Whether this member took part in a run and then heard its leader again: the leader lives, and stopped the run,
    /// whose ballot comes again from a member that sends past others.
    pub(super) fn is_back_from(&self, cx: &Context, run: Run) -> bool {
        run == self.run && cx.state.leader().is_some()
    }

    /// The receiver of this member's ballot answers that it follows a leader, which this member may not hear. Sent
    /// past that leader as well, the ballot would come back and elect a second leader.
    pub(super) fn stop_sending_past(&mut self, cx: &mut Context, from: NodeId, view: View) {
        let own = cx.state.id();
        let another = view.leader.is_some_and(|leader| leader.id != own && leader.id != from);
        let asked = self.last.as_ref().is_some_and(|(_, to)| *to == from);
        if cx.state.phase() == Phase::Electing
            && another
            && asked
            && view.epoch >= cx.state.view().epoch
        {
            cx.state.timers.cancel(Timer::Answer);
        }
    }

    /// A run failed although its ballot went past each member that may have kept it: its candidate does not come to
    /// lead, or the member to which the leader handed over does not.
    pub(super) fn pass_over_candidate(&self, cx: &mut Context) {
        let candidate = match cx.state.phase() {
            Phase::Waiting => self.awaited.filter(|_| !cx.state.is_bound()),
            _ => self.candidate.map(|candidate| candidate.rank.id),
        };
        if let Some(id) = candidate.filter(|id| cx.state.detector.counts(*id)) {
            reach::pass_over(cx, id, run_timeout(cx) * 2);
        }
    }

    /// "When nodes fail, the ring may get broken, and liveness may be violated": so the member that last sent to the
    /// failed one sends to the next; and it begins the run anew if the run was to elect the failed one.
    pub(super) fn repair(&mut self, cx: &mut Context, lost: NodeId) {
        if self.hinges_on(cx, lost) {
            let reason = match cx.state.phase() {
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

    /// Sends the last message again: the peer that joined may have lost it, or is now the next in the ring.
    pub(super) fn mend(&mut self, cx: &mut Context, joined: NodeId) {
        if let Some((message, to)) = &self.last
            && is_current(cx, message)
            && (*to == joined || next(cx) == Some(joined))
        {
            self.last = Some((message.clone(), joined));
            self.repeat(cx);
        }
    }

    /// Whether the outcome that this member awaits cannot come without that peer.
    fn hinges_on(&self, cx: &Context, peer: NodeId) -> bool {
        let state = &cx.state;
        if state.is_bound() || !state.elects() {
            return false;
        }
        let leads = |id| state.view().leader.is_some_and(|leader| leader.id == id);
        let nominated = |candidate: Candidate| candidate.rank.id == peer && is_gone(cx, candidate);
        next(cx).is_none()
            || match state.phase() {
                Phase::Waiting => self.awaited == Some(peer),
                _ if self.is_open(cx, self.run) => self.candidate.is_some_and(nominated),
                _ => leads(peer),
            }
    }

    /// Watches the next member, unless this member leads or the next one is its leader.
    fn watch(&mut self, cx: &mut Context) {
        let needless = cx.state.leads() || cx.state.phase() == Phase::Stopping;
        let next = next(cx).filter(|next| !needless && !cx.state.follows(*next));
        let before = cx.state.course.watched().map(|(watched, _)| watched);
        cx.watch(next);
        if next != before {
            self.probe(cx);
        }
    }

    /// Asks the next member for a sign of life, and those before it that this member takes for dead, since no other
    /// member would notice that they live.
    fn probe(&mut self, cx: &mut Context) {
        let Some((watched, _)) = cx.state.course.watched() else { return };
        let others = cx.state.detector.clockwise().map(Peer::id);
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

    /// Asks the next member for a sign of life in every interval.
    pub(super) fn pulse(&mut self, cx: &mut Context) {
        let before = cx.state.course.watched();
        self.watch(cx);
        if cx.state.course.watched() == before {
            self.probe(cx);
        }
        cx.arm(Timer::Pulse, cx.state.settings.timing.heartbeat);
    }
}
