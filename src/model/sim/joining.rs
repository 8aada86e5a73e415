//! Members that come and go while a cluster lives: who is outside of the first list, and which changes are asked for
//! and when; drawn from the seed.

use super::draft::Draft;
use super::plan::InjectedFault;
use super::setup::TIMING;
use crate::core::random::Random;
use crate::core::types::{Role, Time};

/// Draws who is outside of the first list, at most two: who is in it can lead without them.
pub(super) fn newcomers(random: &mut Random, roles: &[Role], nodes: usize) -> Vec<usize> {
    let mut outside = Vec::new();
    for _ in 0..random.below(3) {
        let at = random.below(nodes as u64) as usize;
        let leads = |at: &usize| roles.get(*at).copied().unwrap_or_default() == Role::Member;
        let stay = |other: &usize| *other != at && !outside.contains(other);
        if !outside.contains(&at) && (0..nodes).filter(stay).any(|other| leads(&other)) {
            outside.push(at);
        }
    }
    outside
}

/// Adds changes of the members to a plan.
pub(super) fn add(draft: &mut Draft) {
    let newcomers = draft.newcomers.unwrap_or_default();
    let period = TIMING.failure * (4 + draft.random.below(12) as u32);
    for newcomer in newcomers {
        // Some are started long after they were added, or long before.
        if draft.random.below(2) == 0 {
            let first = |(_, node, fault): &(Time, usize, InjectedFault)| {
                node == newcomer && *fault == InjectedFault::Start
            };
            draft.plan.iter().position(first).map(|at| draft.plan.remove(at));
            let at = Time(0) + draft.random.up_to(period);
            draft.put(at, *newcomer, InjectedFault::Start);
        }
    }
    for _ in 0..2 + draft.random.below(8) {
        let at = Time(0) + draft.random.up_to(period);
        let times = if draft.random.below(4) == 0 { 2 + draft.random.below(2) } else { 1 };
        for _ in 0..times {
            let change = draw(draft, newcomers);
            let asked = draft.anyone();
            draft.put(at, asked, change.clone());
            if let InjectedFault::Remove { who: Some(who), .. } = change
                && draft.random.below(2) == 0
            {
                let back = at + draft.random.up_to(TIMING.failure * 6);
                draft.put(back, who, InjectedFault::Start);
            }
        }
    }
}

fn draw(draft: &mut Draft, newcomers: &[usize]) -> InjectedFault {
    let anyone = draft.anyone();
    match draft.random.below(8) {
        0..4 if !newcomers.is_empty() => {
            InjectedFault::Add(newcomers[draft.random.below(newcomers.len() as u64) as usize])
        }
        0 => InjectedFault::Add(anyone),
        draw => {
            let who = (draw < 6).then_some(anyone);
            InjectedFault::Remove { who, force: draft.random.below(12) == 0 }
        }
    }
}
