//! The outbox: what a peer is told as soon as the connection to it is up. A peer that gets no answer would
//! take this member for dead.

use std::collections::BTreeMap;

use super::context::Context;
use super::message::Message;
use super::planted::Fault;
use super::turn::Turn;
use super::types::NodeId;

/// The last answer to each peer that cannot be told it yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Outbox(BTreeMap<NodeId, Vec<Message>>);

impl Outbox {
    /// Drops what waits for this peer: it was meant for an earlier run of it.
    pub fn forget(&mut self, peer: NodeId) {
        self.0.remove(&peer);
    }
}

impl Context<'_> {
    /// Answers a peer, at once or as soon as the connection to it is up: then with the last answer alone.
    pub fn answer_when_connected(&mut self, to: NodeId, messages: Vec<Message>) {
        if self.state.detector.is_within_reach(to) || Fault::ReplyLost.is_planted() {
            messages.into_iter().for_each(|message| self.send(to, message));
        } else {
            self.state.outbox.0.insert(to, messages);
        }
    }
}

impl Turn<'_> {
    /// A peer said hello or welcome, or is heard again.
    pub fn joined(&mut self, peer: NodeId) {
        if self.cx.state.detector.is_within_reach(peer) {
            let messages = self.cx.state.outbox.0.remove(&peer).unwrap_or_default();
            messages.into_iter().for_each(|message| self.cx.send(peer, message));
        }
        self.algorithm.get().joined(&mut self.cx, peer);
    }
}
