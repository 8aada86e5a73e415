//! A member that comes and goes for ever: it restarts, is paused or is cut off, and is back soon. The others
//! must not lose their leader to it for long.

use std::time::Duration;

use super::super::faults::inflict;
use super::super::link_faults::Disturbance;
use super::super::node::Death;
use super::super::plan::{Fault, Shape, Way};
use super::super::settle::step;
use super::super::setup::TIMING;
use super::broken::{BrokenWorld, Doing};
use crate::core::random::Random;
use crate::core::types::Time;

/// Drawn from a sequence of its own, so that the other worlds stay as they are.
const UNSTEADY: u64 = 0x0075_6e73_7465_6164;

/// One world in so many.
const ONE_IN: u64 = 8;

/// The name of its pauses, which begin between two turns, and of its cuts.
const NAME: u32 = 1 << 21;

/// How it goes away, again and again.
#[derive(Clone, Copy, Debug)]
enum Away {
    Down(Death),
    StandsStill,
    CutOff(Way),
}

/// The member that comes and goes, and when it does so next.
#[derive(Debug)]
pub(super) struct Unsteady {
    pub node: usize,
    away: Away,
    is_away: bool,
    next: Time,
    /// How long it stays at most, and how long it is away: at least half of that.
    stays: Duration,
    is_gone: Duration,
    random: Random,
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
        4 => Away::CutOff(Way::Both),
        _ => Away::CutOff([Way::In, Way::Out][random.below(2) as usize]),
    };
    // From a crash half of `failure` after each start to one every some seconds.
    let stays = TIMING.failure * (1 << random.below(4));
    let is_gone = TIMING.message * (1 << random.below(7));
    Some(Unsteady { node, away, is_away: false, next: from, stays, is_gone, random })
}

impl BrokenWorld {
    /// Lets the time pass until then, in which the unsteady member comes and goes.
    pub(super) fn advance(&mut self, until: Time) -> Result<(), String> {
        while let Some(next) = self.unsteady.as_ref().map(|own| own.next).filter(|at| *at <= until)
        {
            while step(&mut self.world, next)? {}
            self.world.now = self.world.now.max(next);
            self.come_or_go();
        }
        while step(&mut self.world, until)? {}
        self.world.now = until;
        Ok(())
    }

    pub(super) fn is_unsteady(&self, node: usize) -> bool {
        self.unsteady.as_ref().is_some_and(|own| own.node == node)
    }

    fn come_or_go(&mut self) {
        let (now, nodes) = (self.world.now, self.world.nodes.len());
        let Some(own) = &mut self.unsteady else { return };
        own.is_away = !own.is_away;
        let most = if own.is_away { own.is_gone } else { own.stays };
        own.next = now + most / 2 + own.random.up_to(most / 2);
        let (node, away, goes) = (own.node, own.away, own.is_away);
        match away {
            Away::Down(death) if goes => inflict(&mut self.world, node, Fault::Die(death, 0)),
            Away::Down(_) => self.perform(Doing::Start(node)),
            Away::StandsStill if goes => self.world.pause(node, NAME),
            Away::StandsStill => self.world.resume(|pause| pause == NAME),
            Away::CutOff(way) if goes => {
                let shape = Shape::Own(way);
                let cut = Disturbance::Cuts(shape.kind());
                self.world.link_faults.begin(NAME, shape.links(nodes, node), cut, (true, false));
            }
            Away::CutOff(_) => self.world.link_faults.end(NAME),
        }
    }
}
