//! The leader's heartbeats and their acknowledgements: the lease that they renew, and the silence that makes suspects.
//!
//! With a majority a leader leads for as long as enough voters are bound by what they promised. A voter promises its vote
//! when it takes a heartbeat, and the leader counts from when it sent that.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::context::Context;
use super::durable::Deferred;
use super::leadership::{
    announcement, becoming, call, ending, handover, promise, release, tally, voting,
};
use super::membership::own;
use super::message::{Heartbeat, Liveness, MemberReport, Message, Opinion};
use super::pause;
use super::phase::{Phase, Reason};
use super::planted::Fault;
use super::protocol::ENDING;
use super::reach;
use super::settings::Preempt;
use super::state::State;
use super::switchover;
use super::timer::Timer;
use super::turn::Turn;
use super::types::{Epoch, Incarnation, NodeId, Rank, Time};

/// Until when a leader may lead, if it needs a majority.
pub fn lease_until(state: &State) -> Option<Time> {
    if !state.needs_majority() || !state.leads() {
        return None;
    }
    // A leader without a lease stops leading: no leader is better than a second one.
    Some(state.timers.due(Timer::Lease).unwrap_or_default())
}

/// The leader sent a heartbeat round, with which it renews its own promise too.
fn hold_by_own_heartbeat(cx: &mut Context<'_>, number: u64) {
    let (own, now, epoch) = (cx.state.id(), cx.now, cx.state.view().epoch);
    let (length, votes) = (cx.state.settings.timing.lease, cx.state.is_voter(own));
    let Some(lease) = cx.state.course.lease_mut() else { return };
    lease.sent(number, now, length);
    // This leader may have removed itself, or may not have been a voter when it was elected and have voted for
    // another candidate since.
    let own_life = (own, cx.state.records.incarnation());
    if !votes || !cx.state.voter.promise(now, own_life, epoch, length) {
        return;
    }
    if cx.state.voter.remembers(length) || Fault::OwnPromiseUnstored.is_planted() {
        return promise::prolong(cx, own, number);
    }
    // A reload made the lease longer than any record says.
    let (incarnation, rank) = (cx.state.records.incarnation(), cx.state.rank());
    let eligible = cx.state.is_eligible();
    let acknowledge =
        Message::Acknowledge { incarnation, epoch, number, rank, eligible, pause: None };
    tell_once_promise_is_durable(cx, length, own, acknowledge);
}

/// A voter takes a leader's heartbeat: it promises its vote, and acknowledges as soon as a promise of that length
/// is durable; or it denies an outdated leader its vote. (L2)
fn promise(
    cx: &mut Context<'_>,
    (leader, incarnation): (NodeId, Incarnation),
    (epoch, number): (Epoch, u64),
    lease: Duration,
    acknowledge: Message,
) {
    if !cx.state.needs_majority() {
        return cx.send(leader, acknowledge);
    }
    // A member that is no voter by its own list promises as well: that list may be an older one.
    if !promise::may_promise(cx.state, lease) {
        return;
    }
    if cx.state.voter.is_unsure_of(epoch, cx.now) {
        // A sign of life. The leader does not ask for a greater epoch because of it: this wait is short.
        let opinion = Opinion::No { wait: Duration::ZERO };
        return cx.send(leader, Message::Denial { number, opinion, epoch });
    }
    cx.state.voter.inform(cx.state.epochs.round());
    if cx.is_informed_unwritten() {
        cx.persist(); // nothing else may be written for long, and it stores no table of locks before
    }
    if !cx.state.voter.promise(cx.now, (leader, incarnation), epoch, lease) {
        return voting::deny_vote(cx, leader, number, Opinion::No { wait: Duration::ZERO });
    }
    if cx.state.voter.remembers(lease) || Fault::PromiseTooSoon.is_planted() {
        return cx.send(leader, acknowledge);
    }
    tell_once_promise_is_durable(cx, lease, leader, acknowledge);
}

/// Has a promise of this length written, unless a write is in progress, and sends this message afterwards. A
/// promise longer than the record in progress says waits for the leader's next heartbeat.
fn tell_once_promise_is_durable(
    cx: &mut Context<'_>,
    lease: Duration,
    to: NodeId,
    message: Message,
) {
    let promises =
        |step: &Deferred| matches!(step, Deferred::Promise(longest) if *longest >= lease);
    if cx.state.records.awaited_by(promises).is_none() {
        cx.persist();
    }
    if let Some(record) = cx.state.records.awaited_by(promises) {
        cx.state.records.defer(record, Deferred::Tell(to, message));
    }
}

/// Counts for how long each member is eligible, from one heartbeat round to the next.
fn observe_eligibility(cx: &mut Context<'_>) {
    let Preempt::After(after) = cx.state.settings.preempt else { return };
    let (eligible, incarnation) = (cx.state.is_eligible(), cx.state.records.incarnation());
    cx.state.eligibility.observe(eligible, incarnation, after, cx.now);
    cx.state.detector.observe_eligibility(after, cx.now);
}

