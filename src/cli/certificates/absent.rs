//! The same in a build without TLS, which can make none of them.

use std::io;
use std::path::{Path, PathBuf};

const ABSENT: &str = "this electd was built without the feature `tls`";

/// Refuses.
pub fn sign_anew(_: &Path, _: &str, _: &str) -> io::Result<PathBuf> {
    Err(io::Error::other(ABSENT))
}

/// Refuses.
pub fn fill<'m>(_: &Path, _: &str, _: impl Iterator<Item = &'m str>) -> io::Result<()> {
    Err(io::Error::other(ABSENT))
}
