//! The members of a world that stays broken: their number, roles, timings and ranks.

use std::time::Duration;

use super::super::joining::newcomers;
use super::super::model::ranks;
use super::super::schedule::Schedule;
use super::super::setup::{Delays, Setup, TIMING};
use super::super::trouble;
use crate::core::random::Random;
use crate::core::settings::{PowerOn, Preempt, Quorum, Timing};
use crate::trace::Detail;

/// The most members.
const MOST: u64 = 25;

/// Draws a world, and the timings of each of its members.
pub(super) fn setup(schedule: Schedule, random: &mut Random) -> (Setup, Vec<Timing>) {
    let members = match random.below(24) {
        0 => 9 + random.below(MOST - 8),
        1..4 => 6 + random.below(3),
        4 => 2,
        _ => 3 + random.below(3),
    } as usize;
    let majority = schedule.quorum == Quorum::Majority;
    let roles = trouble::roles(random, members);
    let newcomers = match random.below(4) {
        0 => newcomers(random, &roles, members),
        _ => Vec::new(),
    };
    let (rank, values) = ranks(random, members);
    let true_clocks = random.below(2) == 0;
    let clocks = if true_clocks { Vec::new() } else { trouble::clocks(random, members) };
    let timings = timings(random, members);
    let setup = Setup {
        quorum: schedule.quorum,
        roles,
        newcomers,
        bootstrap: majority && random.below(3) > 0,
        trust_refused: !majority,
        faults: schedule.faults,
        clocks,
        rank,
        preempt: match random.below(6) {
            0 => Preempt::Never,
            1 => Preempt::After(TIMING.failure + random.up_to(TIMING.failure)),
            _ => Preempt::Always,
        },
        power_on: PowerOn::Elect,
        timing: TIMING,
        delays: Delays::Random,
        disk: TIMING.message / 4,
        seed: random.draw(),
        detail: schedule.trace.then_some(Detail::All),
        ..Setup::plain(schedule.algorithm, values)
    };
    (setup, timings)
}

/// The timings of each member. If they differ, the longest heartbeat is still well below the shortest
/// `failure`, and no member expects messages to be faster than they are.
fn timings(random: &mut Random, members: usize) -> Vec<Timing> {
    let unequal = random.below(4) == 0;
    let lease = if random.below(2) == 0 { TIMING.failure } else { TIMING.lease };
    let mut timing = |_| {
        let per_mille = if unequal { 1000 + random.below(1001) as u32 } else { 1000 };
        let scale = |time: Duration| time * per_mille / 1000;
        Timing {
            heartbeat: scale(TIMING.heartbeat),
            failure: scale(TIMING.failure),
            message: scale(TIMING.message),
            lease: scale(lease),
        }
    };
    (0..members).map(&mut timing).collect()
}
