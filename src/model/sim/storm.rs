//! Storms: many faults within one or two `failure`, aimed at the members that lead, are candidates or
//! vote at that very moment. Storms find defects that need three or four rare events in a row.

use std::time::Duration;

use super::draft::Draft;
use super::node::Death;
use super::plan::{FaultTarget, InjectedFault, LinkDirection, LinkShape};
use super::setup::TIMING;
use crate::core::types::Time;

/// Adds storms to a plan.
pub(super) fn add(draft: &mut Draft) {
    let mut at = Time(0) + TIMING.failure + draft.random.up_to(TIMING.failure * 4);
    let newcomers = draft.newcomers;
    for _ in 0..1 + draft.random.below(3) {
        let length = TIMING.failure / 2 + draft.random.up_to(TIMING.failure * 3 / 2);
        for _ in 0..8 + draft.random.below(24) {
            let when = at + draft.random.up_to(length);
            gust(draft, when);
        }
        if newcomers.is_some() && draft.random.below(2) == 0 {
            succession(draft, at);
        }
        at = at + length + draft.random.up_to(TIMING.failure * 4);
    }
}

/// One fault, and its end.
fn gust(draft: &mut Draft, at: Time) {
    match draft.random.below(16) {
        0..4 => crash(draft, at),
        4..7 => {
            let name = draft.name();
            let (aim, length) = (whom(draft), lasts(draft));
            draft.aimed(at, aim, InjectedFault::Pause(name));
            draft.end(at + length);
        }
        7..10 => {
            let shape = LinkShape::draw(draft.random, draft.nodes);
            let cut = draft.cut(shape);
            let (aim, length) = (whom(draft), lasts(draft));
            draft.aimed(at, aim, cut);
            draft.end(at + length);
        }
        10 => {
            let (breaks, aim) = (draft.breaks(), whom(draft));
            draft.aimed(at, aim, breaks);
        }
        11 | 12 => match draft.newcomers {
            Some(newcomers) => change(draft, at, newcomers),
            None => crash(draft, at),
        },
        13 => {
            let to = draft.anyone();
            let to = Some(to).filter(|_| draft.random.below(2) == 0);
            draft.aimed(at, FaultTarget::Leader, InjectedFault::Resign(to));
        }
        14 => {
            let aim = whom(draft);
            draft.aimed(at, aim, InjectedFault::Elect);
        }
        _ => {
            let (aim, length) = (whom(draft), lasts(draft));
            draft.aimed(at, aim, InjectedFault::StallDisk(length));
        }
    }
}

/// A process dies, and most often one is back soon.
fn crash(draft: &mut Draft, at: Time) {
    let death = if draft.random.below(4) == 0 { Death::Vanished } else { Death::Killed };
    let outputs = if draft.random.below(2) == 0 { 0 } else { draft.random.below(12) };
    let aim = whom(draft);
    draft.aimed(at, aim, InjectedFault::Die(death, outputs));
    let back = lasts(draft);
    draft.aimed(at + back, FaultTarget::Dead, InjectedFault::Start);
}

/// Members are added and removed, some right after each other.
fn change(draft: &mut Draft, mut at: Time, newcomers: &[usize]) {
    for _ in 0..1 + draft.random.below(3) {
        let someone = draft.anyone();
        let newcomer = draft.random.below(newcomers.len() as u64) as usize;
        let change = match newcomers.get(newcomer) {
            Some(newcomer) if draft.random.below(2) == 0 => InjectedFault::Add(*newcomer),
            _ => InjectedFault::Remove { who: Some(someone), force: false },
        };
        draft.aimed(at, FaultTarget::Leader, change);
        at = at + draft.random.up_to(TIMING.message * 2);
    }
}

/// The leader dies; while one candidate cannot talk to all others, the next leader removes two of
/// those that elected it, a third restarts, and the candidate pauses and then continues its own
/// election.
fn succession(draft: &mut Draft, at: Time) {
    let [candidate, first, second, removed, also, voter] = [(); 6].map(|()| draft.anyone());
    let death = if draft.random.below(2) == 0 { Death::Killed } else { Death::Vanished };
    draft.aimed(at, FaultTarget::Leader, InjectedFault::Die(death, 0));
    for other in [first, second] {
        let cut = draft.cut(LinkShape::Pair(other, LinkDirection::Both));
        let when = at + draft.random.up_to(TIMING.message);
        draft.put(when, candidate, cut);
        draft.end(at + TIMING.failure * 3);
    }
    let mut when = at + TIMING.failure * u32::from(death == Death::Vanished) + TIMING.message;
    for who in [removed, also] {
        when = when + draft.random.up_to(TIMING.failure / 2);
        draft.aimed(
            when,
            FaultTarget::Leader,
            InjectedFault::Remove { who: Some(who), force: false },
        );
    }
    when = when + draft.random.up_to(TIMING.message * 3);
    draft.put(when, voter, InjectedFault::Die(Death::Killed, 0));
    let back = when + draft.random.up_to(TIMING.message);
    draft.put(back, voter, InjectedFault::Start);
    let name = draft.name();
    let pauses = when + draft.random.up_to(TIMING.message * 3);
    draft.put(pauses, candidate, InjectedFault::Pause(name));
    let length = TIMING.stall() / 2 + draft.random.up_to(TIMING.stall() / 2);
    draft.end(pauses + length);
}

fn whom(draft: &mut Draft) -> FaultTarget {
    [FaultTarget::Leader, FaultTarget::Candidate, FaultTarget::Follower]
        [draft.random.below(3) as usize]
}

/// How long it lasts: most are over before anybody has noticed.
fn lasts(draft: &mut Draft) -> Duration {
    match draft.random.below(3) {
        0 => draft.random.up_to(TIMING.message),
        1 => draft.random.up_to(TIMING.stall()),
        _ => draft.random.up_to(TIMING.failure * 2),
    }
}
