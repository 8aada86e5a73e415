//! Clusters that are upgraded member by member: some processes speak an earlier version of the protocol until they
//! are restarted.
//!
//! A process of an earlier version closes a connection on which it hears an unknown message, and the
//! cluster may lose its leader. So no process may send such a message: [`World::hears_unknown`] is a
//! breach.

use super::counters::Counter;
use super::plan::{Fault, Plan};
use super::world::World;
use crate::core::message::Message;
use crate::core::protocol::Protocols;
use crate::core::random::Random;

/// One run in this many.
const ONE_IN: u64 = 4;

/// Draws for each node, in one run in four, from which of its processes on it is upgraded. This
/// excludes runs that reload members with other timings: a member that does not know TIMING has to be
/// upgraded first.
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
    /// Fails if the process's version does not know this message; counts it if the version is an old
    /// one.
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
