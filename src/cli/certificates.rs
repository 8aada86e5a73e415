//! The files that `electd init --tls` writes beside the configuration: an authority, and a folder for each member.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::exit::Exit;
use super::print;
use crate::config;

/// The folder of all of them, beside the file.
const FOLDER: &str = "tls";

/// The files in a member's entry.
pub fn entry(member: &str) -> String {
    let own = format!("{FOLDER}/{member}");
    format!(
        "{{\"ca\": \"{own}/ca.pem\", \"cert\": \"{own}/cert.pem\", \"key\": \"{own}/key.pem\"}}"
    )
}

/// Writes an authority for this cluster, and the files of its members, into a folder beside this file. It does not
/// touch an existing folder, and removes a half-written one.
///
/// # Errors
/// If the folder exists, or something cannot be made.
pub fn write<'m>(
    file: &Path,
    cluster: &str,
    members: impl Iterator<Item = &'m str>,
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

#[cfg(not(feature = "tls"))]
fn sign_anew(_: &Path, _: &str, _: &str) -> io::Result<PathBuf> {
    Err(io::Error::other("this electd was built without the feature `tls`"))
}

#[cfg(feature = "tls")]
fn sign_anew(folder: &Path, cluster: &str, member: &str) -> io::Result<PathBuf> {
    let read = |name: &str| {
        let file = folder.join(name);
        fs::read_to_string(&file)
            .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
    };
    let authority =
        crate::tls::make::Authority::load(cluster, &read("ca.pem")?, &read("ca-key.pem")?);
    let authority = authority.map_err(io::Error::other)?;
    let (own, next) = (folder.join(member), folder.join(format!("{member}.new")));
    if next.exists() {
        fs::remove_dir_all(&next)?; // of an attempt that was cut short
    }
    put_member(&authority, folder, &format!("{member}.new"), member)?;
    let files = ["ca.pem", "cert.pem", "key.pem"].map(|name| next.join(name));
    let [ca, cert, key] = files;
    // That the key in the folder is the authority's own shows here.
    crate::tls::Credentials::load(&crate::tls::Files { ca, cert, key }, cluster, member)
        .map_err(io::Error::other)?;
    if own.exists() {
        // The key first: a certificate with another key is refused as a whole, and the old one goes on.
        for name in ["ca.pem", "key.pem", "cert.pem"] {
            fs::rename(next.join(name), own.join(name))?;
        }
        fs::remove_dir(&next)?;
    } else {
        fs::rename(&next, &own)?;
    }
    Ok(own)
}

#[cfg(not(feature = "tls"))]
fn fill<'m>(_: &Path, _: &str, _: impl Iterator<Item = &'m str>) -> io::Result<()> {
    Err(io::Error::other("this electd was built without the feature `tls`"))
}

#[cfg(feature = "tls")]
fn fill<'m>(
    folder: &Path,
    cluster: &str,
    members: impl Iterator<Item = &'m str>,
) -> io::Result<()> {
    let authority = crate::tls::make::Authority::new(cluster).map_err(io::Error::other)?;
    put(&folder.join("ca.pem"), authority.certificate(), 0o644)?;
    put(&folder.join("ca-key.pem"), &authority.key(), 0o600)?;
    for member in members {
        put_member(&authority, folder, member, member)?;
    }
    Ok(())
}

/// Writes the files of a member into a new folder of this name.
#[cfg(feature = "tls")]
fn put_member(
    authority: &crate::tls::make::Authority,
    folder: &Path,
    name: &str,
    member: &str,
) -> io::Result<()> {
    let own = folder.join(name);
    DirBuilder::new().mode(0o700).create(&own)?;
    let pair = authority.sign(member).map_err(io::Error::other)?;
    put(&own.join("ca.pem"), authority.certificate(), 0o644)?;
    put(&own.join("cert.pem"), &pair.cert, 0o644)?;
    put(&own.join("key.pem"), &pair.key, 0o600)
}

#[cfg(feature = "tls")]
fn put(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
