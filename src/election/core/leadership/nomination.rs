//! Nominating this member: its questions to the voters, and the next step after their answers.
//!
//! The algorithm nominates this member, the quorum decides. [`nominate`] tells the algorithm to continue
//! now, or parks the nomination until the round is durable and, with a majority, enough voters agree; then it calls
//! the algorithm back. A candidate asks the voters twice: a pre-vote changes nothing, a vote request asks for their
//! votes. We tally the answers once, at the end of every turn.

use std::time::Duration;

use super::candidacy::NominationAim;
use super::question::{QuestionPurpose, QuestionStage};
use crate::core::context::Context;
use crate::core::detector::Peer;
use crate::core::durable::DiskPace;
use crate::core::leadership::{asking, becoming, call, promise};
use crate::core::phase::{Phase, Reason};
use crate::core::planted::Fault;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::turn::Turn;
use crate::core::types::{Epoch, NodeId};

/// A voter's T2 counts for at most so many times this member's own.
const MOST_T2S: u32 = 16;

/// How often a vote request is repeated. Two consecutive writes, the one in progress and that of the vote, may then
/// take four times as long as a leader's lease counts.
pub(super) const MOST_REPEATS: u32 = 3;

/// Whether a parked nomination may continue: its round is durable and, with a majority, enough voters agreed with
/// the last question.
fn may_go_on(state: &State, round: Epoch) -> bool {
    let agreed = !state.needs_majority() || state.candidacy.outcome(round) == Some(true);
    let durable = state.records.is_durable(round) || Fault::LeadsBeforeDurable.is_planted();
    durable && agreed
}

/// The longest T2 of a voter, as far as this member knows: another member can be elected meanwhile, even if the
/// timings of this one are far shorter. No file or lie makes it endless.
pub fn longest_t2(state: &State) -> Duration {
    let own = state.settings.timing.t2();
    let of = |id| state.detector.get(id).and_then(Peer::t2);
    let longest = state.membership.list().voters().filter_map(of).fold(own, Duration::max);
    longest.min(own * MOST_T2S)
}

/// Whether enough voters have voted for this member in this round, and it may ask for their votes again in the
/// same epoch if these have expired.
pub fn may_repeat_votes(state: &State, round: Epoch) -> bool {
    let repeated = state.candidacy.votes_repeated(round);
    repeated.is_some_and(|times| times < MOST_REPEATS)
}

/// The other voters that this member has not met since its start, or that have a newer list.
pub fn unmet_voters(state: &State) -> Vec<NodeId> {
    let version = state.membership.version();
    let is_met = |peer: &Peer| peer.incarnation().0 > 0 && peer.list() <= version;
    let unmet = |id: NodeId| state.detector.get(id).is_some_and(|peer| !is_met(peer));
    state.membership.list().voters().filter(|id| unmet(*id)).collect()
}

/// The algorithm nominates this member in a round. Returns whether the algorithm continues now; otherwise it is
/// called back.
pub fn nominate(cx: &mut Context<'_>, round: Epoch, aim: NominationAim, reason: &Reason) -> bool {
    let goes_on = match aim {
        NominationAim::Call => !cx.state.needs_majority() || may_go_on(cx.state, round),
        NominationAim::Halt => may_go_on(cx.state, round),
        NominationAim::Lead => is_elected(cx, round),
    };
    if !goes_on {
        park(cx, round, aim, reason);
    }
    goes_on
}

/// Whether this member may lead in the epoch of this round: the epoch is durable and, with a majority, enough
/// voters have voted for this member, for long enough to acknowledge its first heartbeat. Otherwise it asks them
/// once more, if it may. (N1)
pub fn is_elected(cx: &Context<'_>, round: Epoch) -> bool {
    let heartbeat = cx.state.settings.timing.message * 2;
    let lasts = || promise::has_votes(cx.state, round, cx.now + heartbeat);
    let elected = || promise::has_votes(cx.state, round, cx.now);
    let votes = || lasts() || elected() && !may_repeat_votes(cx.state, round);
    may_go_on(cx.state, round) && (!cx.state.needs_majority() || votes())
}

fn park(cx: &mut Context<'_>, round: Epoch, aim: NominationAim, reason: &Reason) {
    // A coordinator that has handed out its task is about to lead, and stays in its phase.
    let readies = aim == NominationAim::Lead && cx.state.phase() == Phase::Reorganizing;
    if cx.state.phase() != Phase::Electing && !readies {
        becoming::become_electing(cx, reason.clone());
    }
    cx.state.timers.cancel(Timer::Answer);
    cx.state.timers.cancel(Timer::Coordinator);
    cx.state.candidacy.parked = Some((aim, round)); // the record was ordered when the round was raised
    if !cx.state.records.is_durable(round) {
        cx.arm(Timer::Coordinator, cx.state.settings.timing.t2());
    }
    ask_next_question(cx, round);
}

