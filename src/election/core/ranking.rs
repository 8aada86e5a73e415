//! Changes of this member's own rank and eligibility: samples, health checks and drains.

use super::answers::Carried;
use super::detector::Peer;
use super::durable::Deferred;
use super::job::Ending;
use super::leadership::{call, handover};
use super::message::{Done, Refusal};
use super::phase::{Phase, Reason};
use super::planted::Fault;
use super::settings::Preempt;
use super::state::State;
use super::turn::Turn;
use super::types::{Drain, NodeId, Role};

/// The attribute was sampled anew. During an election the rank stays as it is. A leader keeps the rank that it
/// was elected with, and reports the new one in its heartbeats: a member that exceeds that preempts it.
pub fn sampled(turn: &mut Turn<'_>, value: Option<i64>) {
    turn.cx.state.eligibility.sampled(value);
    apply_changes(turn);
}

pub fn checked(turn: &mut Turn<'_>, healthy: bool) {
    turn.cx.state.eligibility.checked(healthy);
    handover::hand_over_if_unfit(turn);
    apply_changes(turn);
}

/// The job of this member failed: the member is eligible again when it is needed, as if it had resigned. A leader that
/// nobody could succeed leads on. The caller repeats this if an election was in progress.
pub fn stand_back(turn: &mut Turn<'_>) {
    if turn.cx.state.leads() {
        handover::leave_failed_job(turn);
    } else if !turn.cx.state.elects() {
        turn.cx.state.eligibility.resign();
    }
}

/// Whether the drain of this member changes nothing for the others: it is drained already, or never leads.
pub fn is_drained_alone(state: &State) -> bool {
    state.eligibility.drain().is_some() || state.membership.role() != Some(Role::Member)
}

/// This leader judges the drain of a member, itself included: another one that may lead has to be left. That is this
/// leader, or a member that was eligible when it last acknowledged a heartbeat of this leadership: it is drained only if
/// this leader agrees. So the last eligible member is never drained, however many are asked for at once, and whoever leads
/// meanwhile. A leader that has not led for long enough to hear the others is asked again once it has. (A6)
pub fn judge_drain(state: &mut State, of: NodeId) -> Result<(), Refusal> {
    let stops = matches!(state.endings.job.ending(), Some(Ending::Stop(_)));
    let leads_on = state.is_eligible() && !state.eligibility.is_unfit() && !stops;
    let heard = |peer: &Peer| {
        let agreed = state.course.agreed();
        agreed.is_some_and(|agreed| agreed.heard_eligible(peer.id()))
            || Fault::SaidAnywhere.is_planted()
    };
    let others = || state.eligible().filter(|peer| peer.id() != of);
    if !state.leads() {
        return Err(Refusal::NotLeader);
    } else if of != state.id() && leads_on
        || others().any(heard)
        || Fault::DrainUnjudged.is_planted()
    {
        if !Fault::AgreementForgotten.is_planted() {
            let round = state.course.round();
            if let Some(agreed) = state.course.agreed_mut() {
                agreed.drain(of, round);
            }
        }
        return Ok(());
    }
    Err(if others().next().is_some() { Refusal::NotLeader } else { Refusal::LastEligible })
}

/// An operator drains this member. (A5)
pub fn drain(turn: &mut Turn<'_>, drain: Drain) -> Carried {
    let state = &turn.cx.state;
    let successor = state.best_other().filter(|_| state.leads());
    if !state.records.have_room() {
        return Err(Refusal::TooMany);
    }
    turn.cx.state.eligibility.set_drain(drain);
    let record = turn.cx.persist();
    if matches!(turn.cx.state.phase(), Phase::Electing | Phase::Reorganizing) {
        turn.cx.freeze_rank(); // it could win this election after the answer
        call::call(turn, Reason::Drained);
    }
    handover::hand_over_if_unfit(turn);
    apply_changes(turn);
    Ok((record, Done::Drained { successor }))
}

/// This member may lead again once that is stored: until then a restart would find it drained, and a leader that counts on
/// it could agree to the drain of the last member left. Returns the record that holds it, as well. (A6)
pub fn undrain(turn: &mut Turn<'_>) -> Result<(u64, Done), Refusal> {
    if !turn.cx.state.records.have_room() {
        return Err(Refusal::TooMany);
    }
    turn.cx.state.eligibility.undrain();
    if Fault::UndrainNotDurable.is_planted() {
        turn.cx.state.eligibility.undrained();
    }
    turn.cx.state.eligibility.forget_resignation(); // a resignation is undone as well
    let record = turn.cx.persist();
    turn.cx.state.records.defer(record, Deferred::Undrain);
    apply_changes(turn);
    Ok((record, Done::Undrained))
}

/// The disk stored that this member is undrained.
pub fn undrained(turn: &mut Turn<'_>) {
    turn.cx.state.eligibility.undrained();
    apply_changes(turn);
}

/// Applies a new rank or eligibility, unless an election is in progress or this member leads.
fn apply_changes(turn: &mut Turn<'_>) {
    let state = &turn.cx.state;
    if !state.is_eligible() && turn.algorithm.finds_nobody(state) {
        // An election found no member that may lead. If this member may by now, it calls another one. (A4)
        turn.cx.freeze_rank();
        if turn.cx.state.is_eligible() {
            call::call(turn, Reason::Eligible);
        }
    }
    if turn.cx.state.elects() || turn.cx.state.leads() {
        return;
    }
    turn.cx.freeze_rank();
    let preempts = turn.cx.state.preempt() == Preempt::Always;
    if let Some(leader) = turn.cx.state.leader_to_preempt().filter(|_| preempts) {
        handover::take_over(&mut turn.cx, leader.id, Reason::Outranks(leader.id));
    }
}
