//! Faults within the model: crashes, restarts, commands and attributes that change, drawn from the seed.

use super::draft::Draft;
use super::node::Death;
use super::plan::InjectedFault;
use super::setup::TIMING;
use crate::core::random::Random;
use crate::core::settings::RankKind;
use crate::core::types::Time;

/// Adds the first starts of all, and what befalls them later; their ranks change or not.
pub(super) fn add(draft: &mut Draft, changes: bool) {
    let spread = if draft.random.below(2) == 0 { TIMING.message } else { TIMING.failure * 3 };
    for node in 0..draft.nodes {
        let at = Time(0) + draft.random.up_to(spread);
        draft.put(at, node, InjectedFault::Start);
    }
    let period = TIMING.failure * (2 + draft.random.below(10) as u32);
    for _ in 0..draft.random.below(14) {
        let (at, node) = (Time(0) + draft.random.up_to(period), draft.anyone());
        match draft.random.below(16) {
            0 => draft.put(at, node, InjectedFault::Elect),
            1 => draft.put(at, node, InjectedFault::Resign(None)),
            2 => {
                let to = draft.anyone();
                draft.put(at, node, InjectedFault::Resign(Some(to)));
            }
            3 => draft.put(at, node, InjectedFault::Tick),
            death => die(draft, at, node, death),
        }
    }
    let samples = if changes { draft.random.below(12) } else { 0 };
    for _ in 0..samples {
        let (at, node) = (Time(0) + draft.random.up_to(period), draft.anyone());
        let value = sample(draft.random);
        draft.put(at, node, InjectedFault::Sample(value));
    }
}

/// A death, and most often a return.
fn die(draft: &mut Draft, at: Time, node: usize, draw: u64) {
    let outputs = if draft.random.below(2) == 0 { 0 } else { draft.random.below(12) };
    let fault = match draw {
        4 => InjectedFault::Stop,
        5..10 => InjectedFault::Die(Death::Vanished, outputs),
        _ => InjectedFault::Die(Death::Killed, outputs),
    };
    draft.put(at, node, fault);
    let soon = if draft.random.below(3) == 0 { TIMING.message } else { TIMING.failure * 4 };
    let back = at + draft.random.up_to(soon);
    match draft.random.below(8) {
        0 | 1 => {}
        2 => draft.put(back, node, InjectedFault::HostReturns),
        _ => draft.put(back, node, InjectedFault::Start),
    }
}

/// An attribute, from so few that some are equal.
fn attribute(random: &mut Random) -> i64 {
    random.below(6) as i64 - 2
}

/// The attribute kind by which this many members are ranked, and the value of each at its start.
pub(super) fn ranks(random: &mut Random, members: usize) -> (RankKind, Vec<Option<i64>>) {
    let rank = match random.below(8) {
        0 | 1 => RankKind::Priority,
        2 => RankKind::Disk,
        _ => RankKind::Id,
    };
    let mut value = || match rank {
        RankKind::Id => Some(0),
        RankKind::Disk => sample(random),
        _ => Some(attribute(random)),
    };
    let values = (0..members).map(|_| value()).collect();
    (rank, values)
}

/// An attribute that changes; now and then it cannot be had.
fn sample(random: &mut Random) -> Option<i64> {
    (random.below(8) > 0).then(|| attribute(random))
}
