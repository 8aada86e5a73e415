//! Changing the member list: the leader makes one change at a time, all members learn it (`replication.rs`), and a
//! member that was removed leaves.
//!
//! With a majority a new leader first gives the list that it found a version in its own epoch, and has a majority
//! store it: that voids any change that an earlier leader had begun. A change counts once the leader has made it, and
//! is done when a majority of the *new* list has stored it.

use std::sync::Arc;

use super::known::Asker;
use crate::core::detector::Peer;
use crate::core::leadership::lease::Lease;
use crate::core::membership::{Change, MOST_MEMBERS, Member, MemberList};
use crate::core::message::{Done, Refusal, Taken};
use crate::core::phase::Reason;
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{NodeId, Time};

impl State {
    /// Whether the leader may change its list: with a majority only a list of its own epoch that a majority has
    /// stored, so that no older change can come back. And the lease must rest on that majority alone, not on what the
    /// last change kept of an older one.
    pub(in crate::core) fn may_change_list(&self) -> bool {
        let own = self.stamped_own_list();
        let settled = |lease: &Lease| lease.is_settled(self.majority());
        let bound = self.course.lease().is_some_and(settled);
        let confirmed = match own {
            true => self.is_list_stored(),
            false => Fault::NoConfirmation.is_planted(),
        };
        !self.needs_majority() || (bound && confirmed)
    }

    /// Whether the leader makes this change, or why not.
    fn judge_change(&self, change: &Change, now: Time) -> Result<(), Refusal> {
        if self.membership.wanted().is_some() {
            return Err(Refusal::ChangeUnderWay);
        }
        let list = self.membership.list();
        let after = list.changed(list.version(), change);
        match change {
            Change::Add(new) => {
                if let Some((what, by)) = list.iter().find_map(|old| taken(old, new)) {
                    return Err(Refusal::Taken { what, by });
                } else if list.removed().contains(&new.id) {
                    return Err(Refusal::WasRemoved(new.id));
                } else if after.iter().len() > MOST_MEMBERS {
                    return Err(Refusal::ListFull);
                }
            }
            Change::Remove { id, force } => {
                if list.get(*id).is_none() {
                    return Err(Refusal::NotMember(*id));
                } else if !after.iter().any(Member::may_lead) {
                    return Err(Refusal::LastCandidate); // then nobody could ever change the list again
                } else if *id == self.id() && !self.detector.iter().any(Peer::connected) {
                    return Err(Refusal::LastMember); // no other would learn the change
                } else if *force {
                    return Ok(());
                }
            }
        }
        self.keeps_quorum(&after, now)
    }

    /// The live voters have to be a majority of the new list. A newcomer that runs counts: this member has just
    /// refused it as a stranger.
    fn keeps_quorum(&self, after: &MemberList, now: Time) -> Result<(), Refusal> {
        if !self.needs_majority() {
            return Ok(());
        }
        let limit = self.settings.timing.failure * 3;
        let lives = |id: NodeId| {
            id == self.id()
                || self.detector.is_alive(id)
                || self.membership.knocked_within(limit, id, now)
        };
        let live = after.voters().filter(|id| lives(*id)).count();
        let needed = after.majority();
        if live < needed { Err(Refusal::LosesQuorum { live, needed }) } else { Ok(()) }
    }
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

impl Turn<'_> {
    /// An operator asks this member, the leader as far as is known, for a change. To remove itself it hands over
    /// first, and then the next leader is asked.
    pub fn change(&mut self, asker: Asker, change: Change) {
        if let Err(refusal) = self.begin_change(asker, change) {
            self.cx.tell_outcome(asker, Err(refusal));
        }
    }

    fn begin_change(&mut self, asker: Asker, change: Change) -> Result<(), Refusal> {
        if !self.cx.state.leads_by_list() {
            return Err(Refusal::NotLeader);
        }
        self.cx.state.judge_change(&change, self.cx.now)?;
        if let Change::Remove { id, force } = change
            && id == self.cx.state.id()
            && !(force && self.cx.state.best_other().is_none())
        {
            self.resign(None)?;
            return Err(Refusal::HandedOver);
        }
        self.cx.state.membership.want(change, asker);
        self.cx.arm(Timer::Change, self.cx.state.settings.timing.failure);
        Ok(())
    }

    /// At the end of a turn: makes the wanted change, or ends it.
    pub fn advance_change(&mut self) {
        let state = &self.cx.state;
        let leads = state.leads_by_list();
        let Some(wanted) = state.membership.wanted().filter(|_| leads) else { return };
        let (change, made) = (wanted.change.clone(), wanted.made);
        // A forced change needs no majority that has stored it, but one remaining member.
        let forced = matches!(change, Change::Remove { force: true, .. });
        let stored = state.is_list_stored() || Fault::DoneTooSoon.is_planted();
        let kept = state.membership.is_kept(state.needs_majority());
        if !made && state.may_change_list() {
            self.make(&change);
        } else if !state.stamped_own_list() {
            self.cx.confirm_list(); // the list that it found; or this leader was elected anew meanwhile
        } else if made && kept && (stored || forced) {
            self.cx.state.timers.cancel(Timer::Change);
            if let Some(asker) = self.cx.state.membership.end_change() {
                let done = match change {
                    Change::Add(member) => Done::Added(member.id),
                    Change::Remove { id, .. } => Done::Removed { id, stored, handed_over: false },
                };
                self.cx.tell_outcome(asker, Ok(done));
            }
            if self.cx.state.membership.list().get(self.cx.state.id()).is_none() {
                self.leave();
            }
        }
    }

    fn make(&mut self, change: &Change) {
        self.cx.state.membership.made();
        let state = &self.cx.state;
        let list = Arc::new(state.membership.list().changed(state.next_version(), change));
        let before = self.cx.state.detector.ids();
        self.cx.tell_all(&list);
        self.miss(before);
    }

    /// The asker has waited too long for the change. A change that was made continues.
    pub fn change_expired(&mut self) {
        if let Some((asker, made)) = self.cx.state.membership.change_expired() {
            let refusal = if made { Refusal::NotStoredYet } else { Refusal::ListNotConfirmed };
            self.cx.tell_outcome(asker, Err(refusal));
        }
    }

    /// Takes the newer list of another member.
    pub fn adopt(&mut self, list: Arc<MemberList>) {
        let before = self.cx.state.detector.ids();
        self.cx.drop_change();
        self.cx.take_list(list);
        self.miss(before);
    }

    /// The members that the list does not name any more count as dead. Questions to the voters of the old list are
    /// void.
    fn miss(&mut self, before: Vec<NodeId>) {
        self.inform_voter(); // this member may have met all voters of this list before
        let asked = self.cx.state.candidacy.asks_to_win();
        self.cx.drop_question();
        for id in before {
            if self.cx.state.membership.list().get(id).is_none() {
                self.lost(id, Reason::LeaderRemoved(id));
            }
        }
        if asked && self.cx.state.elects() {
            self.call(Reason::ListChanged);
        }
        self.begin_if_all_connected();
    }

    /// This member was removed: it steps down for good.
    pub fn leave(&mut self) {
        // Without a majority a removal on one side of a partition may be undone by the other.
        if self.cx.state.needs_majority() {
            self.cx.state.membership.leave();
        }
        self.cx.settle_own_removal();
        self.end(Reason::Removed);
    }
}
