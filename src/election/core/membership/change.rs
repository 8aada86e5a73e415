//! Changing the member list: the leader makes one change at a time, all members learn it (`replication.rs`), and a
//! member that was removed leaves.
//!
//! With a majority a new leader first gives the list that it found a version in its own epoch, and has a majority
//! store it: that voids any change that an earlier leader had begun. A change counts once the leader has made it, and
//! is done when a majority of the *new* list has stored it.

use std::sync::Arc;

use super::known::CommandAsker;
use crate::core::answers;
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::leadership::lease::Lease;
use crate::core::leadership::{asking, call, handover, voting};
use crate::core::membership::{MOST_MEMBERS, Member, MemberList, MembershipChange, own};
use crate::core::message::{Done, Refusal, Taken};
use crate::core::phase::Reason;
use crate::core::planted::Fault;
use crate::core::protocol::SET;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{NodeId, Time};

/// Whether the leader may change its list: with a majority only a list of its own epoch that a majority has
/// stored, so that no older change can come back. And the lease must rest on that majority alone, not on what the
/// last change kept of an older one. (M3)
pub fn may_change_list(state: &State) -> bool {
    let own = own::stamped_own_list(state);
    let settled = |lease: &Lease| lease.is_settled(state.majority());
    let bound = state.course.lease().is_some_and(settled);
    let confirmed =
        if own { own::is_list_stored(state) } else { Fault::NoConfirmation.is_planted() };
    !state.needs_majority() || (bound && confirmed)
}

/// Whether the leader makes this change, or why not. (M1)
fn judge_change(state: &State, change: &MembershipChange, now: Time) -> Result<(), Refusal> {
    if state.membership.wanted().is_some() {
        return Err(Refusal::ChangeUnderWay);
    }
    let list = state.membership.list();
    let after = list.changed(list.version(), change);
    match change {
        MembershipChange::Add(new) => {
            if let Some((what, by)) = list.iter().find_map(|old| taken(old, new)) {
                return Err(Refusal::Taken { what, by });
            } else if list.removed().contains(&new.id) {
                return Err(Refusal::WasRemoved(new.id));
            } else if after.iter().len() > MOST_MEMBERS {
                return Err(Refusal::ListFull);
            }
        }
        MembershipChange::Set(entries) => judge_entries(state, entries, &after)?,
        MembershipChange::Remove { id, force } => {
            if list.get(*id).is_none() {
                return Err(Refusal::NotMember(*id));
            } else if !after.iter().any(Member::may_lead) {
                return Err(Refusal::LastCandidate); // then nobody could ever change the list again
            } else if *id == state.id() && !state.detector.iter().any(Peer::connected) {
                return Err(Refusal::LastMember); // no other would learn the change
            } else if *force {
                return Ok(());
            }
        }
    }
    keeps_quorum(state, &after, now)
}

/// Other names and addresses of members: each belongs to a member of the list, whose role stays, and no two members share
/// one afterwards. Members may swap theirs. A live member of an older version does not expect that its own entry changes.
fn judge_entries(state: &State, entries: &[Member], after: &MemberList) -> Result<(), Refusal> {
    for entry in entries {
        match state.membership.list().get(entry.id) {
            None => return Err(Refusal::NotMember(entry.id)),
            Some(member) if member.role != entry.role => {
                return Err(Refusal::RoleStays(entry.id));
            }
            Some(_) => {}
        }
        let mut others = after.iter().filter(|other| other.id != entry.id);
        if let Some((what, by)) = others.find_map(|other| taken(other, entry)) {
            return Err(Refusal::Taken { what, by });
        }
    }
    let older = |peer: &&Peer| peer.alive() && peer.protocol() < SET;
    match state.detector.iter().find(older) {
        Some(peer) => Err(Refusal::OldMember(peer.id())),
        None => Ok(()),
    }
}

/// The live voters have to be a majority of the new list. A newcomer that runs counts: this member has just
/// refused it as a stranger.
fn keeps_quorum(state: &State, after: &MemberList, now: Time) -> Result<(), Refusal> {
    if !state.needs_majority() {
        return Ok(());
    }
    let limit = state.settings.timing.failure * 3;
    let lives = |id: NodeId| {
        id == state.id()
            || state.detector.is_alive(id)
            || state.membership.met_stranger_within(limit, id, now)
    };
    let live = after.voters().filter(|id| lives(*id)).count();
    let needed = after.majority();
    if live < needed { Err(Refusal::LosesQuorum { live, needed }) } else { Ok(()) }
}

/// What the new member would share with one of the list, and with which.
fn taken(old: &Member, new: &Member) -> Option<(Taken, NodeId)> {
    let same = [
        (Taken::Id, old.id == new.id),
        (Taken::Name, old.name == new.name),
        (Taken::Address, old.is_at(&new.address)),
        (Taken::Admin, new.admin.as_ref().is_some_and(|admin| old.is_at(admin))),
    ];
    same.into_iter().find(|(_, same)| *same).map(|(what, _)| (what, old.id))
}

