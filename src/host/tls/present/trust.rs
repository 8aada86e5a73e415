//! The certificate that a command or a node shows when it asks a node by HTTPS, and whom it trusts: any member of one
//! cluster, or a certain one.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::ServerName;

use super::credentials::{Credentials, VERSIONS, authorities, certificates, private_key};
use super::verifier::Verifier;
use crate::tls::files::BadFile;

/// The certificate that is shown, and the authorities that are trusted.
#[derive(Clone, Debug)]
pub struct Trust {
    pub(super) client: Arc<ClientConfig>,
    pub(super) cluster: String,
    /// The member that is to answer; it is not sent.
    pub(super) member: ServerName<'static>,
}

impl Trust {
    /// Trusts the members of this cluster whose certificates are signed by these authorities; and shows this
    /// certificate with its key, if there is one.
    ///
    /// # Errors
    /// With what is wrong with the first file that cannot be used.
    pub fn load(ca: &Path, shown: Option<(&Path, &Path)>, cluster: &str) -> Result<Trust, BadFile> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let (_, roots) = authorities(ca)?;
        let bad = |error: &dyn std::fmt::Display| {
            BadFile::new("tls.ca", ca, format!("cannot be used: {error}"))
        };
        let verifier = Verifier::new(roots, &provider, cluster).map_err(|error| bad(&error))?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(VERSIONS)
            .map_err(|error| bad(&error))?
            .dangerous() // as between members
            .with_custom_certificate_verifier(Arc::new(verifier.lenient()));
        let mut client = match shown {
            None => builder.with_no_client_auth(),
            Some((cert, key)) => {
                let chain = certificates("tls.cert", cert)?;
                builder.with_client_auth_cert(chain, private_key(key)?).map_err(|error| {
                    BadFile::new("tls.cert", cert, format!("cannot be used: {error}"))
                })?
            }
        };
        client.resumption = Resumption::disabled();
        // An address is not sent as the name of the server.
        let anybody = IpAddr::from([0, 0, 0, 0]).into();
        Ok(Trust { client: Arc::new(client), cluster: cluster.to_owned(), member: anybody })
    }

    /// What a node shows and trusts when it asks the member of this name, and no other. None if no certificate can name
    /// it.
    pub fn in_member(credentials: &Credentials, name: &str) -> Option<Trust> {
        let member = ServerName::try_from(name.to_owned()).ok()?;
        let Credentials { client, cluster, .. } = credentials;
        Some(Trust { client: client.clone(), cluster: cluster.clone(), member })
    }
}
