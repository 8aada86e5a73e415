//! The replication of the member list: which members get it, which take it, and when it is committed.

use std::sync::Arc;

use crate::core::api::Output;
use crate::core::context::Context;
use crate::core::durable::Then;
use crate::core::membership::{ListVersion, MemberList};
use crate::core::message::Message;
use crate::core::note::Note;
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId};

impl State {
    /// Whether this member leaves the cluster because these members say that it was removed. With a majority no
    /// single member can end it, except the leader that it follows; otherwise more than half of the other voters have
    /// to say so. A member that removed itself waits only for a member that has stored that.
    pub(in crate::core) fn believes_removal(&self, by: NodeId) -> bool {
        let own = self.id();
        let listed = self.membership.list().get(own).is_some();
        let enough = self.membership.is_removed_by_most();
        let believed = !self.needs_majority() || Fault::RemovalBelieved.is_planted();
        believed || !listed || self.follows(by) || enough
    }
}

impl Context<'_> {
    /// Reports that the present list is stored, as soon as it is.
    fn acknowledge_list(&mut self, to: NodeId) {
        let listed = Message::Listed { version: self.state.membership.version() };
        match self.state.list_record() {
            None => self.send(to, listed),
            Some(record) => self.state.records.then(record, Then::Tell(to, listed)),
        }
    }

    /// A member has a list of this version.
    fn note_list(&mut self, of: NodeId, version: ListVersion) {
        self.state.detector.change(of, |peer| peer.says_list(version));
        if self.state.may_tell_list(of) {
            self.state.membership.hear_of(version);
        }
        self.note_round(version.epoch);
    }
}

impl Turn<'_> {
    /// A member sends its list, which is newer than this member's, as far as the sender knows.
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
        // An outdated leader must not count on a voter that voted in a later epoch: the voter denies its heartbeats,
        // and the leader gives its list a new version if it asks for votes in a later epoch.
        if list == self.cx.state.membership.list() && !self.cx.state.voter.is_beyond(epoch) {
            self.cx.acknowledge_list(from);
        }
    }

    /// A member has this list: this member takes it if it is newer and names this member. Only the leader's own
    /// change or a rejection makes a member leave.
    ///
    /// A leader gives its own list a version above one that it did not make. If the other list is of a later epoch,
    /// the leader of that epoch will end this member's leadership; unless, without a majority, that epoch is
    /// forgotten even where its list is known (`epoch` is the one that the sender knows). Then the other list counts,
    /// and this leader has to lead in a still later epoch.
    pub fn learn(&mut self, from: NodeId, epoch: Epoch, list: &Arc<MemberList>) {
        self.cx.note_list(from, list.version());
        let state = &self.cx.state;
        let newer = list.supersedes(state.membership.list()) && state.may_tell_list(from);
        match state.phase() {
            _ if !newer => {}
            Phase::Stopping => {}
            Phase::Leading => self.meet_list(from, epoch, list),
            _ if list.get(state.id()).is_some() => self.take_newer_list(from, list),
            _ => {}
        }
    }

    /// This leader meets a newer list that it did not make.
    fn meet_list(&mut self, from: NodeId, epoch: Epoch, list: &Arc<MemberList>) {
        let (state, version) = (&self.cx.state, list.version());
        if version.epoch <= state.view().epoch {
            self.cx.out.push(Output::Note(Note::ListOverruled { peer: from, version }));
            return self.cx.confirm_list();
        }
        // This leader does not hear a stranger otherwise, nor the stranger's leader, which would end its leadership.
        let heard = state.detector.get(from).is_some() && epoch >= version.epoch;
        if state.needs_majority() || heard || !self.cx.heeds_later_list() {
            return;
        }
        if list.get(self.cx.state.id()).is_some() {
            self.adopt(list.clone());
        }
        self.call(Reason::LaterList(from));
    }

    /// Two leaders of one epoch may have made different lists of one version. The leader that this member follows
    /// gives its own a new version as soon as it hears of the other.
    fn take_newer_list(&mut self, from: NodeId, list: &Arc<MemberList>) {
        let state = &self.cx.state;
        let rival = list.version() == state.membership.version();
        let leader = state.leader().filter(|leader| rival && leader.id != from);
        self.adopt(list.clone());
        if let Some(leader) = leader {
            self.cx.tell_list(leader.id);
        }
    }

    pub fn listed(&mut self, from: NodeId, version: ListVersion) {
        self.cx.note_list(from, version);
        if version > self.cx.state.membership.version() {
            self.cx.tell_list(from); // the sender replies with its newer one
        } else if version == self.cx.state.membership.version() && self.cx.state.leads() {
            self.cx.state.membership.store(from);
        }
    }

    /// At the end of a turn, with a majority: the leader's list is committed once a majority has stored it. The
    /// leader first gives a list of an earlier leader a version in its own epoch, even a committed one. Some voter
    /// may have a later list of that leader, which no majority has stored and which does not even name this leader:
    /// neither of the two could take the other's list.
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
