//! The same in a build without TLS, which can make none of them.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::tls::{Session, TlsFault};

const ABSENT: &str = "this electd was built without the feature `tls`";

/// Refuses.
pub fn sign_anew(_: &Path, _: &str, _: &str) -> io::Result<PathBuf> {
    Err(io::Error::other(ABSENT))
}

/// Refuses.
pub fn fill<'m>(_: &Path, _: &str, _: impl Iterator<Item = (&'m str, &'m str)>) -> io::Result<()> {
    Err(io::Error::other(ABSENT))
}

/// Refuses.
pub fn hash(_: &Path, _: &str) -> io::Result<[u8; 16]> {
    Err(io::Error::other(ABSENT))
}

/// Refuses.
pub fn show(_: &Path, _: &str, _: &mut (impl Read + Write)) -> io::Result<Option<Session>> {
    Err(io::Error::other(ABSENT))
}

/// Refuses.
pub fn answer(_: &Path, _: &str, _: &str, _: &str) -> io::Result<[String; 2]> {
    Err(io::Error::other(ABSENT))
}

/// Refuses.
pub fn meet(_: [u8; 16], _: &mut (impl Read + Write)) -> Result<Session, Option<TlsFault>> {
    Err(None)
}

/// Refuses.
pub fn request(_: &Path) -> io::Result<String> {
    Err(io::Error::other(ABSENT))
}
