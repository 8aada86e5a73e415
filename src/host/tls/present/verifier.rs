//! Judges the certificate of the other side during a handshake: by the library, and by the names of the
//! cluster and of the member.
//!
//! A refusal within the handshake reaches the other side as an alert, so that both can say why.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{VerifierBuilderError, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, RootCertStore,
    SignatureScheme,
};
use sha2::{Digest, Sha256};

use super::identity::{judge_cluster, judge_member, validity};
use crate::tls::fault::TlsFault;

/// Takes the members of one cluster, whose certificates these authorities signed.
#[derive(Debug)]
pub struct Verifier {
    server: Arc<WebPkiServerVerifier>,
    client: Arc<dyn ClientCertVerifier>,
    cluster: String,
    lenient: bool,
}

impl Verifier {
    pub fn new(
        roots: RootCertStore,
        provider: &Arc<CryptoProvider>,
        cluster: &str,
    ) -> Result<Verifier, VerifierBuilderError> {
        let (roots, cluster) = (Arc::new(roots), cluster.to_owned());
        let server =
            WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone()).build()?;
        let client =
            WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build()?;
        Ok(Verifier { server, client, cluster, lenient: false })
    }

    /// The same for HTTP: a client may come without a certificate, and a server may be any member.
    pub fn lenient(&self) -> Verifier {
        let Verifier { server, client, cluster, .. } = self;
        let (server, client, cluster) = (server.clone(), client.clone(), cluster.clone());
        Verifier { server, client, cluster, lenient: true }
    }
}

impl ServerCertVerifier for Verifier {
    /// The name is that of the member that was dialed.
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.server.verify_server_cert(certificate, between, name, ocsp, now);
        let verified = verified.or_else(|error| match error {
            // Judged below, in our words.
            Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => Ok(ServerCertVerified::assertion()),
            error => Err(error),
        })?;
        let judged = if self.lenient {
            judge_cluster(certificate, &self.cluster)
        } else {
            judge_member(certificate, &self.cluster, &name.to_str())
        };
        judged.map_err(refusal)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.server.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.server.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.server.supported_verify_schemes()
    }
}

impl ClientCertVerifier for Verifier {
    fn client_auth_mandatory(&self) -> bool {
        !self.lenient
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.client.root_hint_subjects()
    }

    /// Which member it is, the hello says; its certificate is held against that.
    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.client.verify_client_cert(certificate, between, now)?;
        judge_cluster(certificate, &self.cluster).map_err(refusal)?;
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.client.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.client.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.client.supported_verify_schemes()
    }
}

/// The first half of the SHA-256 of a certificate: nobody finds another certificate with the same.
pub fn hash(certificate: &CertificateDer) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&Sha256::digest(certificate)[..16]);
    half
}

/// Takes a server that has the key of its certificate, whoever has signed that: the one with this hash alone, while it is
/// valid; without a hash any.
#[derive(Debug)]
pub struct KeyVerifier {
    pub hash: Option<[u8; 16]>,
    pub provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for KeyVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        time: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(wanted) = self.hash else { return Ok(ServerCertVerified::assertion()) };
        if hash(certificate) != wanted {
            return Err(CertificateError::UnknownIssuer.into());
        }
        let (begin, end) = validity(certificate).ok_or(CertificateError::BadEncoding)?;
        let (not_before, not_after) = (seconds(begin), seconds(end));
        if time < not_before {
            return Err(CertificateError::NotValidYetContext { time, not_before }.into());
        }
        if time > not_after {
            return Err(CertificateError::ExpiredContext { time, not_after }.into());
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

fn seconds(moment: Timestamp) -> UnixTime {
    let seconds = u64::try_from(moment.as_second()).unwrap_or_default();
    UnixTime::since_unix_epoch(Duration::from_secs(seconds))
}

fn refusal(fault: TlsFault) -> Error {
    Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(fault))))
}

#[cfg(test)]
mod tests {
    use rustls::crypto::aws_lc_rs;

    use super::*;
    use crate::tls::make::Authority;
    use crate::tls::present::credentials::authorities;

    /// A browser offers its user the certificates of these alone.
    #[test]
    fn a_client_is_told_whose_certificates_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let two = [(); 2].map(|()| Authority::new("hc").unwrap().certificate().to_owned());
        std::fs::write(&file, two.concat()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let strict = Verifier::new(authorities(&file).unwrap().1, &provider, "hc").unwrap();
        for verifier in [&strict, &strict.lenient()] {
            assert_eq!(ClientCertVerifier::root_hint_subjects(verifier).len(), 2);
        }
    }
}
