//! What processes tell each other, as the checker and the counters hear it.

use std::rc::Rc;

use super::agenda::Payload;
use super::counters::Counter;
use super::counts::is_election;
use super::votes::Word;
use super::world::World;
use crate::core::message::{Envelope, Kind, Message};
use crate::core::protocol::Protocols;
use crate::core::types::NodeId;
use crate::trace::What;

impl World {
    /// Sends to each receiver in turn; the sender may die between any two of them.
    pub(super) fn send_all(&mut self, node: usize, to: &[NodeId], envelope: Envelope) {
        let envelope = Rc::new(envelope);
        let kind = envelope.message.kind();
        if let Message::AreYouNormal { number, .. } = envelope.message {
            self.nodes[node].checks.insert(number);
        }
        to.iter().for_each(|to| self.tells(node, *to, &envelope.message));
        for to in to {
            let Some(to) = self.place(*to) else { continue };
            if self.burnt(node) {
                return;
            }
            let live = self.nodes[to].core.is_some();
            let elects = self.elects(to, &envelope.message);
            if let Some(arrives) = self.send(node, to, &envelope, elects) {
                self.draw(node, |narrator| {
                    let label = narrator.label(&envelope.message)?;
                    Some(What::Sends { to, label, arrives, lost: true })
                });
                self.in_flight += u64::from(elects);
                self.sent.add(kind, u64::from(live || kind != Kind::Coordinator));
            }
        }
    }

    /// Checks a message of a process against its earlier ones.
    fn tells(&mut self, node: usize, to: NodeId, message: &Message) {
        let Some(at) = self.place(to) else { return };
        let (from, turned) = ((node, self.id(node)), self.nodes[node].turned);
        let word = Word { from, to: (at, to), message, turned };
        self.questions.tells(&word);
        self.checker.tells(self.now, word);
    }

    /// Notes what a process is about to take.
    pub(super) fn hears(&mut self, node: usize, from: usize, message: &Message) {
        let turned = self.nodes[node].local(self.now);
        let (from, to) = ((from, self.id(from)), (node, self.id(node)));
        let word = Word { from, to, message, turned };
        self.questions.hears(&word);
        self.checker.hears(word);
    }

    /// Whether an election is not over before this has arrived. A coordinator's regular check of the
    /// others never ends.
    fn elects(&self, to: usize, message: &Message) -> bool {
        match message {
            Message::AreYouNormal { .. } => false,
            Message::Reply { number, .. } => !self.nodes[to].checks.contains(number),
            message => is_election(message.kind()),
        }
    }

    /// Something has arrived, whether anybody is there to take it or not.
    pub(super) fn arrived(&mut self, payload: &Payload) {
        if let Payload::Message { elects: true, .. } = payload {
            self.in_flight -= 1;
        }
    }

    /// A process of an earlier version closes a connection on which it hears an unknown message, and the cluster
    /// may lose its leader: no process may send it such a message.
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
