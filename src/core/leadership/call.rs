//! Calling an election, and the loss and return of members that leads to one.

use crate::core::message::{Liveness, MemberReport};
use crate::core::phase::Reason;
use crate::core::turn::Turn;
use crate::core::types::NodeId;

impl Turn<'_> {
    /// Calls an election. A member that is still discovering the others finishes that first.
    pub fn call(&mut self, reason: Reason) {
        if !self.cx.keeps_discovering(&reason) {
            self.algorithm.get().start(&mut self.cx, reason);
        }
    }

    /// A member is suspected or dead. If it led, or was about to, this member calls an election.
    pub fn lose(&mut self, id: NodeId, status: Liveness, reason: Reason) {
        if self.cx.state.detector.lose(id, status) {
            self.lost(id, reason);
        }
    }

    pub fn lost(&mut self, id: NodeId, reason: Reason) {
        self.cx.note_departure(id);
        self.cx.be_eligible_if_alone();
        let state = &mut *self.cx.state;
        if state.view().leader.is_none_or(|leader| leader.id == id) {
            state.course.expect_no_heartbeat();
        }
        if state.follows(id) || state.is_bound_to(id) {
            self.call(reason);
        } else {
            self.algorithm.get().lost(&mut self.cx, id);
        }
    }

    /// A peer said hello or welcome, or is heard again.
    pub fn joined(&mut self, peer: NodeId) {
        if self.cx.state.detector.is_within_reach(peer) {
            let answer = self.cx.state.outbox.take(peer);
            answer.into_iter().for_each(|message| self.cx.send(peer, message));
        }
        self.algorithm.get().joined(&mut self.cx, peer);
    }

    /// The leader has met a newer incarnation of a peer: the open connections lead to the older one, whose signs of
    /// life must not keep the newer one out.
    pub fn forget_earlier_run(&mut self, report: &MemberReport) {
        let peer = report.id;
        let older = self.cx.state.detector.get(peer).is_some_and(|known| {
            known.incarnation() < report.incarnation
                && (known.lines.inbound().is_some() || known.lines.is_up())
        });
        if !older {
            return;
        }
        self.cx.state.detector.change(peer, |peer| {
            peer.forget_hearing();
        });
        self.cx.redial(peer);
    }
}
