//! What operators do in a run, and what comes with their hosts: tasks, drains, pauses of the cluster, switchovers, upgrades,
//! death certificates and the failure of all power; drawn from the seed.

use std::time::Duration;

use super::draft::Draft;
use super::node::Death;
use super::plan::{FaultTarget, InjectedFault};
use super::setup::TIMING;
use super::world::World;
use crate::core::settings::Alone;
use crate::core::types::Time;

/// One run in this many is upgraded.
const UPGRADED_ONE_IN: u64 = 4;

/// Adds tasks, no two of them alike.
pub(super) fn add_tasks(draft: &mut Draft) {
    let period = TIMING.failure * (4 + draft.random.below(12) as u32);
    for _ in 0..draft.random.below(6) {
        let at = Time(0) + draft.random.up_to(period);
        let content = draft.random.draw();
        draft.put(at, 0, InjectedFault::HandOut(content));
    }
}

/// Now and then all processes die at one moment and restart immediately: the voters that promised a
/// leader something, and that leader, elect again while these promises run.
pub(super) fn add_outage(draft: &mut Draft) {
    if draft.random.below(16) > 0 {
        return;
    }
    let at = Time(0) + draft.random.up_to(TIMING.failure * 10);
    for node in 0..draft.nodes {
        draft.put(at, node, InjectedFault::Die(Death::Killed, 0));
        let back = at + draft.random.up_to(TIMING.message);
        draft.put(back, node, InjectedFault::Start);
    }
}

/// In every other run: the longest time within which orders come.
fn period(draft: &mut Draft) -> Option<Duration> {
    let quiet = draft.random.below(2) == 0;
    (!quiet).then(|| TIMING.failure * (4 + draft.random.below(8) as u32))
}

/// Draws which members have a health check, and adds checks that change and drains.
pub(super) fn add_drains(draft: &mut Draft, world: &mut World) {
    if draft.random.below(2) == 0 {
        return;
    }
    for node in &mut world.nodes {
        node.settings.health = match draft.random.below(4) {
            0 => Some(Alone::Lead),
            1 => Some(Alone::StepDown),
            _ => None,
        };
    }
    let period = TIMING.failure * (4 + draft.random.below(8) as u32);
    for _ in 0..draft.random.below(12) {
        let (at, node) = (Time(0) + draft.random.up_to(period), draft.anyone());
        let fault = match draft.random.below(8) {
            0..3 => InjectedFault::Drain(true),
            3 | 4 => InjectedFault::Drain(false),
            draw => InjectedFault::Check(draw == 5),
        };
        draft.put(at, node, fault);
    }
}

/// Adds drains that the leader judges, one by one and of all at once, other addresses, and the ends of coroners.
pub(super) fn add_orders(draft: &mut Draft) {
    let period = TIMING.failure * (4 + draft.random.below(12) as u32);
    for _ in 0..2 + draft.random.below(12) {
        let (at, node) = (Time(0) + draft.random.up_to(period), draft.anyone());
        match draft.random.below(8) {
            0 => {
                for node in 0..draft.nodes {
                    let at = at + draft.random.up_to(TIMING.message * 2);
                    draft.put(at, node, InjectedFault::AskDrain);
                }
            }
            1 | 2 => draft.put(at, node, InjectedFault::AskDrain),
            3 => draft.aimed(at, FaultTarget::Leader, InjectedFault::AskDrain),
            4 if draft.random.below(2) == 0 => draft.put(at, node, InjectedFault::Drain(false)),
            4 => add_lost_undrain(draft, at, node),
            5 => {
                let (who, number) = (draft.anyone(), draft.random.draw());
                draft.put(at, node, InjectedFault::Move(who, number));
            }
            // Often the process follows it: whoever cleans a host up may end both.
            _ => {
                draft.aimed(at, FaultTarget::Leader, InjectedFault::CoronerEnds);
                let later = at + draft.random.up_to(TIMING.failure);
                if draft.random.below(2) == 0 {
                    draft.aimed(later, FaultTarget::Leader, InjectedFault::Die(Death::Killed, 0));
                }
            }
        }
    }
}

/// A host after the other is to be served: this one is undrained on a disk that hangs, the others are to be drained, and its
/// process crashes.
fn add_lost_undrain(draft: &mut Draft, at: Time, node: usize) {
    draft.put(at, node, InjectedFault::StallDisk(TIMING.failure));
    draft.put(at, node, InjectedFault::Drain(false));
    for other in (0..draft.nodes).filter(|other| *other != node) {
        let asked = at + draft.random.up_to(TIMING.failure / 2);
        draft.put(asked, other, InjectedFault::AskDrain);
    }
    let dies = at + TIMING.failure / 2 + draft.random.up_to(TIMING.message);
    let starts = dies + draft.random.up_to(TIMING.failure);
    draft.put(dies, node, InjectedFault::Die(Death::Killed, 0));
    draft.put(starts, node, InjectedFault::Start);
}

/// Adds pauses of the cluster and their ends, each asked of any member.
pub(super) fn add_pauses(draft: &mut Draft) {
    let Some(period) = period(draft) else { return };
    for _ in 0..draft.random.below(6) {
        let (at, node) = (Time(0) + draft.random.up_to(period), draft.anyone());
        let paused = draft.random.below(3) > 0;
        draft.put(at, node, InjectedFault::PauseCluster(paused));
    }
}

/// Adds switchovers and their ends, each asked of any member.
pub(super) fn add_switchovers(draft: &mut Draft) {
    let Some(period) = period(draft) else { return };
    for _ in 0..1 + draft.random.below(6) {
        let (at, node) = (Time(0) + draft.random.up_to(period), draft.anyone());
        let chosen = draft.random.below(4) > 0;
        let to = chosen.then(|| draft.anyone());
        draft.put(at, node, InjectedFault::SwitchOver(to));
    }
}

/// Adds certificates of earlier deaths that come at any time, and forged ones.
pub(super) fn add_certificates(draft: &mut Draft) {
    let period = TIMING.failure * (4 + draft.random.below(8) as u32);
    for _ in 0..draft.random.below(16) {
        let (at, node) = (Time(0) + draft.random.up_to(period), draft.anyone());
        let forged = draft.random.below(4) == 0;
        draft.put(at, node, if forged { InjectedFault::Forge } else { InjectedFault::Replay });
    }
}

/// Draws for each node, in one run in four, from which of its processes on it is upgraded: those before speak an
/// earlier version of the protocol. This excludes runs that reload members with other timings: a member that does not
/// know TIMING has to be upgraded first.
pub(super) fn add_upgrades(draft: &mut Draft, world: &mut World) {
    let retimed = draft.plan.iter().any(|(_, _, fault)| matches!(fault, InjectedFault::Retime(_)));
    if draft.random.below(UPGRADED_ONE_IN) > 0 || retimed {
        return;
    }
    for node in &mut world.nodes {
        node.upgraded = draft.random.below(4);
    }
}
