//! A connection whose two sides know nothing of each other but the hash of an authority. The one shows the certificate of
//! the authority, and proves that it has its key: so not even a member of the cluster can take its place.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error,
    ServerConfig, ServerConnection, SignatureScheme,
};
use sha2::{Digest, Sha256};

use super::super::credentials::VERSIONS;
use super::super::identity::validity;
use super::super::session::Session;
use super::Authority;
use crate::tls::fault::TlsFault;

/// The first half of the SHA-256 of a certificate: nobody finds another certificate with the same.
fn hash(certificate: &CertificateDer) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&Sha256::digest(certificate)[..16]);
    half
}

fn unusable(error: &pem::Error) -> Error {
    Error::General(format!("{error:?}"))
}

impl Authority {
    fn der(&self) -> Result<CertificateDer<'static>, Error> {
        CertificateDer::from_pem_slice(self.certificate.as_bytes())
            .map_err(|error| unusable(&error))
    }

    /// The hash of its certificate.
    ///
    /// # Errors
    /// If the certificate cannot be read.
    pub fn hash(&self) -> Result<[u8; 16], Error> {
        self.der().map(|der| hash(&der))
    }

    /// Takes a connection, and shows that it is the authority itself.
    ///
    /// # Errors
    /// With what is wrong, or with none where the connection ended or was too slow.
    pub fn show(&self, io: &mut (impl Read + Write)) -> Result<Session, Option<TlsFault>> {
        Session::begin(self.server().map(Connection::from), &self.cluster, io)
    }

    fn server(&self) -> Result<ServerConnection, Error> {
        let key = PrivateKeyDer::from_pem_slice(self.key().as_bytes());
        let key = key.map_err(|error| unusable(&error))?;
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_protocol_versions(VERSIONS)?
                .with_no_client_auth()
                .with_single_cert(vec![self.der()?], key)?;
        config.send_tls13_tickets = 0;
        ServerConnection::new(Arc::new(config))
    }
}

/// Begins a connection to whoever has the key of the authority with this hash.
///
/// # Errors
/// With what is wrong, or with none where the connection ended or was too slow.
pub fn meet(hash: [u8; 16], io: &mut (impl Read + Write)) -> Result<Session, Option<TlsFault>> {
    Session::begin(client(hash).map(Connection::from), "", io)
}

fn client(hash: [u8; 16]) -> Result<ClientConnection, Error> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(VERSIONS)?
        .dangerous() // the hash says more than a signature of somebody else
        .with_custom_certificate_verifier(Arc::new(Pinned { hash, provider }))
        .with_no_client_auth();
    config.enable_sni = false;
    let anybody = ServerName::from(std::net::IpAddr::from([0, 0, 0, 0]));
    ClientConnection::new(Arc::new(config), anybody)
}

/// Takes the certificate with this hash alone, while it is valid.
#[derive(Debug)]
struct Pinned {
    hash: [u8; 16],
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        time: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if hash(certificate) != self.hash {
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
