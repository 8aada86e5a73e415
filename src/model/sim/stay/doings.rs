//! The events of a chapter of a run, on top of the lasting faults: restarts with and without
//! maintenance, permanent deaths, pauses, commands, and more of these right after a command.

use std::time::Duration;

use super::super::counters::Counter;
use super::super::faults::{find, inflict};
use super::super::node::Death;
use super::super::plan::{FaultTarget, InjectedFault};
use super::super::setup::TIMING;
use super::super::world::World;
use super::broken::{BrokenWorld, DOINGS, Doing, StayPlan, Upkeep};
use crate::core::random::Random;
use crate::core::types::Time;

/// The first starts of all.
pub(super) fn starts(broken: &mut BrokenWorld, spread: Duration) -> StayPlan {
    let BrokenWorld { world, random, .. } = broken;
    let nodes = 0..world.nodes.len();
    nodes.map(|node| (world.now + random.up_to(spread), Doing::Start(node))).collect()
}

/// Adds what happens in a chapter that begins now.
pub(super) fn add(broken: &mut BrokenWorld, plan: &mut StayPlan) {
    let BrokenWorld { world, random, .. } = broken;
    let mut draw = Draw { random, world, plan, pauses: 0 };
    for _ in 0..draw.random.below(4) {
        let at = draw.world.now + draw.random.up_to(TIMING.failure * DOINGS);
        draw.doing(at);
    }
}

struct Draw<'a> {
    random: &'a mut Random,
    world: &'a World,
    plan: &'a mut StayPlan,
    pauses: u32,
}

impl Draw<'_> {
    fn anyone(&mut self) -> usize {
        self.random.below(self.world.nodes.len() as u64) as usize
    }

    fn doing(&mut self, at: Time) {
        let node = self.anyone();
        match self.random.below(8) {
            0..4 => self.restart(at, node),
            4 => {
                let aim =
                    [FaultTarget::Leader, FaultTarget::Follower][self.random.below(2) as usize];
                let death = [Death::Killed, Death::Vanished][self.random.below(2) as usize];
                self.aimed(at, aim, InjectedFault::Die(death, 0), false);
            }
            5 => self.pause(at, FaultTarget::Leader, false),
            _ => {
                let command = self.command();
                self.aimed(at, FaultTarget::Leader, command, false);
                for _ in 0..self.random.below(3) {
                    let soon = at + self.random.up_to(TIMING.message * 2);
                    self.adversity(soon);
                }
            }
        }
    }

    /// A command that changes who leads, or who is a member.
    fn command(&mut self) -> InjectedFault {
        let someone = self.anyone();
        match self.random.below(if self.world.changes { 6 } else { 3 }) {
            0 => InjectedFault::Resign(None),
            1 => InjectedFault::Resign(Some(someone)),
            2 => InjectedFault::Elect,
            3 | 4 => InjectedFault::Remove { who: Some(someone), force: false },
            _ => {
                let newcomers = &self.world.setup.newcomers;
                let newcomer = self.random.below(newcomers.len() as u64) as usize;
                InjectedFault::Add(newcomers.get(newcomer).copied().unwrap_or(someone))
            }
        }
    }

    /// Something at the worst moment: while what a command asked for is under way.
    fn adversity(&mut self, at: Time) {
        let aim = [FaultTarget::Leader, FaultTarget::Candidate, FaultTarget::Follower]
            [self.random.below(3) as usize];
        match self.random.below(4) {
            0 => {
                self.aimed(at, aim, InjectedFault::Die(Death::Killed, 0), true);
                let back = at + self.random.up_to(TIMING.failure);
                self.aimed(back, FaultTarget::Dead, InjectedFault::Start, true);
            }
            1 => self.pause(at, aim, true),
            _ => {
                let command = self.command();
                self.aimed(at, aim, command, true);
            }
        }
    }

    fn restart(&mut self, at: Time, node: usize) {
        let death = if self.random.below(3) == 0 { Death::Vanished } else { Death::Killed };
        let upkeep = Upkeep::draw(self.random, self.world.nodes.len());
        self.plan.push((at, Doing::Stop(node, death, upkeep)));
        let back = at + self.random.up_to(TIMING.failure * 2);
        self.plan.push((back, Doing::Start(node)));
        if upkeep == Upkeep::RollBack {
            // It needs an older record than what the last start found.
            let again = back + TIMING.failure * 4;
            self.plan.push((again, Doing::Stop(node, death, upkeep)));
            self.plan.push((again + self.random.up_to(TIMING.failure), Doing::Start(node)));
        }
    }

    fn pause(&mut self, at: Time, aim: FaultTarget, adverse: bool) {
        self.pauses += 1;
        self.aimed(at, aim, InjectedFault::Pause(self.pauses), adverse);
        let end = InjectedFault::End(self.pauses);
        let length = self.random.up_to(TIMING.failure * 3 / 2);
        self.plan.push((at + length, Doing::Fault(0, end, false)));
    }

    fn aimed(&mut self, at: Time, aim: FaultTarget, fault: InjectedFault, adverse: bool) {
        let named = self.anyone();
        let fault = InjectedFault::Aimed(aim, Box::new(fault));
        self.plan.push((at, Doing::Fault(named, fault, adverse)));
    }
}

impl BrokenWorld {
    pub(super) fn perform(&mut self, doing: Doing) {
        match doing {
            Doing::Ill(ill) => self.ail(ill),
            Doing::Start(node) if self.gone[node] => {}
            Doing::Start(node) if self.foreign[node] => self.world.faults.count(Counter::Foreign),
            Doing::Start(node) => inflict(&mut self.world, node, InjectedFault::Start),
            Doing::Stop(node, death, upkeep) => {
                inflict(&mut self.world, node, InjectedFault::Die(death, 0));
                self.upkeep(node, upkeep);
            }
            Doing::Fault(node, fault, adverse) => {
                self.world.faults.add(Counter::Adverse, u64::from(adverse));
                match fault {
                    InjectedFault::Aimed(FaultTarget::Dead, _) => {
                        if let Some(dead) = find(FaultTarget::Dead, &mut self.world) {
                            self.perform(Doing::Start(dead));
                        }
                    }
                    fault => inflict(&mut self.world, node, fault),
                }
            }
        }
    }
}
