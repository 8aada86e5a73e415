//! The election algorithms, behind one trait: they nominate, the rest of the core decides
//! whether and how long the nominee leads.

mod bully;

use super::message::Message;
use super::phase::Reason;
use super::settings::AlgorithmKind;
use super::state::Context;
use super::timer::Timer;
use super::types::NodeId;

pub(super) use bully::Bully;

/// What the rest of the core asks of an election algorithm.
pub(super) trait Election {
    /// Calls a new election, dropping what is left of an older one.
    fn start(&mut self, cx: &mut Context, reason: Reason);

    /// Takes a message of the algorithm's own kinds.
    fn receive(&mut self, cx: &mut Context, from: NodeId, message: &Message);

    /// Takes the end of one of the algorithm's own timers.
    fn expire(&mut self, cx: &mut Context, timer: Timer);

    /// The epoch that this member's win waited for is durable.
    fn resume(&mut self, cx: &mut Context);

    /// The leader that handed over named this member: leads without asking those who would not
    /// take over anyway.
    fn succeed(&mut self, cx: &mut Context, reason: Reason);

    /// A member became suspected or dead while an election is under way.
    fn lost(&mut self, cx: &mut Context, peer: NodeId);

    /// A member said hello or welcome, or was heard again.
    fn joined(&mut self, cx: &mut Context, peer: NodeId);

    /// Awaits the COORDINATOR of a member that is about to lead.
    fn await_leader(&mut self, cx: &mut Context, leader: NodeId, reason: Reason);
}

/// The algorithm that the cluster agreed on, with its state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Algorithm {
    Bully(Bully),
}

impl Algorithm {
    pub fn new(kind: AlgorithmKind) -> Algorithm {
        match kind {
            AlgorithmKind::Bully => Algorithm::Bully(Bully::default()),
        }
    }

    pub fn get(&mut self) -> &mut dyn Election {
        match self {
            Algorithm::Bully(bully) => bully,
        }
    }
}
