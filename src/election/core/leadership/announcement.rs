//! Announcements: this member judges what others say of the leader, and follows or overrules it.

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::leadership::{becoming, call, tally};
use crate::core::message::{Message, View};
use crate::core::note::{Note, Split};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::reach;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId, Rank};

/// Tells a leader that another member leads in its epoch, as this incarnation or an earlier one knows. If this
/// member was lied to, the leader asks for a greater epoch, in which this member follows it. (Q8)
fn tell_other_leader(cx: &mut Context<'_>, to: NodeId) {
    let View { epoch, leader } = cx.state.view();
    match cx.state.voter.led_in(epoch).filter(|_| leader.is_none()) {
        Some(id) => {
            let leader = Some(Rank { value: 0, id });
            cx.send(to, Message::View(View { epoch, leader }));
        }
        None => cx.send_view(to),
    }
}

/// Waits to follow a leader until its epoch is durable here. (W5)
fn follow_once_durable(cx: &mut Context<'_>, view: View, leader: NodeId) {
    becoming::become_waiting(cx, cx.now, Reason::Storing(leader));
    cx.state.timers.cancel(Timer::Coordinator);
    cx.state.course.await_disk(view); // the record was ordered when the round was raised
    if !Fault::LeaderToStoreUnwatched.is_planted() {
        cx.listen();
    }
}

/// A leader announces itself with COORDINATOR or a heartbeat. Answers an outdated leader with the view known.
/// Returns whether this member follows the sender afterwards. (E2)
pub fn announced(turn: &mut Turn<'_>, from: NodeId, epoch: Epoch, rank: Rank) -> bool {
    let rank = Rank { id: from, ..rank };
    let view = View { epoch, leader: Some(rank) };
    turn.cx.state.detector.change(from, |peer| peer.set_eligible(true)); // a leader is eligible
    meet_leader(&mut turn.cx, from, view);
    turn.cx.raise_round(epoch);
    if turn.cx.state.phase() == Phase::Stopping {
        return false;
    }
    if turn.cx.state.is_of_another(from, epoch) {
        tell_other_leader(&mut turn.cx, from);
        return false;
    }
    if turn.cx.state.compare(view).is_lt() && !Fault::OlderCoordinator.is_planted() {
        turn.cx.send_view(from);
        meet_at_same_epoch(turn, from, epoch);
        return false;
    }
    if turn.cx.state.course.storing().is_some_and(|later| view < later) {
        return false; // this member follows the later leader as soon as that epoch is durable
    }
    let state = &turn.cx.state;
    let asks = state.course.takeover() == Some(view) && !state.is_paused();
    if asks && state.may_ask_for_release(rank, epoch) {
        becoming::ask_for_release(&mut turn.cx, epoch, from);
    } else {
        accept(turn, view, rank);
    }
    turn.cx.state.follows(from)
}

/// A peer replies to an older message. If the peer names no leader in the epoch in which this member leads, the
/// peer led in that epoch too and gave it up.
pub fn replied(turn: &mut Turn<'_>, from: NodeId, view: View) {
    if view.leader.is_none() {
        meet_at_same_epoch(turn, from, view.epoch);
    }
    leader_named(turn, from, view);
    turn.algorithm.answered(&mut turn.cx, from, view);
}

/// The followed leader is alive and does not speak as a leader: it stood still for too long, or started anew.
pub fn leader_gave_up(turn: &mut Turn<'_>, leader: NodeId) {
    reach::count_departure(&mut turn.cx, leader, None);
    call::call(turn, Reason::LeaderGaveUp(leader));
}

/// A hello, or the reply to an older message, names a leader. This member follows a leader only on that leader's
/// own word: a leader says hello to all, and what third members know of it may be of an earlier incarnation.
pub fn leader_named(turn: &mut Turn<'_>, from: NodeId, view: View) {
    let state = &turn.cx.state;
    if view.leader.is_some_and(|leader| state.never_leads(leader.id)) {
        return; // the sender lies
    }
    let (own, known, order) = (state.id(), state.view().epoch, state.compare(view));
    let (leads, storing) = (state.leads(), state.course.storing());
    let leased = leads && state.needs_majority();
    let gave_up = state.follows(from) && view.epoch >= known;
    let second = view.leader.is_some_and(|leader| state.is_of_another(leader.id, view.epoch));
    let void = second || order.is_lt() || state.phase() == Phase::Stopping;
    match view.leader {
        Some(leader) if leader.id == from || order.is_gt() && !leased => {
            meet_leader(&mut turn.cx, leader.id, view);
        }
        _ => _ = turn.cx.state.detector.declares(from, turn.cx.now),
    }
    turn.cx.raise_round(view.epoch);
    match view.leader {
        None if gave_up => leader_gave_up(turn, from),
        // That member was lied to: it names another leader of this epoch, and would never follow this one.
        Some(_) if second && leased => tally::outgrow(&mut turn.cx, view.epoch.next()),
        _ if void => {}
        Some(leader) if leader.id == from => accept(turn, view, leader),
        // While its lease runs, no later leader was elected: a third member is mistaken, or lies. (Q12)
        _ if leased => tally::outgrow(&mut turn.cx, view.epoch),
        // The leader that this member is about to follow, or an earlier one, is no news. (W5)
        Some(_) if storing >= Some(view) => {}
        Some(leader) if leader.id != own && order.is_gt() => outdated(turn, view, leader.id),
        // The leader of that epoch is gone, but the epoch remains.
        _ if leads && view.epoch > known => call::call(turn, Reason::Overruled(from)),
        _ => {}
    }
}

