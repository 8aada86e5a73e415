//! How the time passes in a broken world: a member that is unsteady comes and goes meanwhile.

use std::time::Duration;

use super::super::faults::inflict;
use super::super::link_faults::Disturbance;
use super::super::pause;
use super::super::plan::{InjectedFault, LinkShape};
use super::super::settle::step;
use super::broken::{BrokenWorld, Doing};
use super::unsteady::Away;
use crate::core::types::Time;

/// The name of its pauses, which begin between two turns, and of its cuts.
const NAME: u32 = 1 << 21;

impl BrokenWorld {
    /// Lets this time pass.
    pub(super) fn pass(&mut self, time: Duration) -> Result<(), String> {
        self.advance(self.world.now + time)
    }

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

    fn come_or_go(&mut self) {
        let (now, nodes) = (self.world.now, self.world.nodes.len());
        let Some(own) = &mut self.unsteady else { return };
        own.is_away = !own.is_away;
        let most = if own.is_away { own.is_gone } else { own.stays };
        own.next = now + most / 2 + own.random.up_to(most / 2);
        let (node, away, goes) = (own.node, own.away, own.is_away);
        match away {
            Away::Down(death) if goes => {
                inflict(&mut self.world, node, InjectedFault::Die(death, 0))
            }
            Away::Down(_) => self.perform(Doing::Start(node)),
            Away::StandsStill if goes => pause::pause(&mut self.world, node, NAME),
            Away::StandsStill => pause::resume(&mut self.world, |pause| pause == NAME),
            Away::CutOff(way) if goes => {
                let shape = LinkShape::Own(way);
                let cut = Disturbance::Cuts(shape.kind());
                self.world.link_faults.begin(NAME, shape.links(nodes, node), cut, (true, false));
            }
            Away::CutOff(_) => self.world.link_faults.end(NAME),
        }
    }
}
