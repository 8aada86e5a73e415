//! The member list as this member holds it, and as a leader makes it.

use std::sync::Arc;
use std::time::Duration;

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::durable::Then;
use crate::core::membership::{ListVersion, Member, MemberList};
use crate::core::message::{Message, Refusal};
use crate::core::phase::Phase;
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::NodeId;

impl State {
    /// Whether this member leads, and its list is not of a later epoch than its own. Otherwise it is outdated, and a
    /// list that it made would be older than the one that it has.
    pub(in crate::core) fn leads_by_list(&self) -> bool {
        self.leads() && self.membership.version().epoch <= self.view().epoch
    }

    /// Whether enough members have stored the present list, which this leader made.
    pub(in crate::core) fn is_list_stored(&self) -> bool {
        if !self.needs_majority() {
            return self.membership.has_stored(self.id());
        }
        self.membership.stored().filter(|id| self.is_voter(*id)).count() >= self.majority()
    }

    /// Whether the version of the leader's list is of its own epoch.
    pub(in crate::core) fn stamped_own_list(&self) -> bool {
        self.membership.version().epoch == self.view().epoch
    }

    /// The version of the next list that this leader makes: above its own and all that it knows of, except those of
    /// later epochs.
    pub(in crate::core) fn next_version(&self) -> ListVersion {
        let (newest, own) = (self.membership.newest().counter, self.membership.version().counter);
        ListVersion { epoch: self.view().epoch, counter: newest.max(own).saturating_add(1) }
    }

    /// The record that makes the present list durable, until it is.
    pub(in crate::core) fn list_record(&self) -> Option<u64> {
        self.records.awaited_by(|then| *then == Then::List)
    }

    /// Whether nothing can bring back an older list than the present one, as far as is known: then a member that the
    /// list does not name may be told so.
    pub(in crate::core) fn is_list_committed(&self) -> bool {
        if self.needs_majority() {
            self.membership.is_committed()
        } else {
            self.list_record().is_none()
        }
    }

    /// With a majority: whether the list of this member counts. The member has to be reachable at the address that
    /// the present list gives it, so that no stray connection speaks for it.
    ///
    /// A follower takes a list only from its leader. Without a leader, any voter hands over a newer list, as the
    /// members that have it may be unable to lead; no vote depends on the list of an observer. A leader gives its own
    /// list a version above any other.
    pub(in crate::core) fn may_tell_list(&self, from: NodeId) -> bool {
        let reached = self.detector.is_within_reach(from);
        let entitled = match self.phase() {
            Phase::Following => self.follows(from),
            Phase::Leading => true,
            _ => self.is_voter(from),
        };
        let believed = !self.needs_majority() || Fault::StrangersList.is_planted();
        believed || (reached && entitled)
    }
}

impl Context<'_> {
    /// Gives the present list a version in the leader's own epoch, above every version that it knows, and sends it to
    /// all.
    pub fn confirm_list(&mut self) {
        let list = self.state.membership.list().stamped(self.state.next_version());
        self.tell_all(&Arc::new(list));
    }

    /// Sends a new list of this leader to all others, and takes it itself.
    pub fn tell_all(&mut self, list: &Arc<MemberList>) {
        // A removed member learns that from a member that has stored the list, since it then leaves for good.
        let mut others = self.all_others();
        others.retain(|id| list.get(*id).is_some());
        self.send_all(others, Message::List { list: list.clone() });
        self.take_list(list.clone());
        self.arm(Timer::Heartbeat, Duration::ZERO); // the new voters have to be bound
    }

    /// Takes a list as the present one, and has it stored.
    pub fn take_list(&mut self, list: Arc<MemberList>) {
        let (own, state) = (self.state.id(), &mut *self.state);
        let majority = state.majority();
        if let Some(lease) = state.course.lease_mut() {
            let votes = |id| list.get(id).is_some_and(Member::votes);
            lease.change_voters(majority, votes);
        }
        state.detector.adopt(&list, own);
        state.membership.adopt(list.clone());
        self.arm_lease();
        self.out.push(Output::Members(list));
        let record = self.persist();
        self.state.records.then(record, Then::List);
    }

    /// Without a majority a new leader's list wins: another side of a partition may have changed its own. A list that
    /// never changed is the same everywhere.
    pub fn overrule_lists(&mut self) {
        let changed = self.state.membership.version().counter > 0;
        if !self.state.needs_majority() && changed && self.state.leads_by_list() {
            self.confirm_list();
        }
    }

    /// A member that follows another leader, or takes its list, does not know the outcome of the change that it was
    /// making. A leader that is elected anew continues it.
    pub fn drop_change(&mut self) {
        if let Some(asker) = self.state.membership.end_change() {
            self.tell_outcome(asker, Err(Refusal::ChangeUnsure));
        }
    }

    pub fn tell_list(&mut self, to: NodeId) {
        if self.state.detector.is_within_reach(to) {
            let list = self.state.membership.list().clone();
            self.send(to, Message::List { list });
        }
    }

    /// Sends a member the present list if it has another: a member with a newer list replies with that.
    pub fn exchange_lists(&mut self, with: NodeId, theirs: ListVersion) {
        if theirs != self.state.membership.version() && !Fault::StaleList.is_planted() {
            self.tell_list(with);
        }
    }

    /// Sends a member in an election the present list, if the last version that it reported is older: it may not know
    /// the present leader, or take it for a stranger.
    pub fn tell_if_behind(&mut self, peer: NodeId) {
        let version = self.state.membership.version();
        if self.state.detector.get(peer).is_some_and(|peer| peer.list() < version) {
            self.tell_list(peer);
        }
    }

    /// The leader repeats its list to the members that have not said that they have stored it: a hello says what its
    /// sender knows, and not what a crash leaves of that.
    pub fn repeat_list(&mut self) {
        let version = self.state.membership.version();
        if version == ListVersion::default() {
            return;
        }
        let mut others = self.all_others();
        others.retain(|id| !self.state.membership.has_stored(*id));
        let list = self.state.membership.list().clone();
        self.send_all(others, Message::List { list });
    }
}
