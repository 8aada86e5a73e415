//! The peers that are passed over: a peer that this member hears but cannot send to, one that was to lead and did
//! not, and one that comes and goes.
//!
//! A peer may dial this member although nobody can dial the peer: its address is wrong in the file, its port is
//! closed, or the network carries connections one way only. It hears neither a question nor an answer, so nobody may
//! wait for it. At power-on and after its restart it has `failure` to be reached. A peer that answers and never leads
//! is no better; this member still asks it, but does not wait for its answer. A peer that comes and goes would win each
//! election by its rank, and be gone soon. Of two leaders that do not hear each other, each waits, longer each time,
//! before it acts on a third member's report.

use std::time::Duration;

use super::api::Output;
use super::bounds;
use super::context::Context;
use super::departures::{Departure, STEADY};
use super::detector::Peer;
use super::leadership::release;
use super::message::MemberReport;
use super::note::Note;
use super::planted::Fault;
use super::state::State;
use super::timer::Timer;
use super::turn::Turn;
use super::types::{Incarnation, NodeId};

/// A peer that is silent for this many times `failure` counts as gone, and not as one that speaks rarely.
const RAREST: u32 = 4;

/// At the start of a turn: a peer that came and went is as good as others once it has been steady for long.
pub(super) fn settle_peers(cx: &mut Context<'_>) {
    if cx.state.needs_majority() {
        cx.state.departures.settle(cx.now);
    }
}

/// At the end of a turn: passes over each peer that was heard for `failure` while nothing could be sent to it. (D7)
pub(super) fn look_for_unreachable(turn: &mut Turn<'_>) {
    let state = &mut *turn.cx.state;
    if state.detector.one_way() == 0 {
        state.timers.cancel(Timer::Reach);
        return;
    }
    let (now, timing) = (turn.cx.now, state.settings.timing);
    // While members elect, a peer speaks once in a run, or each T2.
    let run = bounds::ring_timeout(&timing, state.membership.list().iter().len());
    let rarest = (timing.failure * RAREST).max(run * 2);
    let limits = (timing.failure, rarest);
    let (late, next) = state.detector.look_for_unreachable(limits, now);
    match next {
        Some(due) => state.timers.arm(Timer::Reach, due),
        None => state.timers.cancel(Timer::Reach),
    }
    for peer in late {
        turn.cx.out.push(Output::Note(Note::Unreachable { peer }));
        turn.cx.be_eligible_if_alone();
        turn.algorithm.lost(&mut turn.cx, peer);
    }
}

/// Whether this leader ends its epoch because of another leader's list, which a third member reported. It backs off
/// after each time, as that leader, which this one does not hear, ends the next epoch in turn. (S2)
pub(super) fn heeds_later_list(cx: &mut Context<'_>) -> bool {
    let (unit, now) = (cx.state.settings.timing.t2(), cx.now);
    let heeds = !cx.state.candidacy.backs_off(now) || Fault::OutbidAtOnce.is_planted();
    if heeds {
        cx.state.candidacy.back_off(unit, now);
    }
    heeds
}

/// A leader was overruled because of a third member's report: it backs off, and waits for the other leader, which it
/// may not hear, as each of the two ends the other's epoch. (S2)
pub(super) fn back_off(cx: &mut Context<'_>) {
    if Fault::NoBackOff.is_planted() {
        return;
    }
    let unit = cx.state.settings.timing.t2();
    let until = cx.state.candidacy.back_off(unit, cx.now);
    if let Some(due) = cx.state.timers.due(Timer::Coordinator) {
        cx.state.timers.arm(Timer::Coordinator, due.max(until));
    }
}

/// A peer was to lead, or to continue its election, and did not in time. The second time in a row this member
/// stops waiting for its answers; but not without a majority: two members that elect without each other might
/// lead in the same epoch. A leader that gave up its epoch for that peer waits before it does so again. As long
/// as this member's own vote is not free, the votes of others may not be either: then nobody could lead. (S1)
pub(super) fn pass_over(cx: &mut Context<'_>, id: NodeId, unit: Duration) {
    let now = cx.now;
    let votes = cx.state.needs_majority() && cx.state.voter.is_free(now);
    let designated = release::gave_up(cx.state).is_some_and(|(_, successor)| successor == Some(id));
    let passed_over = cx.state.detector.change(id, |peer| {
        if designated {
            peer.note_no_success(unit, now);
        }
        votes && peer.note_no_leadership(unit, now)
    });
    if passed_over {
        cx.out.push(Output::Note(Note::DoesNotLead { peer: id }));
    }
}

