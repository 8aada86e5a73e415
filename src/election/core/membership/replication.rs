//! The replication of the member list: which members get it, which take it, and when it is committed.

use std::sync::Arc;

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::durable::Deferred;
use crate::core::leadership::call;
use crate::core::membership::{ListVersion, MemberList, change, own};
use crate::core::message::Message;
use crate::core::note::Note;
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::reach;
use crate::core::state::State;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId};

/// Whether this member leaves the cluster because these members say that it was removed. With a majority no
/// single member can end it, except the leader that it follows; otherwise more than half of the other voters have
/// to say so. A member that removed itself leaves once the others can do without it (M5). (M7)
pub fn believes_removal(state: &State, by: NodeId) -> bool {
    let majority = state.needs_majority();
    let believed = !majority || Fault::RemovalBelieved.is_planted();
    let removed_itself = state.membership.list().get(state.id()).is_none();
    let done = removed_itself && state.membership.is_kept(majority);
    believed || done || state.follows(by) || state.membership.is_removed_by_most()
}

/// Reports that the present list is stored, as soon as it is.
fn acknowledge_list(cx: &mut Context<'_>, to: NodeId) {
    let listed = Message::Listed { version: cx.state.membership.version() };
    match own::list_record(cx.state) {
        None => cx.send(to, listed),
        Some(record) => cx.state.records.defer(record, Deferred::Tell(to, listed)),
    }
}

/// A member has a list of this version.
fn learn_version(cx: &mut Context<'_>, of: NodeId, version: ListVersion) {
    cx.state.detector.change(of, |peer| peer.says_list(version));
    if own::may_tell_list(cx.state, of) {
        cx.state.membership.hear_of(version);
    }
    cx.raise_round(version.epoch);
}

/// A member sends its list, which is newer than this member's, as far as the sender knows.
pub fn list(turn: &mut Turn<'_>, from: NodeId, epoch: Epoch, list: &Arc<MemberList>) {
    if turn.cx.state.phase() == Phase::Stopping {
        return;
    }
    if turn.cx.state.membership.list().supersedes(list) {
        learn_version(&mut turn.cx, from, list.version());
        own::tell_list(&mut turn.cx, from);
        return;
    }
    learn(turn, from, epoch, list);
    // An outdated leader must not count on a voter that voted in a later epoch: the voter denies its heartbeats,
    // and the leader gives its list a new version if it asks for votes in a later epoch. Nor on one that may have. (Q13)
    let (voter, now) = (&turn.cx.state.voter, turn.cx.now);
    let counts = !voter.is_beyond(epoch) && !voter.is_unsure_of(epoch, now);
    if list == turn.cx.state.membership.list() && counts {
        acknowledge_list(&mut turn.cx, from);
    }
}

/// A member has this list: this member takes it if it is newer and names this member. Only the leader's own
/// change or a rejection makes a member leave.
///
/// A leader that meets a list that it did not make gives its own one a greater version. If the other list is of a later
/// epoch, the leader of that epoch will end this leadership. To see the exception, consider a, b and c, without a
/// majority: a leads in epoch 3, and b says hello with c's list of epoch 5. If b knows that epoch (`epoch` is the one
/// that the sender knows), c leads in it and a will hear of c. If b knows an earlier epoch only, epoch 5 is
/// forgotten and no leader of it will come: its list counts, and a has to lead in an epoch above 5.
pub fn learn(turn: &mut Turn<'_>, from: NodeId, epoch: Epoch, list: &Arc<MemberList>) {
    learn_version(&mut turn.cx, from, list.version());
    let state = &turn.cx.state;
    let newer = list.supersedes(state.membership.list()) && own::may_tell_list(state, from);
    match state.phase() {
        _ if !newer => {}
        Phase::Stopping => {}
        Phase::Leading => meet_list(turn, from, epoch, list),
        _ if list.get(state.id()).is_some() => adopt_newer_list(turn, from, list),
        _ => {}
    }
}

/// This leader meets a newer list that it did not make. (M4)
fn meet_list(turn: &mut Turn<'_>, from: NodeId, epoch: Epoch, list: &Arc<MemberList>) {
    let (state, version) = (&turn.cx.state, list.version());
    if version.epoch <= state.view().epoch {
        turn.cx.out.push(Output::Note(Note::ListOverruled { peer: from, version }));
        return own::confirm_list(&mut turn.cx);
    }
    // This leader does not hear a stranger otherwise, nor the stranger's leader, which would end its leadership.
    let heard = state.detector.get(from).is_some() && epoch >= version.epoch;
    if state.needs_majority() || heard || !reach::heeds_later_list(&mut turn.cx) {
        return;
    }
    if list.get(turn.cx.state.id()).is_some() {
        change::adopt(turn, list.clone());
    }
    call::call(turn, Reason::LaterList(from));
}

/// Two leaders of one epoch may have made different lists of one version. The leader that this member follows
/// gives its own a new version as soon as it hears of the other. (M4)
fn adopt_newer_list(turn: &mut Turn<'_>, from: NodeId, list: &Arc<MemberList>) {
    let state = &turn.cx.state;
    let rival = list.version() == state.membership.version();
    let leader = state.leader().filter(|leader| rival && leader.id != from);
    change::adopt(turn, list.clone());
    if let Some(leader) = leader {
        own::tell_list(&mut turn.cx, leader.id);
    }
}

pub fn listed(cx: &mut Context<'_>, from: NodeId, version: ListVersion) {
    learn_version(cx, from, version);
    if version > cx.state.membership.version() {
        own::tell_list(cx, from); // the sender replies with its newer one
    } else if version == cx.state.membership.version() && cx.state.leads() {
        cx.state.membership.store(from);
    }
}

/// At the end of a turn, with a majority: the leader's list is committed once a majority has stored it. The
/// leader first gives a list of an earlier leader a version in its own epoch, even a committed one. Some voter
/// may have a later list of that leader, which no majority has stored and which does not even name this leader:
/// neither of the two could take the other's list. (M3)
pub fn mark_list_committed(cx: &mut Context<'_>) {
    let state = &mut *cx.state;
    if !state.needs_majority() || !own::leads_by_list(state) {
        return;
    }
    if own::stamped_own_list(state) {
        if !state.membership.is_committed() && own::is_list_stored(state) {
            state.membership.commit();
        }
    } else if state.membership.version() != ListVersion::default() {
        own::confirm_list(cx);
    }
}
