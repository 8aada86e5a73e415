//! The files of an authority and of the members that it signs.

use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::cli::files::write_new;
use crate::tls::make::{self, Authority, pinned};
use crate::tls::{Credentials, Files, Session, TlsFault};

/// The authority of this cluster, whose certificate and key are in the folder.
fn authority(folder: &Path, cluster: &str) -> io::Result<Authority> {
    let read = |name: &str| {
        let file = folder.join(name);
        fs::read_to_string(&file)
            .map_err(|error| io::Error::other(format!("{}: {error}", file.display())))
    };
    Authority::load(cluster, &read("ca.pem")?, &read("ca-key.pem")?).map_err(io::Error::other)
}

/// The hash of the certificate of the authority in the folder.
pub fn hash(folder: &Path, cluster: &str) -> io::Result<[u8; 16]> {
    authority(folder, cluster)?.hash().map_err(io::Error::other)
}

/// Takes a connection as the authority in the folder. None says that it ended, or that the other side gave it up.
pub fn show(
    folder: &Path,
    cluster: &str,
    io: &mut (impl Read + Write),
) -> io::Result<Option<Session>> {
    Ok(authority(folder, cluster)?.show(io).ok())
}

/// The certificate of the authority in the folder, and what it signs for the key of this request.
pub fn answer(
    folder: &Path,
    cluster: &str,
    member: &str,
    request: &str,
) -> io::Result<[String; 2]> {
    let authority = authority(folder, cluster)?;
    let cert = authority.answer(member, request).map_err(io::Error::other)?;
    Ok([authority.certificate().to_owned(), cert])
}

/// Begins a connection to the authority with this hash.
pub fn meet(hash: [u8; 16], io: &mut (impl Read + Write)) -> Result<Session, Option<TlsFault>> {
    pinned::meet(hash, io)
}

/// A new key in this file, and the request that it signed.
pub fn request(key: &Path) -> io::Result<String> {
    let (own, request) = make::request().map_err(io::Error::other)?;
    write_new(key, &own, 0o600)?;
    Ok(request)
}

/// Signs a new certificate for this member, by the authority in the folder. Returns the folder with its files.
pub fn sign_anew(folder: &Path, cluster: &str, member: &str) -> io::Result<PathBuf> {
    let authority = authority(folder, cluster)?;
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

/// Fills the folder with the files of a new authority and of these members, each in a folder of this name.
pub fn fill<'m>(
    folder: &Path,
    cluster: &str,
    members: impl Iterator<Item = (&'m str, &'m str)>,
) -> io::Result<()> {
    let authority = Authority::new(cluster).map_err(io::Error::other)?;
    write_new(&folder.join("ca.pem"), authority.certificate(), 0o644)?;
    write_new(&folder.join("ca-key.pem"), &authority.key(), 0o600)?;
    for (name, member) in members {
        put_member(&authority, folder, name, member)?;
    }
    Ok(())
}

/// Writes the files of a member into a new folder of this name.
fn put_member(authority: &Authority, folder: &Path, name: &str, member: &str) -> io::Result<()> {
    let own = folder.join(name);
    DirBuilder::new().mode(0o700).create(&own)?;
    let pair = authority.sign(member).map_err(io::Error::other)?;
    write_new(&own.join("ca.pem"), authority.certificate(), 0o644)?;
    write_new(&own.join("cert.pem"), &pair.cert, 0o644)?;
    write_new(&own.join("key.pem"), &pair.key, 0o600)
}
