//! A ring member's knowledge of the candidates, its neighbours and the run.

use std::time::Duration;

use crate::core::bounds;
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::message::Candidate;
use crate::core::planted::Fault;
use crate::core::reach;
use crate::core::types::{Epoch, NodeId, Rank, Time};

/// This member as a candidate.
pub(super) fn own(cx: &Context) -> Candidate {
    let (eligible, rank) = (cx.state.is_eligible(), cx.state.rank());
    Candidate { eligible, rank, incarnation: cx.state.records.incarnation() }
}

/// Whether a candidate's process is suspected or dead, as far as this member knows: it may not have met that process
/// yet.
pub(super) fn is_gone(cx: &Context, candidate: Candidate) -> bool {
    let peer = cx.state.detector.get(candidate.rank.id);
    let removed = cx.state.membership.list().get(candidate.rank.id).is_none();
    removed
        || peer.is_some_and(|peer| {
            peer.incarnation() > candidate.incarnation
                || (peer.incarnation() == candidate.incarnation && !peer.alive())
        })
}

/// A candidate as this member knows it: one that was to lead recently and did not, or that comes and goes, comes last.
pub(super) fn as_known(cx: &Context, candidate: Candidate) -> Candidate {
    let id = candidate.rank.id;
    let last = reach::is_ignored(cx, id) || cx.state.comes_and_goes(id);
    Candidate { eligible: candidate.eligible && !last, ..candidate }
}

/// Whether this member, which may lead, comes before a candidate. All judge so, and this member itself: a ballot would
/// not come back where each puts itself in the place of the other. (S5)
pub(super) fn is_before(cx: &Context, own: Candidate, candidate: Candidate) -> bool {
    !candidate.eligible || as_known(cx, own) > as_known(cx, candidate)
}

/// Whether this member may lead, and the candidate may not or comes last, unlike this member.
pub(super) fn is_of_lower_class(cx: &Context, candidate: Candidate) -> bool {
    let class = |of: Candidate| (of.eligible, as_known(cx, of).eligible);
    let own = own(cx);
    own.eligible && class(candidate) < class(own)
}

/// The greatest epoch whose leader is known, or will be named once the epoch is durable. No ballot of such an epoch
/// may be passed on: it might elect a second leader.
pub(super) fn decided(cx: &Context) -> Epoch {
    let stored_next = cx.state.course.storing().map(|view| view.epoch);
    cx.state.candidacy.next_epoch().or(stored_next).unwrap_or(cx.state.view().epoch)
}

/// The most times that a ballot or an announcement is sent.
pub(super) fn most_hops(cx: &Context) -> u32 {
    u32::try_from(cx.state.membership.list().iter().len() * 2).unwrap_or(u32::MAX)
}

/// How long a run may take before this member takes its messages for lost.
pub(super) fn run_timeout(cx: &Context) -> Duration {
    bounds::ring_timeout(&cx.state.settings.timing, cx.state.membership.list().iter().len())
}

/// The next live member clockwise.
pub(super) fn next(cx: &Context) -> Option<NodeId> {
    cx.state.detector.clockwise().find(|peer| peer.counts()).map(Peer::id)
}

/// The members that come after that one, clockwise.
fn after<'a>(cx: &'a Context, passed: NodeId) -> impl Iterator<Item = &'a Peer> {
    cx.state.detector.clockwise().skip_while(move |peer| peer.id() != passed).skip(1)
}

/// The next live member after that one, unless it is this member.
pub(super) fn next_after(cx: &Context, passed: NodeId) -> Option<NodeId> {
    after(cx, passed).find(|peer| peer.counts()).map(Peer::id)
}

/// Whether the sender of a ballot left out the leader that this member follows and heard recently: only the link
/// between the sender and the leader is dead. Such a ballot would come back past the leader, and elect a second one.
/// With a majority a voter's promise has the same effect. (R5)
pub(super) fn left_out_leader(cx: &Context, sender: NodeId) -> bool {
    let follows = |leader: &Rank| cx.state.follows(leader.id) && !cx.state.needs_majority();
    let Some(leader) = cx.state.leader().filter(follows) else { return false };
    let of_late = |time: Time| cx.now.since(time) < cx.state.settings.timing.failure / 2;
    let left_out = after(cx, sender).find(|peer| peer.id() == leader.id);
    left_out.is_some_and(|peer| peer.alive() && peer.declared().is_some_and(of_late))
        && !Fault::LeaderLeftOut.is_planted()
}

/// Whether runs have failed for so long that this member asks the voters itself, without a lap around the ring. A
/// single liar may spoil each lap, but not the answers of the others. The members take turns, the best first: two
/// that ask simultaneously split the votes. Each counts its turns from when it lost its leader, so two may still do
/// so; then the jitter of the next question decides. (R4)
pub(super) fn asks_without_lap(cx: &Context) -> bool {
    let Some(since) = cx.state.course.leaderless() else { return false };
    if !cx.state.needs_majority() || !cx.state.is_eligible() {
        return false;
    }
    let timeouts = cx.now.since(since).as_nanos() / run_timeout(cx).as_nanos().max(1);
    let Some(turn) = timeouts.checked_sub(u128::from(bounds::FAILED_RUNS)) else { return false };
    let above = |peer: &&Peer| peer.counts() && cx.state.is_peer_above(peer);
    let place = cx.state.detector.iter().filter(above).count();
    turn % cx.state.membership.list().iter().len() as u128 == place as u128
}
