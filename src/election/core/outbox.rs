//! The outbox. An answer waits until the connection to the peer is up: a peer that gets no answer would take this
//! member for dead. A command waits until the leader has carried it out.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::message::Message;
use super::types::{Incarnation, NodeId};
use super::waiting::Commands;

/// The answers and commands that wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Outbox {
    /// The last answer of each kind to each peer to which the connection is not up.
    answers: BTreeMap<NodeId, Vec<Message>>,
    /// The commands that wait for the leader.
    pub(super) commands: Commands,
}

impl Outbox {
    /// Nothing waits in this incarnation of a member yet.
    pub fn new(run: Incarnation) -> Outbox {
        Outbox { answers: BTreeMap::new(), commands: Commands::new(run) }
    }

    /// Keeps an answer for this peer, and drops an earlier one of the same kind.
    pub fn keep(&mut self, to: NodeId, answer: Vec<Message>) {
        let kept = self.answers.entry(to).or_default();
        kept.retain(|earlier| answer.iter().all(|message| message.kind() != earlier.kind()));
        kept.extend(answer);
    }

    pub fn take(&mut self, to: NodeId) -> Vec<Message> {
        self.answers.remove(&to).unwrap_or_default()
    }
}
