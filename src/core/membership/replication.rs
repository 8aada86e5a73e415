//! How the member list spreads: who is told it, who takes it, and when nothing can undo it.

use std::sync::Arc;

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::durable::Then;
use crate::core::membership::{ListVersion, MemberList};
use crate::core::message::{Liveness, Message};
use crate::core::note::Note;
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId};

impl State {
    /// The record that is to make the present list durable, until it has.
    pub(in crate::core) fn list_record(&self) -> Option<u64> {
        self.records.awaited_by(|then| *then == Then::List)
    }

    /// The version of the present list, if it is settled; before, the least of all.
    pub(in crate::core) fn committed_list(&self) -> ListVersion {
        let settled = self.membership.is_committed().then(|| self.membership.version());
        settled.unwrap_or_default()
    }

    /// Whether nothing can bring back an older list than the present one, as far as is known: who is
    /// not in it may be told so.
    pub(in crate::core) fn is_list_committed(&self) -> bool {
        if self.needs_majority() {
            self.membership.is_committed()
        } else {
            self.list_record().is_none()
        }
    }

    /// Whether this member leaves the cluster on the word of this member and of those that said the same.
    /// With a majority one alone does not end it, but for the leader that it follows: half of the other
    /// voters and one more do. A member that removed itself only waits for one that has stored that.
    pub(in crate::core) fn believes_removal(&self, by: NodeId) -> bool {
        let own = self.id();
        let listed = self.membership.list().get(own).is_some();
        let enough = self.membership.is_removed_by_most();
        let believed = !self.needs_majority() || Fault::RemovalBelieved.is_planted();
        believed || !listed || self.follows(by) || enough
    }

    /// With a majority: whether the list that this member tells counts. It has to be reached at the address by which
    /// the present list knows it, so that no stray connection speaks for it.
    ///
    /// A follower takes the list of its leader and of nobody else. Where nobody leads, any voter hands over a newer
    /// list, as those that have it may be unable to lead; no vote depends on the list of an observer. A leader stamps its
    /// own list above any other.
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
    /// Tells a member the present list.
    pub fn tell_list(&mut self, to: NodeId) {
        if self.state.detector.is_within_reach(to) {
            let list = self.state.membership.list().clone();
            self.send(to, Message::List { list });
        }
    }

    /// Tells a member the present list if it has another: to an older one it answers with its own.
    pub fn exchange_lists(&mut self, with: NodeId, theirs: ListVersion) {
        if theirs != self.state.membership.version() && !Fault::StaleList.is_planted() {
            self.tell_list(with);
        }
    }

    /// Tells a member that elects the present list, if it had an older one when it told its version
    /// last: it may not know who leads by now, nor may that one be told apart from a stranger.
    pub fn tell_if_behind(&mut self, peer: NodeId) {
        let version = self.state.membership.version();
        if self.state.detector.get(peer).is_some_and(|peer| peer.list() < version) {
            self.tell_list(peer);
        }
    }

    /// The leader repeats its list to those that have not said that they have stored it: a hello tells
    /// what its sender knows, and not what a crash leaves of it.
    pub fn repeat_list(&mut self) {
        let version = self.state.membership.version();
        if version == ListVersion::default() {
            return;
        }
        let membership = &self.state.membership;
        let hears = |peer: &Peer| peer.lines.is_up() && peer.status() != Liveness::Dead;
        let others = self.state.detector.iter();
        let others = others.filter(|(id, peer)| hears(peer) && !membership.has_stored(*id));
        let others = others.map(|(id, _)| id).collect();
        let list = self.state.membership.list().clone();
        self.send_all(others, Message::List { list });
    }

    /// Says that the present list is stored, as soon as it is.
    fn acknowledge_list(&mut self, to: NodeId) {
        let listed = Message::Listed { version: self.state.membership.version() };
        match self.state.list_record() {
            None => self.send(to, listed),
            Some(record) => self.state.records.then(record, Then::Tell(to, listed)),
        }
    }

    /// A member has this version.
    fn note_list(&mut self, of: NodeId, version: ListVersion) {
        self.state.detector.change(of, |peer| peer.says_list(version));
        if self.state.may_tell_list(of) {
            self.state.membership.hear_of(version);
        }
        self.note_round(version.epoch);
    }

