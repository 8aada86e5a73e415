//! The members to dial, as writers and readers see them: replaced as a whole when the member list changes.
//!
//! A member may be where the file of this node says, and not where the list does: its host has moved, or all hosts have,
//! and nobody could change the list meanwhile. So it is dialed at both by turns, until it is reached.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::core::types::NodeId;

/// A member to dial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PeerAddress {
    /// The member.
    pub id: NodeId,
    /// Its name, for the names of threads.
    pub name: String,
    /// host:port; a name is resolved at every dial.
    pub address: String,
}

/// The present members, shared by the election thread, which replaces them, and the writers and readers. The
/// locks are held for a copy only.
#[derive(Clone, Default)]
pub struct Peers(Arc<KnownPeers>);

#[derive(Default)]
struct KnownPeers {
    listed: RwLock<Arc<[PeerAddress]>>,
    /// The addresses in the file of this node.
    filed: RwLock<BTreeMap<NodeId, String>>,
    /// The address at which each was reached last.
    reached: RwLock<BTreeMap<NodeId, String>>,
}

impl Peers {
    #[cfg(test)]
    pub fn new(peers: Vec<PeerAddress>) -> Peers {
        let known = Peers::default();
        known.replace(peers);
        known
    }

    /// The members at present.
    pub fn now(&self) -> Arc<[PeerAddress]> {
        self.0.listed.read().clone()
    }

    /// This member, if it is one at present.
    pub fn get(&self, id: NodeId) -> Option<PeerAddress> {
        self.now().iter().find(|peer| peer.id == id).cloned()
    }

    pub fn replace(&self, peers: Vec<PeerAddress>) {
        self.0.reached.write().retain(|id, _| peers.iter().any(|peer| peer.id == *id));
        *self.0.listed.write() = peers.into();
    }

    /// Takes the addresses of the members in the file of this node.
    pub fn set_filed(&self, addresses: BTreeMap<NodeId, String>) {
        *self.0.filed.write() = addresses;
    }

    /// Where a member may be: at its address in the list, and at that in the file if it is another.
    pub fn addresses(&self, peer: &PeerAddress) -> Vec<String> {
        let filed = self.0.filed.read().get(&peer.id).cloned();
        let other = filed.filter(|filed| *filed != peer.address);
        [Some(peer.address.clone()), other].into_iter().flatten().collect()
    }

    /// A member was reached at this address.
    pub fn set_reached(&self, id: NodeId, address: &str) {
        self.0.reached.write().insert(id, address.to_owned());
    }

    /// Where a refused dial proves that the process of a member is gone: the address at which it was reached last, or the
    /// only one at which it may be; none if it may be at either of two.
    pub fn home(&self, peer: &PeerAddress) -> Option<String> {
        let reached = self.0.reached.read().get(&peer.id).cloned();
        let only = || match &self.addresses(peer)[..] {
            [only] => Some(only.clone()),
            _ => None,
        };
        reached.or_else(only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_looked_for_where_the_file_says_too_and_a_refusal_counts_where_it_was() {
        let id = NodeId(uuid::Uuid::from_u128(1));
        let peer = PeerAddress { id, name: "b".to_owned(), address: "old:1".to_owned() };
        let peers = Peers::new(vec![peer.clone()]);
        assert_eq!(peers.addresses(&peer), ["old:1"]);
        assert_eq!(peers.home(&peer).as_deref(), Some("old:1"));
        peers.set_filed([(id, "new:1".to_owned())].into());
        assert_eq!(peers.addresses(&peer), ["old:1", "new:1"]);
        assert_eq!(peers.home(&peer), None, "nobody knows where it is");
        peers.set_reached(id, "new:1");
        assert_eq!(peers.home(&peer).as_deref(), Some("new:1"));
        peers.set_filed([(id, "old:1".to_owned())].into());
        assert_eq!(peers.addresses(&peer), ["old:1"]);
        assert_eq!(peers.home(&peer).as_deref(), Some("new:1"), "it was there");
        peers.replace(Vec::new());
        assert_eq!(peers.home(&peer).as_deref(), Some("old:1"), "it was removed");
    }
}
