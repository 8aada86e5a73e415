//! How many messages went before a message on its connection. Both sides count, so that a message that one sent is
//! found again among those that the other took: a connection keeps the order, and loses nothing but its end.

use std::collections::BTreeMap;

use crate::core::detector::ConnectionId;
use crate::core::types::NodeId;

/// The messages on the present connections, signs of life included.
#[derive(Debug, Default)]
pub struct ConnectionCounts {
    sent: BTreeMap<NodeId, u64>,
    received: BTreeMap<NodeId, (ConnectionId, u64)>,
}

impl ConnectionCounts {
    /// The connection to a peer is a new one.
    pub fn connected(&mut self, peer: NodeId) {
        self.sent.insert(peer, 0);
    }

    /// Counts a message to a peer: how many went before.
    pub fn sent(&mut self, to: NodeId) -> u64 {
        count(self.sent.entry(to).or_default())
    }

    /// Counts a message from a peer: how many came before.
    pub fn received(&mut self, from: NodeId, connection: ConnectionId) -> u64 {
        let (present, number) = self.received.entry(from).or_insert((connection, 0));
        if *present != connection {
            (*present, *number) = (connection, 0);
        }
        count(number)
    }
}

fn count(number: &mut u64) -> u64 {
    *number += 1;
    *number - 1
}