    /// A leader says which list is settled.
    pub fn note_committed(&mut self, leader: NodeId, version: ListVersion) {
        let present =
            version == self.state.membership.version() && version != ListVersion::default();
        if present && self.state.follows(leader) {
            self.state.membership.commit();
        }
    }
}

impl Turn<'_> {
    /// A member tells its list, which is newer than this one's as far as it knows.
    pub fn list(&mut self, from: NodeId, epoch: Epoch, list: &Arc<MemberList>) {
        if self.cx.state.phase() == Phase::Stopping {
            return;
        }
        if self.cx.state.membership.list().supersedes(list) {
            self.cx.note_list(from, list.version());
            self.cx.tell_list(from);
            return;
        }
        self.learn(from, epoch, list);
        // A leader that a later vote is against must not count on this voter: it is refused
        // when it heartbeats, and stamps its list anew if it asks for votes in a later epoch.
        if list == self.cx.state.membership.list() && !self.cx.state.voter.is_beyond(epoch) {
            self.cx.acknowledge_list(from);
        }
    }

    /// A member has this list, which is taken if it is newer. Only the leader's own change and a
    /// rejection make a member leave, so that one which names others alone is not taken.
    ///
    /// A leader stamps its own anew, above one that it did not make. If that is of a later epoch, its
    /// leader will end this member's leadership; unless, without a majority, that epoch is forgotten even where
    /// its list is known (`epoch` is what the member stands in). Then what it changed counts, and this
    /// leader has to lead in an epoch that is later still.
    pub fn learn(&mut self, from: NodeId, epoch: Epoch, list: &Arc<MemberList>) {
        let version = list.version();
        self.cx.note_list(from, version);
        let state = &self.cx.state;
        if state.phase() == Phase::Stopping || !list.supersedes(state.membership.list()) {
            return;
        }
        if !state.may_tell_list(from) {
            return;
        }
        let (leads, named) = (state.leads(), list.get(state.id()).is_some());
        if leads && version.epoch <= state.view().epoch {
            self.cx.out.push(Output::Note(Note::ListOverruled { peer: from, version }));
            self.cx.confirm_list();
            return;
        }
        // A stranger is not heard otherwise, nor is whoever it follows.
        let heard = state.detector.get(from).is_some() && epoch >= version.epoch;
        if leads && (state.needs_majority() || heard || !self.cx.heeds_later_list()) {
            return;
        }
        let state = &self.cx.state;
        let rival = version == state.membership.version();
        let leader = state.leader().map(|leader| leader.id).filter(|leader| *leader != from);
        if named {
            self.adopt(list.clone());
        }
        // Two leaders of one epoch may have made different lists of one version. The leader that this
        // member follows stamps its own anew as soon as it hears of the other.
        if let Some(leader) = leader.filter(|_| rival && named && !leads) {
            self.cx.tell_list(leader);
        }
        if leads {
            self.call(Reason::LaterList(from));
        }
    }

    /// A member has stored a list.
    pub fn listed(&mut self, from: NodeId, version: ListVersion) {
        self.cx.note_list(from, version);
        if version > self.cx.state.membership.version() {
            self.cx.tell_list(from); // and so is told the newer one
        } else if version == self.cx.state.membership.version() && self.cx.state.leads() {
            self.cx.state.membership.store(from);
        }
    }

    /// At the end of a turn, with a majority: the leader's list is committed once a majority has it. A list that
    /// an earlier leader stamped is stamped anew first, even a committed one. Some voter may have a later list of
    /// that leader, which no majority has stored and in which this leader is not even named: neither could take
    /// the other's.
    pub fn mark_list_committed(&mut self) {
        let state = &mut *self.cx.state;
        if !state.needs_majority() || !state.leads_by_list() {
            return;
        }
        if state.stamped_own_list() {
            if !state.membership.is_committed() && state.is_list_stored() {
                state.membership.commit();
            }
        } else if state.membership.version() != ListVersion::default() {
            self.cx.confirm_list();
        }
    }
}
