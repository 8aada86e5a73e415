//! The members to dial, as readers see them: replaced as a whole when the member list changes.

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

/// The present members, shared by the election thread, which replaces them, and the readers. The
/// lock is held for a copy of the reference only.
#[derive(Clone)]
pub struct Peers(Arc<RwLock<Arc<[PeerAddress]>>>);

impl Peers {
    pub fn new(peers: Vec<PeerAddress>) -> Peers {
        Peers(Arc::new(RwLock::new(peers.into())))
    }

    /// The members at present.
    pub fn now(&self) -> Arc<[PeerAddress]> {
        self.0.read().clone()
    }

    pub fn replace(&self, peers: Vec<PeerAddress>) {
        *self.0.write() = peers.into();
    }
}