/// One heartbeat round: a sign of life to every member that is not proved dead.
pub fn beat(turn: &mut Turn<'_>) {
    handover::hand_over_if_unfit(turn);
    switchover::hand_over_if_cleared(turn);
    switchover::look_after_switchover(turn);
    if !turn.cx.state.leads() {
        return;
    }
    let now = turn.cx.now;
    let state = &mut turn.cx.state;
    let number = state.course.beat(now);
    let interval = state.settings.timing.heartbeat;
    turn.cx.arm(Timer::Heartbeat, interval);
    observe_eligibility(&mut turn.cx);
    hold_by_own_heartbeat(&mut turn.cx, number);
    let others = turn.cx.all_others();
    beat_to(&mut turn.cx, others);
    own::repeat_list(&mut turn.cx);
}

/// Tells these members that this one leads, with its reports on all.
pub fn beat_to(cx: &mut Context<'_>, to: Vec<NodeId>) {
    let state = &mut cx.state;
    let own = MemberReport {
        id: state.id(),
        incarnation: state.records.incarnation(),
        status: Liveness::Alive,
        eligible: state.is_eligible(),
        value: state.present_rank().value,
    };
    let members = state.detector.reports(own);
    let heartbeat = Message::Heartbeat(Heartbeat {
        epoch: state.view().epoch,
        number: state.course.round(),
        rank: state.rank(),
        lease: state.settings.timing.lease,
        settled: state.membership.committed(),
        members,
        pause: pause::pause_to_tell(state),
        chosen: switchover::chosen(state),
        ending: ending::is_ending(state),
    });
    cx.mark_announced(&to);
    cx.send_all(to, heartbeat);
}

/// A heartbeat is judged like a COORDINATOR. This member acknowledges that of its own leader, and takes its
/// reports on the other members.
pub fn heard(turn: &mut Turn<'_>, leader: (NodeId, Incarnation), heartbeat: &Heartbeat) {
    let ((from, _), epoch) = (leader, heartbeat.epoch);
    pause::hear_pause(&mut turn.cx, heartbeat.pause); // before this member judges whether it takes over
    if let Some(own) = heartbeat.members.iter().find(|report| report.id == from) {
        turn.cx.state.detector.change(from, |peer| peer.says_present_rank(epoch, own.value));
    }
    let followed = announcement::announced(turn, from, epoch, heartbeat.rank);
    if followed {
        turn.cx.state.course.hear_heartbeat(turn.cx.now);
        switchover::hear_choice(&mut turn.cx, heartbeat.chosen);
        let says = turn.cx.state.detector.get(from).is_some_and(|peer| peer.protocol() >= ENDING);
        turn.cx.state.course.set_leads_on(says && !heartbeat.ending);
    }
    reply(&mut turn.cx, leader, heartbeat);
    if followed {
        own::tell_if_behind(&mut turn.cx, from);
        hear_reports(turn, from, heartbeat);
        // With the halting algorithm a member is followed a moment before it leads.
        turn.cx.state.outbox.commands.retry();
        observe_eligibility(&mut turn.cx);
        handover::request_handover_if_due(&mut turn.cx);
    }
    if turn.cx.state.follows(from) {
        turn.cx.state.membership.hear_committed(heartbeat.settled);
    }
}

/// Acknowledges the heartbeat of a leader that this member heeds, or denies an outdated leader its vote.
fn reply(cx: &mut Context<'_>, (from, incarnation): (NodeId, Incarnation), heartbeat: &Heartbeat) {
    let Heartbeat { epoch, number, lease, .. } = *heartbeat;
    // A member that waits for its disk before it follows is alive as well, and says so.
    let state = &cx.state;
    let own_epoch = state.view().epoch == epoch && !state.is_of_another(from, epoch);
    let heeded = own_epoch || state.is_bound_to(from);
    // The epoch is above this member's view, but below one that it voted in: it denies that outdated leader.
    let refused = state.view().epoch < epoch && state.voter.is_beyond(epoch);
    if heeded || refused {
        let (rank, eligible) = (state.rank(), state.is_eligible());
        let pause = pause::pause_to_tell_back(state, heartbeat.pause);
        let acknowledge =
            Message::Acknowledge { incarnation, epoch, number, rank, eligible, pause };
        promise(cx, (from, incarnation), (epoch, number), lease, acknowledge);
    }
}

/// A leader's reports on the other members.
fn hear_reports(turn: &mut Turn<'_>, from: NodeId, heartbeat: &Heartbeat) {
    let news = turn.cx.state.detector.news(&heartbeat.members);
    for mut report in news {
        if report.id == from {
            report.status = Liveness::Alive; // it speaks, and its followers watch it themselves
        }
        call::forget_earlier_run(&mut turn.cx, &report);
        if turn.cx.state.detector.hearsay(heartbeat.epoch, &report) {
            reach::count_reported_departure(&mut turn.cx, &report);
            turn.algorithm.lost(&mut turn.cx, report.id);
        }
    }
}

