//! The files of an authority and of the members that it signs.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::tls::make::Authority;
use crate::tls::{Credentials, Files};

/// Signs a new certificate for this member, by the authority in the folder. Returns the folder with its files.
pub fn sign_anew(folder: &Path, cluster: &str, member: &str) -> io::Result<PathBuf> {
    let read = |name: &str| {
        let file = folder.join(name);
        fs::read_to_string(&file)
            .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
    };
    let authority = Authority::load(cluster, &read("ca.pem")?, &read("ca-key.pem")?);
    let authority = authority.map_err(io::Error::other)?;
    let (own, next) = (folder.join(member), folder.join(format!("{member}.new")));
    if next.exists() {
        fs::remove_dir_all(&next)?; // of an attempt that was cut short
    }
    put_member(&authority, folder, &format!("{member}.new"), member)?;
    let files = ["ca.pem", "cert.pem", "key.pem"].map(|name| next.join(name));
    let [ca, cert, key] = files;
    // That the key in the folder is the authority's own shows here.
    Credentials::load(&Files { ca, cert, key }, cluster, member).map_err(io::Error::other)?;
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

/// Fills the folder with the files of a new authority and of these members.
pub fn fill<'m>(
    folder: &Path,
    cluster: &str,
    members: impl Iterator<Item = &'m str>,
) -> io::Result<()> {
    let authority = Authority::new(cluster).map_err(io::Error::other)?;
    put(&folder.join("ca.pem"), authority.certificate(), 0o644)?;
    put(&folder.join("ca-key.pem"), &authority.key(), 0o600)?;
    for member in members {
        put_member(&authority, folder, member, member)?;
    }
    Ok(())
}

/// Writes the files of a member into a new folder of this name.
fn put_member(authority: &Authority, folder: &Path, name: &str, member: &str) -> io::Result<()> {
    let own = folder.join(name);
    DirBuilder::new().mode(0o700).create(&own)?;
    let pair = authority.sign(member).map_err(io::Error::other)?;
    put(&own.join("ca.pem"), authority.certificate(), 0o644)?;
    put(&own.join("cert.pem"), &pair.cert, 0o644)?;
    put(&own.join("key.pem"), &pair.key, 0o600)
}

fn put(file: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(file)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
