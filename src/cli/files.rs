//! New files and folders of a cluster on this host, which replace nothing.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The mode of a folder with files of a cluster: the user of the unit passes through it.
pub const OPEN_FOLDER: u32 = 0o755;

/// The mode of a file for which the umask decides.
pub const PLAIN: u32 = 0o666;

/// Writes a new file, which has no more than this mode, and syncs it.
///
/// # Errors
/// If something is there, or it cannot be written; then nothing new is there.
pub fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a file would block the next attempt; if it stays, that attempt says so.
        let _ = fs::remove_file(path);
    }
    written
}

/// Writes a new file that the user of the unit can read, whatever the umask is.
pub fn write_open(path: &Path, text: &str) -> io::Result<()> {
    write_new(path, text, PLAIN)?;
    fs::set_permissions(path, Permissions::from_mode(0o644))
}

/// Makes a folder of this mode, whatever the umask is.
pub fn make_folder(folder: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)?;
    fs::set_permissions(folder, Permissions::from_mode(mode))
}