/// A member acknowledged a heartbeat; that it was heard is recorded already.
pub fn acknowledged(
    turn: &mut Turn<'_>,
    from: NodeId,
    (incarnation, epoch, number): (Incarnation, Epoch, u64),
    rank: Rank,
    eligible: bool,
) {
    let own = incarnation == turn.cx.state.records.incarnation();
    if own && turn.cx.state.leads_in(epoch) {
        let (detector, present) = (&mut turn.cx.state.detector, Rank { id: from, ..rank });
        detector.declares(from, turn.cx.now);
        detector.change(from, |peer| peer.says_rank(present, eligible));
        let agreed = turn.cx.state.course.agreed_mut();
        if agreed.is_some_and(|agreed| agreed.acknowledged(from, number, eligible)) {
            turn.cx.state.outbox.commands.retry();
        }
        promise::prolong(&mut turn.cx, from, number);
        switchover::hear_of_chosen(turn, from, rank, eligible);
    }
}

/// A leader whose lease has expired stops leading: enough voters may be free to vote for another. (I5)
pub fn end_lease(turn: &mut Turn<'_>) {
    if lease_until(turn.cx.state).is_some_and(|until| until <= turn.cx.now) {
        let (epoch, since) = (turn.cx.state.view().epoch, turn.cx.state.course.since());
        let renewed = turn.cx.now.since(since) >= turn.cx.state.settings.timing.lease;
        becoming::give_up(turn.cx.state, None);
        if renewed {
            call::call(turn, Reason::LeaseEnded);
        } else {
            tally::lost_lease_at_once(turn);
        }
        release::say_released(&mut turn.cx, epoch, None);
    }
}

/// Suspects the watched members that have been silent for `failure`: the leader watches all, all watch the leader
/// (in an election the last one), and the algorithm may watch another. A member that stores an epoch before it
/// follows its leader watches that leader: its own disk may never write. (D2)
pub fn look_for_silence(turn: &mut Turn<'_>) {
    let state = &turn.cx.state;
    let failure = state.settings.timing.failure;
    let leads = state.leads();
    let (heeded, last) =
        (state.course.expects_heartbeat(), state.view().leader.map(|leader| leader.id));
    // Silence counts from when this member needs to hear the peer.
    let counts_anew = leads || state.phase() == Phase::Following;
    let since = if counts_anew { state.course.since() } else { Time::default() };
    let mut watched: BTreeMap<NodeId, Time> = if leads {
        state.detector.iter().map(|peer| (peer.id(), since)).collect()
    } else {
        last.filter(|_| heeded).map(|id| (id, since)).into_iter().collect()
    };
    if let Some((id, since)) = state.course.watched() {
        watched.entry(id).or_insert(since); // the silence of the last leader counts from before
    }
    watched.extend(state.leader_to_store().map(|leader| (leader, state.course.since())));
    watched.values_mut().for_each(|since| *since = (*since).max(state.course.retimed()));
    let (silent, again) = state.detector.silent(watched, failure, turn.cx.now);
    if let Some(due) = again.or(leads.then_some(turn.cx.now + failure)) {
        turn.cx.state.timers.arm(Timer::Silence, due);
    }
    for id in silent {
        if !is_in_doubt(&mut turn.cx, id) {
            call::lose(turn, id, Liveness::Suspected, Reason::LeaderSuspected(id));
        }
    }
    look_for_leader_that_gave_up(turn);
}

/// Whether the silence of the member that the algorithm watches proves nothing yet: it is dialed anew.
fn is_in_doubt(cx: &mut Context<'_>, id: NodeId) -> bool {
    let watched = cx.state.course.watched().filter(|(watched, _)| *watched == id);
    watched.is_some_and(|(_, since)| cx.dials_anew(Timer::Silence, &BTreeSet::from([id]), since))
}

/// A leader that speaks and sends no heartbeat for `failure` does not lead any more, and its word about that was
/// lost, or never sent. (D3)
fn look_for_leader_that_gave_up(turn: &mut Turn<'_>) {
    let state = &turn.cx.state;
    let (Some(heartbeat), Some(leader)) =
        (state.course.last_heartbeat(), state.view().leader.map(|leader| leader.id))
    else {
        return;
    };
    let failure = state.settings.timing.failure;
    let silence = state.detector.get(leader).map_or(failure, |peer| peer.silence(failure));
    let due = heartbeat.max(state.course.retimed()) + silence;
    if due <= turn.cx.now {
        announcement::leader_gave_up(turn, leader);
    } else {
        turn.cx.listen_until(due);
    }
}
