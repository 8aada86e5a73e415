//! Calling an election, and the loss and return of members that leads to one.

use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::leadership::becoming;
use crate::core::message::{Liveness, MemberReport};
use crate::core::phase::Reason;
use crate::core::reach;
use crate::core::turn::Turn;
use crate::core::types::{Incarnation, NodeId};

/// Calls an election. A member that is still discovering the others finishes that first.
pub fn call(turn: &mut Turn<'_>, reason: Reason) {
    if !becoming::keeps_discovering(&mut turn.cx, &reason) {
        turn.algorithm.start(&mut turn.cx, reason);
    }
}

/// A member is suspected or dead. If it led, or was about to, this member calls an election.
pub fn lose(turn: &mut Turn<'_>, id: NodeId, status: Liveness, reason: Reason) {
    if turn.cx.state.detector.lose(id, status) {
        let run = turn.cx.state.detector.get(id).map(Peer::incarnation);
        lost(turn, (id, run), reason);
    }
}

/// A run of a member is gone; none if this member cannot tell which.
pub fn lost(turn: &mut Turn<'_>, (id, run): (NodeId, Option<Incarnation>), reason: Reason) {
    reach::count_departure(&mut turn.cx, id, run);
    turn.cx.be_eligible_if_alone();
    let state = &mut *turn.cx.state;
    if state.view().leader.is_none_or(|leader| leader.id == id) {
        state.course.expect_no_heartbeat();
    }
    if state.follows(id) || state.is_bound_to(id) {
        call(turn, reason);
    } else {
        turn.algorithm.lost(&mut turn.cx, id);
    }
}

/// A peer said hello or welcome, or is heard again.
pub fn joined(turn: &mut Turn<'_>, peer: NodeId) {
    if turn.cx.state.detector.is_within_reach(peer) {
        let answer = turn.cx.state.outbox.take(peer);
        answer.into_iter().for_each(|message| turn.cx.send(peer, message));
    }
    turn.algorithm.joined(&mut turn.cx, peer);
}

/// The leader has met a newer incarnation of a peer: the open connections lead to the older one, whose signs of
/// life must not keep the newer one out.
pub fn forget_earlier_run(cx: &mut Context<'_>, report: &MemberReport) {
    let peer = report.id;
    let older = cx.state.detector.get(peer).is_some_and(|known| {
        known.incarnation() < report.incarnation
            && (known.lines.inbound().is_some() || known.lines.is_up())
    });
    if !older {
        return;
    }
    cx.state.detector.change(peer, |peer| {
        peer.forget_hearing();
    });
    cx.redial(peer);
}
