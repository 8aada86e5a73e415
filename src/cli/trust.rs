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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each member's files, of which these are there, and none is a certificate.
    #[test]
    fn the_files_of_this_host_come_first_and_those_that_cannot_be_read_last() {
        let folder = tempfile::tempdir().unwrap();
        let member = |name: &str, number: u8| {
            let tls =
                format!(r#"{{"ca": "{name}.ca", "cert": "{name}.cert", "key": "{name}.key"}}"#);
            format!(
                r#"{{"name": "{name}", "id": "00000000-0000-4000-8000-00000000000{number}", "address": "h:{number}", "tls": {tls}}}"#
            )
        };
        let used = |top: &str, files: &[&str]| {
            for file in ["a", "b"]
                .iter()
                .flat_map(|name| ["ca", "cert", "key"].map(|end| format!("{name}.{end}")))
            {
                let _ = std::fs::remove_file(folder.path().join(file));
            }
            files.iter().for_each(|file| std::fs::write(folder.path().join(file), "none").unwrap());
            let text = format!(
                r#"{{"cluster": "c", "quorum": "none", "data_dir": "d", {top} "members": [{}, {}]}}"#,
                member("a", 1),
                member("b", 2)
            );
            let config = crate::config::parse(&text, &folder.path().join("c.json")).unwrap();
            let CliError { exit, message } = of(&config).map(drop).unwrap_err();
            assert_eq!(exit, Exit::Config);
            let begin = format!("tls.ca {}/", folder.path().display());
            message
                .strip_prefix(&begin)
                .and_then(|rest| rest.split('.').next())
                .map(str::to_owned)
                .unwrap_or(message)
        };
        let own = r#""node": "b","#;
        assert_eq!([used("", &[]), used(own, &[])], ["a", "b"], "none can be read");
        assert_eq!(
            [used("", &["b.ca"]), used("", &["a.ca", "b.ca"]), used(own, &["a.ca", "b.ca"])],
            ["b", "a", "b"]
        );
        assert_eq!(used(own, &["a.ca"]), "a");
        let shows_b = ["a.ca", "a.cert", "b.ca", "b.cert", "b.key"];
        assert_eq!(used("", &shows_b), "b", "a certificate can be shown with its key alone");
        assert_eq!(used(own, &["a.ca", "a.cert", "a.key", "b.ca", "b.key"]), "a");
    }
}
