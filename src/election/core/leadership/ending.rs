//! How a leader answers a request to hand over, and how a leadership ends while a job runs: the job ends first, or this
//! member tells nobody before the job has ended.

use crate::core::answers;
use crate::core::job::Ending;
use crate::core::leadership::{handover, release};
use crate::core::message::Done;
use crate::core::phase::Reason;
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::switchover;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId, Rank};

/// Nothing of the job runs any more: does what waited for that.
pub fn job_ended(turn: &mut Turn<'_>) {
    let withheld = release::withholds_release(turn.cx.state);
    let ending = turn.cx.state.endings.job.end();
    turn.cx.state.timers.cancel(Timer::Job);
    if withheld
        && !turn.cx.state.leads()
        && let Some((epoch, successor)) = release::gave_up(turn.cx.state)
    {
        release::free_own_vote(turn.cx.state);
        release::say_released(&mut turn.cx, epoch, successor);
    }
    end_leadership(turn, ending);
}

/// The job did not end in time. The leadership ends all the same; with a majority its votes stay bound
/// until the lease has expired, since [`release::withholds_release`] still holds.
pub fn job_overdue(turn: &mut Turn<'_>) {
    let ending = turn.cx.state.endings.job.overdue();
    end_leadership(turn, ending);
}

/// Whether the member that preempted this leader is still there, and the cluster was not paused since.
fn may_hand_over_to(state: &State, member: NodeId) -> bool {
    state.detector.counts(member) && !state.is_paused()
}

/// Whether this leader is about to hand over or to stop, once its job has ended: not if nobody could succeed it now.
pub fn is_ending(state: &State) -> bool {
    let succeeds = || state.best_other().is_some();
    match state.endings.job.ending() {
        None => false,
        Some(Ending::Stop(_)) => true,
        Some(Ending::Resign(_) | Ending::JobFailed | Ending::Unfit) => succeeds(),
        Some(Ending::Preempted(by)) => may_hand_over_to(state, *by),
        Some(Ending::SwitchedOver(_)) => state.course.switchover().is_some(),
    }
}

fn end_leadership(turn: &mut Turn<'_>, ending: Option<Ending>) {
    let leads = turn.cx.state.leads();
    match ending {
        // The job ended for this: if the named member is not the best any more, the best succeeds. If nobody can
        // by now, this member keeps leading.
        Some(Ending::Resign(to)) if leads => {
            _ = handover::resign(turn, to).or_else(|_| handover::resign(turn, None))
        }
        Some(Ending::JobFailed) if leads => handover::leave_failed_job(turn),
        Some(Ending::Unfit) if leads => handover::hand_over_if_unfit(turn),
        Some(Ending::Preempted(by)) if leads && may_hand_over_to(turn.cx.state, by) => {
            handover::hand_over(turn, Some(by), Reason::Preempted(by));
        }
        Some(Ending::SwitchedOver(to)) if leads => switchover::hand_over_to_chosen(turn, to),
        Some(Ending::Stop(asked)) => {
            handover::stop(turn, Vec::new());
            asked.into_iter().for_each(|id| answers::answer(&mut turn.cx, id, Ok(Done::Stopped)));
        }
        _ => {}
    }
    switchover::look_after_switchover(turn);
}

/// A higher member asks this one to hand over.
pub fn preempted(turn: &mut Turn<'_>, from: NodeId, epoch: Epoch, rank: Rank, votes: &[NodeId]) {
    let rank = Rank { id: from, ..rank };
    turn.cx.state.detector.change(from, |peer| peer.says_rank(rank, true)); // a member that asks is eligible
    let state = &turn.cx.state;
    // A member that an operator chose before may not know yet that this leader has given up on it.
    let next = state.course.switchover().is_some_and(|s| s.to == from);
    let (leads, outdated) = (state.leads(), state.view().epoch > epoch);
    if state.leads_in(epoch) && handover::gives_way_to(&turn.cx, rank, votes, next) {
        if !votes.is_empty() && Fault::LeadsAfterRelease.is_planted() {
            let release = release::release_message(turn.cx.state, epoch, Some(from));
            turn.cx.send_all(turn.cx.all_others(), release);
        } else if next {
            switchover::chosen_takes_over(turn, from);
        } else {
            handover::give_way(turn, from);
        }
    } else if leads || outdated {
        turn.cx.send_view(from);
    } else if handover::is_about_to_lead(turn, epoch) {
        // Some members have its task already; it leads in this epoch before it releases it.
    } else if release::gave_up(turn.cx.state).is_some() {
        handover::repeat_release(&mut turn.cx, from);
    } else if release::may_disown(turn.cx.state, epoch) {
        // An earlier incarnation of this member led, and never will again.
        turn.cx.raise_round(epoch);
        turn.cx.send(from, release::release_message(turn.cx.state, epoch, None));
    }
}
