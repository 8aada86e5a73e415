//! Words about locks on their way: those that come in are judged, and those that go out fit into frames.

use std::collections::BTreeMap;

use crate::core::detector::ConnectionId;
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

/// The messages with these words, for each member that knows words about locks and is connected. A table goes alone.
pub fn messages(core: &Core, said: Vec<(NodeId, LockWord)>) -> Vec<Output> {
    let mut by_member: BTreeMap<NodeId, Vec<Vec<LockWord>>> = BTreeMap::new();
    for (to, word) in said {
        if !knows_locks(core, to) {
            continue;
        }
        let parcels = by_member.entry(to).or_default();
        let long = |word: &LockWord| {
            word.table().is_some_and(|table| !table.is_empty() || table.runs().len() > 0)
        };
        match parcels.last_mut() {
            Some(last) if !long(&word) && !last.iter().any(long) && last.len() < MOST_WORDS => {
                last.push(word);
            }
            _ => parcels.push(vec![word]),
        }
    }
    let (epoch, incarnation) = (core.view().epoch, core.incarnation());
    let message = |to, words| {
        let envelope = Envelope { epoch, incarnation, message: Message::Lock(words) };
        Output::Send { to: vec![to], envelope }
    };
    let parcels = by_member
        .into_iter()
        .flat_map(|(to, parcels)| parcels.into_iter().map(move |words| message(to, words)));
    parcels.collect()
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
