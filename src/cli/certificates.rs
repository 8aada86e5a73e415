//! The files that `electd init --tls` writes beside the configuration: an authority, and a folder for each member.

#[cfg_attr(not(feature = "tls"), path = "certificates/absent.rs")]
mod made;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::exit::Exit;
use super::print;
use crate::config::{self, Config};
use crate::tls::Files;
pub use made::{answer, hash, meet, request, show};
use made::{fill, sign_anew};

/// The folder of all of them, beside the file.
pub const FOLDER: &str = "tls";
/// In it, the folder of the member of this host, where hosts join: the file is the same on all of them.
pub const OWN: &str = "own";

/// The files in a member's entry.
pub fn entry(member: &str) -> String {
    let own = format!("{FOLDER}/{member}");
    format!(
        "{{\"ca\": \"{own}/ca.pem\", \"cert\": \"{own}/cert.pem\", \"key\": \"{own}/key.pem\"}}"
    )
}

/// Judges that a file is the same on all hosts: its members show the certificate in this folder, each on its host.
///
/// # Errors
/// In words, what is otherwise.
pub fn judge_own(config: &Config, member: &str) -> Result<(), String> {
    let folder = config.file.with_file_name(FOLDER).join(OWN);
    let file = config.file.display();
    let found = config.member(member).ok_or_else(|| format!("{file} does not list {member}"))?;
    let is_own = |files: &Files| {
        [&files.ca, &files.cert, &files.key].iter().all(|it| it.parent() == Some(&folder))
    };
    if found.tls.as_ref().is_some_and(is_own) {
        return Ok(());
    }
    Err(format!(
        "{file} does not have {member} show the certificate in {}, as a file of `electd init --join` does",
        folder.display()
    ))
}

/// Writes an authority for this cluster, and the files of its members, each in a folder of this name, into a folder beside
/// this file. It does not touch an existing folder, and removes a half-written one.
///
/// # Errors
/// If the folder exists, or something cannot be made.
pub fn write<'m>(
    file: &Path,
    cluster: &str,
    members: impl Iterator<Item = (&'m str, &'m str)>,
) -> Result<PathBuf, CliError> {
    let folder = file.with_file_name(FOLDER);
    let shown = folder.display();
    DirBuilder::new().mode(0o700).create(&folder).map_err(|error| {
        let what = match error.kind() {
            io::ErrorKind::AlreadyExists => {
                format!("{shown} exists and is not overwritten: move it away, or write to another folder")
            }
            _ => format!("{shown} cannot be made: {error}: name a file in another folder with --out"),
        };
        CliError::new(Exit::Usage, what)
    })?;
    fill(&folder, cluster, members).map_err(|error| {
        let _ = fs::remove_dir_all(&folder); // we made it
        CliError::new(Exit::Usage, format!("{shown} cannot be written: {error}"))
    })?;
    Ok(folder)
}

/// Replaces the certificate and the key of a member of this file, by the authority whose key is in the folder beside it.
///
/// # Errors
///
/// If the file lists no such member, the authority's files are not there or are damaged, or something cannot be written.
pub fn renew(file: &Path, member: &str) -> Result<(), CliError> {
    let config = config::load(file)?;
    if config.member(member).is_none() {
        let what = format!("{member} is no member of {}: add it to the file first", file.display());
        return Err(CliError::new(Exit::Usage, what));
    }
    let folder = file.with_file_name(FOLDER);
    let own = sign_anew(&folder, &config.cluster, member).map_err(|error| {
        let what = format!(
            "{member} gets no new certificate: {error}: put ca.pem and ca-key.pem of the cluster's authority into {}",
            folder.display()
        );
        CliError::new(Exit::Usage, what)
    })?;
    print::message(&format!(
        "wrote {}: copy it to the host of {member}, beside the file; the node takes it within a second",
        own.display()
    ));
    Ok(())
}
