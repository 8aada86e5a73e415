//! The member list as this member holds it, and as a leader makes it.

use std::sync::Arc;
use std::time::Duration;

use crate::core::answers;
use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::durable::Deferred;
use crate::core::leadership::promise;
use crate::core::membership::{ListVersion, MemberList};
use crate::core::message::{Message, Refusal};
use crate::core::phase::Phase;
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::NodeId;

/// Whether this member leads, and its list is not of a later epoch than its own. Otherwise it is outdated, and a
/// list that it made would be older than the one that it has.
pub fn leads_by_list(state: &State) -> bool {
    state.leads() && state.membership.version().epoch <= state.view().epoch
}

/// Whether enough members have stored the present list, which this leader made.
pub fn is_list_stored(state: &State) -> bool {
    if !state.needs_majority() {
        return state.membership.has_stored(state.id());
    }
    state.membership.stored().filter(|id| state.is_voter(*id)).count() >= state.majority()
}

/// Whether the version of the leader's list is of its own epoch.
pub fn stamped_own_list(state: &State) -> bool {
    state.membership.version().epoch == state.view().epoch
}

/// The version of the next list that this leader makes: above its own and all that it knows of, except those of
/// later epochs.
pub fn next_version(state: &State) -> ListVersion {
    let (newest, own) = (state.membership.newest().counter, state.membership.version().counter);
    ListVersion { epoch: state.view().epoch, counter: newest.max(own).saturating_add(1) }
}

/// The record that makes the present list durable, until it is.
pub fn list_record(state: &State) -> Option<u64> {
    state.records.awaited_by(|step| *step == Deferred::List)
}

/// Whether nothing can bring back an older list than the present one, as far as is known: then a member that the
/// list does not name may be told so.
pub fn is_list_committed(state: &State) -> bool {
    if state.needs_majority() {
        state.membership.is_committed()
    } else {
        list_record(state).is_none()
    }
}

/// With a majority: whether the list of this member counts. The member has to be reachable at the address that
/// the present list gives it, so that no stray connection speaks for it.
///
/// A follower takes a list only from its leader. Without a leader, any voter hands over a newer list, as the
/// members that have it may be unable to lead; no vote depends on the list of an observer. A leader gives its own
/// list a version above any other. (M6)
pub fn may_tell_list(state: &State, from: NodeId) -> bool {
    let reached = state.detector.is_within_reach(from);
    let entitled = match state.phase() {
        Phase::Following => state.follows(from),
        Phase::Leading => true,
        _ => state.is_voter(from),
    };
    let believed = !state.needs_majority() || Fault::StrangersList.is_planted();
    believed || (reached && entitled)
}

/// Gives the present list a version in the leader's own epoch, above every version that it knows, and sends it to
/// all.
pub fn confirm_list(cx: &mut Context<'_>) {
    let list = cx.state.membership.list().stamped(next_version(cx.state));
    tell_all(cx, &Arc::new(list));
}

/// Sends a new list of this leader to all others, and takes it itself.
pub fn tell_all(cx: &mut Context<'_>, list: &Arc<MemberList>) {
    // A removed member learns that from a member that has stored the list, since it then leaves for good.
    let mut others = cx.all_others();
    others.retain(|id| list.get(*id).is_some());
    cx.send_all(others, Message::List { list: list.clone() });
    adopt_list(cx, list.clone());
    cx.arm(Timer::Heartbeat, Duration::ZERO); // the new voters have to be bound
}

/// Adopts a list as the present one, and has it stored.
pub fn adopt_list(cx: &mut Context<'_>, list: Arc<MemberList>) {
    let (own, state) = (cx.state.id(), &mut *cx.state);
    let majority = state.majority();
    if let Some(lease) = state.course.lease_mut() {
        lease.change_voters(majority, |id| list.is_voter(id));
    }
    state.detector.adopt(&list, own);
    state.membership.adopt(list.clone());
    promise::arm_lease(cx.state);
    cx.out.push(Output::Members(list));
    let record = cx.persist();
    cx.state.records.defer(record, Deferred::List);
}

/// Without a majority a new leader's list wins: another side of a partition may have changed its own. A list that
/// never changed is the same everywhere.
pub fn overrule_lists(cx: &mut Context<'_>) {
    let changed = cx.state.membership.version().counter > 0;
    if !cx.state.needs_majority() && changed && leads_by_list(cx.state) {
        confirm_list(cx);
    }
}

/// A member that follows another leader, or takes its list, does not know the outcome of the change that it was
/// making. A leader that is elected anew continues it.
pub fn drop_change(cx: &mut Context<'_>) {
    if let Some(asker) = cx.state.membership.end_change() {
        answers::tell_outcome(cx, asker, Err(Refusal::ChangeUnsure));
    }
}

pub fn tell_list(cx: &mut Context<'_>, to: NodeId) {
    if cx.state.detector.is_within_reach(to) {
        let list = cx.state.membership.list().clone();
        cx.send(to, Message::List { list });
    }
}

/// Sends a member the present list if it has another: a member with a newer list replies with that.
pub fn exchange_lists(cx: &mut Context<'_>, with: NodeId, theirs: ListVersion) {
    if theirs != cx.state.membership.version() && !Fault::StaleList.is_planted() {
        tell_list(cx, with);
    }
}

/// Sends a member in an election the present list, if the last version that it reported is older: it may not know
/// the present leader, or take it for a stranger.
pub fn tell_if_behind(cx: &mut Context<'_>, peer: NodeId) {
    let version = cx.state.membership.version();
    if cx.state.detector.get(peer).is_some_and(|peer| peer.list() < version) {
        tell_list(cx, peer);
    }
}

/// The leader repeats its list to the members that have not said that they have stored it: a hello says what its
/// sender knows, and not what a crash leaves of that.
pub fn repeat_list(cx: &mut Context<'_>) {
    let version = cx.state.membership.version();
    if version == ListVersion::default() {
        return;
    }
    let mut others = cx.all_others();
    others.retain(|id| !cx.state.membership.has_stored(*id));
    let list = cx.state.membership.list().clone();
    cx.send_all(others, Message::List { list });
}
