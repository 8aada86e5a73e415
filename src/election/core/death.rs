//! The death certificate: the proof that one incarnation of a member runs no more, nor any job or address of it.
//!
//! That sentence is stable: once true, it stays true. So a certificate may come late, twice or never, from anybody, and
//! needs no clock (Falcon, SOSP 2011; Fetzer, "Perfect failure detection in timed asynchronous systems", 2003). Each
//! incarnation draws a secret and tells every peer its hash in its hello. The secret leaves the host only after the
//! death, from the coroner of that node: whoever knows it proves the death. (Z6)

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::planted::Fault;
use super::types::{Incarnation, NodeId};

/// What proves the death of an incarnation, drawn at its start. Only the node and its coroner know it while the node
/// lives.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Secret(pub [u8; 32]);

/// A log must not show it. A flight holds those that came to a member from outside: they have served, and prove what is
/// true for ever.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The hash that a hello tells of the secret: it shows nothing of it, and no other secret has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct DeathHash(pub [u8; 32]);

/// "This incarnation of this member runs no more, nor any job or address of it."
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
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
    /// use electd_election::core::death::{DeathCertificate, Secret};
    /// use electd_election::core::types::{Incarnation, NodeId};
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

/// One life of a peer, as far as this member knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct PeerLife {
    incarnation: Incarnation,
    /// The hash in its hello; none of a process without a coroner.
    hash: Option<DeathHash>,
    /// The proof that it is over, once this member has it.
    certificate: Option<DeathCertificate>,
}

/// What this member knows of the last two lives of a peer. The hello of a restarted member may come before the
/// certificate of the life before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Lives {
    present: PeerLife,
    before: PeerLife,
}

/// What a certificate proves to this member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CertificateVerdict {
    /// The hello of this life had no hash: this member cannot judge.
    Unknown,
    /// The secret is not that of this life.
    Forged,
    /// It was proved before.
    Known,
    /// From now on this life is over.
    Over,
}

impl PeerLife {
    fn is(&self, incarnation: Incarnation, hash: Option<DeathHash>) -> bool {
        (self.incarnation, self.hash) == (incarnation, hash)
    }
}

impl Lives {
    /// The peer said hello as this incarnation, with this hash.
    pub(super) fn meet(&mut self, incarnation: Incarnation, hash: Option<DeathHash>) {
        if self.before.is(incarnation, hash) {
            std::mem::swap(&mut self.present, &mut self.before);
        } else if !self.present.is(incarnation, hash) {
            self.before = self.present;
            self.present = PeerLife { incarnation, hash, certificate: None };
        }
    }

    /// Whether the life that this hello is of is over. A dead process has no present hello: this one was on its way
    /// for long, or is that of a copy.
    pub(super) fn is_over(&self, incarnation: Incarnation, hash: Option<DeathHash>) -> bool {
        let same = [self.present, self.before].into_iter().find(|life| life.is(incarnation, hash));
        same.is_some_and(|life| life.certificate.is_some())
    }

    /// Judges a certificate by the hash in the hello of the life that it names, and keeps it if it is genuine. (Z1)
    pub(super) fn judge(
        &mut self,
        certificate: &DeathCertificate,
        cluster: &str,
    ) -> CertificateVerdict {
        let mut lives = [&mut self.present, &mut self.before].into_iter();
        let named = |life: &&mut PeerLife| {
            life.incarnation == certificate.incarnation && life.hash.is_some()
        };
        let Some(life) = lives.find(named) else { return CertificateVerdict::Unknown };
        let genuine = life.hash == Some(certificate.hash(cluster));
        if !genuine && !Fault::CertificateBelieved.is_planted() {
            CertificateVerdict::Forged
        } else if life.certificate.replace(*certificate).is_some() {
            CertificateVerdict::Known
        } else {
            CertificateVerdict::Over
        }
    }

    /// The certificate of the present life.
    pub(super) fn certificate(&self) -> Option<DeathCertificate> {
        self.present.certificate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate(incarnation: u64, secret: u8) -> DeathCertificate {
        let (incarnation, secret) = (Incarnation(incarnation), Secret([secret; 32]));
        DeathCertificate { member: NodeId::default(), incarnation, secret }
    }

    fn meet(lives: &mut Lives, of: DeathCertificate) {
        lives.meet(of.incarnation, Some(of.hash("db")));
    }

    /// Rule Z1.
    #[test]
    fn a_certificate_counts_once_and_by_the_hash_of_its_life() {
        let mut lives = Lives::default();
        assert_eq!(
            lives.judge(&certificate(0, 0), "db"),
            CertificateVerdict::Unknown,
            "nobody said hello"
        );
        meet(&mut lives, certificate(3, 7));
        assert_eq!(lives.judge(&certificate(3, 8), "db"), CertificateVerdict::Forged);
        assert_eq!(lives.judge(&certificate(3, 7), "other"), CertificateVerdict::Forged);
        assert_eq!(lives.judge(&certificate(2, 7), "db"), CertificateVerdict::Unknown);
        assert_eq!(lives.certificate(), None);
        assert_eq!(lives.judge(&certificate(3, 7), "db"), CertificateVerdict::Over);
        assert_eq!(lives.judge(&certificate(3, 7), "db"), CertificateVerdict::Known);
        assert_eq!(lives.certificate(), Some(certificate(3, 7)));
    }

    #[test]
    fn the_last_two_lives_are_known() {
        let mut lives = Lives::default();
        [(3, 7), (4, 8)]
            .into_iter()
            .for_each(|(at, secret)| meet(&mut lives, certificate(at, secret)));
        assert_eq!(
            lives.judge(&certificate(3, 7), "db"),
            CertificateVerdict::Over,
            "the life before"
        );
        assert_eq!(lives.certificate(), None, "the present one goes on");
        meet(&mut lives, certificate(3, 7)); // a late hello
        assert!(lives.is_over(Incarnation(3), Some(certificate(3, 7).hash("db"))));
        meet(&mut lives, certificate(4, 8));
        meet(&mut lives, certificate(5, 9));
        assert_eq!(lives.judge(&certificate(3, 7), "db"), CertificateVerdict::Unknown, "long ago");
        assert_eq!(lives.judge(&certificate(4, 8), "db"), CertificateVerdict::Over);
    }

    #[test]
    fn a_member_that_lost_its_state_begins_another_life_of_the_same_number() {
        let mut lives = Lives::default();
        meet(&mut lives, certificate(1, 7));
        assert_eq!(lives.judge(&certificate(1, 7), "db"), CertificateVerdict::Over);
        meet(&mut lives, certificate(1, 8));
        assert!(!lives.is_over(Incarnation(1), Some(certificate(1, 8).hash("db"))));
        lives.meet(Incarnation(1), None);
        assert!(!lives.is_over(Incarnation(1), None), "one without a coroner");
    }
}
