//! The certificates of a command that asks nodes by HTTPS: those that it trusts, and the one that it shows.

use std::fs::File;
use std::path::Path;

use super::error::CliError;
use super::exit::Exit;
use crate::config::{Config, node_name};
use crate::tls::{Files, Trust};

/// The trust of the configuration, if the admin addresses serve HTTPS.
///
/// # Errors
/// If the certificates cannot be used.
pub fn configured(config: &Config) -> Result<Option<Trust>, CliError> {
    config.admin_tls.then(|| of(config)).transpose()
}

/// Trusts the authorities of the first member whose files can be read, the member of this host before the others. If its
/// key can be read too, its certificate is shown: then the nodes take commands without a token.
///
/// # Errors
/// If no member has certificates, or they cannot be used.
pub fn of(config: &Config) -> Result<Trust, CliError> {
    let own = node_name(config, None).ok().and_then(|name| config.member(name));
    let all = || own.into_iter().chain(&config.members).filter_map(|member| member.tls.as_ref());
    let readable = |file: &Path| File::open(file).is_ok();
    let shows =
        |files: &&Files| readable(&files.ca) && readable(&files.cert) && readable(&files.key);
    let trusts = |files: &&Files| readable(&files.ca);
    let shown = all().find(shows);
    let Some(files) = shown.or_else(|| all().find(trusts)).or_else(|| all().next()) else {
        let what = "HTTPS needs `tls` in the configuration: it names the authorities to trust";
        return Err(CliError::new(Exit::Config, what));
    };
    let pair = shown.map(|files| (files.cert.as_path(), files.key.as_path()));
    Trust::load(&files.ca, pair, &config.cluster)
        .map_err(|error| CliError::new(Exit::Config, error))
}
