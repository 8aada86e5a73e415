//! Clusters that are upgraded member by member: some processes speak an earlier version of the protocol until they
//! are restarted.
//!
//! A process of an earlier version closes the connection on which it hears what it does not know, and a leader that
//! does so is lost. So nobody may say such a thing: [`World::hears_unknown`] is a breach.

use super::counters::Counter;
use super::plan::{Fault, Plan};
use super::world::World;
use crate::core::message::Message;
use crate::core::protocol::Protocols;
use crate::core::random::Random;

/// One run in so many.
const ONE_IN: u64 = 4;

/// Says of each node of one run in four from which of its processes on it is upgraded. Not where members are
/// reloaded with other timings: who knows no TIMING has to be upgraded first.
pub(super) fn add(random: &mut Random, world: &mut World, plan: &Plan) {
    let retimed = plan.iter().any(|(_, _, fault)| matches!(fault, Fault::Retime(_)));
    if random.below(ONE_IN) > 0 || retimed {
        return;
    }
    for node in &mut world.nodes {
        node.upgraded = random.below(4);
    }
}

impl World {
    /// A process is told this.
    pub(super) fn hears_unknown(&mut self, node: usize, message: &Message) {
        let spoken = self.nodes[node].settings.protocols.highest;
        if message.since() > spoken {
            let (name, kind) = (format!("node-{}", node + 1), message.kind().title());
            let what = format!("{name} is told {kind}, which protocol {spoken} does not know");
            self.checker.fail(self.now, what);
        } else if spoken < Protocols::OURS.highest {
            self.faults.count(Counter::OldTold);
        }
    }
}
