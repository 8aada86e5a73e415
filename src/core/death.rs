//! The death certificate: the proof that one incarnation of a member runs no more, nor any job or address of it.
//!
//! That sentence is stable: once true, it stays true. So a certificate may come late, twice or never, from anybody, and
//! needs no clock (Falcon, SOSP 2011; Fetzer, "Perfect failure detection in timed asynchronous systems", 2003). Each
//! incarnation draws a secret and tells every peer its hash in its hello. The secret leaves the host only after the
//! death, from the coroner of that node: whoever knows it proves the death.

use std::fmt;

use sha2::{Digest, Sha256};

use super::types::{Incarnation, NodeId};

/// What proves the death of an incarnation, drawn at its start. Only the node and its coroner know it while the node
/// lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Secret(pub [u8; 32]);

/// A log must not show it.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The hash that a hello tells of the secret: it shows nothing of it, and no other secret has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeathHash(pub [u8; 32]);

/// "This incarnation of this member runs no more, nor any job or address of it."
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeathCertificate {
    pub member: NodeId,
    pub incarnation: Incarnation,
    pub secret: Secret,
}

impl DeathCertificate {
    /// The hash that this incarnation told in its hello, if the certificate is genuine: SHA-256 of the cluster's name,
    /// the id, the incarnation and the secret.
    ///
    /// ```
    /// use electd::core::death::{DeathCertificate, Secret};
    /// use electd::core::types::{Incarnation, NodeId};
    ///
    /// let (member, secret) = (NodeId::default(), Secret([7; 32]));
    /// let of = |number| DeathCertificate { member, incarnation: Incarnation(number), secret };
    /// assert_eq!(of(1).hash("db"), of(1).hash("db"));
    /// assert_ne!(of(1).hash("db"), of(2).hash("db"), "it is of one incarnation alone");
    /// ```
    #[must_use]
    pub fn hash(&self, cluster: &str) -> DeathHash {
        let mut hash = Sha256::new();
        hash.update(self.member.0.as_bytes());
        hash.update(self.incarnation.0.to_be_bytes());
        hash.update(self.secret.0); // of fixed length, as all before; so the name needs no end
        hash.update(cluster);
        DeathHash(hash.finalize().into())
    }
}
