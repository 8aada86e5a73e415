//! Words about locks on their way: those that come in are judged, and those that go out fit into frames.

use std::collections::BTreeMap;

use crate::core::detector::ConnectionId;
use crate::core::locks::parcels::{Parcels, is_long};
use crate::core::locks::word::{LockWord, MOST_WORDS};
use crate::core::message::{Envelope, Message};
use crate::core::protocol::LOCKS;
use crate::core::types::NodeId;
use crate::core::{Core, Output};

/// The most by which an epoch or a counter may be ahead of what this member knows. (X2)
const AHEAD: u64 = 1 << 32;

/// Whether these words may be taken, all of them: they came on the present connection of a member that this one speaks
/// with, that is the process which it says it is, and no number in them is beyond what can have come about.
pub fn is_sound(
    core: &Core,
    known: u64,
    (connection, from): (ConnectionId, NodeId),
    (envelope, words): (&Envelope, &[LockWord]),
) -> bool {
    let peer = core.detector().get(from);
    let present = peer.is_some_and(|peer| {
        peer.lines.inbound() == Some(connection) && peer.incarnation() == envelope.incarnation
    });
    let (epoch, counter) = (core.view().epoch.0, known);
    present
        && words.iter().all(|word| {
            let (claimed, number) = word.claims();
            let own = word
                .life()
                .is_none_or(|life| life.member == from && life.incarnation == envelope.incarnation);
            own && claimed.0 <= epoch.saturating_add(AHEAD)
                && number <= counter.saturating_add(AHEAD)
        })
}

/// The messages with these words, for each member that knows words about locks and is connected. A long word goes alone.
pub fn messages(core: &Core, packer: &mut Parcels, said: Vec<(NodeId, LockWord)>) -> Vec<Output> {
    let mut by_member: BTreeMap<NodeId, Vec<Vec<LockWord>>> = BTreeMap::new();
    for (to, word) in said {
        let Some(peer) = core.detector().get(to).filter(|_| knows_locks(core, to)) else {
            continue;
        };
        let parcels = by_member.entry(to).or_default();
        for word in packer.pack((to, peer.incarnation()), word) {
            match parcels.last_mut() {
                Some(last)
                    if !is_long(&word) && !last.iter().any(is_long) && last.len() < MOST_WORDS =>
                {
                    last.push(word);
                }
                _ => parcels.push(vec![word]),
            }
        }
    }
    let (epoch, incarnation) = (core.view().epoch, core.incarnation());
    let message = |to, words| {
        let envelope = Envelope { epoch, incarnation, message: Message::Lock(words) };
        Output::Send { to, envelope }
    };
    alike(by_member).into_iter().map(|(to, words)| message(to, words)).collect()
}

/// What is the same for several members is written once. Each gets its messages in their order.
fn alike(mut by_member: BTreeMap<NodeId, Vec<Vec<LockWord>>>) -> Vec<(Vec<NodeId>, Vec<LockWord>)> {
    let rounds = by_member.values().map(Vec::len).max().unwrap_or(0);
    let mut messages: Vec<(Vec<NodeId>, Vec<LockWord>)> = Vec::new();
    for round in 0..rounds {
        let first = messages.len();
        for (to, parcels) in &mut by_member {
            let Some(words) = parcels.get_mut(round).map(std::mem::take) else { continue };
            match messages[first..].iter_mut().find(|(_, same)| *same == words) {
                Some((others, _)) => others.push(*to),
                None => messages.push((vec![*to], words)),
            }
        }
    }
    messages
}

/// Whether a member was met, and its version knows words about locks.
pub fn knows_locks(core: &Core, member: NodeId) -> bool {
    let peer = core.detector().get(member);
    peer.is_some_and(|peer| peer.connected() && peer.protocol() >= LOCKS)
}

/// The first voter whose version knows no locks.
pub fn older_voter(core: &Core) -> Option<NodeId> {
    let met = |id: &NodeId| core.detector().get(*id).filter(|peer| peer.incarnation().0 > 0);
    let older = |id: &NodeId| met(id).is_some_and(|peer| peer.protocol() < LOCKS);
    core.members().voters().find(older)
}