/// Asks the voters for a pre-vote, then for their votes. A candidate to which the last leader handed over skips
/// the first pre-vote: the voters are free, and no other nomination is expected.
fn ask_next_question(cx: &mut Context<'_>, round: Epoch) {
    if !cx.state.needs_majority() {
        return;
    }
    let (epoch, candidacy) = (cx.state.view().epoch, &mut cx.state.candidacy);
    let leads_next = candidacy.next_epoch() == Some(round);
    let stage = match candidacy.outcome(round) {
        None if leads_next && candidacy.take_designation() == Some(epoch) => QuestionStage::Vote,
        None => QuestionStage::PreVote,
        Some(false) => return, // the voters are being asked
        Some(true) => QuestionStage::Vote,
    };
    asking::ask_voters(cx, QuestionPurpose::Win, stage, round);
}

/// With a majority: whether the last leader just handed over to this member. The voters are free, so this member
/// need not ask those that rank higher: they may preempt it, if they can win. (H7)
pub fn succeeds(state: &State) -> bool {
    let epoch = state.view().epoch;
    state.needs_majority() && state.candidacy.is_designated_in(epoch)
}

/// Asks the voters, unless they are being asked, whether this member may take over from the leader that it
/// follows. If its disk was late, it first has the disk write, more than once: otherwise its own vote would come
/// too late, and nobody would lead meanwhile. (N4)
pub fn poll_for_takeover(cx: &mut Context<'_>) {
    let candidacy = &cx.state.candidacy;
    if candidacy.question().is_some() || cx.now < candidacy.next_takeover_poll {
        return;
    }
    let pace = cx.state.records.pace(cx.state.longest_vote(), cx.now);
    if pace == DiskPace::Quick {
        let (view, next) = (cx.state.view(), cx.state.epochs.round().next());
        return asking::ask_voters(
            cx,
            QuestionPurpose::Preempt(view),
            QuestionStage::PreVote,
            next,
        );
    }
    if pace == DiskPace::Late {
        put_off_takeover(cx);
    }
    if !cx.state.records.are_under_way() {
        cx.persist();
    }
}

/// Does not ask to take over for a while, longer each time. (S3)
pub fn put_off_takeover(cx: &mut Context<'_>) {
    let unit = longest_t2(cx.state);
    let longest = cx.now + unit * 4; // or a better member would come too late
    let candidacy = &mut cx.state.candidacy;
    candidacy.takeovers.again(unit, cx.now);
    candidacy.next_takeover_poll = if Fault::TakeoverAtOnce.is_planted() {
        cx.now
    } else {
        candidacy.takeovers.until().min(longest)
    };
}

/// Continues a parked nomination, if it may by now.
pub fn unpark(turn: &mut Turn<'_>) {
    if let Some((aim, round)) = turn.cx.state.candidacy.parked
        && may_go_on(turn.cx.state, round)
    {
        turn.cx.state.candidacy.parked = None;
        turn.algorithm.go_on(&mut turn.cx, aim, round);
    }
}

/// No outcome of an election came in time. A candidate that is held up by its own disk withdraws until
/// the disk has written, so that another member can win.
pub fn nobody_came(turn: &mut Turn<'_>) {
    turn.cx.suspect_unreachable();
    let state = &mut *turn.cx.state;
    match state.candidacy.parked {
        Some((_, round)) if !state.records.is_durable(round) => {
            state.candidacy.withdraw_until_disk_writes();
            let now = turn.cx.now;
            becoming::become_waiting(&mut turn.cx, now, Reason::DiskLags);
        }
        _ if state.is_discovering(turn.cx.now) => call::call(turn, Reason::NoCoordinator),
        _ if state.candidacy.is_denied() => await_voters(&mut turn.cx),
        _ => turn.algorithm.expire(&mut turn.cx, Timer::Coordinator),
    }
}

/// An election had no outcome in time; this member does not call another before the voters agree.
pub fn await_voters(cx: &mut Context<'_>) {
    if cx.state.phase() == Phase::Waiting {
        cx.arm(Timer::Coordinator, cx.state.settings.timing.t2());
    } else {
        becoming::become_waiting(cx, cx.now, Reason::NoCoordinator);
    }
}
