//! A plan that is being drawn: what all that draw faults have in common.

use super::link_faults::Disturbance;
use super::plan::{FaultPlan, FaultTarget, InjectedFault, LinkShape};
use crate::core::random::Random;
use crate::core::types::Time;

/// A plan and what it is drawn from.
pub(super) struct Draft<'a> {
    pub random: &'a mut Random,
    pub nodes: usize,
    /// The members outside of the first list; none if no member comes or goes.
    pub newcomers: Option<&'a [usize]>,
    pub plan: &'a mut FaultPlan,
    /// The name that was given last: what begins ends by its name.
    pub last: u32,
}

impl Draft<'_> {
    pub fn anyone(&mut self) -> usize {
        self.random.below(self.nodes as u64) as usize
    }

    pub fn put(&mut self, at: Time, node: usize, fault: InjectedFault) {
        self.plan.push((at, node, fault));
    }

    /// Does it to a member of this kind, which is found when it happens.
    pub fn aimed(&mut self, at: Time, aim: FaultTarget, fault: InjectedFault) {
        let named = self.anyone();
        self.put(at, named, InjectedFault::Aimed(aim, Box::new(fault)));
    }

    /// A name for what begins next.
    pub fn name(&mut self) -> u32 {
        self.last += 1;
        self.last
    }

    /// Ends what was named last.
    pub fn end(&mut self, at: Time) {
        self.put(at, 0, InjectedFault::End(self.last));
    }

    /// A cut of this shape begins.
    pub fn cut(&mut self, shape: LinkShape) -> InjectedFault {
        InjectedFault::Begin(self.name(), Disturbance::Cuts(shape.kind()), shape, false)
    }

    /// The connections between a member and another break somehow.
    pub fn breaks(&mut self) -> InjectedFault {
        let other = self.anyone();
        let [dialer, at_once, accepter] = [(); 3].map(|()| self.random.below(2) == 0);
        InjectedFault::Break { other, dialer, at_once, accepter }
    }
}
