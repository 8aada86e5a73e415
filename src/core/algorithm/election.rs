//! What the rest of the core asks of an election algorithm.

use crate::core::context::Context;
use crate::core::leadership::candidacy::Aim;
use crate::core::message::{Message, View};
use crate::core::phase::Reason;
use crate::core::state::State;
use crate::core::timer::Timer;
use crate::core::types::{Epoch, NodeId};

/// An election algorithm, with its state.
pub(in crate::core) trait Election {
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

    /// Whether nobody is eligible as far as this member found: it waits until somebody is.
    fn finds_nobody(&self, state: &State) -> bool;

    /// Awaits the COORDINATOR of a member that is about to lead.
    fn await_leader(&mut self, cx: &mut Context, leader: NodeId, reason: Reason);

    /// With a majority: this leader goes on in a greater epoch.
    fn reclaimed(&mut self, _cx: &mut Context) {}

    /// The coordinator has a new task to hand out, which the state holds.
    fn hand_out(&mut self, _cx: &mut Context) {}
}
