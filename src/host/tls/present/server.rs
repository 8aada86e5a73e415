//! Whom this host trusts of servers that are no members, such as a database.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error, SignatureScheme,
};

use super::Session;
use super::credentials::{VERSIONS, authorities};
use crate::tls::fault::{TlsCause, TlsFault};
use crate::tls::files::BadFile;

/// The servers that are trusted.
#[derive(Clone, Debug)]
pub struct ServerTrust {
    client: Arc<ClientConfig>,
}

impl ServerTrust {
    /// Trusts a server whose certificate one of these authorities signed, for the name by which it was dialed; without
    /// authorities, whoever answers.
    ///
    /// # Errors
    /// With what is wrong with the file.
    pub fn of_server(roots: Option<&Path>) -> Result<ServerTrust, BadFile> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let algorithms = provider.signature_verification_algorithms;
        let file = roots.unwrap_or(Path::new(""));
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(VERSIONS)
            .map_err(|error| BadFile::new("tls.ca", file, format!("cannot be used: {error}")))?;
        let builder = match roots {
            Some(roots) => builder.with_root_certificates(authorities(roots)?.1),
            None => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(algorithms)))
            }
        };
        let mut client = builder.with_no_client_auth();
        client.resumption = Resumption::disabled();
        Ok(ServerTrust { client: Arc::new(client) })
    }
}

impl Session {
    /// Begins a connection to a server of this name.
    ///
    /// # Errors
    /// With what is wrong, or with none where the connection ended or was too slow.
    pub fn visit(
        trust: &ServerTrust,
        name: &str,
        io: &mut (impl Read + Write),
    ) -> Result<Session, Option<TlsFault>> {
        let server = ServerName::try_from(name.to_owned())
            .map_err(|_| TlsFault::of_peer(TlsCause::OtherMember, "no certificate can name it"))?;
        let connection = ClientConnection::new(trust.client.clone(), server);
        Session::begin(connection.map(Connection::from), "", io)
    }
}

/// Takes any certificate whose key the server has.
#[derive(Debug)]
struct Anybody(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
