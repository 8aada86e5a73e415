//! Files in a folder that other users may have prepared: opens only regular files, follows no link, and
//! reads no more than a state may have.

use std::fs::{self, File, FileType, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt as _, PermissionsExt};
use std::path::Path;

use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;
use rustix::fs::{Mode, OFlags};

/// The most bytes that a file in the folder of a member may have. The largest table of locks has two thirds.
pub(super) const LARGEST: u64 = 2 << 20;

/// The mode of such a file: it is for this user alone.
const MODE: u32 = 0o600;

/// Opens a regular file to read it.
///
/// # Errors
/// When it is no regular file, or cannot be read.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDONLY)
}

/// Opens a regular file to read and write it, creating it for this user only if it is missing.
///
/// # Errors
/// When something else is there, or it cannot be written.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    match open_with(path, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_with(path, OFlags::RDWR),
        made => made.and_then(|file| {
            file.set_permissions(Permissions::from_mode(MODE))?; // whatever the umask is
            Ok(file)
        }),
    }
}

/// Writes a new file, syncs it, renames it over the old one and syncs the folder.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = AtomicWriteFile::options().preserve_mode(false).mode(MODE).open(path)?;
    file.as_file().set_permissions(Permissions::from_mode(MODE))?; // whatever the umask is
    file.write_all(bytes)?;
    file.commit()
}

/// Replaces a file that others made, as a whole; it keeps its mode and owner, and a link to it remains one.
///
/// # Errors
/// When it cannot be written. What it held before is kept.
pub fn rewrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // The mode of a link itself lets everybody write.
    let mut file = AtomicWriteFile::open(fs::canonicalize(path)?)?;
    file.write_all(bytes)?;
    file.commit()
}

/// Checks the type before it opens the file, since opening alone may start a device, and again
/// afterwards, since another file may have taken its place meanwhile. Without `NONBLOCK`, which changes
/// nothing for a regular file, opening a named pipe would hang.
fn open_with(path: &Path, flags: OFlags) -> io::Result<File> {
    match fs::symlink_metadata(path) {
        Ok(found) => ensure_regular(found.file_type())?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?);
    ensure_regular(file.metadata()?.file_type())?;
    Ok(file)
}

fn ensure_regular(found: FileType) -> io::Result<()> {
    let what = match found {
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_symlink() => "a link",
        kind if kind.is_dir() => "a folder",
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file")))
}

/// Reads a file; none if it is larger than [`LARGEST`].
pub(super) fn read(file: &File) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(Some(bytes).filter(|bytes| bytes.len() as u64 <= LARGEST))
}
