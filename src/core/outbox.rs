//! The outbox: what a peer is told as soon as the connection to it is up. A peer that gets no answer would
//! take this member for dead.

use std::collections::BTreeMap;

use super::message::Message;
use super::types::NodeId;

/// The last answer to each peer that cannot be told it yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Outbox(BTreeMap<NodeId, Vec<Message>>);

impl Outbox {
    /// Keeps an answer for this peer, and drops an earlier one.
    pub fn keep(&mut self, to: NodeId, answer: Vec<Message>) {
        self.0.insert(to, answer);
    }

    /// Takes what waits for this peer.
    pub fn take(&mut self, to: NodeId) -> Vec<Message> {
        self.0.remove(&to).unwrap_or_default()
    }
}
