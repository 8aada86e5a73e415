//! The files that `electd init --tls` writes beside the configuration: an authority, and a folder for each member.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::error::CliError;
use super::exit::Exit;

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
        let own = folder.join(member);
        DirBuilder::new().mode(0o700).create(&own)?;
        let pair = authority.sign(member).map_err(io::Error::other)?;
        put(&own.join("ca.pem"), authority.certificate(), 0o644)?;
        put(&own.join("cert.pem"), &pair.cert, 0o644)?;
        put(&own.join("key.pem"), &pair.key, 0o600)?;
    }
    Ok(())
}

#[cfg(feature = "tls")]
fn put(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