/// A message of the algorithm names a leader: its sender, or another that the sender passed on. While this
/// leader's lease runs, no later leader was elected. (Q12)
pub fn passed_on(turn: &mut Turn<'_>, from: NodeId, view: View) {
    let state = &turn.cx.state;
    match view.leader {
        Some(leader) if leader.id != from && state.leads() && state.needs_majority() => {
            tally::outgrow(&mut turn.cx, view.epoch);
        }
        Some(leader) => accept(turn, view, leader),
        None => {}
    }
}

/// Takes a view of a live leader that is not older than the one known. A voter that voted in a later epoch may
/// have forgotten the leader of that epoch, but not its vote.
pub fn accept(turn: &mut Turn<'_>, view: View, leader: Rank) {
    let state = &turn.cx.state;
    let outdated = state.voter.is_beyond(view.epoch) || state.is_of_another(leader.id, view.epoch);
    // A leader that this member is storing it follows as soon as the epoch is durable.
    if state.never_leads(leader.id) || outdated || state.course.storing() == Some(view) {
        return;
    }
    // Before this member compares itself with the new leader: it does not come back if it was to hand over.
    if turn.cx.state.leads() {
        turn.cx.state.eligibility.loses_leadership();
    }
    let state = &turn.cx.state;
    // A member that is still discovering the others could not lead immediately: the cluster would have no leader
    // meanwhile.
    let at_once = state.preempts_at_once() && !state.is_discovering(turn.cx.now);
    let higher =
        state.may_ask_for_release(leader, view.epoch) && state.exceeds_leader(leader, view.epoch);
    let asked = state.course.takeover() == Some(view);
    let known = state.leader() == Some(leader) && state.view() == view;
    match higher && at_once && becoming::may_take_over(&turn.cx) {
        true if asked => {}
        true if Fault::NoRelease.is_planted() => {
            turn.cx.state.epochs.learn(view);
            call::call(turn, Reason::TakingOver(leader.id));
        }
        true => becoming::become_taking_over(
            &mut turn.cx,
            view,
            leader.id,
            Reason::TakingOver(leader.id),
        ),
        false if known => {}
        false => {
            if turn.algorithm.try_follow(&mut turn.cx, view, leader.id) {
                follow(&mut turn.cx, view, leader.id);
            }
        }
    }
}

/// "If P receives a Coordinator message, it treats the sender as the coordinator."
fn follow(cx: &mut Context<'_>, view: View, leader: NodeId) {
    reach::pass_over_failed_successor(cx, leader);
    if cx.state.records.is_durable(view.epoch) {
        becoming::give_up(cx.state, None);
        becoming::become_following(cx, view, leader);
    } else if cx.state.course.storing() != Some(view) {
        becoming::give_up(cx.state, None);
        follow_once_durable(cx, view, leader);
    }
}

/// A record is durable, and with it perhaps the epoch of a leader that this member waits to follow.
pub fn follow_stored(turn: &mut Turn<'_>, view: View) {
    let alive = view.leader.filter(|leader| turn.cx.state.detector.is_alive(leader.id));
    match alive {
        Some(leader) => follow(&mut turn.cx, view, leader.id),
        None => call::call(turn, Reason::AnswererLost),
    }
}

/// A greater epoch exists: the leader that this member was, or followed, is outdated. The new leader will
/// announce itself. With a majority, a member without a leader continues what it does: if the new leader lives,
/// its voters deny a candidate their votes; and if a third member lies, the lie stops nobody. (Q12)
fn outdated(turn: &mut Turn<'_>, view: View, leader: NodeId) {
    // The outdated leader may be one whose epoch this member is storing, to follow it then.
    let leaderless = turn.cx.state.course.storing().is_none() && turn.cx.state.leader().is_none();
    if leaderless && turn.cx.state.needs_majority() {
        return;
    }
    becoming::give_up(turn.cx.state, None);
    let leads = turn.cx.state.leads();
    turn.cx.state.epochs.learn(view);
    if !leaderless {
        let reason = Reason::Overruled(leader);
        turn.algorithm.await_leader(&mut turn.cx, leader, reason);
    }
    if leads {
        reach::back_off(&mut turn.cx);
    }
}

/// Two leaders met in one epoch: the one that remains runs a new round. (E4)
fn meet_at_same_epoch(turn: &mut Turn<'_>, other: NodeId, epoch: Epoch) {
    if turn.cx.state.leads_in(epoch) && !turn.cx.state.needs_majority() {
        turn.algorithm.start(&mut turn.cx, Reason::SameEpoch(other));
    }
}

/// A peer says that it or another member leads. If this member leads too, there are two leaders, or were: the
/// greater epoch began without a release; a smaller epoch continues, unless the message was sent before this
/// leadership began. A member comes to lead beside a live leader only after `failure` of silence between the two,
/// which is at most 2 * `message` shorter here.
///
/// There are two since the later of both began: not before this leadership, and not before the last time when the
/// other said that it follows. Only the other knows when exactly. With a majority, the word of an earlier epoch proves
/// nothing: a link that was cut may carry it when it is repaired, long after that lease ended.
pub fn meet_leader(cx: &mut Context<'_>, other: NodeId, view: View) {
    let (state, now) = (&mut *cx.state, cx.now);
    let last = state.detector.declares(other, now);
    let silence = state.settings.timing.stall();
    let silent = last.is_none_or(|last| now.since(last) >= silence);
    let past = state.needs_majority() && view.epoch < state.view().epoch;
    let fresh = state.compare(view).is_gt() || silent && !past;
    if state.leads() && fresh {
        let began = state.course.since().max(last.unwrap_or_default());
        let (theirs, own) = (view.epoch, state.view().epoch);
        let lasted = now.since(began) + state.settings.timing.message;
        let split = Split { other, theirs, own, met: now, lasted };
        state.endings.met(split);
        cx.out.push(Output::Note(Note::Split(split)));
    }
}