/// An operator asks this member, the leader as far as is known, for a change. To remove itself it hands over
/// first, and then the next leader is asked.
pub fn change(turn: &mut Turn<'_>, asker: CommandAsker, change: MembershipChange) {
    if let Err(refusal) = begin_change(turn, asker, change) {
        answers::tell_outcome(&mut turn.cx, asker, Err(refusal));
    }
}

fn begin_change(
    turn: &mut Turn<'_>,
    asker: CommandAsker,
    change: MembershipChange,
) -> Result<(), Refusal> {
    if !own::leads_by_list(turn.cx.state) {
        return Err(Refusal::NotLeader);
    }
    judge_change(turn.cx.state, &change, turn.cx.now)?;
    if let MembershipChange::Set(entries) = &change
        && entries.iter().all(|entry| turn.cx.state.membership.list().get(entry.id) == Some(entry))
    {
        answers::tell_outcome(&mut turn.cx, asker, Ok(Done::Set)); // it is so already
        return Ok(());
    }
    if let MembershipChange::Remove { id, force } = change
        && id == turn.cx.state.id()
        && !(force && turn.cx.state.best_other().is_none())
    {
        handover::resign(turn, None)?;
        return Err(Refusal::HandedOver);
    }
    turn.cx.state.membership.want(change, asker);
    turn.cx.arm(Timer::Change, turn.cx.state.settings.timing.failure);
    Ok(())
}

/// At the end of a turn: makes the wanted change, or ends it. (M2)
pub fn advance_change(turn: &mut Turn<'_>) {
    let state = &turn.cx.state;
    let leads = own::leads_by_list(state);
    let Some(wanted) = state.membership.wanted().filter(|_| leads) else { return };
    let (change, made) = (wanted.change.clone(), wanted.made);
    // A forced change needs no majority that has stored it, but one remaining member.
    let forced = matches!(change, MembershipChange::Remove { force: true, .. });
    let stored = own::is_list_stored(state) || Fault::DoneTooSoon.is_planted();
    let kept = state.membership.is_kept(state.needs_majority());
    if !made && may_change_list(state) {
        make(turn, &change);
    } else if !own::stamped_own_list(state) {
        own::confirm_list(&mut turn.cx); // the list that it found; or this leader was elected anew meanwhile
    } else if made && kept && (stored || forced) {
        turn.cx.state.timers.cancel(Timer::Change);
        if let Some(asker) = turn.cx.state.membership.end_change() {
            let done = match change {
                MembershipChange::Add(member) => Done::Added(member.id),
                MembershipChange::Remove { id, .. } => {
                    Done::Removed { id, stored, handed_over: false }
                }
                MembershipChange::Set(_) => Done::Set,
            };
            answers::tell_outcome(&mut turn.cx, asker, Ok(done));
        }
        if turn.cx.state.membership.list().get(turn.cx.state.id()).is_none() {
            leave(turn);
        }
    }
}

fn make(turn: &mut Turn<'_>, change: &MembershipChange) {
    turn.cx.state.membership.made();
    let state = &turn.cx.state;
    let list = Arc::new(state.membership.list().changed(own::next_version(state), change));
    let before = turn.cx.state.detector.ids();
    own::tell_all(&mut turn.cx, &list);
    miss(turn, before);
}

/// The asker has waited too long for the change. A change that was made continues.
pub fn change_expired(cx: &mut Context<'_>) {
    if let Some((asker, made)) = cx.state.membership.change_expired() {
        let refusal = if made { Refusal::NotStoredYet } else { Refusal::ListNotConfirmed };
        answers::tell_outcome(cx, asker, Err(refusal));
    }
}

/// Takes the newer list of another member.
pub fn adopt(turn: &mut Turn<'_>, list: Arc<MemberList>) {
    let before = turn.cx.state.detector.ids();
    own::drop_change(&mut turn.cx);
    own::adopt_list(&mut turn.cx, list);
    miss(turn, before);
}

/// The members that the list does not name any more count as dead. Questions to the voters of the old list are
/// void.
fn miss(turn: &mut Turn<'_>, before: Vec<NodeId>) {
    voting::inform_voter(turn.cx.state); // this member may have met all voters of this list before
    let asked = turn.cx.state.candidacy.asks_to_win();
    asking::drop_question(&mut turn.cx);
    for id in before {
        if turn.cx.state.membership.list().get(id).is_none() {
            call::lost(turn, (id, None), Reason::LeaderRemoved(id));
        }
    }
    if asked && turn.cx.state.elects() {
        call::call(turn, Reason::ListChanged);
    }
    handover::begin_if_all_connected(turn);
}

/// This member was removed: it steps down for good.
pub fn leave(turn: &mut Turn<'_>) {
    // Without a majority a removal on one side of a partition may be undone by the other.
    if turn.cx.state.needs_majority() {
        turn.cx.state.membership.leave();
    }
    answers::settle_own_removal(&mut turn.cx);
    handover::end(turn, Reason::Removed);
}
