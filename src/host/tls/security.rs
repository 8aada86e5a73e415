//! The credentials of a node at present, which are replaced as a whole while it runs.

use std::sync::Arc;

use parking_lot::RwLock;

use super::Credentials;

/// The credentials of new connections, or that they are plain, which a running node does not change.
/// Cheap to clone.
#[derive(Clone, Default)]
pub struct Security(Option<Arc<RwLock<Arc<Credentials>>>>);

impl Security {
    /// TLS with these, or none.
    #[must_use]
    pub fn new(credentials: Option<Credentials>) -> Security {
        Security(credentials.map(|credentials| Arc::new(RwLock::new(Arc::new(credentials)))))
    }

    /// The credentials at present; none where connections are plain.
    #[must_use]
    pub fn now(&self) -> Option<Arc<Credentials>> {
        self.0.as_ref().map(|present| present.read().clone())
    }

    /// New connections use these from now on; those that are up stay.
    pub fn replace(&self, credentials: Credentials) {
        if let Some(present) = &self.0 {
            *present.write() = Arc::new(credentials);
        }
    }
}
