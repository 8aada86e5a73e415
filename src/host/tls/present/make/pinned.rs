//! A connection whose two sides know nothing of each other but the hash of an authority. The one shows the certificate of
//! the authority, and proves that it has its key: so not even a member of the cluster can take its place.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, Connection, Error, ServerConfig, ServerConnection};

use super::super::credentials::VERSIONS;
use super::super::session::Session;
use super::super::verifier::{KeyVerifier, hash};
use super::Authority;
use crate::tls::fault::TlsFault;

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
        .with_custom_certificate_verifier(Arc::new(KeyVerifier { hash: Some(hash), provider }))
        .with_no_client_auth();
    config.enable_sni = false;
    let anybody = ServerName::from(std::net::IpAddr::from([0, 0, 0, 0]));
    ClientConnection::new(Arc::new(config), anybody)
}
