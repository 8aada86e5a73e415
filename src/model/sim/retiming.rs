//! Operators that edit the timings of members and reload them while they run (`core/retiming.rs`).
//!
//! The files of members say different timings meanwhile, longer ones and shorter ones. Right after a
//! reload members die, are cut off and hang, since a promise of another length is on its way to the
//! disks then.

use super::draft::Draft;
use super::node::Death;
use super::plan::{FaultTarget, InjectedFault, LinkDirection, LinkShape};
use super::setup::TIMING;
use crate::core::random::Random;
use crate::core::settings::Timing;
use crate::core::types::Time;

/// One run in this many.
const ONE_IN: u64 = 4;

/// Adds reloads, and what comes right after them, to the plan of one run in four. Only storms have them: the seeds
/// that are recorded with the planted faults are those of other runs, which stay as they are.
pub(super) fn add(draft: &mut Draft) {
    if draft.random.below(ONE_IN) > 0 {
        return;
    }
    let period = TIMING.failure * (6 + draft.random.below(10) as u32);
    for _ in 0..1 + draft.random.below(4) {
        let at = Time(0) + TIMING.failure + draft.random.up_to(period);
        let timing = timing(draft.random);
        match draft.random.below(4) {
            0 => all(draft, at, timing),
            1 => succession(draft, at, timing),
            _ => one(draft, at, timing),
        }
    }
}

/// Timings that a file may say. `message` is never shorter than what the network takes.
fn timing(random: &mut Random) -> Timing {
    let Timing { heartbeat, failure, message, lease } = TIMING;
    match random.below(8) {
        0 => Timing { lease: failure / 2, ..TIMING },
        1 => Timing { lease: failure, ..TIMING },
        2 => Timing { heartbeat: heartbeat / 2, failure: failure / 2, lease: failure / 2, message },
        3 => Timing { heartbeat: heartbeat * 2, ..TIMING },
        4 => Timing { failure: failure * 16, lease: lease * 12, ..TIMING },
        _ => {
            let times = 2 + random.below(7) as u32;
            Timing {
                heartbeat: heartbeat * times,
                failure: failure * times,
                message: message * (1 + random.below(2) as u32 * (times - 1)),
                lease: lease * times,
            }
        }
    }
}

/// All members one after the other, as an operator reloads them; now and then one is forgotten.
fn all(draft: &mut Draft, mut at: Time, timing: Timing) {
    let slow = draft.random.below(2) == 0;
    let first = draft.anyone();
    for place in 0..draft.nodes {
        let node = (first + place) % draft.nodes;
        if draft.random.below(8) > 0 {
            draft.put(at, node, InjectedFault::Retime(timing));
        }
        at = at + draft.random.up_to(if slow { TIMING.failure } else { TIMING.message });
    }
    aftermath(draft, at);
}

/// One member, and perhaps once more within a heartbeat.
fn one(draft: &mut Draft, at: Time, timing: Timing) {
    let aim = whom(draft);
    draft.aimed(at, aim, InjectedFault::Retime(timing));
    if draft.random.below(3) == 0 {
        let (again, aim) = (self::timing(draft.random), whom(draft));
        let soon = at + draft.random.up_to(TIMING.heartbeat);
        draft.aimed(soon, aim, InjectedFault::Retime(again));
    }
    aftermath(draft, at);
}

/// The leader promises itself and asks for more while some disks hang. Some members that answered
/// restart immediately, and the leader is cut off: the restarted members may elect another with
/// those that did not answer.
fn succession(draft: &mut Draft, at: Time, timing: Timing) {
    for node in 0..draft.nodes {
        if draft.random.below(2) == 0 {
            let length = draft.random.up_to(TIMING.failure);
            draft.put(at, node, InjectedFault::StallDisk(length));
        }
    }
    draft.aimed(at, FaultTarget::Leader, InjectedFault::Retime(timing));
    let mut dies = at + draft.random.up_to(TIMING.message * 4);
    cut_off(draft, dies);
    for _ in 0..1 + draft.random.below(3) {
        restart(draft, dies, FaultTarget::Follower);
        dies = dies + draft.random.up_to(TIMING.message);
    }
    if draft.random.below(2) == 0 {
        restart(draft, dies, FaultTarget::Leader);
    }
}

/// Some leaders, candidates or voters restart, hang or are cut off.
fn aftermath(draft: &mut Draft, at: Time) {
    for _ in 0..draft.random.below(4) {
        let (when, aim) = (at + draft.random.up_to(TIMING.message * 3), whom(draft));
        match draft.random.below(4) {
            0 | 1 => restart(draft, when, aim),
            2 => {
                let name = draft.name();
                let length = draft.random.up_to(TIMING.failure * 2);
                draft.aimed(when, aim, InjectedFault::Pause(name));
                draft.end(when + length);
            }
            _ => cut_off(draft, when),
        }
    }
}

/// A leader is cut off for a while. In one direction others may hear it, or it them.
fn cut_off(draft: &mut Draft, at: Time) {
    let way = [LinkDirection::Both, LinkDirection::Out, LinkDirection::In]
        [draft.random.below(3) as usize];
    let shape = LinkShape::Own(way);
    let cut = draft.cut(shape);
    let length = TIMING.failure + draft.random.up_to(TIMING.failure * 4);
    draft.aimed(at, FaultTarget::Leader, cut);
    draft.end(at + length);
}

/// A process dies and restarts immediately.
fn restart(draft: &mut Draft, at: Time, aim: FaultTarget) {
    draft.aimed(at, aim, InjectedFault::Die(Death::Killed, 0));
    let back = at + draft.random.up_to(TIMING.message);
    draft.aimed(back, FaultTarget::Dead, InjectedFault::Start);
}

fn whom(draft: &mut Draft) -> FaultTarget {
    [FaultTarget::Leader, FaultTarget::Leader, FaultTarget::Candidate, FaultTarget::Follower]
        [draft.random.below(4) as usize]
}
