//! A member that comes and goes for ever: it restarts, is paused or is cut off, and is back soon. The others
//! must not lose their leader to it for long.

use std::time::Duration;

use super::super::node::Death;
use super::super::plan::LinkDirection;
use super::super::setup::TIMING;
use crate::core::random::Random;
use crate::core::types::Time;

/// Drawn from a sequence of its own, so that the other worlds stay as they are.
const UNSTEADY: u64 = 0x0075_6e73_7465_6164;

/// One world in so many.
const ONE_IN: u64 = 8;

/// How it goes away, again and again.
#[derive(Clone, Copy, Debug)]
pub(super) enum Away {
    Down(Death),
    StandsStill,
    CutOff(LinkDirection),
}

/// The member that comes and goes, and when it does so next.
#[derive(Debug)]
pub(super) struct Unsteady {
    pub node: usize,
    pub away: Away,
    pub is_away: bool,
    pub next: Time,
    /// How long it stays at most, and how long it is away: at least half of that.
    pub stays: Duration,
    pub is_gone: Duration,
    pub random: Random,
}

/// The member that comes and goes in the world of this seed from then on, if one does.
pub(super) fn draw(seed: u64, nodes: usize, from: Time) -> Option<Unsteady> {
    let mut random = Random::new(seed ^ UNSTEADY);
    if random.below(ONE_IN) > 0 {
        return None;
    }
    let node = random.below(nodes as u64) as usize;
    let away = match random.below(6) {
        0 | 1 => Away::Down(Death::Killed),
        2 => Away::Down(Death::Vanished),
        3 => Away::StandsStill,
        4 => Away::CutOff(LinkDirection::Both),
        _ => Away::CutOff([LinkDirection::In, LinkDirection::Out][random.below(2) as usize]),
    };
    // From a crash soon after each start to one every some seconds.
    let stays = TIMING.failure / 8 * (1 << random.below(7));
    let mut is_gone = TIMING.message * (1 << random.below(7));
    if matches!(away, Away::StandsStill) && random.below(2) == 0 {
        is_gone = TIMING.failure; // it notices its own stall, and the others notice nothing
    }
    Some(Unsteady { node, away, is_away: false, next: from, stays, is_gone, random })
}
