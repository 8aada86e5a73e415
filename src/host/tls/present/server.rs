//! Whom this host trusts of servers that are no members, such as a database.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, Connection};

use super::Session;
use super::credentials::{VERSIONS, authorities};
use super::verifier::KeyVerifier;
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
        let file = roots.unwrap_or(Path::new(""));
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(VERSIONS)
            .map_err(|error| BadFile::new("tls.ca", file, format!("cannot be used: {error}")))?;
        let builder = match roots {
            Some(roots) => builder.with_root_certificates(authorities(roots)?.1),
            None => {
                let anybody = KeyVerifier { hash: None, provider };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(anybody))
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
