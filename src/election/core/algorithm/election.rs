//! The steps that the rest of the core asks of an election algorithm.

use crate::core::context::Context;
use crate::core::leadership::candidacy::NominationAim;
use crate::core::message::{Message, View};
use crate::core::phase::Reason;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId};

/// An election algorithm, with its state.
pub(in crate::core) trait ElectionAlgorithm {
    /// Calls a new election, and drops the rest of an older one.
    fn start(&mut self, cx: &mut Context, reason: Reason);

    /// Takes a message of the algorithm's own kinds. Returns the leader that it announces, for the core to judge.
    fn receive(&mut self, cx: &mut Context, from: NodeId, message: &Message) -> Option<View>;

    /// Handles one of the algorithm's own timers.
    fn expire(&mut self, cx: &mut Context, timer: Timer);

    /// Continues the parked nomination of this member: its round is durable and, with a majority, enough voters
    /// agreed.
    fn go_on(&mut self, cx: &mut Context, aim: NominationAim, round: Epoch);

    /// A member became suspected or dead that is not a leader whose loss calls an election.
    fn lost(&mut self, cx: &mut Context, peer: NodeId);

    /// A member said hello or welcome, or was heard again.
    fn joined(&mut self, cx: &mut Context, peer: NodeId);

    /// A peer replied to an older message with its view.
    fn answered(&mut self, _cx: &mut Context, _from: NodeId, _view: View) {}

    /// Whether this member may follow a leader that announced itself and need not hand over to it. Otherwise the
    /// algorithm does what is needed instead.
    fn try_follow(&mut self, _cx: &mut Context, _view: View, _leader: NodeId) -> bool {
        true
    }

    /// The coordinator that this member has accepted before it has its task and names it as its leader.
    fn accepted(&self, _state: &State) -> Option<View> {
        None
    }

    /// Whether this member found no eligible member: it waits until there is one.
    fn finds_nobody(&self, state: &State) -> bool;

    /// Awaits the COORDINATOR of a member that is about to lead.
    fn await_leader(&mut self, cx: &mut Context, leader: NodeId, reason: Reason);

    /// With a majority: this leader continues in a greater epoch.
    fn reclaimed(&mut self, _cx: &mut Context) {}

    /// The coordinator has a new task to hand out, which is in the state.
    fn hand_out(&mut self, _cx: &mut Context) {}
}
