//! What processes tell each other, as the checker and the counters hear it.

use std::rc::Rc;

use super::agenda::Payload;
use super::counters::Counter;
use super::counts::is_election;
use super::network::{self, Sent};
use super::votes::Word;
use super::world::World;
use crate::core::death::DeathCertificate;
use crate::core::message::{Envelope, Kind, Message};
use crate::core::protocol::Protocols;
use crate::core::types::NodeId;
use crate::trace::DrawnWhat;

/// Sends to each receiver in turn; the sender may die between any two of them.
pub(super) fn send_all(world: &mut World, node: usize, to: &[NodeId], envelope: Envelope) {
    let envelope = Rc::new(envelope);
    let kind = envelope.message.kind();
    if let Message::AreYouNormal { number, .. } = envelope.message {
        world.nodes[node].checks.insert(number);
    }
    to.iter().for_each(|to| tells(world, node, *to, &envelope.message));
    for to in to {
        let Some(to) = world.place(*to) else { continue };
        if world.burnt(node) {
            return;
        }
        let live = world.nodes[to].core.is_some();
        let elects = elects(world, to, &envelope.message);
        if let Some(Sent { arrives, is_lost }) = network::send(world, node, to, &envelope, elects) {
            world.draw(node, |narrator| {
                let message = narrator.caption(&envelope.message)?;
                Some(DrawnWhat::Sends { to, message, arrives, lost: true, unseen: None })
            });
            world.in_flight += u64::from(elects && !is_lost);
            let counts = (elects || !is_election(kind)) && (live || kind != Kind::Coordinator);
            world.sent.add(kind, u64::from(counts));
        }
    }
}

/// Checks a message of a process against its earlier ones.
fn tells(world: &mut World, node: usize, to: NodeId, message: &Message) {
    let Some(at) = world.place(to) else { return };
    let (from, turned) = ((node, world.id(node)), world.nodes[node].turned);
    let word = Word { from, to: (at, to), message, turned };
    world.questions.tells(&word);
    world.checker.tells(world.now, word);
}

/// Notes what a process is about to take.
pub(super) fn hears(world: &mut World, node: usize, from: usize, envelope: &Envelope) {
    let message = &envelope.message;
    let turned = world.nodes[node].local(world.now);
    let (from, to) = ((from, world.id(from)), (node, world.id(node)));
    let word = Word { from, to, message, turned };
    // It takes no answer of a voter that is proved to be dead. (Z3)
    if !world.checker.votes.has_buried(node, (from.1, envelope.incarnation)) {
        world.questions.hears(&word);
    }
    world.checker.hears(word);
    if let Message::Dead(certificate) = message {
        hears_of_death(world, node, certificate);
    }
}

/// Notes that a process is about to take a certificate that a coroner issued: what its voter promised to the dead one is
/// over.
pub(super) fn hears_of_death(world: &mut World, node: usize, certificate: &DeathCertificate) {
    let now = world.now;
    let issued = world.coroners.as_ref().is_some_and(|all| all.issued(now, certificate));
    if issued && world.nodes[node].core.is_some() {
        let turned = world.nodes[node].local(now);
        let DeathCertificate { member, incarnation, .. } = *certificate;
        world.checker.votes.buries(node, (member, incarnation), turned);
    }
}

/// Whether an election is not over before this has arrived. A coordinator's regular check of the
/// others never ends.
fn elects(world: &World, to: usize, message: &Message) -> bool {
    match message {
        Message::AreYouNormal { .. } => false,
        Message::Reply { number, .. } => !world.nodes[to].checks.contains(number),
        message => is_election(message.kind()),
    }
}

/// Something has arrived, whether anybody is there to take it or not.
pub(super) fn arrived(world: &mut World, payload: &Payload) {
    if let Payload::Message { elects: true, .. } = payload {
        world.in_flight -= 1;
    }
}

/// A process of an earlier version closes a connection on which it hears an unknown message, and the cluster
/// may lose its leader: no process may send it such a message.
pub(super) fn hears_unknown(world: &mut World, node: usize, message: &Message) {
    let spoken = world.nodes[node].settings.protocols.highest;
    if message.since() > spoken {
        let (name, kind) = (format!("node-{}", node + 1), message.kind().title());
        let what = format!("{name} is told {kind}, which protocol {spoken} does not know");
        world.checker.fail(world.now, what);
    } else if spoken < Protocols::OURS.highest {
        world.faults.count(Counter::SentToOlder);
    }
}

#[cfg(test)]
mod tests {
    use crate::core::settings::{AlgorithmKind, Quorum};
    use crate::sim::{FaultSet, Schedule};

    /// In this run a voter's answer arrives on a connection that another one has replaced, and nobody counts it.
    #[test]
    fn an_answer_on_a_replaced_connection_is_not_heard() {
        let schedule = Schedule::new(AlgorithmKind::Ring, 12350);
        let run = Schedule { quorum: Quorum::Majority, ..schedule }.run();
        assert!(run.is_ok(), "{:?}", run.err().map(|failure| failure.what));
    }

    /// Rule Z3: in these runs a voter's answer arrives after the proof of its death, and nobody counts it.
    #[test]
    fn the_answer_of_a_voter_that_is_proved_to_be_dead_is_not_heard() {
        for (faults, seed) in [(FaultSet::Model, 14485), (FaultSet::Jobs, 17541)] {
            let quorum = Quorum::Majority;
            let run = Schedule { quorum, faults, ..Schedule::new(AlgorithmKind::Ring, seed) }.run();
            assert!(run.is_ok(), "seed {seed}: {:?}", run.err().map(|failure| failure.what));
        }
    }
}
