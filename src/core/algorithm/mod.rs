//! The election algorithms, behind one trait: they nominate this member, and the rest of the core decides
//! whether and for how long it leads.

mod bully;
mod halting;
mod ring;

use super::context::Context;
use super::leadership::Aim;
use super::message::{Message, View};
use super::phase::Reason;
use super::settings::AlgorithmKind;
use super::state::State;
use super::timer::Timer;
use super::types::{Epoch, NodeId};

pub(super) use bully::Bully;
pub(super) use halting::Halting;
pub(super) use ring::Ring;

/// What the rest of the core asks of an election algorithm.
pub(super) trait Election {
    /// Calls a new election, dropping what is left of an older one.
    fn start(&mut self, cx: &mut Context, reason: Reason);

    /// Takes a message of the algorithm's own kinds. Tells of a leader that it announces, to be
    /// followed if nothing speaks against it.
    fn receive(&mut self, cx: &mut Context, from: NodeId, message: &Message) -> Option<View>;

    /// Takes the end of one of the algorithm's own timers.
    fn expire(&mut self, cx: &mut Context, timer: Timer);

    /// Goes on with the nomination of this member that waited: its round is durable and, with a majority,
    /// enough voters agreed.
    fn go_on(&mut self, cx: &mut Context, aim: Aim, round: Epoch);

    /// A member became suspected or dead, and it was not a leader whose loss calls an election.
    fn lost(&mut self, cx: &mut Context, peer: NodeId);

    /// A member said hello or welcome, or was heard again.
    fn joined(&mut self, cx: &mut Context, peer: NodeId);

    /// Another member answered something older with whom it follows, or that nobody leads.
    fn answered(&mut self, _cx: &mut Context, _from: NodeId, _view: View) {}

    /// Whether this member may follow a leader that announced itself, for which it need not hand
    /// over. Otherwise the algorithm does what is to be done instead.
    fn may_follow(&mut self, _cx: &mut Context, _view: View, _leader: NodeId) -> bool {
        true
    }

    /// Awaits the COORDINATOR of a member that is about to lead.
    fn await_leader(&mut self, cx: &mut Context, leader: NodeId, reason: Reason);

    /// With a majority: this leader goes on in a greater epoch.
    fn reclaimed(&mut self, _cx: &mut Context) {}

    /// The coordinator has a new task to hand out, which [`State`] holds.
    fn hand_out(&mut self, _cx: &mut Context) {}
}

/// The algorithm that the cluster agreed on, with its state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Algorithm {
    Bully(Bully),
    Halting(Halting),
    Ring(Ring),
}

impl Algorithm {
    pub fn new(kind: AlgorithmKind) -> Algorithm {
        match kind {
            AlgorithmKind::Bully => Algorithm::Bully(Bully::default()),
            AlgorithmKind::Halting => Algorithm::Halting(Halting::default()),
            AlgorithmKind::Ring => Algorithm::Ring(Ring::default()),
        }
    }

    /// The coordinator that a member of the halting algorithm has accepted, before it has its task
    /// and names it as its leader.
    pub fn accepted(&self, state: &State) -> Option<View> {
        match self {
            Algorithm::Halting(halting) => halting.accepted(state),
            _ => None,
        }
    }

    pub fn get(&mut self) -> &mut dyn Election {
        match self {
            Algorithm::Bully(bully) => bully,
            Algorithm::Halting(halting) => halting,
            Algorithm::Ring(ring) => ring,
        }
    }
}