/// With a majority, and not with every algorithm: counts that a run of a peer goes away; none if this member cannot tell
/// which. If the peer comes and goes, it comes after all others for a while, whatever its rank: each of its leaderships
/// would end soon, and cost the time of a lease.
pub(super) fn count_departure(cx: &mut Context<'_>, id: NodeId, run: Option<Incarnation>) {
    if counts_departures(cx.state) {
        let (failure, now) = (cx.state.settings.timing.failure, cx.now);
        cx.state.departures.add(id, run, failure, now);
    }
}

fn counts_departures(state: &State) -> bool {
    state.needs_majority()
        && state.settings.algorithm.passes_over()
        && !Fault::UnsteadyLeads.is_planted()
}

/// The hello of a peer says who went away lately. This member takes that over where it could not see it itself: its own
/// departures, and those before it had met the others. Any later one it judges for itself. (S4)
pub(super) fn hear_departures(cx: &mut Context<'_>, said: &[Departure]) {
    if !counts_departures(cx.state) {
        return;
    }
    let (own, failure, now) = (cx.state.id(), cx.state.settings.timing.failure, cx.now);
    let discovered = cx.state.course.discovery_ends() + failure * STEADY;
    for departure in said {
        let unseen = now + departure.counts_for <= discovered;
        let known = cx.state.detector.get(departure.member).is_some();
        if departure.member == own || known && unseen {
            cx.state.departures.hear(departure, failure, now);
        }
    }
}

/// The leader reports that a run of a peer went away. If this member heard the peer of late, only the link between the two
/// is dead. (S4)
pub(super) fn count_reported_departure(cx: &mut Context<'_>, report: &MemberReport) {
    let failure = cx.state.settings.timing.failure;
    let heard = |peer: &Peer| peer.heard_within(failure, cx.now);
    if !cx.state.detector.get(report.id).is_some_and(heard) {
        count_departure(cx, report.id, Some(report.incarnation));
    }
}

/// For how long this voter denies its vote to a candidate that comes and goes, as it prefers a steady member: the
/// leader that it follows, itself or a third; none if it does not. A voter without a leader does so only once after it
/// lost the leader, as the voters need not agree about who comes and goes. To see why, consider a, b and c: a thinks
/// that b comes and goes, b thinks so of c, and c of a. If each denied its vote for longer, nobody would be elected.
/// (S5)
pub(super) fn prefers_steadier(cx: &Context<'_>, candidate: NodeId) -> Option<Duration> {
    let (state, failure) = (&cx.state, cx.state.settings.timing.failure);
    let steady = |id: NodeId| !state.departures.is_unsteady(id);
    let others = || state.eligible().any(|peer| steady(peer.id()));
    let may_lead = || state.is_eligible() && steady(state.id()) || others();
    if !state.comes_and_goes(candidate) || !may_lead() {
        return None;
    }
    match state.course.leaderless() {
        None => Some(failure),
        Some(at) => {
            let left =
                bounds::unsteady_wait(&state.settings.timing).saturating_sub(cx.now.since(at));
            Some(left).filter(|left| !left.is_zero())
        }
    }
}

/// Without a majority: this leader gave up its epoch for one member, and another leads the next epoch, perhaps this
/// member itself. So it passes over the successor that did not come to lead.
pub(super) fn pass_over_failed_successor(cx: &mut Context<'_>, leader: NodeId) {
    let next = release::gave_up(cx.state).and_then(|(_, successor)| successor);
    if let Some(next) = next.filter(|id| *id != leader && !cx.state.needs_majority()) {
        pass_over(cx, next, cx.state.settings.timing.t2());
    }
}

/// Whether a peer was to lead and did not, since it last led; or comes and goes.
pub(super) fn is_passed_over(state: &State, id: NodeId) -> bool {
    let peer = state.detector.get(id);
    peer.is_some_and(Peer::is_passed_over) || state.comes_and_goes(id)
}

/// Whether a peer failed to lead so recently that this member does not obey its elections.
pub(super) fn is_ignored(cx: &Context<'_>, id: NodeId) -> bool {
    cx.state.detector.get(id).is_some_and(|peer| peer.is_ignored(cx.now))
}
