//! A switchover: an operator chooses a member to lead, whatever its rank, and nobody preempts that member.
//!
//! The leader names the chosen member in its heartbeats. From then on that member reports the greatest possible rank,
//! also in its acknowledgements: by this the leader sees that it takes over, and hands over to it. The chosen member
//! wins the election by that rank, and keeps it until it stops leading. If it does not come to lead, the rank ends:
//! immediately when its leader does not name it any more, or when it follows another leader, and otherwise after a
//! while. All of this is in memory only, and an older member need not know of it.

use super::answers;
use super::context::Context;
use super::course::PendingSwitchover;
use super::job::Ending;
use super::leadership::{handover, release};
use super::message::{Done, Refusal};
use super::phase::Reason;
use super::planted::Fault;
use super::settings::Preempt;
use super::state::State;
use super::turn::Turn;
use super::types::{NodeId, Rank};

/// For how many times `failure` a member that does not come to lead stays chosen: its leader may die meanwhile, and
/// an election may need two attempts.
const CHOSEN_FOR: u32 = 4;

/// Whether this member follows a leader that knows of no switchover, and does not lead by one: its first heartbeat
/// may not have come. The leader's version may not know the command that ends one.
pub fn follows_unchosen(state: &State) -> bool {
    let unchosen = |leader: Rank| !leader.is_chosen() && chosen(state).is_none();
    !state.leads() && state.leader().is_some_and(unchosen)
}

/// The member that an operator chose to lead, as far as this member knows: it leads, or is about to.
pub fn chosen(state: &State) -> Option<NodeId> {
    let next = state.course.switchover().map(|switchover| switchover.to);
    let own = state.leads() && state.eligibility.is_chosen();
    next.or_else(|| own.then_some(state.id())).or_else(|| state.course.chosen())
}

/// The followed leader names the member that is chosen to lead next. (H5)
pub fn hear_choice(cx: &mut Context<'_>, chosen: Option<NodeId>) {
    cx.state.course.hear_choice(chosen);
    let takes = chosen == Some(cx.state.id()) && cx.state.is_eligible();
    if takes {
        let until = cx.now + cx.state.settings.timing.failure * CHOSEN_FOR;
        cx.state.eligibility.choose(until);
        cx.freeze_rank();
    } else if cx.state.eligibility.is_chosen() {
        cx.state.eligibility.end_choice();
    }
}

pub fn check_switchover(state: &State, to: NodeId) -> Result<(), Refusal> {
    match state.course.switchover() {
        _ if !state.leads() => Err(Refusal::NotLeader),
        Some(under_way) => Err(Refusal::Switching(under_way.to)),
        None if to == state.id() => Ok(()),
        None if state.membership.list().get(to).is_none() => Err(Refusal::NotMember(to)),
        None if !state.could_lead(to) => Err(Refusal::CannotLead(to)),
        None => Ok(()),
    }
}

/// A member acknowledged a heartbeat: if it is the chosen one and ranks first, it takes over. (H5)
pub fn hear_of_chosen(turn: &mut Turn<'_>, from: NodeId, rank: Rank, eligible: bool) {
    if turn.cx.state.course.switchover().is_none_or(|s| s.to != from || s.taken) {
        return;
    }
    if !eligible {
        release::drop_switchover(&mut turn.cx, Refusal::CannotLead(from));
    } else if rank.is_chosen() {
        chosen_takes_over(turn, from);
    }
}

/// The chosen member takes over: this leader hands over, once its job has ended.
pub fn chosen_takes_over(turn: &mut Turn<'_>, to: NodeId) {
    let Some(under_way) = turn.cx.state.course.switchover() else { return };
    if !under_way.taken {
        let epoch = turn.cx.state.view().epoch;
        let done = Done::Resigned { epoch, successor: Some(to) };
        answers::tell_outcome(&mut turn.cx, under_way.asked, Ok(done));
    }
    turn.cx.state.course.set_switchover(Some(PendingSwitchover { taken: true, ..under_way }));
    if !release::waits_for_job(&mut turn.cx, Ending::SwitchedOver(to)) {
        hand_over_to_chosen(turn, to);
    }
}

/// Hands over to the chosen member, if that may still lead.
pub fn hand_over_to_chosen(turn: &mut Turn<'_>, to: NodeId) {
    let wanted = turn.cx.state.course.switchover().is_some();
    if wanted && turn.cx.state.could_lead(to) {
        handover::hand_over(turn, Some(to), Reason::SwitchedOver(to));
    } else {
        turn.cx.state.course.set_switchover(None);
    }
}

/// At a heartbeat round, and when a job has ended: hands over to a chosen member that waits; or drops the
/// switchover, if that member is gone or did not say in time that it takes over.
pub fn look_after_switchover(turn: &mut Turn<'_>) {
    let Some(PendingSwitchover { to, due, taken, .. }) = turn.cx.state.course.switchover() else {
        return;
    };
    if !turn.cx.state.could_lead(to) {
        release::drop_switchover(&mut turn.cx, Refusal::CannotLead(to));
    } else if taken {
        chosen_takes_over(turn, to); // the job may have ended for another reason, which is void by now
    } else if due <= turn.cx.now {
        release::drop_switchover(&mut turn.cx, Refusal::NotTaken(to));
    }
}

/// A leader whose switchover was cleared hands over to the member that would have preempted it: the others
/// compare with the rank that it was elected with. (H6)
pub fn hand_over_if_cleared(turn: &mut Turn<'_>) {
    let state = &turn.cx.state;
    let stays = state.preempt() == Preempt::Never || state.membership.wanted().is_some();
    if !state.leads() || !state.eligibility.was_cleared() || stays {
        return;
    }
    let value = state.eligibility.sample().unwrap_or(Rank::NO_VALUE);
    let (own, margin) = (Rank { value, id: state.id() }, state.settings.margin);
    let steady = state.eligible().filter(|peer| !state.comes_and_goes(peer.id()));
    let ranks = steady.map(|peer| peer.rank());
    let takes_over = |rank: &Rank| {
        margin.is_exceeded(*rank, own)
            && handover::eligible_for_long_enough(&turn.cx, rank.id)
            && handover::may_succeed(&turn.cx, rank.id)
    };
    let best = ranks.filter(takes_over).max().map(|rank| rank.id);
    if let Some(best) = best.filter(|_| !Fault::ChoiceUncleared.is_planted()) {
        handover::give_way(turn, best);
    }
}
